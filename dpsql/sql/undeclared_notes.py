"""Notes of what a statement asks beyond declared values: in the words of its analyst and of the policy. Public."""

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from difflib import get_close_matches
from typing import Any

from dpsql.domain import (
    BooleanDomain,
    CategoryDomain,
    DateDomain,
    Fate,
    FiniteDomain,
    IntegerDomain,
    NumberDomain,
    undeclared_become,
)
from dpsql.result import Note
from dpsql.shortened import shortened
from dpsql.sql.statement import Remark

SHOWN = 3
"""Literals of a column that a note shows."""
_LONGEST = 40
"""Characters of a literal that a note shows, and of those that are compared with declared values."""
_COMPARED = 1000
"""Declared values among which the most similar one is sought."""
_ALIKE = 0.75
"""``difflib``'s ratio from which a declared value may be what was meant."""
_ENDS = (date.max, datetime.combine(date.max, time.max))
"""Of cells behind which there is no day, or no moment."""
_COUNTS_AS = {
    "day": "17:59 counts as 00:00 of its day",
    "hour": "17:59 counts as 17:00",
    "minute": "17:00:59 counts as 17:00:00",
}
_FATES: dict[Fate, str] = {
    "clipped": "count as the nearer end",
    "NULL": "count as NULL",
    "left out": "are not counted",
    "none": "do not exist",
}


def notes_of(remarks: Iterable[Remark]) -> tuple[Note, ...]:
    """One note for each column and kind, in the order in which they were asked first.

    >>> sex = CategoryDomain("sex", ("female", "male"))
    >>> print(*notes_of([Remark("people", sex, ("Male",)), Remark("people", sex, ("x", "Male"))]))
    'Male' and 'x' are not among the declared values of sex (did you mean 'male'?); rows with other values count as NULL
    """
    found: dict[tuple[object, ...], tuple[Remark, dict[str, None]]] = {}
    for one in remarks:
        key = (one.table, one.column.name, bool(one.asked), bool(one.moments), one.fulfilled, one.as_text)
        found.setdefault(key, (one, {}))[1].update(dict.fromkeys(one.asked or one.moments))
    told = {(one.table, one.column.name) for one, said in found.values() if said and not one.moments}
    notes = [
        _note(one, list(said))
        for one, said in found.values()
        if said or one.as_text or (one.table, one.column.name) not in told or undeclared_become(one.column) != "NULL"
    ]
    return tuple(dict.fromkeys(notes))


def _midnights(column: DateDomain, moments: Sequence[str]) -> Note:
    """That a row of a date column holds no time of day, or none so fine as what it is compared with."""
    part = column.unit if column.step is not None else "day"
    asked = f"{column.name} is compared with {_listed(moments)} as the start of each row's {part}"
    meant = f"{_COUNTS_AS[part]}, so < and >= a whole {part} are exact"
    return Note("undeclared", f"{asked}, the finest that is declared: {meant}")


def _note(one: Remark, asked: Sequence[str]) -> Note:
    column, name = one.column, one.column.name
    if one.moments and isinstance(column, DateDomain):
        return _midnights(column, asked)
    if one.as_text:
        least, greatest = (end(column.values, key=lambda v: str(v).encode()) for end in (min, max))
        ends = f"{_quoted(str(least))} is the least and {_quoted(str(greatest))} the greatest"
        return Note("statement", f"values of {name} are compared as text, byte by byte: {ends}")
    fate = undeclared_become(column)
    if not asked and fate == "clipped":
        low, high = declared_ends(column)
        return Note(
            "undeclared",
            f"{name} is clipped to its declared range, {low} to {high}: what lies outside counts as the nearer end",
        )
    if not asked:
        return Note("null", f"NULL of {name} stands for values that are not declared, too")
    void = ", NaN as NULL" if fate == "clipped" and any("nan" in text.lower() for text in asked) else ""
    return Note("undeclared", f"{_asking(one, asked)}; rows with other values {_FATES[fate]}{void}")


_CALCULATED = re.compile(r" [-+*/%] .* = | = .* [-+*/%] ")
"""An equation of what is calculated."""


def _asking(one: Remark, asked: Sequence[str]) -> str:
    """What goes beyond the declared values, or tells none of them from another."""
    column, name, alone = one.column, one.column.name, len(asked) == 1
    if one.fulfilled == "end":
        low, high = declared_ends(column)
        verb = "asks" if alone else "ask"
        return f"{_listed(asked)} {verb} about an end of what is declared of {name}, {low} to {high}"
    if one.fulfilled:
        low, high = declared_ends(column)
        which = name if isinstance(column, CategoryDomain) else f"{name}, {low} to {high},"
        none = one.fulfilled == "none"
        found = (
            f"{'no declared value' if none else 'all declared values'} of {which} fulfil{'s' * none} {_listed(asked)}"
        )
        if none and isinstance(column, NumberDomain) and any(_CALCULATED.search(text) for text in asked):
            found += " (its values are doubles here, whatever the column's type, and arithmetic rounds them: use round)"
        return found
    if isinstance(column, CategoryDomain):
        meant = dict.fromkeys(s for s in (_similar(a, column.values) for a in asked[:SHOWN]) if s is not None)
        hint = f" (did you mean {' or '.join(map(_quoted, meant))}?)" if meant else ""
        listed = _listed([_quoted(a) for a in asked])
        return f"{listed} {'is' if alone else 'are'} not among the declared values of {name}{hint}"
    low, high = declared_ends(column)
    return f"{_listed(asked)} {'goes' if alone else 'go'} beyond the declared values of {name}, {low} to {high}"


def declared_ends(column: FiniteDomain) -> tuple[Any, Any]:
    """The least and the greatest declared value; of dates the first and the last day, or second, of their cells, which
    are in as a whole.

    >>> print(*declared_ends(DateDomain("joined", date(2019, 1, 15), date(2019, 3, 10), "month")))
    2019-01-01 2019-03-31
    """
    match column:
        case DateDomain() if column.is_binned or column.step is not None:
            return column.values[0], _last(column)
        case DateDomain():
            return column.values[0], column.values[-1]
        case IntegerDomain():
            return column.low, column.high
        case NumberDomain():
            low, high = column.edges[0], column.edges[-1]
            return (int(low), int(high)) if low.is_integer() and high.is_integer() else (low, high)
        case CategoryDomain() | BooleanDomain():
            return column.values[0], column.values[-1]


def _last(column: DateDomain) -> date:
    """The last day of the last cell, or its last second."""
    finest = timedelta(1) if column.step is None else timedelta(seconds=1)
    return column.end if column.end in _ENDS else column.end - finest


def _similar(literal: str, values: Sequence[str]) -> str | None:
    """The declared value that was meant, perhaps."""
    if len(literal) > _LONGEST or len(values) > _COMPARED:
        return None
    folded = {v.strip().casefold(): v for v in reversed(values) if len(v) <= _LONGEST}
    wanted = literal.strip().casefold()
    close = [wanted] if wanted in folded else get_close_matches(wanted, folded, 1, _ALIKE)
    return folded[close[0]] if close else None


def _listed(asked: Sequence[str]) -> str:
    shown = asked[:SHOWN]
    if len(asked) > SHOWN:
        return f"{', '.join(shown)} and {len(asked) - SHOWN:,} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _quoted(literal: str) -> str:
    return "'" + shortened(literal, _LONGEST).replace("'", "''") + "'"
