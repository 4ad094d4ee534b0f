"""What a condition asks beyond the declared values of a column, in words.

``gender = 'Male'`` where 'male' is declared is a question about nothing: its answer is 0, exactly, and true of the
declared values. So the answer stays, and a note says what was asked. Here are only literals of the analyst's and the
policy's declarations.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
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
    TableDomain,
    TextDomain,
    undeclared_become,
)
from dpsql.result import Note
from dpsql.sql.expressions.bound import Bound
from dpsql.sql.statement import Remark

_NUMBER = re.compile(r"-?(?:[0-9]{1,18}(?:\.[0-9]{1,18})?|\.[0-9]{1,18})(?:[eE][+-]?[0-9]{1,3})?")
_DATE = re.compile(r"(?:CAST\()?'([0-9]{4}-[0-9]{2}-[0-9]{2})'(?: AS DATE\))?")
_MOMENT = re.compile(
    r"(?:CAST\()?'([0-9]{4}-[0-9]{2}-[0-9]{2}(?: [0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?)'(?: AS (?:DATE|TIMESTAMP)\))?"
)
_TIMED = re.compile(
    r"(?:CAST\()?'([0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?)'"
    r"(?: AS TIMESTAMP\))?"
)
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_SHOWN = 3
"""Literals of a column that a note shows."""
_LONGEST = 40
"""Characters of a literal that a note shows, and of those that are compared with declared values."""
_COMPARED = 1000
"""Declared values among which the most similar one is sought."""
_ALIKE = 0.75
"""``difflib``'s ratio from which a declared value may be what was meant."""

Place = float | date


def plain_column(table: TableDomain, bound: Bound) -> FiniteDomain | None:
    """The finite column that an expression is; ``None`` for any other expression."""
    if len(bound.columns) != 1 or not bound.sql.endswith('"') or bound.outside:
        return None
    (name,) = bound.columns
    if bound.sql[1:-1].replace('""', '"') != name:
        return None
    column = table.by_name[name.lower()]
    return None if isinstance(column, TextDomain) else column


def null_remark(table: TableDomain, bound: Bound, *, grouped: bool) -> Remark | None:
    """That NULL of a column stands for undeclared values too, where it does."""
    column = plain_column(table, bound)
    if column is None or undeclared_become(column) != "NULL":
        return None
    return Remark(table.name, column, grouped=grouped)


def clip_remarks(table: TableDomain, columns: Iterable[str]) -> list[Remark]:
    """That columns which are summed or averaged are clipped to their ranges, or read as NULL beyond, where they are."""
    found = [table.by_name[name.lower()] for name in sorted(columns)]
    finite = [c for c in found if not isinstance(c, TextDomain)]
    return [Remark(table.name, c) for c in finite if undeclared_become(c) in ("clipped", "NULL")]


