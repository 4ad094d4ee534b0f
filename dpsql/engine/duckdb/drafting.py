"""What ``dpsql init`` needs to draft a policy: the schema, and, only on the owner's explicit wish, the data.

It reads values, if the owner wishes it, and shows them as they are; so it is kept out of the engine that sessions hold.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from dpsql.dialect.calls import without_cause
from dpsql.dialect.quoting import identifier
from dpsql.dialect.types import FLOATS, INTEGERS
from dpsql.engine.duckdb.catalog import Catalog, Source
from dpsql.engine.duckdb.reader import Reader, open_read_only
from dpsql.errors import EngineError, UnknownName

DISTINCT_VALUES = 200
NUMBERS = frozenset([*INTEGERS, *FLOATS, "DECIMAL"])


class ColumnDescription(NamedTuple):
    """A column as the catalog knows it: no row is read. ``enum_values`` is empty for other types."""

    name: str
    sql_type: str
    not_null: bool
    enum_values: tuple[str, ...] = ()


class TableDescription(NamedTuple):
    """A table or view and its columns."""

    name: str
    columns: tuple[ColumnDescription, ...]


@dataclass(frozen=True)
class ColumnContent:
    """What rows hold: PRIVATE, for the owner alone. ``values`` are sorted, and None above 200 distinct values.

    ``low`` and ``high`` are the smallest and largest value that is not NULL (None in an empty column) and, of numbers,
    finite; ``middle`` the median of numbers.
    """

    low: Any
    high: Any
    has_null: bool
    values: tuple[Any, ...] | None
    middle: Any = None


def _open(database: str | Path | duckdb.DuckDBPyConnection) -> Reader:
    if not isinstance(database, duckdb.DuckDBPyConnection):
        return Reader(open_read_only(database))
    gone = EngineError("the duckdb connection is closed", hint="pass an open connection or a path")
    return Reader(without_cause(database.cursor, lambda _: gone))


def describe(database: str | Path | duckdb.DuckDBPyConnection) -> list[TableDescription]:
    """Tables and views of the current database, from its catalog alone."""
    reader = _open(database)
    try:
        catalog = Catalog(reader)
        return [
            TableDescription(name, tuple(ColumnDescription(*column) for column in catalog.details(name)))
            for name in catalog.names
        ]
    finally:
        reader.close()


def hidden_tables(database: str | Path | duckdb.DuckDBPyConnection) -> tuple[tuple[str, str], ...]:
    """Tables and views that no policy can name, each with the one of its name in another schema, which goes first."""
    reader = _open(database)
    try:
        return Catalog(reader).hidden
    finally:
        reader.close()


def declared_keys(database: str | Path | duckdb.DuckDBPyConnection, table: str) -> frozenset[str]:
    """The columns of a table that alone are a primary key or UNIQUE, by its catalog alone; none of a view."""
    with _source(database, table) as (reader, source):
        found = reader.rows(
            f"reading the keys of {table}",
            "SELECT constraint_column_names[1] FROM duckdb_constraints() WHERE constraint_type IN ('PRIMARY KEY', "
            "'UNIQUE') AND len(constraint_column_names) = 1 AND lower(table_name) = lower(?) "
            "AND database_name = current_database()",
            [source.name],
        )
        return frozenset(str(name) for (name,) in found)


def count_rows(database: str | Path | duckdb.DuckDBPyConnection, table: str) -> int:
    """The number of rows of a table. Reads private rows: for the owner alone."""
    with _source(database, table) as (reader, source):
        ((number,),) = reader.rows(f"counting {table}", f"SELECT count(*) FROM {source.sql}")
        return int(number)


def rows_each(
    database: str | Path | duckdb.DuckDBPyConnection, table: str, column: str
) -> tuple[int, int, int, int] | None:
    """(rows with a value, distinct values, rows that 95 % of these have at most, rows of the most frequent one).

    ``None`` without any value. Reads private rows: for the owner alone.
    """
    with _source(database, table, column) as (reader, source):
        x = identifier(column)
        ((rows, values, usual, most),) = reader.rows(
            f"looking at {table}.{column}",
            "SELECT sum(n), count(*), quantile_disc(n, 0.95), max(n) FROM "
            f"(SELECT count(*) AS n FROM {source.sql} WHERE {x} IS NOT NULL GROUP BY {x})",
        )
        return None if not values else (int(rows), int(values), int(usual), int(most))


def share_found(
    database: str | Path | duckdb.DuckDBPyConnection, table: str, column: str, other: str, key: str
) -> float:
    """The share of the rows with a value in a column whose value another table's key has; 0.0 without any.

    Reads private rows: for the owner alone.
    """
    with _source(database, table, column) as (reader, source), _source(database, other, key) as (_, found):
        x = f"CAST({identifier(column)} AS VARCHAR)"
        ((share,),) = reader.rows(
            f"looking at {table}.{column}",
            f"SELECT avg(CAST({x} IN (SELECT CAST({identifier(key)} AS VARCHAR) FROM {found.sql}) AS INTEGER)) "
            f"FROM {source.sql} WHERE {x} IS NOT NULL",
        )
        return 0.0 if share is None else float(share)


def look_at(database: str | Path | duckdb.DuckDBPyConnection, table: str, column: str) -> ColumnContent:
    """Least, median, largest and, up to 200, distinct values of a column. Reads private rows: for the owner alone."""
    with _source(database, table, column) as (reader, source):
        x = identifier(column)
        what = f"looking at {table}.{column}"
        base = source.type_of(column).split("(")[0]
        y = f"CASE WHEN isfinite({x}) THEN {x} END" if base in FLOATS else x
        middle = f"quantile_disc({y}, 0.5)" if base in NUMBERS else "NULL"
        (low, high, has_null, median), *_ = reader.rows(
            what, f"SELECT min({y}), max({y}), coalesce(bool_or({y} IS NULL), false), {middle} FROM {source.sql}"
        )
        distinct = f"SELECT DISTINCT {x} AS v FROM {source.sql} WHERE {x} IS NOT NULL LIMIT {DISTINCT_VALUES + 1}"
        values = reader.rows(what, f"SELECT v FROM ({distinct}) ORDER BY v ASC")
        listed = tuple(row[0] for row in values) if len(values) <= DISTINCT_VALUES else None
        return ColumnContent(low, high, bool(has_null), listed, median)


@contextmanager
def _source(
    database: str | Path | duckdb.DuckDBPyConnection, table: str, column: str | None = None
) -> Iterator[tuple[Reader, Source]]:
    """A table that exists, and has the column; UnknownName otherwise."""
    reader = _open(database)
    try:
        catalog = Catalog(reader)
        source = catalog.source(table)
        if source is None:
            raise UnknownName(f"there is no table {table}", name=table, suggestions=catalog.names[:8])
        if column is not None and not source.has(column):
            names = [name for name, _ in source.columns]
            raise UnknownName(f"{table} has no column {column}", name=column, suggestions=names[:8])
        yield reader, source
    finally:
        reader.close()
