"""Clock functions stand for one moment, the same throughout a statement: ``now()`` and what is named like it.

A question about the last seven days is a question about days, so that its literal is shown beside its answer. It is
bound before anything is lowered: steps of one statement must not see two moments.
"""

from collections.abc import Iterator
from datetime import datetime

from sqlglot import exp

_DATES = frozenset({"current_date", "today"})
_TIMES = frozenset(
    {"current_localtimestamp", "current_timestamp", "get_current_timestamp", "localtimestamp", "now"}
    | {"transaction_timestamp"}
)
_DATE, _TIME = "DATE", "TIMESTAMP"


def bind_clock(tree: exp.Expr, moment: datetime) -> tuple[str, ...]:
    """Literals in place of clock functions; what each stands for, as sentences. ``moment`` is UTC.

    >>> tree = exp.select("1").where("d > current_date")
    >>> bind_clock(tree, datetime(2026, 11, 23, 9, 30))
    ('current_date is 2026-11-23 (UTC)',)
    """
    told: dict[str, None] = {}
    for node, word, kind in list(_found(tree)):
        value = moment.date().isoformat() if kind == _DATE else moment.strftime("%Y-%m-%d %H:%M:%S")
        made: exp.Expr = exp.Cast(this=exp.Literal.string(value), to=exp.DataType.build(kind))
        made.meta.update(node.meta)
        if isinstance(node.parent, exp.Select) and node.arg_key == "expressions":
            made = exp.alias_(made, word, quoted=True)
        node.replace(made)
        told[f"{word} is {value} (UTC)"] = None
    return tuple(told)


def _found(tree: exp.Expr) -> Iterator[tuple[exp.Expr, str, str]]:
    for node in tree.walk():
        match node:
            case exp.Anonymous() if not node.expressions and node.name.lower() in _DATES | _TIMES:
                yield node, f"{node.name.lower()}()", _DATE if node.name.lower() in _DATES else _TIME
            case exp.CurrentDate() if not node.this:
                yield node, "current_date", _DATE
            case exp.CurrentTimestamp() | exp.Localtimestamp() if not node.this:
                yield node, "localtimestamp" if isinstance(node, exp.Localtimestamp) else "current_timestamp", _TIME