def remark(table: TableDomain, symbol: str, left: Bound, items: Sequence[Bound]) -> Remark | None:
    """What ``left symbol items`` asks beyond the declared values of ``left``; ``None`` for nothing.

    ``symbol``: a comparison with one item, ``IN`` with several, ``BETWEEN`` with two. Total: anything that is not a
    column compared with literals is passed over.
    """
    column = plain_column(table, left)
    match column:
        case CategoryDomain() if symbol in ("=", "<>", "IN", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"):
            literals = dict.fromkeys(i.literal for i in items if i.literal is not None)
            missing = set(literals).difference(column.values)
            asked = tuple(s for s in literals if s in missing)
        case IntegerDomain() | NumberDomain():
            asked = _beyond(column, symbol, [_number(i) for i in items])
        case DateDomain():
            asked = _beyond(column, symbol, [_date(i, column) for i in items])
            moments = [] if asked else [text for i in items if (text := _finer(i, column)) is not None]
            if moments:
                return Remark(table.name, column, moments=tuple(moments))
        case _:
            return None
    return Remark(table.name, column, asked) if asked else None


def comparison_remark(table: TableDomain, symbol: str, left: Bound, right: Bound) -> Remark | None:
    """What ``left symbol right`` asks beyond declared values, on whichever side the column stands."""
    found = remark(table, symbol, left, (right,))
    return found or remark(table, _MIRRORED.get(symbol, symbol), right, (left,))


def notes_of(remarks: Iterable[Remark]) -> tuple[Note, ...]:
    """One note for each column and kind, in the order in which they were asked first.

    >>> sex = CategoryDomain("sex", ("female", "male"))
    >>> print(*notes_of([Remark("people", sex, ("Male",)), Remark("people", sex, ("x", "Male"))]))
    'Male' and 'x' are not among the declared values of sex (did you mean 'male'?); rows with other values count as NULL
    """
    found: dict[tuple[str, str, bool, bool], tuple[FiniteDomain, dict[str, None]]] = {}
    for one in remarks:
        key = (one.table, one.column.name, bool(one.asked), bool(one.moments))
        found.setdefault(key, (one.column, {}))[1].update(dict.fromkeys(one.asked or one.moments))
    return tuple(
        dict.fromkeys(
            _midnights(column, list(said))
            if of_moments and isinstance(column, DateDomain)
            else _note(column, list(said))
            for (*_, of_moments), (column, said) in found.items()
        )
    )


def _midnights(column: DateDomain, moments: Sequence[str]) -> Note:
    """That a row of a date column holds no time of day, or none so fine as what it is compared with."""
    part = column.unit if column.step is not None else "day"
    return Note("undeclared", f"{column.name} is compared with {_listed(moments)} as the start of each row's {part}")


def _note(column: FiniteDomain, asked: Sequence[str]) -> Note:
    name = column.name
    fate = undeclared_become(column)
    if not asked and fate == "clipped":
        low, high = _ends(column)
        return Note(
            "undeclared",
            f"{name} is clipped to its declared range, {low} to {high}: what lies outside counts as the nearer end",
        )
    if not asked:
        return Note("null", f"NULL of {name} stands for values that are not declared, too")
    others = f"rows with other values {_FATES[fate]}"
    one = len(asked) == 1
    if isinstance(column, CategoryDomain):
        meant = dict.fromkeys(s for s in (_similar(a, column.values) for a in asked[:_SHOWN]) if s is not None)
        hint = f" (did you mean {' or '.join(map(_quoted, meant))}?)" if meant else ""
        listed = _listed([_quoted(a) for a in asked])
        text = f"{listed} {'is' if one else 'are'} not among the declared values of {name}{hint}"
    else:
        low, high = _ends(column)
        text = f"{_listed(asked)} {'goes' if one else 'go'} beyond the declared values of {name}, {low} to {high}"
    return Note("undeclared", f"{text}; {others}")


_FATES: dict[Fate, str] = {
    "clipped": "count as the nearer end",
    "NULL": "count as NULL",
    "left out": "are not counted",
    "none": "do not exist",
}


def _beyond(column: FiniteDomain, symbol: str, places: Sequence[tuple[Place, str] | None]) -> tuple[str, ...]:
    """The conditions that lie beyond a range, or that all of it fulfils or none; as they were written."""
    low, high = _ends(column)
    known = [p for p in places if p is not None]
    if len(known) < len(places) and symbol != "IN":
        return ()
    if symbol == "BETWEEN":
        (first, one), (last, other) = known
        inside = low <= first <= high and low <= last <= high
        return () if inside else (f"{column.name} BETWEEN {one} AND {other}",)
    step: Any = int(isinstance(column, IntegerDomain))
    if isinstance(column, DateDomain):
        step = column.step or timedelta(1)
    sign = "=" if symbol == "IN" else symbol
    return tuple(
        [f"{column.name} {sign} {text}" for place, text in known if _is_beyond(symbol, place, low, high, step)]
    )


def _is_beyond(symbol: str, place: Any, low: Any, high: Any, step: Any) -> bool:
    """Whether a comparison names a place outside [low, high], or nothing inside can fulfil it.

    The first place behind the range, with ``<``, names its end: ``step`` is how far that is.
    """
    match symbol:
        case "<":
            return bool(place <= low or place - step > high)
        case ">":
            return bool(place >= high or place + step < low)
        case _:
            return bool(place < low or place > high)


def _ends(column: FiniteDomain) -> tuple[Any, Any]:
    """The least and the greatest declared value."""
    match column:
        case IntegerDomain() | DateDomain():
            return column.low, column.high
        case NumberDomain():
            low, high = column.edges[0], column.edges[-1]
            return (int(low), int(high)) if low.is_integer() and high.is_integer() else (low, high)
        case CategoryDomain() | BooleanDomain():
            return column.values[0], column.values[-1]


def _number(item: Bound) -> tuple[Place, str] | None:
    text = item.sql.replace("- ", "-")
    return (float(text), text) if _NUMBER.fullmatch(text) else None


def _date(item: Bound, column: DateDomain) -> tuple[Place, str] | None:
    found = (_DATE if column.step is None else _MOMENT).fullmatch(item.sql)
    try:
        if found is not None and column.step is not None:
            return datetime.fromisoformat(found[1]), f"'{found[1]}'"
        return None if found is None else (date.fromisoformat(found[1]), f"'{found[1]}'")
    except ValueError:
        return None


def _finer(item: Bound, column: DateDomain) -> str | None:
    """A moment that is written out, where it is neither the start nor the last second of what a row's value may be."""
    found = _TIMED.fullmatch(item.sql)
    if found is None:
        return None
    inside = slice({"hour": 1, "minute": 2}.get(column.unit, 0), 3)
    time, rest = (found[2], found[3], found[4] or "00"), found[5] or ""
    starts = time[inside] == ("00", "00", "00")[inside] and not rest.strip("0")
    return None if starts or time[inside] == ("23", "59", "59")[inside] else f"'{found[1]}'"


def _similar(literal: str, values: Sequence[str]) -> str | None:
    """The declared value that was meant, perhaps."""
    if len(literal) > _LONGEST or len(values) > _COMPARED:
        return None
    folded = {v.strip().casefold(): v for v in reversed(values) if len(v) <= _LONGEST}
    wanted = literal.strip().casefold()
    close = [wanted] if wanted in folded else get_close_matches(wanted, folded, 1, _ALIKE)
    return folded[close[0]] if close else None


def _listed(asked: Sequence[str]) -> str:
    shown = asked[:_SHOWN]
    if len(asked) > _SHOWN:
        return f"{', '.join(shown)} and {len(asked) - _SHOWN:,} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _quoted(literal: str) -> str:
    short = literal if len(literal) <= _LONGEST else literal[: _LONGEST - 3] + "..."
    return "'" + short.replace("'", "''") + "'"
