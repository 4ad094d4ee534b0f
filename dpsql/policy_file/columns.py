"""One column of the policy file: its keys, turned into a column domain.

One function for each kind of column; a kind that is added to ``dpsql.domain`` is read here.
"""

import sys
from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction
from typing import cast, get_args

from dpsql.domain import (
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
from dpsql.policy_file.toml_table import TomlTable, kind

MAX_FLOAT = Fraction(sys.float_info.max)


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
