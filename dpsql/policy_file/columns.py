"""One column of the policy file: read, written back, and drafted from a database's schema.

All that the file says of a kind of column stands here: a kind that is added to ``dpsql.domain`` changes no other file
of this package.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import cast, get_args

from dpsql.domain import (
    EXACT_BELOW,
    LONGEST_PREFIX,
    BooleanDomain,
    CategoryDomain,
    ColumnDomain,
    DateDomain,
    DateUnit,
    IntegerDomain,
    NumberDomain,
    TextDomain,
)
from dpsql.domain.column import MAX_COLUMN_CELLS
from dpsql.errors import PolicyError
from dpsql.policy_file.schema import ColumnSchema
from dpsql.policy_file.toml_table import TomlTable, kind, quoted, quoted_key, quoted_list

MAX_FLOAT = Fraction(sys.float_info.max)
_SMALL = {"TINYINT": (-128, 127), "UTINYINT": (0, 255)}
_INTEGERS = frozenset(["SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"])
_NUMBERS = frozenset(["FLOAT", "REAL", "DOUBLE", "DECIMAL", "NUMERIC"])
_BINS = 20  # that a draft proposes
_LONGEST_LIST = 1000
_LONGEST_RANGE = 100_000
_FROM_DATA = "FROM THE DATA, replace it by what is publicly known"


def read_column(name: str, keys: TomlTable) -> ColumnDomain:
    """The domain that ``keys`` declare for the column ``name``; PolicyError at the offending key otherwise."""
    chosen = keys.choice("type", tuple(_READERS))
    known, read = _READERS[chosen]
    keys.only(("type", *known, "nullable"), f'a column of type "{chosen}"')
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
    example = "bins = 20, or bins = [0, 10, 20.5]"
    bins = keys.value("bins", example)
    if isinstance(bins, list):
        exact = [keys.exact("bins", edge, example, i) for i, edge in enumerate(bins)]
        edges = tuple(_to_float(keys, "bins", edge) for edge in exact)
        for key, end in (("min", exact[:1]), ("max", exact[-1:])):
            if key in keys and [keys.number(key)] != end:
                keys.refuse(key, "disagrees with the edges in bins", f"leave {key} out: the edges say it")
        return NumberDomain(name, edges, nullable)
    if isinstance(bins, bool) or not isinstance(bins, int):
        keys.refuse("bins", f"must be a whole number or a list of edges, not {kind(bins)}", f"write {example}")
    count = keys.integer("bins", 1, MAX_COLUMN_CELLS, example=example)
    low, high = keys.number("min", "min = 0"), keys.number("max", "max = 100")
    if low >= high:
        keys.refuse("min", "must be below max", "swap min and max")
    edges = tuple(_to_float(keys, "max", low + (high - low) * Fraction(i, count)) for i in range(count + 1))
    return NumberDomain(name, edges, nullable)


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
    return DateDomain(name, _day(keys, "min"), _day(keys, "max"), unit, nullable)


def _text(name: str, keys: TomlTable, nullable: bool) -> ColumnDomain:
    lengths = keys.array("prefixes", "prefixes = [1, 2]") if "prefixes" in keys else []
    for i, n in enumerate(lengths):
        if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= LONGEST_PREFIX:
            keys.refuse("prefixes", f"must be a length from 1 to {LONGEST_PREFIX}", "write prefixes = [1, 2]", i)
    if sorted(set(lengths)) != lengths:
        keys.refuse("prefixes", "lengths must increase", "write prefixes = [1, 2]")
    return TextDomain(name, tuple(lengths), nullable)


def _day(keys: TomlTable, key: str) -> date:
    example = f"{key} = 2019-01-31, without quotes"
    found = keys.value(key, example)
    if isinstance(found, datetime) or not isinstance(found, date):
        keys.refuse(key, "must be a date", f"write {example}")
    return found


def _to_float(keys: TomlTable, key: str, exact: Fraction) -> float:
    if abs(exact) > MAX_FLOAT:
        keys.refuse(key, "must be a finite number of ordinary size", f"write {key} = 100")
    return float(exact)


_READERS: dict[str, tuple[tuple[str, ...], Callable[[str, TomlTable, bool], ColumnDomain]]] = {
    "integer": (("min", "max"), _integer),
    "number": (("min", "max", "bins"), _number),
    "category": (("values",), _category),
    "boolean": ((), _boolean),
    "date": (("min", "max", "unit"), _date),
    "text": (("prefixes",), _text),
}


def column_line(column: ColumnDomain) -> str:
    """One column's line: ``name = { type = ..., ... }``.

    >>> column_line(NumberDomain("hours", (0.0, 20.0, 100.0), nullable=False))
    'hours = { type = "number", bins = [0.0, 20.0, 100.0], nullable = false }'
    """
    keys = [f"type = {quoted(column.kind)}", *_keys(column)]
    if not column.nullable:
        keys.append("nullable = false")
    return f"{quoted_key(column.name)} = {{ {', '.join(keys)} }}"


def _keys(column: ColumnDomain) -> list[str]:
    match column:
        case IntegerDomain():
            return [f"min = {column.low}", f"max = {column.high}"]
        case NumberDomain():
            return [f"bins = [{', '.join(repr(e) for e in column.edges)}]"]
        case CategoryDomain():
            return [f"values = {quoted_list(column.values)}"]
        case DateDomain():
            return [f"min = {column.low}", f"max = {column.high}", f"unit = {quoted(column.unit)}"]
        case TextDomain(prefixes=prefixes) if prefixes:
            return [f"prefixes = [{', '.join(str(n) for n in prefixes)}]"]
        case BooleanDomain() | TextDomain():
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
        return Drafted(f'type = "category", values = {quoted_list(column.enum_values)}{never_null}')
    if base == "BOOLEAN":
        return Drafted(f'type = "boolean"{never_null}')
    if base in _SMALL:
        low, high = _SMALL[base]
        return Drafted(f'type = "integer", min = {low}, max = {high}{never_null}')
    if base in _INTEGERS:
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
        return Drafted(f'type = "number", min = {low}, max = {high}, bins = {_BINS}', f"CHECK: {_FROM_DATA}")
    return Drafted('type = "integer", min = 0, max = 100', "CHECK: the range that is publicly known")


def _draft_number(column: ColumnSchema) -> Drafted:
    low, high = column.low, column.high
    if (
        isinstance(low, int | float | Decimal)
        and isinstance(high, int | float | Decimal)
        and -EXACT_BELOW < low < high < EXACT_BELOW  # false for NaN too
    ):
        return Drafted(
            f'type = "number", min = {floor(low)}, max = {ceil(high)}, bins = {_BINS}', f"CHECK: {_FROM_DATA}"
        )
    return Drafted(f'type = "number", min = 0, max = 100, bins = {_BINS}', "CHECK: the range and the number of bins")


def _draft_date(column: ColumnSchema) -> Drafted:
    low, high = _day_of(column.low), _day_of(column.high)
    if low is not None and high is not None and low <= high:
        return Drafted(f'type = "date", min = {low}, max = {high}, unit = "month"', f"CHECK: {_FROM_DATA}")
    return Drafted('type = "date", min = 2000-01-01, max = 2030-12-31, unit = "month"', "CHECK: the range and the unit")


def _draft_text(column: ColumnSchema, never_null: str) -> Drafted:
    values = column.values
    if values and len(values) <= _LONGEST_LIST and not any("\0" in v for v in values):
        return Drafted(f'type = "category", values = {quoted_list(dict.fromkeys(values))}', f"CHECK: {_FROM_DATA}")
    note = 'unbounded; better, when the values are known: type = "category", values = ["a", "b"]'
    return Drafted(f'type = "text"{never_null}', note)


def _day_of(value: object) -> date | None:
    if isinstance(value, datetime):
        return value.date()
    return value if isinstance(value, date) else None


def _printable(sql_type: str) -> str:
    return sql_type if sql_type.isprintable() else "such"
