"""What a condition asks beyond the declared values of a column; ``undeclared_notes`` has the words.

``gender = 'Male'`` where 'male' is declared is a question about nothing: its answer is 0, exactly, and true of the
declared values. So the answer stays, and a note says what was asked. Of other conditions on one column it is a
question: whether some declared values fulfil it and others do not (``counting.fulfilled``). And where NULL is shown,
tested or made a value it stands for undeclared values too. Here are only literals of the analyst's and the policy's
declarations.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from sqlglot import exp

from dpsql.domain import (
    CategoryDomain,
    DateDomain,
    FiniteDomain,
    IntegerDomain,
    NumberDomain,
    TableDomain,
    TextDomain,
    undeclared_become,
)
from dpsql.shortened import shortened
from dpsql.sql.expressions.bound import Bound
from dpsql.sql.statement import Remark
from dpsql.sql.text.parse import to_sql
from dpsql.sql.undeclared_notes import SHOWN, declared_ends

_NUMBER = re.compile(r"-?(?:[0-9]{1,18}(?:\.[0-9]{1,18})?|\.[0-9]{1,18})(?:[eE][+-]?[0-9]{1,3})?")
_DATE = re.compile(r"(?:CAST\()?'([0-9]{4}-[0-9]{2}-[0-9]{2})'(?: AS DATE\))?")
_MOMENT = re.compile(
    r"(?:CAST\()?'([0-9]{4}-[0-9]{2}-[0-9]{2}(?: [0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?)'(?: AS (?:DATE|TIMESTAMP)\))?"
)
_TIMED = re.compile(
    r"(?:CAST\()?'([0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[ T]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?)?)'(?: AS (?:DATE|TIMESTAMP)\))?"
)
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_EQUAL = ("=", "<>", "IN", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
_ORDERING = (*_MIRRORED, "BETWEEN")
_CONDITIONS = frozenset(
    {
        "contains", "ends_with", "isfinite", "isinf", "isnan", "prefix", "regexp_full_match", "regexp_matches",
        "starts_with", "suffix",
    }
)  # fmt: skip
"""Functions that are conditions."""
_NULL = "NULL"
_LONGEST_CONDITION = 60

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


@dataclass(frozen=True, eq=False, slots=True)
class Question:
    """A condition on one column of which nobody has looked yet whether all declared values fulfil it, or none.

    ``text``: as it was written.
    """

    table: TableDomain
    column: FiniteDomain
    text: str
    bound: Bound


Remarked = Remark | Question


def null_remarks(table: TableDomain, parts: Iterable[Bound], *, grouped: bool = False) -> list[Remark]:
    """That NULL of columns stands for undeclared values too, where it does."""
    names = dict.fromkeys(name for part in parts for name in sorted(part.columns, key=table.order.__getitem__))
    found = [table.by_name[name.lower()] for name in names]
    finite = [c for c in found if not isinstance(c, TextDomain) and undeclared_become(c) == "NULL"]
    return [Remark(table.name, c, grouped=grouped) for c in finite]


def order_remarks(table: TableDomain, parts: Iterable[Bound]) -> list[Remark]:
    """That strings of a column are compared byte by byte, where they are declared in another order: those of numbers
    and of enumerations may be."""
    found = [plain_column(table, part) for part in parts]
    strings = [c for c in found if isinstance(c, CategoryDomain)]
    return [Remark(table.name, c, as_text=True) for c in strings if list(c.values) != sorted(c.values, key=str.encode)]


def condition_remarks(
    table: TableDomain, node: exp.Expr, symbol: str, made: Bound, parts: Sequence[Bound]
) -> Sequence[Remarked]:
    """Those of a comparison, ``parts[0] symbol parts[1:]``, which is ``node`` and was bound as ``made``."""
    columns = [part for part in parts if part.columns]
    out = order_remarks(table, columns) if symbol in _ORDERING else []
    if symbol in ("IS DISTINCT FROM", "IS NOT DISTINCT FROM"):
        known = [p for p in parts if not p.columns and p.sql != _NULL]
        out += null_remarks(table, columns) if symbol == "IS DISTINCT FROM" or not known else []
    left, *items = parts
    found = comparison_remark(table, symbol, left, *items) if len(items) == 1 else remark(table, symbol, left, items)
    if found is not None:
        return [*out, found]
    if _is_understood(table, symbol, parts) or any(p.sql == _NULL for p in parts):
        return out
    return [*out, *question(table, node, made)]


def called_remarks(
    table: TableDomain, node: exp.Expr, name: str, made: Bound, parts: Sequence[Bound]
) -> Sequence[Remarked]:
    """Those of a function: conditions are questions, others make a value of NULL."""
    match name:
        case "coalesce" | "ifnull":
            return null_remarks(table, parts[:-1])
        case "if" if len(parts) == 3:
            return chosen_remarks(table, parts[:1], parts[2])
        case "concat" | "concat_ws" | "greatest" | "least" if len(parts) > 1:
            return null_remarks(table, parts)
        case _:
            return question(table, node, made) if name in _CONDITIONS else ()


def chosen_remarks(table: TableDomain, decides: Sequence[Bound], otherwise: Bound) -> list[Remark]:
    """Those of a value that is ``otherwise`` where a condition is NULL."""
    return [] if otherwise.sql in (_NULL, "FALSE") else null_remarks(table, decides)


def question(table: TableDomain, node: exp.Expr, made: Bound) -> list[Question]:
    """Whether all declared values or none fulfil ``made``, where it is of one column that may hold others."""
    if len(made.columns) != 1 or made.outside:
        return []
    (name,) = made.columns
    column = table.by_name.get(name.lower())
    if column is None or isinstance(column, TextDomain) or undeclared_become(column) == "none":
        return []
    text = _written(node)
    return [] if "\n" in text else [Question(table, column, text, made)]  # which stands in names that nobody wrote


def _written(node: exp.Expr) -> str:
    """A condition as it was written, shortened."""
    if isinstance(node, exp.In) and len(node.expressions) > SHOWN:
        return f"{_written(node.this)} IN (...)"
    return shortened(to_sql(node, normalize_functions=False), _LONGEST_CONDITION)


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
        case CategoryDomain() if symbol in _EQUAL:
            literals = dict.fromkeys(i.literal for i in items if i.literal is not None)
            missing = set(literals).difference(column.values)
            asked = tuple(s for s in literals if s in missing)
        case IntegerDomain() | NumberDomain():
            places = [_number(i) for i in items]
            asked = _beyond(column, symbol, places)
            ends = () if asked else _ends_cut(column, symbol, places)
            if ends:
                return Remark(table.name, column, ends, fulfilled="end")
        case DateDomain():
            asked = _beyond(column, symbol, [_date(i, column) for i in items])
            symbols = (">=", "<=") if symbol == "BETWEEN" else [symbol] * len(items)
            found = [] if asked else [_inexact(column, s, i) for s, i in zip(symbols, items, strict=True)]
            moments = tuple([text for text in found if text is not None])
            if moments:
                return Remark(table.name, column, moments=moments)
        case _:
            return None
    return Remark(table.name, column, asked) if asked else None


def comparison_remark(table: TableDomain, symbol: str, left: Bound, right: Bound) -> Remark | None:
    """What ``left symbol right`` asks beyond declared values, on whichever side the column stands."""
    found = remark(table, symbol, left, (right,))
    return found or remark(table, _MIRRORED.get(symbol, symbol), right, (left,))


def _is_understood(table: TableDomain, symbol: str, parts: Sequence[Bound]) -> bool:
    """Whether a comparison is of a column with literals that :func:`remark` reads, and so has been looked at."""
    sides = [(parts[0], parts[1:])] if len(parts) > 2 else [(parts[0], parts[1:]), (parts[-1], parts[:1])]
    for left, items in sides:
        match plain_column(table, left):
            case CategoryDomain():
                known = symbol in _EQUAL and all(i.literal is not None for i in items)
            case IntegerDomain():
                numbers = [_number(i) for i in items]
                known = all(n is not None and (symbol in _MIRRORED or _is_whole(n[0])) for n in numbers)
            case NumberDomain():
                known = all(_number(i) is not None for i in items)
            case DateDomain() as column:
                known = all(_date(i, column) is not None for i in items)
            case _:
                known = False
        if known:
            return True
    return False


def _beyond(column: FiniteDomain, symbol: str, places: Sequence[tuple[Place, str] | None]) -> tuple[str, ...]:
    """The conditions that lie beyond a range, or that all of it fulfils or none; as they were written."""
    low, high = declared_ends(column)
    known = [p for p in places if p is not None]
    if len(known) < len(places) and symbol != "IN":
        return ()
    if symbol == "BETWEEN":
        (first, one), (last, other) = known
        inside = low <= first <= high and low <= last <= high
        return () if inside else (f"{column.name} BETWEEN {one} AND {other}",)
    step: Any = int(isinstance(column, IntegerDomain))
    if isinstance(column, DateDomain):
        step = timedelta(1) if column.step is None else timedelta(seconds=1)
    sign = "=" if symbol == "IN" else symbol
    return tuple(
        [f"{column.name} {sign} {text}" for place, text in known if _is_beyond(symbol, place, low, high, step)]
    )


def _ends_cut(column: FiniteDomain, symbol: str, places: Sequence[tuple[Place, str] | None]) -> tuple[str, ...]:
    """The conditions that hold at an end of a clipped range and not beyond it, or the other way: what is beyond counts
    as the end."""
    if undeclared_become(column) != "clipped" or (None in places and symbol != "IN"):
        return ()
    low, high = declared_ends(column)
    known = [p for p in places if p is not None]
    if symbol == "BETWEEN":
        (first, one), (last, other) = known
        return (f"{column.name} BETWEEN {one} AND {other}",) if first == low or last == high else ()
    cut = {"<=": (high,), ">=": (low,), "<": (), ">": ()}.get(symbol, (low, high))
    sign = "=" if symbol == "IN" else symbol
    return tuple([f"{column.name} {sign} {text}" for place, text in known if place in cut])


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


def _number(item: Bound) -> tuple[Place, str] | None:
    text = item.sql.replace("- ", "-")
    return (float(text), text) if _NUMBER.fullmatch(text) else None


def _is_whole(place: Place) -> bool:
    return isinstance(place, float) and place.is_integer()


def _date(item: Bound, column: DateDomain) -> tuple[Place, str] | None:
    found = (_DATE if column.step is None else _MOMENT).fullmatch(item.sql)
    try:
        if found is not None and column.step is not None:
            return datetime.fromisoformat(found[1]), f"'{found[1]}'"
        return None if found is None else (date.fromisoformat(found[1]), f"'{found[1]}'")
    except ValueError:
        return None


def _inexact(column: DateDomain, symbol: str, item: Bound) -> str | None:
    """A moment that is written out, where the starts of the rows' hours compare with it unlike the rows' own times.

    A day alone is a day of a column of days; of one of hours it is the first moment of that day.
    """
    found = _TIMED.fullmatch(item.sql)
    if found is None:
        return None
    inside = slice({"hour": 1, "minute": 2}.get(column.unit, 0), 3)
    time, rest = (found[2] or "00", found[3] or "00", found[4] or "00"), (found[5] or "").strip("0")
    starts = time[inside] == ("00", "00", "00")[inside] and not rest
    ends = time[inside] == ("23", "59", "59")[inside]
    exact = (starts and (symbol in ("<", ">=") or column.step is None)) or (ends and symbol in ("<=", ">"))
    return None if exact else f"'{found[1]}'"
