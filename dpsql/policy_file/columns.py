"""One column of the policy file: read, written back, and drafted from a database's schema.

All that the file says of a kind of column stands here: a kind that is added to ``dpsql.domain`` changes no other file
of this package.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import cast, get_args

from dpsql.domain import (
    EXACT_BELOW,
    LONGEST_PREFIX,
    MOST_ROWS_OF_A_VALUE,
    Beyond,
    BooleanDomain,
    CategoryDomain,
    ColumnDomain,
    DateDomain,
    DateUnit,
    IntegerDomain,
    NumberDomain,
    TextDomain,
    log_edges,
)
from dpsql.domain.column import MAX_COLUMN_CELLS, OF_A_DAY
from dpsql.domain.scales import LINEAR_PART
from dpsql.domain.weight import check_weight
from dpsql.errors import PolicyError
from dpsql.policy_file.schema import ColumnSchema
from dpsql.policy_file.spread import bins_of
from dpsql.policy_file.toml_table import TomlTable, exact_decimal, kind, quoted, quoted_key, quoted_list

MAX_FLOAT = Fraction(sys.float_info.max)
_SMALL = {"TINYINT": (-128, 127), "UTINYINT": (0, 255)}
_INTEGERS = frozenset(["SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"])
_NUMBERS = frozenset(["FLOAT", "REAL", "DOUBLE", "DECIMAL", "NUMERIC"])
LOG_BINS = 50
"""Bins of a number column that says nothing of them, with widths that grow with the number's size."""
_BINS_EXAMPLE = 'bins = 20, or bins = { count = 50, scale = "log" }'
_MOST = "max_rows_per_value"
_LONGEST_LIST = 1000
_LONGEST_RANGE = 400
_MOST_DAYS, _MOST_DATES = 2_000, 1_000
"""Cells of a column in a draft, at most; where it has more, the next coarser unit or bins are proposed."""
_FINEST_STEP = 2
"""Digits after the point of a draft's step, at most: cents repeat, a thousandth of a metre hardly."""
_ENUM = "CHECK: an ENUM made from the values that occur is data; list what is publicly known"
_FROM_DATA = "FROM THE DATA, replace it by what is publicly known"


def read_column(name: str, keys: TomlTable) -> ColumnDomain:
    """The domain that ``keys`` declare for the column ``name``; PolicyError at the offending key otherwise."""
    chosen = keys.choice("type", tuple(_READERS))
    known, read = _READERS[chosen]
    keys.only(("type", *known, "nullable", "sql"), f'a column of type "{chosen}"')
    nullable = keys.boolean("nullable") if "nullable" in keys else True
    try:
        return read(name, keys, nullable)
    except PolicyError as error:
        if error.path != name:
            raise
        message, hint = error.message.removeprefix(f"{name}: "), error.hint
    raise PolicyError(message, path=keys.path, hint=hint)


def _integer(name: str, keys: TomlTable, nullable: bool) -> ColumnDomain:
    low, high = keys.integer("min", example="min = 0"), keys.integer("max", example="max = 100")
    return IntegerDomain(name, low, high, nullable)


def _number(name: str, keys: TomlTable, nullable: bool) -> ColumnDomain:
    outside = cast(Beyond, keys.choice("outside", get_args(Beyond))) if "outside" in keys else "clip"
    step = keys.number("step", "step = 1") if "step" in keys else None
    if step is not None and step <= 0:
        keys.refuse("step", "must be above 0", "write step = 1 for whole numbers, step = 0.01 for cents")
    listed = "edges" if "edges" in keys else "bins"
    if listed == "edges" and "bins" in keys:
        keys.refuse("bins", "says what edges says already", "leave bins or edges out")
    if listed == "edges" or ("bins" in keys and isinstance(keys.value("bins", ""), list)):
        return NumberDomain(name, _listed_edges(keys, listed), nullable, outside, step=step)
    low, high = keys.number("min", "min = 0"), keys.number("max", "max = 100")
    if low >= high:
        keys.refuse("min", "must be below max", "swap min and max" if low > high else "write a max above min")
    count, scale = _bins(keys)
    if scale == "log":
        ends = _to_float(keys, "min", low), _to_float(keys, "max", high)
        if not max(map(abs, ends)) * LINEAR_PART > 0:
            keys.refuse("max", "is too near to min", "declare a wider range")
        edges, former = (log_edges(*ends, count, through_zero=exact) for exact in (True, False))
        return NumberDomain(name, edges, nullable, outside, former=() if former == edges else former, step=step)
    edges = tuple(_to_float(keys, "max", low + (high - low) * Fraction(i, count)) for i in range(count + 1))
    if any(not a < b for a, b in pairwise(edges)):
        keys.refuse("max", "is too near to min for so many bins", "write fewer bins, or a wider range")
    return NumberDomain(name, edges, nullable, outside, step=step)


