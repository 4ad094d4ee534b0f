"""Which questions about a date column are finer than the values that its rows hold. Public.

A row of a date column holds its day, whatever time the database has beside it; one declared by hours or minutes holds
the start of its hour or minute. What asks for hours of such a column, or
moves it by hours, would get the answer of midnight for every row, so it is refused. One rule decides: an expression of
a date column may ask for parts of it down to the declared unit, and what it asked for leaves no time of day behind.
"""

import re
from collections.abc import Sequence

from sqlglot import exp

from dpsql.dialect.quoting import written
from dpsql.domain import DateDomain, TableDomain
from dpsql.errors import UnsupportedQuery
from dpsql.sql.expressions.bound import Bound
from dpsql.sql.expressions.names import quoted
from dpsql.sql.text.position import refusal

DAY, HOUR, MINUTE, SECOND = range(4)
"""How fine a question about a date is."""
_UNITS = {"hour": HOUR, "minute": MINUTE}
_UNIT_NAMES = {DAY: "day", HOUR: "hour", MINUTE: "minute", SECOND: "second"}
_PARTS = {"HOUR": HOUR, "HR": HOUR, "H": HOUR, "MINUTE": MINUTE, "MIN": MINUTE, "M": MINUTE, "MS": SECOND}
_WHOLE = frozenset(
    {
        "YEAR", "YR", "Y", "MONTH", "MON", "DAY", "D", "DAYOFMONTH", "DECADE", "DEC", "CENTURY", "CENTURIE", "CENT",
        "C", "MILLENNIUM", "MILLENNIA", "MIL", "QUARTER", "WEEK", "W", "WEEKOFYEAR", "DOW", "DAYOFWEEK",
        "WEEKDAY", "DOY", "DAYOFYEAR", "ISODOW", "ISOYEAR", "YEARWEEK", "ERA",
    }
)  # fmt: skip
"""Parts of a date that no time of day changes, in the singular."""
_OF_DAYS = frozenset(
    {
        "century", "day", "dayname", "dayofmonth", "dayofweek", "dayofyear", "decade", "era", "isodow", "isoyear",
        "last_day", "millennium", "month", "monthname", "quarter", "week", "weekday", "weekofyear", "year", "yearweek",
    }
)  # fmt: skip
NUMBERS_OF_DATES = (_OF_DAYS - {"dayname", "last_day", "monthname"}) | frozenset(
    ["date_diff", "date_part", "datediff", "datepart", "hour", "minute"]
)
"""Functions that make whole numbers of dates, whatever their arguments."""
_FINER = {"hour": HOUR, "minute": MINUTE} | dict.fromkeys(
    ("second", "millisecond", "microsecond", "nanosecond", "epoch", "epoch_ms", "epoch_us"), SECOND
)
_BINS = ("week", "month", "quarter", "year")
_SAME_IN = (
    {name: frozenset(["week"]) for name in ("week", "weekofyear", "isoyear", "yearweek")}
    | {name: frozenset(["month"]) for name in ("month", "monthname", "last_day")}
    | {"quarter": frozenset(["month", "quarter"])}
    | {name: frozenset(_BINS[1:]) for name in ("year", "decade", "century", "millennium", "era")}
)
"""Parts of a date, each with the declared units all of whose days have the same one."""
_FORMATTED = {"Y": "year", "y": "year", "m": "month", "b": "month", "B": "month"}
_BY_PART = frozenset(
    {"date_part", "datepart", "date_trunc", "datetrunc", "date_diff", "datediff", "date_sub", "datesub"}
)
_SPANS = {"to_hours": HOUR, "to_minutes": MINUTE, "make_time": SECOND} | dict.fromkeys(
    ("to_seconds", "to_milliseconds", "to_microseconds"), SECOND
)
_FORMAT = re.compile(r"%-?(.)", re.DOTALL)
_FORMATS = dict.fromkeys("HIp", HOUR) | {"M": MINUTE} | dict.fromkeys("SgfncX", SECOND)
_WHOLE_NUMBER = re.compile(r"[-+]?[0-9]+")
_COUNTED = re.compile(r"(?:\s*[-+]?[0-9]+\s*[A-Za-z]+)+")
_UNIT = re.compile(r"[A-Za-z]+")


