"""Comparing one column of strings with literals: decided string by string, without asking DuckDB.

DuckDB compares strings byte by byte, and a comparison with NULL is NULL; no collation is set.
"""

from collections.abc import Collection, Sequence

import numpy as np
from sqlglot import exp

from dpsql.domain import Value
from dpsql.query import Weights
from dpsql.sql.bound import Bound, Listed, Outside
from dpsql.sql.position import refusal

_EQUAL: dict[type, bool] = {exp.EQ: True, exp.NEQ: False, exp.NullSafeEQ: True, exp.NullSafeNEQ: False}
_NULL_SAFE = (exp.NullSafeEQ, exp.NullSafeNEQ)
_NO_STRINGS: frozenset[str] = frozenset()


def comparison(text: str, node: exp.Expr, sql: str, left: Bound, right: Bound) -> Bound | None:
    """``left = right`` and its kin when one side is a column of strings and the other a string or NULL.

    ``None`` for any other comparison. Raises UnsupportedQuery where a text column is compared with another constant.
    """
    kind = type(node)
    column, other = (left, right) if left.strings is not None else (right, left)
    if column.strings is None or kind not in _EQUAL:
        return None
    equal, safe = _EQUAL[kind], kind in _NULL_SAFE
    if other.literal is not None:
        null = _truth(not equal) if safe else Outside.NULL
        return _listed(column, sql, frozenset((other.literal,)), _truth(equal), null, _truth(not equal))
    if other.sql == "NULL":
        null, outside = (_truth(equal), _truth(not equal)) if safe else (Outside.NULL, Outside.NULL)
        return _listed(column, sql, _NO_STRINGS, outside, null, outside)
    if column.text is not None and not other.columns:
        raise _no_literal(text, node, column.text, "write the string itself between quotes")
    return None


def null_test(sql: str, column: Bound, *, negated: bool) -> Bound | None:
    """``column IS [NOT] NULL``; ``None`` when that is no column of strings."""
    if column.strings is None:
        return None
    outside = _truth(negated)
    return _listed(column, sql, _NO_STRINGS, outside, _truth(not negated), outside)


def membership(text: str, node: exp.Expr, sql: str, column: Bound, items: Sequence[Bound]) -> Bound | None:
    """``column IN (items)``; ``None`` when that is no column of strings, or its category is compared with others."""
    if column.strings is None:
        return None
    if any(b.literal is None and b.sql != "NULL" for b in items):
        if column.text is None:
            return None
        raise _no_literal(text, node, column.text, "list strings between quotes")
    strings = frozenset(b.literal for b in items if b.literal is not None)
    outside = Outside.FALSE if all(b.literal is not None for b in items) else Outside.NULL
    return _listed(column, sql, strings, Outside.TRUE, Outside.NULL, outside)


def truth_table(listed: Listed, strings: Collection[Value], *, other: bool) -> Weights:
    """1 where the predicate is TRUE: one entry per string (or NULL), and with ``other`` one more for all others.

    >>> one_of = Listed("name", frozenset("a"), Outside.TRUE, Outside.NULL, Outside.FALSE)
    >>> truth_table(one_of, ["a", "b", None], other=True).tolist()
    [1, 0, 0, 0]
    """
    inside, outside = listed.inside is Outside.TRUE, listed.outside is Outside.TRUE
    null, wanted = listed.null is Outside.TRUE, listed.listed
    found = [null if s is None else inside if s in wanted else outside for s in strings]
    if other:
        found.append(outside)
    return np.array(found, dtype=np.int64)


def _listed(
    column: Bound, sql: str, strings: frozenset[str], inside: Outside, null: Outside, outside: Outside
) -> Bound:
    decided = Listed(column.strings or "", strings, inside, null, outside)
    if column.text is None:
        return Bound(sql, column.columns, listed=decided)
    return Bound(sql, column.columns, {column.text: outside}, {column.text: strings}, listed=decided)


def _truth(value: bool) -> Outside:
    return Outside.TRUE if value else Outside.FALSE


def _no_literal(text: str, node: exp.Expr, column: str, hint: str) -> Exception:
    reason = f"the text column {column} is compared with something that is no string literal"
    return refusal(text, node, reason, hint)