def _listed_edges(keys: TomlTable, key: str) -> tuple[float, ...]:
    example = f"{key} = [0, 10, 20.5]"
    exact = [keys.exact(key, edge, example, i) for i, edge in enumerate(keys.array(key, example))]
    for end, wanted in (("min", exact[:1]), ("max", exact[-1:])):
        if end in keys and [keys.number(end)] != wanted:
            keys.refuse(end, f"disagrees with the edges in {key}", f"leave {end} out: the edges say it")
    return tuple(_to_float(keys, key, edge) for edge in exact)


def _bins(keys: TomlTable) -> tuple[int, str]:
    """(number of bins, scale): what ``bins`` says, or what is taken where nothing is said."""
    if "bins" not in keys:
        return LOG_BINS, "log"
    bins = keys.value("bins", _BINS_EXAMPLE)
    if isinstance(bins, Mapping):
        inner = keys.table("bins", _BINS_EXAMPLE)
        inner.only(("count", "scale"), "bins")
        scale = inner.choice("scale", ("linear", "log")) if "scale" in inner else "linear"
        return inner.integer("count", 1, MAX_COLUMN_CELLS, example="count = 50"), scale
    if isinstance(bins, bool) or not isinstance(bins, int):
        keys.refuse(
            "bins", f"must be a whole number, a table or a list of edges, not {kind(bins)}", f"write {_BINS_EXAMPLE}"
        )
    return keys.integer("bins", 1, MAX_COLUMN_CELLS, example=_BINS_EXAMPLE), "linear"


def _category(name: str, keys: TomlTable, nullable: bool) -> ColumnDomain:
    values = keys.strings("values", 'values = ["a", "b"]; for numbers type = "integer" or "number"')
    for i, value in enumerate(values):
        if "\0" in value:
            keys.refuse("values", "holds a NUL character", "list the values as the table holds them", i)
    return CategoryDomain(name, values, nullable)


def _boolean(name: str, keys: TomlTable, nullable: bool) -> ColumnDomain:
    return BooleanDomain(name, nullable)


def _date(name: str, keys: TomlTable, nullable: bool) -> ColumnDomain:
    unit = cast(DateUnit, keys.choice("unit", get_args(DateUnit))) if "unit" in keys else "day"
    read = _moment if unit in OF_A_DAY else _day
    return DateDomain(name, read(keys, "min"), read(keys, "max"), unit, nullable)


def _text(name: str, keys: TomlTable, nullable: bool) -> ColumnDomain:
    lengths = keys.array("prefixes", "prefixes = [1, 2]") if "prefixes" in keys else []
    for i, n in enumerate(lengths):
        if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= LONGEST_PREFIX:
            keys.refuse("prefixes", f"must be a length from 1 to {LONGEST_PREFIX}", "write prefixes = [1, 2]", i)
    if sorted(set(lengths)) != lengths:
        keys.refuse("prefixes", "lengths must increase", "write prefixes = [1, 2]")
    most = keys.integer(_MOST, 1, MOST_ROWS_OF_A_VALUE, example=f"{_MOST} = 10") if _MOST in keys else None
    return TextDomain(name, tuple(lengths), nullable, most, read_weight(keys))


def read_weight(keys: TomlTable) -> Fraction:
    """What a table or a text column says of its weight; 1 where it says nothing. PolicyError at the key otherwise."""
    weight = keys.number("weight", "weight = 2") if "weight" in keys else Fraction(1)
    check_weight(weight, keys.at("weight"))
    return weight


def _day(keys: TomlTable, key: str) -> date:
    example = f"{key} = 2019-01-31, without quotes"
    found = keys.value(key, example)
    if isinstance(found, datetime) or not isinstance(found, date):
        keys.refuse(key, "must be a date", f"write {example}")
    return found


def _moment(keys: TomlTable, key: str) -> datetime:
    example = f"{key} = 2019-01-31T10:00:00, without quotes"
    found = keys.value(key, example)
    if not isinstance(found, datetime) or found.tzinfo is not None:
        keys.refuse(key, "must be a date and a time, without a zone, where unit is hour or minute", f"write {example}")
    return found


