"""Comparing one column of strings, or its start, with literals: decided string by string, without asking DuckDB.

DuckDB compares strings byte by byte and LIKE by code points, and both are NULL for NULL; no collation is set.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from sqlglot import exp

from dpsql.dialect.quoting import written
from dpsql.domain import LONGEST_PREFIX, TableDomain, TextDomain, Value
from dpsql.errors import UnsupportedQuery
from dpsql.query import Weights
from dpsql.sql.expressions.bound import Bound, Listed, Outside, Text
from dpsql.sql.expressions.text_classes import Candidate, Start
from dpsql.sql.text.position import first_place, refusal

_EQUAL: dict[type, bool] = {exp.EQ: True, exp.NEQ: False, exp.NullSafeEQ: True, exp.NullSafeNEQ: False}
_NULL_SAFE = (exp.NullSafeEQ, exp.NullSafeNEQ)
_NO_STRINGS: frozenset[str] = frozenset()


def comparison(text: str, node: exp.Expr, sql: str, left: Bound, right: Bound) -> Bound | None:
    """``left = right`` and its kin when one side is a column of strings and the other a string or NULL.

    ``None`` for any other comparison. Raises UnsupportedQuery where a text column is compared with another constant.
    """
    kind = type(node)
    if kind is exp.Like:
        return _like(sql, left, right, negated=bool(node.args.get("negate")))
    if kind is exp.StartsWith:
        return starts_with(sql, left, right)
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


def _like(sql: str, column: Bound, pattern: Bound, *, negated: bool) -> Bound | None:
    """``text LIKE 'ab%'`` and ``text LIKE 'ab'``; ``None`` for any other pattern, column or its start."""
    if column.text is None or column.text.start is not None or pattern.literal is None:
        return None
    stem = pattern.literal.rstrip("%")
    if "%" in stem or "_" in stem:
        return None
    if stem == pattern.literal:
        return _listed(column, sql, frozenset((stem,)), _truth(not negated), Outside.NULL, _truth(negated))
    return _started(column, sql, column.text, stem, negated=negated)


def starts_with(sql: str, column: Bound, start: Bound) -> Bound | None:
    """``starts_with(text, 'ab')``; ``None`` for anything but a text column and a string literal."""
    if column.text is None or column.text.start is not None or start.literal is None:
        return None
    return _started(column, sql, column.text, start.literal, negated=False)


def first_characters(name: str, sql: str, arguments: Sequence[Bound]) -> Bound | None:
    """``left(text, 2)`` and ``substr(text, 1, 2)`` of a text column; ``None`` for any other call.

    Where 2 is no declared length the expression is an ordinary one, that remembers the length.
    """
    numbers = [a.sql for a in arguments[1:]]
    if name in ("substr", "substring") and numbers[:1] == ["1"]:
        numbers = numbers[1:]
    elif name != "left":
        return None
    column = arguments[0] if arguments else Bound("")
    text = column.text
    if len(numbers) != 1 or text is None or not (numbers[0].isdecimal() and numbers[0].isascii()):
        return None
    length = int(numbers[0][:20])
    if text.start is not None:
        length = min(length, text.start)
    if length in text.lengths:
        return column._replace(sql=sql, text=text._replace(start=length))
    return column._replace(sql=sql, text=None, strings=None, undeclared=length)


def truth_table(listed: Listed, strings: Iterable[Value]) -> Weights:
    """1 where the predicate is TRUE: one entry per string (or NULL).

    >>> one_of = Listed("name", frozenset("a"), Outside.TRUE, Outside.NULL, Outside.FALSE, length=1)
    >>> truth_table(one_of, ["a", "abc", "b", None]).tolist()
    [1, 1, 0, 0]
    """
    inside, outside = listed.inside is Outside.TRUE, listed.outside is Outside.TRUE
    null, wanted, length = listed.null is Outside.TRUE, listed.listed, listed.length
    if length is not None:
        strings = [s if s is None else str(s)[:length] for s in strings]
    found = [null if s is None else inside if s in wanted else outside for s in strings]
    return np.array(found, dtype=np.int64)


def text_refusal(text: str, bound: Bound, column: str, table: TableDomain) -> UnsupportedQuery:
    """The refusal of an expression that depends on every string of a text column."""
    reason = f"the answer depends on every possible string of the text column {column}"
    lengths = next((c.prefixes for c in table.text if c.name == column), ())
    hint = "list the strings with = or IN (...)"
    wanted = bound.undeclared or 0
    if 0 < wanted <= LONGEST_PREFIX:
        reason = f"{reason}: the policy declares no prefixes of {wanted} character{'s' if wanted > 1 else ''}"
        listed = ", ".join(f"{n}" for n in sorted({*lengths, wanted}))
        hint = f"{hint}, or ask the owner to declare prefixes = [{listed}]"
    elif not lengths:
        hint = f"{hint}, or ask the owner to declare the column's values as a category"
    if lengths:
        declared = " or ".join(f"{n}" for n in lengths)
        hint = f"ask for a prefix of length {declared}, such as LIKE '{'abcd'[: lengths[0]]}%'; or {hint}"
    return refusal(text, None, reason, hint)


def unshown_refusal(text: str, column: str, table: TableDomain, least: int) -> UnsupportedQuery:
    """The refusal of what only released strings could answer, of a column whose strings have too few rows for that.

    ``least``: from how many rows on a string could be shown.
    """
    declared = next(c for c in table.text if c.name == column)
    line, at = first_place(text, column)
    return UnsupportedQuery(
        f"no string of {column} can be shown: that takes about {least:,} rows, and by the owner's word no string has "
        f"more than {declared.max_rows_per_value:,} (max_rows_per_value)",
        line=line,
        column=at,
        hint=f"list the strings with = or IN (...), or {_by_prefix(declared)} a category column, a column derived from "
        "it, or a larger epsilon or delta",
    )


def _by_prefix(declared: TextDomain) -> str:
    if not declared.prefixes:
        return "ask the owner for prefixes,"
    return f"GROUP BY left({written(declared.name)}, {declared.prefixes[0]}), or ask the owner for"


def _started(column: Bound, sql: str, text: Text, start: str, *, negated: bool) -> Bound:
    """Whether the column begins with ``start``; an ordinary expression where that length is not declared."""
    inside, outside = _truth(not negated), _truth(negated)
    if not start:
        return _listed(column, sql, _NO_STRINGS, inside, Outside.NULL, inside)
    if len(start) not in text.lengths:
        return Bound(sql, column.columns, column.outside, column.candidates, undeclared=len(start))
    cut = column._replace(text=text._replace(start=len(start)))
    return _listed(cut, sql, frozenset((start,)), inside, Outside.NULL, outside)


def _listed(
    column: Bound, sql: str, strings: frozenset[str], inside: Outside, null: Outside, outside: Outside
) -> Bound:
    text = column.text
    if text is None:
        decided = Listed(column.strings or "", strings, inside, null, outside)
        return Bound(sql, column.columns, listed=decided)
    decided = Listed(text.column, strings, inside, null, outside, text.start)
    length = text.start
    if length is None:
        return Bound(sql, column.columns, {text.column: outside}, {text.column: strings}, listed=decided)
    starts = [Start(length, s) for s in strings if len(s) == length]
    candidates: frozenset[Candidate] = frozenset([*starts, *(s for s in strings if len(s) < length)])
    within = {text.column: Outside.FIXED} if starts else {}
    return Bound(sql, column.columns, {text.column: outside}, {text.column: candidates}, listed=decided, within=within)


def _truth(value: bool) -> Outside:
    return Outside.TRUE if value else Outside.FALSE


def _no_literal(text: str, node: exp.Expr, column: Text, hint: str) -> Exception:
    reason = f"the text column {column.column} is compared with something that is no string literal"
    return refusal(text, node, reason, hint)