_NUMBERED = {"quarter": range(1, 5), "isodow": range(1, 8)} | {
    name: numbers
    for names, numbers in (
        (("month", "mon"), range(1, 13)),
        (("day", "dayofmonth", "d"), range(1, 32)),
        (("dow", "dayofweek", "weekday"), range(7)),
        (("hour", "hr", "h"), range(24)),
    )
    for name in names
}
"""The numbers that parts of a date may be, of those that are few, by DuckDB's names for them."""


def part_fineness(part: str) -> int:
    """How fine a part of a date is, by any of DuckDB's names for it.

    >>> part_fineness("hours") == HOUR, part_fineness("dow") == DAY, part_fineness("epoch") == SECOND
    (True, True, True)
    """
    name = part.upper()
    singular = name.removesuffix("S")
    if name in _WHOLE or singular in _WHOLE:
        return DAY
    return _PARTS.get(name, _PARTS.get(singular, SECOND))


def span_fineness(value: Bound, unit: str) -> int:
    """How fine the interval ``INTERVAL value unit`` is; one in a string may name its units itself."""
    said = (value.sql if value.literal is None else value.literal).strip()
    if unit:
        return part_fineness(unit) if _WHOLE_NUMBER.fullmatch(said) or value.columns else SECOND
    return max(map(part_fineness, _UNIT.findall(said))) if _COUNTED.fullmatch(said) else SECOND


def asked(text: str, node: exp.Expr, table: TableDomain, made: Bound, fineness: int, what: str) -> Bound:
    """``made`` of date columns, which asks for parts of a date so fine: no time of day is left in it.

    Raises UnsupportedQuery, which names the declared unit, where that is finer than what a row holds.
    """
    if fineness > _held(table, made):
        raise _too_fine(text, node, table, made, what)
    return made._replace(times=frozenset()) if made.times else made


def met(text: str, node: exp.Expr, table: TableDomain, made: Bound) -> Bound:
    """``made`` of several parts. Raises UnsupportedQuery where dates meet spans that are not of whole days."""
    held = _held(table, made)
    if made.span > held:
        raise _too_fine(text, node, table, made, f"an interval that is not of whole {_UNIT_NAMES[held]}s")
    return made


def _held(table: TableDomain, made: Bound) -> int:
    """How fine all the date columns are whose time of day could show in ``made``; the finest where there is none."""
    units = {c.name: c.unit for c in table.columns if isinstance(c, DateDomain)}
    return min((_UNITS.get(units.get(name, ""), DAY) for name in made.times), default=SECOND)


def function(text: str, node: exp.Expr, table: TableDomain, name: str, parts: Sequence[Bound], made: Bound) -> Bound:
    """``made``, the call of a function. Raises UnsupportedQuery where it asks too much of a date column."""
    span = _SPANS.get(name, DAY)
    if span:
        return made._replace(span=max(made.span, span))
    if not made.times:
        return made
    if name in _OF_DAYS:
        return asked(text, node, table, made, DAY, name)
    if name in _FINER:
        return asked(text, node, table, made, _FINER[name], f"{name}()")
    if name in _BY_PART:
        part = parts[0].literal
        return asked(text, node, table, made, SECOND if part is None else part_fineness(part), _shown(part))
    if name == "strftime":
        form = next((p.literal for p in parts if p.literal is not None), None)
        found = [] if form is None else [(_FORMATS.get(m[1], DAY), m[0]) for m in _FORMAT.finditer(form)]
        finest = max(found, default=(DAY, "")) if form is not None else (SECOND, _shown(None))
        return asked(text, node, table, made, *finest)
    if name == "time_bucket":
        origin = node.expressions[2:]
        plain = all(isinstance(n, exp.Interval) or (isinstance(n, exp.Cast) and _is_date(n)) for n in origin)
        whole = isinstance(node.expressions[0], exp.Interval) or parts[0].sql.startswith("to_")
        fineness = made.span if plain and whole else SECOND
        return asked(
            text, node, table, made, fineness, f"a bucket that is not of whole {_UNIT_NAMES[_held(table, made)]}s"
        )
    return met(text, node, table, made)