def _to_float(keys: TomlTable, key: str, exact: Fraction) -> float:
    if abs(exact) > MAX_FLOAT:
        keys.refuse(key, "must be a finite number of ordinary size", f"write {key} = 100")
    return float(exact)


_READERS: dict[str, tuple[tuple[str, ...], Callable[[str, TomlTable, bool], ColumnDomain]]] = {
    "integer": (("min", "max"), _integer),
    "number": (("min", "max", "bins", "edges", "outside", "step"), _number),
    "category": (("values",), _category),
    "boolean": ((), _boolean),
    "date": (("min", "max", "unit"), _date),
    "text": (("prefixes", _MOST, "weight"), _text),
}


def column_line(column: ColumnDomain, path: str = "", sql: str | None = None) -> str:
    """One column's line: ``name = { type = ..., ... }``; ``sql``: what it is worked out as, of a derived one.

    PolicyError at ``path`` for a column that is read by its cells: a file cannot say that.

    >>> column_line(NumberDomain("hours", (0.0, 20.0, 100.0), nullable=False))
    'hours = { type = "number", edges = [0.0, 20.0, 100.0], nullable = false }'
    """
    if isinstance(column, NumberDomain | DateDomain) and column.reading == "cell":
        raise PolicyError(
            "a policy file cannot say that a row holds the first value of its cell",
            path=path or column.name,
            hint='leave reading="cell" out, or pass the Policy itself to connect',
        )
    keys = [f"type = {quoted(column.kind)}", *_keys(column, path or column.name)]
    if not column.nullable:
        keys.append("nullable = false")
    if sql is not None:
        keys.append(f"sql = {quoted(sql)}")
    return f"{quoted_key(column.name)} = {{ {', '.join(keys)} }}"


def _keys(column: ColumnDomain, path: str) -> list[str]:
    match column:
        case IntegerDomain():
            return [f"min = {column.low}", f"max = {column.high}"]
        case NumberDomain():
            beyond = [] if column.outside == "clip" else [f"outside = {quoted(column.outside)}"]
            step = [] if column.step is None else [f"step = {exact_decimal(column.step, f'{path}.step')}"]
            return [f"edges = [{', '.join(repr(e) for e in column.edges)}]", *beyond, *step]
        case CategoryDomain():
            return [f"values = {quoted_list(column.values)}"]
        case DateDomain():
            return [
                f"min = {column.low.isoformat()}",
                f"max = {column.high.isoformat()}",
                f"unit = {quoted(column.unit)}",
            ]
        case TextDomain(prefixes=prefixes, max_rows_per_value=most, weight=weight):
            listed = [f"prefixes = [{', '.join(str(n) for n in prefixes)}]"] if prefixes else []
            weighs = [] if weight == 1 else [f"weight = {exact_decimal(weight, f'{path}.weight')}"]
            return [*listed, *([] if most is None else [f"{_MOST} = {most}"]), *weighs]
        case BooleanDomain():
            return []


@dataclass(frozen=True)
class Drafted:
    """``keys`` of a drafted column, or ``None`` when its type cannot be declared; ``note`` is the comment behind it."""

    keys: str | None
    note: str = ""


def draft_column(column: ColumnSchema) -> Drafted:
    """A line that loads for a column of the schema, with a conservative guess marked CHECK.

    >>> draft_column(ColumnSchema("member", "BOOLEAN")).keys
    'type = "boolean"'
    """
    if not column.name or not column.name.isprintable():
        return Drafted(None, "a column of this name cannot be declared")
    base = column.sql_type.upper().split("(")[0].strip()
    never_null = ", nullable = false" if column.not_null else ""
    if column.sql_type.rstrip().endswith("]"):
        return Drafted(None, f"{_printable(column.sql_type)} columns cannot be declared")
    if base == "ENUM" and column.enum_values and not any("\0" in v for v in column.enum_values):
        return Drafted(f'type = "category", values = {quoted_list(column.enum_values)}{never_null}', _ENUM)
    if base == "BOOLEAN":
        return Drafted(f'type = "boolean"{never_null}')
    if base in _SMALL and column.low is None:
        low, high = _SMALL[base]
        return Drafted(f'type = "integer", min = {low}, max = {high}{never_null}')
    if base in _INTEGERS or base in _SMALL:
        return _draft_integer(column)
    if base in _NUMBERS:
        return _draft_number(column)
    if base == "DATE" or base.startswith("TIMESTAMP"):
        return _draft_date(column)
    if base in ("VARCHAR", "TEXT", "UUID"):
        return _draft_text(column, never_null)
    return Drafted(None, f"{_printable(column.sql_type)} columns cannot be declared")


