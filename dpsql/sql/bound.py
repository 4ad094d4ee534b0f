"""Bound expressions: DuckDB text over declared columns, with what is known about strings outside a finite list."""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from dpsql.sql.compared import Compared, Number


class Outside(Enum):
    """Value of an expression when a text column holds a string that is none of its candidates.

    ``FIXED``: depends on other columns only. ``UNKNOWN``: depends on the string.
    """

    FALSE = 0
    TRUE = 1
    NULL = 2
    FIXED = 3
    UNKNOWN = 4


Candidates = Mapping[str, frozenset[str]]
NO_OUTSIDE: Mapping[str, Outside] = {}
NO_CANDIDATES: Candidates = {}
NO_COLUMNS: frozenset[str] = frozenset()
_SWAPPED = {Outside.FALSE: Outside.TRUE, Outside.TRUE: Outside.FALSE}


class Listed(NamedTuple):
    """A predicate on ``column`` alone, by its string: what it is on those ``listed``, on NULL, on any other."""

    column: str
    listed: frozenset[str]
    inside: Outside
    null: Outside
    outside: Outside


class Bound(NamedTuple):
    """One expression over the declared columns of one private table. Public.

    ``sql`` is DuckDB text with quoted column names and literal values. ``outside`` and ``candidates`` have an entry
    for each text column that is mentioned. ``text`` names the text column that the expression is, if it is one, and
    ``strings`` the text or category column; ``literal`` is its string, if it is a string literal. ``listed`` is set
    for a predicate that needs no evaluation, and so is ``compared``. ``numeric`` names the column of numbers that the
    expression is; ``number`` is the value of a number that is written out.
    """

    sql: str
    columns: frozenset[str] = NO_COLUMNS
    outside: Mapping[str, Outside] = NO_OUTSIDE
    candidates: Candidates = NO_CANDIDATES
    text: str | None = None
    literal: str | None = None
    strings: str | None = None
    listed: Listed | None = None
    compared: Compared | None = None
    numeric: str | None = None
    number: Number | None = None


def union(parts: Sequence[Bound]) -> frozenset[str]:
    """The columns of all parts."""
    columns = NO_COLUMNS
    for p in parts:
        if p.columns:
            columns = columns | p.columns if columns else p.columns
    return columns


def compose(sql: str, parts: Sequence[Bound]) -> Bound:
    """An expression of ``parts`` about whose meaning nothing is known: outside, it is fixed or unknown."""
    columns = union(parts)
    if not any(p.outside for p in parts):
        return Bound(sql, columns)
    outside = {t: Outside.UNKNOWN if Outside.UNKNOWN in seen else Outside.FIXED for t, seen in _seen(parts).items()}
    return Bound(sql, columns, outside, merge_candidates(parts))


def conjunction(sql: str, parts: Sequence[Bound]) -> Bound:
    """``parts`` joined by AND."""
    return _connective(sql, parts, Outside.FALSE, Outside.TRUE)


def disjunction(sql: str, parts: Sequence[Bound]) -> Bound:
    """``parts`` joined by OR."""
    return _connective(sql, parts, Outside.TRUE, Outside.FALSE)


def negation(sql: str, part: Bound) -> Bound:
    """NOT ``part``."""
    listed = part.listed
    if listed is not None:
        inside, null, other = (_SWAPPED.get(o, o) for o in listed[2:])
        listed = Listed(listed.column, listed.listed, inside, null, other)
    if not part.outside:
        return Bound(sql, part.columns, listed=listed)
    outside = {t: _SWAPPED.get(o, o) for t, o in part.outside.items()}
    return Bound(sql, part.columns, outside, part.candidates, listed=listed)


def never_true(parts: Iterable[Bound], text: str) -> bool:
    """Whether a conjunction of ``parts`` is TRUE for no string of ``text`` outside the candidates."""
    return any(p.outside.get(text) in (Outside.FALSE, Outside.NULL) for p in parts)


def merge_candidates(parts: Iterable[Bound]) -> Candidates:
    """Candidates of each text column, over all parts."""
    out: dict[str, frozenset[str]] = {}
    for p in parts:
        for t, strings in p.candidates.items():
            out[t] = out[t] | strings if t in out else strings
    return out


def _seen(parts: Sequence[Bound]) -> dict[str, set[Outside]]:
    out: dict[str, set[Outside]] = {t: set() for p in parts for t in p.outside}
    for p in parts:
        for t, seen in out.items():
            seen.add(p.outside.get(t, Outside.FIXED))
    return out


def _connective(sql: str, parts: Sequence[Bound], absorbing: Outside, neutral: Outside) -> Bound:
    columns = union(parts)
    if not any(p.outside for p in parts):
        return Bound(sql, columns)
    outside = {}
    for t, seen in _seen(parts).items():
        if absorbing in seen:
            outside[t] = absorbing
        elif Outside.UNKNOWN in seen:
            outside[t] = Outside.UNKNOWN
        elif seen == {neutral}:
            outside[t] = neutral
        elif seen <= {neutral, Outside.NULL}:
            outside[t] = Outside.NULL
        else:
            outside[t] = Outside.FIXED
    return Bound(sql, columns, outside, merge_candidates(parts))
