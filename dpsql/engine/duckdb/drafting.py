"""What ``dpsql init`` needs to draft a policy: the schema, and, only on the owner's explicit wish, the data.

It reads values, if the owner wishes it, and shows them as they are; so it is kept out of the engine that sessions hold.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from dpsql.dialect.calls import without_cause
from dpsql.dialect.quoting import identifier
from dpsql.engine.duckdb.catalog import Catalog
from dpsql.engine.duckdb.reader import Reader, open_read_only
from dpsql.errors import EngineError, UnknownName

DISTINCT_VALUES = 200


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

    ``low`` and ``high`` are the smallest and largest value that is not NULL (None in an empty column).
    """

    low: Any
    high: Any
    has_null: bool
    values: tuple[Any, ...] | None


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


def count_rows(database: str | Path | duckdb.DuckDBPyConnection, table: str) -> int:
    """The number of rows of a table. Reads private rows: for the owner alone."""
    reader = _open(database)
    try:
        catalog = Catalog(reader)
        source = catalog.source(table)
        if source is None:
            raise UnknownName(f"there is no table {table}", name=table, suggestions=catalog.names[:8])
        ((number,),) = reader.rows(f"counting {table}", f"SELECT count(*) FROM {source.sql}")
        return int(number)
    finally:
        reader.close()


def look_at(database: str | Path | duckdb.DuckDBPyConnection, table: str, column: str) -> ColumnContent:
    """Smallest, largest and, up to 200, distinct values of a column. Reads private rows: for the owner alone."""
    reader = _open(database)
    try:
        catalog = Catalog(reader)
        source = catalog.source(table)
        if source is None:
            raise UnknownName(f"there is no table {table}", name=table, suggestions=catalog.names[:8])
        if not source.has(column):
            names = [name for name, _ in source.columns]
            raise UnknownName(f"{table} has no column {column}", name=column, suggestions=names[:8])
        x = identifier(column)
        what = f"looking at {table}.{column}"
        (low, high, has_null), *_ = reader.rows(
            what, f"SELECT min({x}), max({x}), coalesce(bool_or({x} IS NULL), false) FROM {source.sql}"
        )
        distinct = f"SELECT DISTINCT {x} AS v FROM {source.sql} WHERE {x} IS NOT NULL LIMIT {DISTINCT_VALUES + 1}"
        values = reader.rows(what, f"SELECT v FROM ({distinct}) ORDER BY v")
        listed = tuple(row[0] for row in values) if len(values) <= DISTINCT_VALUES else None
        return ColumnContent(low, high, bool(has_null), listed)
    finally:
        reader.close()
