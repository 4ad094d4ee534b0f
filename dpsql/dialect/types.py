"""DuckDB's types, once: what each is to PEP 249, in Arrow, and as a column of a released table.

Everything that names a type looks here: drafting and fingerprints, group keys, released tables, type codes of a cursor.
A type without a row is refused as a group key and equals no PEP 249 type object.
"""

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any, Literal

import pyarrow as pa

from dpsql.errors import DataError, UnsupportedQuery

Family = Literal["STRING", "NUMBER", "DATETIME", "BINARY"]
"""The type object of PEP 249 that a type code equals; BOOLEAN and nested types equal none."""
HUGEINT = pa.decimal128(38, 0)
"""How DuckDB hands out HUGEINT, as it sums whole numbers: like the widest DECIMAL without a fraction."""


@dataclass(frozen=True)
class SqlType:
    """One type. ``name`` as DuckDB writes it, without sizes, values or members.

    ``arrow``: how DuckDB hands a column of it out; ``None`` where that depends on sizes, values or members, or where
    another type of the table looks the same. ``released``: how a released table holds its values, which are Python's
    natural ones (a DECIMAL comes as a float); ``None``: it is no group key.
    """

    name: str
    family: Family | None
    arrow: pa.DataType | None
    released: pa.DataType | None = None


def _same(name: str, family: Family | None, arrow: pa.DataType) -> SqlType:
    return SqlType(name, family, arrow, arrow)


TYPES = (
    _same("BOOLEAN", None, pa.bool_()),
    _same("TINYINT", "NUMBER", pa.int8()),
    _same("SMALLINT", "NUMBER", pa.int16()),
    _same("INTEGER", "NUMBER", pa.int32()),
    _same("BIGINT", "NUMBER", pa.int64()),
    SqlType("HUGEINT", "NUMBER", None, pa.int64()),
    _same("UTINYINT", "NUMBER", pa.uint8()),
    _same("USMALLINT", "NUMBER", pa.uint16()),
    _same("UINTEGER", "NUMBER", pa.uint32()),
    _same("UBIGINT", "NUMBER", pa.uint64()),
    SqlType("UHUGEINT", "NUMBER", None, pa.int64()),
    SqlType("BIGNUM", "NUMBER", None),
    _same("FLOAT", "NUMBER", pa.float32()),
    _same("DOUBLE", "NUMBER", pa.float64()),
    SqlType("DECIMAL", "NUMBER", None, pa.float64()),
    _same("VARCHAR", "STRING", pa.string()),
    SqlType("ENUM", "STRING", None, pa.string()),
    SqlType("UUID", "STRING", None, pa.string()),
    SqlType("JSON", "STRING", None),
    SqlType("BLOB", "BINARY", pa.binary()),
    SqlType("BIT", "BINARY", None),
    _same("DATE", "DATETIME", pa.date32()),
    SqlType("TIME", "DATETIME", pa.time64("us")),
    SqlType("TIME_NS", "DATETIME", pa.time64("ns")),
    SqlType("TIME WITH TIME ZONE", "DATETIME", None),
    _same("TIMESTAMP", "DATETIME", pa.timestamp("us")),
    SqlType("TIMESTAMP_S", "DATETIME", pa.timestamp("s"), pa.timestamp("us")),
    SqlType("TIMESTAMP_MS", "DATETIME", pa.timestamp("ms"), pa.timestamp("us")),
    SqlType("TIMESTAMP_NS", "DATETIME", pa.timestamp("ns"), pa.timestamp("us")),
    SqlType("TIMESTAMP WITH TIME ZONE", "DATETIME", pa.timestamp("us", "UTC")),
    SqlType("TIMESTAMPTZ_NS", "DATETIME", pa.timestamp("ns", "UTC")),
    SqlType("INTERVAL", "DATETIME", pa.month_day_nano_interval()),
    _same("NULL", None, pa.null()),
    *(SqlType(nested, None, None) for nested in ("ARRAY", "LIST", "MAP", "STRUCT", "TUPLE", "UNION")),
    *(SqlType(opaque, None, None) for opaque in ("GEOMETRY", "TYPE", "VARIANT")),
)
_ALIASES = {
    "CHAR": "VARCHAR",
    "BPCHAR": "VARCHAR",
    "TEXT": "VARCHAR",
    "STRING": "VARCHAR",
    "BYTEA": "BLOB",
    "BINARY": "BLOB",
    "VARBINARY": "BLOB",
    "VARINT": "BIGNUM",
    "REAL": "FLOAT",
    "NUMERIC": "DECIMAL",
    "TIMETZ": "TIME WITH TIME ZONE",
    "TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE",
}
_BY_NAME = {t.name: t for t in TYPES} | {'"NULL"': next(t for t in TYPES if t.name == "NULL")}
_BY_NAME |= {alias: _BY_NAME[name] for alias, name in _ALIASES.items()}
_RELEASED = {name: t.released for name, t in _BY_NAME.items() if t.released is not None}
_SHOWN = {t.arrow: t.name for t in TYPES if t.arrow is not None} | {pa.large_string(): "VARCHAR"}