def settled(table: TableDomain, name: str, parts: Sequence[Bound], made: Bound) -> Bound:
    """``made``, the part or function ``name`` of ``parts``, with the few numbers that it may be of a date column.

    Of a binned one nothing changes it inside of a bin all of whose days have the same, as they have the year.
    """
    made = made._replace(values=_numbers(table, name, parts))
    columns = [table.by_name[column.lower()] for column in made.steps]
    if len(made.columns) != 1 or len(columns) != 1 or not any(is_column(p, columns[0].name) for p in parts):
        return made
    asked, literal = [name], next((p.literal for p in parts if p.literal is not None), None)
    if literal is not None:
        formatted = [_FORMATTED.get(m[1], "") for m in _FORMAT.finditer(literal)]
        asked = formatted if name == "strftime" else [literal] if name.startswith("date") else [""]
    units = [_SAME_IN.get(part.lower().removesuffix("s"), frozenset()) for part in asked]
    if not isinstance(columns[0], DateDomain) or not all(columns[0].unit in u for u in units):
        return made
    return made._replace(steps={columns[0].name: frozenset()})


def _numbers(table: TableDomain, name: str, parts: Sequence[Bound]) -> tuple[float, ...]:
    """What the part or function ``name`` of a date column itself may be, if that is a few whole numbers; of a length of
    time it may be any."""
    if name in ("date_part", "datepart"):
        name = next((p.literal for p in parts if p.literal is not None), "")
    found = _NUMBERED.get(name.lower().removesuffix("s"), ())
    of_column = found and any(isinstance(c, DateDomain) and is_column(p, c.name) for c in table.columns for p in parts)
    return tuple(map(float, found)) if of_column else ()


def is_column(bound: Bound, name: str) -> bool:
    """Whether an expression is the column itself, or its day."""
    sql, column = bound.sql, quoted(name)
    while sql.startswith("(") and sql.endswith(")"):
        sql = sql[1:-1]
    return sql in (column, f"CAST({column} AS DATE)", f"CAST({column} AS TIMESTAMP)")


def cast(text: str, node: exp.Expr, table: TableDomain, to: str, inner: Bound, made: Bound) -> Bound:
    """``made``, the cast of ``inner`` to a type. Raises UnsupportedQuery for the time of day of a date column."""
    if to == "TIME":
        return asked(text, node, table, made, SECOND, "a time of day")._replace(span=SECOND)
    if to == "DATE":
        return asked(text, node, table, made, DAY, to)
    if to == "INTERVAL":
        return made._replace(span=span_fineness(inner, ""))
    return made


def _is_date(node: exp.Expr) -> bool:
    return bool(node.args["to"].this is exp.DataType.Type.DATE)


def _shown(part: str | None) -> str:
    return "a part that is no literal" if part is None else part[:40].upper()


def _too_fine(text: str, node: exp.Expr, table: TableDomain, made: Bound, what: str) -> UnsupportedQuery:
    held = _held(table, made)
    column = next(c for c in table.columns if c.name in made.times and _UNITS.get(getattr(c, "unit", ""), DAY) == held)
    unit, part = column.unit if isinstance(column, DateDomain) else "day", _UNIT_NAMES[held]
    reason = f"{column.name} is declared by {unit}, and {what} is finer"
    such = f"date_trunc('{part}', {written(column.name)})"
    hint = f"ask for parts of {column.name} down to the {part}, such as {such}"
    return refusal(text, node, reason, hint)