def _draft_integer(column: ColumnSchema) -> Drafted:
    low, high = column.low, column.high
    if isinstance(low, int) and isinstance(high, int) and -EXACT_BELOW < low <= high < EXACT_BELOW:
        if high - low < _LONGEST_RANGE:
            return Drafted(f'type = "integer", min = {low}, max = {high}', f"CHECK: {_FROM_DATA}")
        bins = bins_of(column)
        return Drafted(f'type = "number", min = {low}, max = {high}, step = 1, bins = {bins}', f"CHECK: {_FROM_DATA}")
    if not bins_of(column).isdigit():  # by its name an amount
        return Drafted(
            f'type = "number", min = 0, max = 10000, step = 1, bins = {bins_of(column)}',
            "CHECK: the range and the bins",
        )
    return Drafted('type = "integer", min = 0, max = 100', "CHECK: the range that is publicly known")


def _draft_number(column: ColumnSchema) -> Drafted:
    low, high, digits = column.low, column.high, _digits(column.sql_type)
    step = f", step = {Decimal(1).scaleb(-digits):f}" if 0 < digits <= _FINEST_STEP else ""
    if (
        isinstance(low, int | float | Decimal)
        and isinstance(high, int | float | Decimal)
        and -EXACT_BELOW < low < high < EXACT_BELOW  # false for NaN too
    ):
        ends = f"min = {floor(low)}, max = {ceil(high)}"
        return Drafted(f'type = "number", {ends}{step}, bins = {bins_of(column)}', f"CHECK: {_FROM_DATA}")
    bins = bins_of(column)
    high, note = 100 if bins.isdigit() else 10_000, "CHECK: the range and the bins"
    note += "" if step or bins.isdigit() else "; where it is money, step = 0.01"
    return Drafted(f'type = "number", min = 0, max = {high}{step}, bins = {bins}', note)


def _digits(sql_type: str) -> int:
    """Digits after the point of a decimal type; 0 of any other.

    >>> _digits("DECIMAL(18,3)"), _digits("DOUBLE"), _digits("DECIMAL")
    (3, 0, 0)
    """
    inside = sql_type.rpartition(",")[2].rstrip(") ")
    return int(inside) if "," in sql_type and inside.isdigit() else 0


def _draft_date(column: ColumnSchema) -> Drafted:
    first, last = _hour_of(column.low), _hour_of(column.high)
    if first is not None and last is not None and timedelta(0) <= last - first < _MOST_DATES * OF_A_DAY["hour"]:
        keys = f'type = "date", min = {first.isoformat()}, max = {last.isoformat()}, unit = "hour"'
        return Drafted(keys, f"CHECK: {_FROM_DATA}")
    low, high = _day_of(column.low), _day_of(column.high)
    if low is not None and high is not None and low <= high:
        unit = _finest_unit(low, high)
        return Drafted(f'type = "date", min = {low}, max = {high}, unit = "{unit}"', f"CHECK: {_FROM_DATA}")
    return Drafted('type = "date", min = 2000-01-01, max = 2030-12-31, unit = "month"', "CHECK: the range and the unit")


def _finest_unit(low: date, high: date) -> DateUnit:
    """Days, up to 2,000, or the finest unit of at most 1,000. Weeks are no part of months, so they are not proposed."""
    months = 12 * (high.year - low.year) + high.month - low.month + 1
    cells: dict[DateUnit, int] = {"day": (high - low).days + 1, "month": months, "quarter": months // 3 + 2}
    if cells["day"] <= _MOST_DAYS:
        return "day"
    return next((unit for unit, number in cells.items() if number <= _MOST_DATES), "year")


def _draft_text(column: ColumnSchema, never_null: str) -> Drafted:
    values = column.values
    if values and len(values) <= _LONGEST_LIST and not any("\0" in v for v in values):
        return Drafted(f'type = "category", values = {quoted_list(dict.fromkeys(values))}', f"CHECK: {_FROM_DATA}")
    note = 'CHECK: unbounded; better, when the values are known: type = "category", values = ["a", "b"]'
    return Drafted(f'type = "text"{never_null}', note)


def _hour_of(value: object) -> datetime | None:
    """The hour of a moment, in UTC."""
    if not isinstance(value, datetime):
        return None
    plain = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    return plain.replace(minute=0, second=0, microsecond=0)


def _day_of(value: object) -> date | None:
    if isinstance(value, datetime):
        return value.date()
    return value if isinstance(value, date) else None


def _printable(sql_type: str) -> str:
    return sql_type if sql_type.isprintable() else "such"