NO_PYTHON_FORM = "a value of the result has no Python form, such as a date after the year 9999"

INTEGERS = frozenset(t.name for t in TYPES if t.released is not None and pa.types.is_integer(t.released))
FLOATS = frozenset(["FLOAT", "DOUBLE"])


def sql_type(name: str) -> SqlType | None:
    """The row of a type as DuckDB writes it, sizes, values and all; ``None`` for a nested type and for none.

    >>> [found.name for found in map(sql_type, ("decimal(18,3)", "ENUM('a', 'b')", "TIMESTAMPTZ")) if found]
    ['DECIMAL', 'ENUM', 'TIMESTAMP WITH TIME ZONE']
    >>> sql_type("INTEGER[]")
    """
    if name in _BY_NAME:
        return _BY_NAME[name]
    if name.endswith("]"):
        return None
    return _BY_NAME.get(name.upper().partition("(")[0].strip())


def released_type(name: str) -> pa.DataType:
    """How a released table holds a column of a DuckDB type; UnsupportedQuery for one that is no group key.

    >>> released_type("DECIMAL(10,2)")
    DataType(double)
    """
    if name in _RELEASED:
        return _RELEASED[name]
    found = sql_type(name)
    if found is not None and found.released is not None:
        return found.released
    raise UnsupportedQuery(
        f"an expression of type {name} cannot be used here", hint="cast it to a number, a string or a date"
    )


def aggregate_type(name: str) -> pa.DataType:
    """How a released table holds an aggregate of a DuckDB type: as a group key, or as counts or a list of such values.

    >>> aggregate_type("MAP(VARCHAR, UBIGINT)"), aggregate_type("DATE[]")
    (MapType(map<string, uint64>), ListType(list<item: date32[day]>))
    """
    if name.startswith("MAP(") and name.endswith(", UBIGINT)"):
        return pa.map_(released_type(name[len("MAP(") : -len(", UBIGINT)")]), pa.uint64())
    return pa.list_(released_type(name[:-2])) if name.endswith("[]") else released_type(name)


def python_values(column: pa.ChunkedArray, released: pa.DataType) -> tuple[Any, ...]:
    """The distinct values of a column as Python's, each of which a released table of type ``released`` can hold.

    DataError for a value that has no Python form, and for two that would become one.

    >>> python_values(pa.chunked_array([[2, None]]), pa.int64())
    (2, None)
    """
    try:
        found = _in_microseconds(column).to_pylist()
        values = [float(v) if isinstance(v, Decimal) else v for v in found]
        if pa.types.is_integer(released):
            values = [None if v is None else int(v) for v in found]
        pa.array(values, released)
        alike = {v for v in values if v == v}
        fits = len(alike) == sum(v == v for v in values)
    except (ValueError, OverflowError, TypeError):  # Arrow's own errors are among them
        fits = False
    if fits:
        return tuple(values)
    raise DataError(
        "a group's value cannot be shown, such as a date after the year 9999, a whole number beyond 64 bits or "
        "a decimal of more digits than a float has",
        hint="cast the expression to VARCHAR, or round it",
    )


