"""DP_INTERVAL_LOW and DP_INTERVAL_HIGH of numbers that the outer statement computes.

An aggregate's interval is known before the outer statement runs, and stands in the released table. That of a computed
number is known only afterwards, so such a column stays NULL in SQL, is filled in last, and nothing else may read it.
"""

from collections.abc import Sequence
from typing import Literal

from sqlglot import exp

from dpsql.errors import UnsupportedQuery
from dpsql.sql.blocks.rewrite import is_interval
from dpsql.sql.expressions.functions import INTERVAL_LOW
from dpsql.sql.expressions.operators import unwrap
from dpsql.sql.statement import LateInterval
from dpsql.sql.text.position import refusal


def late_intervals(text: str, tree: exp.Expr) -> tuple[LateInterval, ...]:
    """Takes such calls out of the outermost select list, in place. Raises UnsupportedQuery for one that is read."""
    if not isinstance(tree, exp.Select):
        return ()
    names = [item.alias_or_name.lower() for item in tree.expressions]
    out: list[LateInterval] = []
    for column, item in enumerate(tree.expressions):
        call = unwrap(item.this if isinstance(item, exp.Alias) else item)
        if not is_interval(call):
            continue
        target = unwrap(call.expressions[0]) if len(call.expressions) == 1 else call
        name = target.name.lower() if isinstance(target, exp.Column) else ""
        starred = any(i.is_star for i in tree.expressions)
        if name not in names or names.index(name) == column or starred:
            continue  # refused with all other calls that are left
        own = item.alias if isinstance(item, exp.Alias) else ""
        _check_unread(text, tree, item, own.lower(), column)
        end: Literal[0, 1] = 0 if call.name.lower() == INTERVAL_LOW else 1
        out.append(LateInterval(column, names.index(name), end))
        empty = exp.cast(exp.Null(), "DOUBLE")
        call.replace(empty) if isinstance(item, exp.Alias) else item.replace(exp.alias_(empty, name, quoted=True))
    return tuple(out)


def check_late(late: Sequence[LateInterval], numeric: Sequence[bool]) -> None:
    """Raises UnsupportedQuery for the interval of what is no number. ``numeric``: which output columns are."""
    for interval in late:
        if not numeric[interval.of]:
            raise UnsupportedQuery(
                "DP_INTERVAL_LOW and DP_INTERVAL_HIGH are of numbers", hint="give them the alias of a number"
            )


def _check_unread(text: str, tree: exp.Select, item: exp.Expr, name: str, column: int) -> None:
    order = tree.args.get("order")
    for entry in order.expressions if order is not None else ():
        if isinstance(entry.this, exp.Literal) and entry.this.this == str(column + 1):
            raise _too_late(text, item)
    for node in tree.find_all(exp.Column):
        if name and node.name.lower() == name and node.args.get("table") is None:
            raise _too_late(text, item)


def _too_late(text: str, item: exp.Expr) -> UnsupportedQuery:
    return refusal(
        text,
        item,
        "the interval of a computed number is known only when all rows are: nothing in SQL can read it",
        "order and filter by the number itself, or by the interval of an aggregate",
    )