def _in_microseconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Python's own times have no finer ones. Arrow's own error, a ValueError, where something would be lost."""
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        return column.cast(pa.timestamp("us", column.type.tz))
    return column


def natural_values(column: pa.ChunkedArray) -> list[Any]:
    """A column of public values as Python's, which the session reckons with.

    DataError where Python has no form for one: infinite days, the year 20000, a part of a microsecond.
    """
    try:
        found: list[Any] = _in_microseconds(column).to_pylist()
    except (ValueError, OverflowError):
        pass
    else:
        return found
    raise DataError(
        "a value of a public table has no Python form: infinity, a day after 9999, a part of a microsecond",
        hint="join a subquery that bounds or rounds it: (SELECT least(x, DATE '9999-12-31') AS x, ... FROM ...)",
    )


def check_python_forms(table: pa.Table) -> None:
    """DataError when a column has a value that Python has no form for: a date after 9999, a part of a microsecond."""
    for column in table.columns:
        if pa.types.is_temporal(column.type):
            try:
                _in_microseconds(column).to_pylist()
                continue
            except (ValueError, OverflowError):
                pass
            raise DataError(NO_PYTHON_FORM, hint="cast the column to VARCHAR")


def python_column(column: pa.ChunkedArray) -> list[Any]:
    """A column of a result as Python's values: maps as dictionaries, intervals with 30 days in a month, sums of whole
    numbers as whole numbers, as DuckDB's own cursors give them. Raises what pyarrow does for a value without a form.

    >>> python_column(pa.chunked_array([[[("a", 1)], None]], pa.map_(pa.string(), pa.int64())))
    [{'a': 1}, None]
    """
    values: list[Any] = column.to_pylist()
    if pa.types.is_map(column.type):
        return [None if v is None else dict(v) for v in values]
    if pa.types.is_interval(column.type):
        return [None if v is None else _span(*v) for v in values]
    if column.type == HUGEINT:
        return [None if v is None else int(v) for v in values]
    return values


def written_column(column: pa.ChunkedArray) -> list[Any]:
    """The same for what is read as text: intervals are written as DuckDB writes them.

    >>> written_column(pa.chunked_array([[(14, 3, 90_500_000_000), (0, -1, 0)]], pa.month_day_nano_interval()))
    ['1 year 2 months 3 days 00:01:30.5', '-1 day']
    """
    if not pa.types.is_interval(column.type):
        return python_column(column)
    return [None if v is None else _written_span(*v) for v in column.to_pylist()]


def for_pandas(table: pa.Table) -> pa.Table:
    """A result with columns that pandas has types for: decimals as floats, days as moments, intervals as Python's."""

    def held(column: pa.ChunkedArray) -> pa.ChunkedArray:
        if pa.types.is_decimal(column.type):
            return column.cast(pa.float64())
        if pa.types.is_date(column.type):
            return column.cast(pa.timestamp("us"))
        if pa.types.is_interval(column.type):
            return pa.chunked_array([pa.array(python_column(column), pa.duration("us"))])
        return column

    return pa.table([held(c) for c in table.columns], names=table.column_names)


def _span(months: int, days: int, nanoseconds: int) -> timedelta:
    return timedelta(days=30 * months + days, microseconds=nanoseconds // 1000)


def _written_span(months: int, days: int, nanoseconds: int) -> str:
    years, months = int(months / 12), months - 12 * int(months / 12)
    parts = [(years, "year"), (months, "month"), (days, "day")]
    words = [f"{n} {name}{'' if abs(n) == 1 else 's'}" for n, name in parts if n]
    seconds, micros = divmod(abs(nanoseconds) // 1000, 1_000_000)
    if seconds or micros or not words:
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        fraction = f".{micros:06}".rstrip("0") if micros else ""
        words.append(f"{'-' if nanoseconds < 0 else ''}{clock}{fraction}")
    return " ".join(words)


def type_name(arrow: pa.DataType) -> str:
    """The DuckDB type that a column of a result shows; Arrow's own name where DuckDB has none.

    >>> type_name(pa.decimal128(38, 0)), type_name(pa.map_(pa.string(), pa.list_(pa.int64())))
    ('HUGEINT', 'MAP(VARCHAR, BIGINT[])')
    """
    if arrow == HUGEINT:
        return "HUGEINT"
    if pa.types.is_decimal(arrow):
        return f"DECIMAL({arrow.precision},{arrow.scale})"
    if pa.types.is_map(arrow):
        return f"MAP({type_name(arrow.key_type)}, {type_name(arrow.item_type)})"
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow):
        return f"{type_name(arrow.value_type)}[]"
    return _SHOWN.get(arrow) or str(arrow).upper()


def is_number(arrow: pa.DataType) -> bool:
    """Whether a column of a result holds numbers.

    >>> is_number(pa.decimal128(38, 0)), is_number(pa.bool_())
    (True, False)
    """
    return bool(pa.types.is_integer(arrow) or pa.types.is_floating(arrow) or pa.types.is_decimal(arrow))
