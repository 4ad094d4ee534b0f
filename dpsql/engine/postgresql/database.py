"""A snapshot of a PostgreSQL database as the engine on SQL databases reads it."""

from decimal import Decimal
from typing import Any

import pyarrow as pa

from dpsql.engine.postgresql.connection import Column, Snapshot, Table, identifier
from dpsql.engine.postgresql.dialect import PostgresDialect
from dpsql.engine.postgresql.moments import MOST, as_number, of_numbers
from dpsql.engine.sql.dialect import Family, SqlColumn, SqlTable
from dpsql.errors import EngineError

OLDEST = 140_000
"""Since then parts of moments are exact decimals, and decimals can be infinite."""
_FAMILIES: dict[str, Family] = {
    **dict.fromkeys(("int2", "int4", "int8"), "integer"),
    **dict.fromkeys(("float4", "float8"), "float"),
    **dict.fromkeys(("timestamp", "timestamptz"), "moment"),
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "uuid"), "string"),
    "numeric": "decimal",
    "bool": "boolean",
    "date": "date",
    "time": "time",
    "bytea": "bytes",
}
_SENT_AS_THEY_ARE = ("integer", "float", "boolean", "bytes")


class PostgresDatabase:
    """The database at a libpq address, at one moment. EngineError without the driver, a connection or a snapshot."""

    name = "postgresql"

    def __init__(self, uri: str) -> None:
        self._held = Snapshot(uri)
        self.dialect = PostgresDialect()
        version = "SELECT current_setting('server_version_num')::int AS n, current_setting('server_encoding') AS e"
        ((number, encoding),) = self._held.rows("asking for the version", version)
        if number < OLDEST or encoding != "UTF8":
            self._held.close()
            raise EngineError(
                "PostgreSQL before version 14, or of another encoding than UTF8, is not counted in",
                hint="extract its tables: dpsql extract SOURCE --policy POLICY -o EXTRACT.duckdb",
            )

    @property
    def address(self) -> str:
        return self._held.address

    def table(self, name: str) -> SqlTable | None:
        found = self._held.table(name)
        return None if found is None else _described(found)

    def behind(self, table: SqlTable) -> tuple[SqlTable, ...]:
        return tuple(map(_described, self._held.behind(Table(table.name, table.sql, (), view=False))))

    def rows(self, what: str, sql: str) -> list[tuple[Any, ...]]:
        return self._held.rows(what, sql)

    def arrow(self, what: str, sql: str) -> pa.Table:
        return self._held.arrow(what, sql)

    def public(self, table: SqlTable) -> pa.Table:
        """Decimals as such where they have a scale, else as doubles; what Arrow has no type for as text.

        Infinite days and moments are DuckDB's.
        """
        found = self._held.table(table.name)
        columns = () if found is None else found.columns
        listed = ", ".join(f"{_sent(c)} AS {identifier(c.name)}" for c in columns)
        sent = self._held.arrow(f"reading the public table {table.name}", f"SELECT {listed} FROM {table.sql}")
        return pa.table({c.name: _received(c, sent.column(i)) for i, c in enumerate(columns)})

    def close(self) -> None:
        self._held.close()


def _described(table: Table) -> SqlTable:
    columns = tuple(SqlColumn(c.name, c.kind, _family(c)) for c in table.columns)
    return SqlTable(table.name, table.sql, columns, not table.view)


def _family(column: Column) -> Family:
    return "string" if column.is_enum else _FAMILIES.get(column.kind, "other")


def _sent(column: Column) -> str:
    name = identifier(column.name)
    if column.kind in MOST:
        return as_number(name, column.kind)
    return name if _family(column) in _SENT_AS_THEY_ARE else f"{name}::text"


def _received(column: Column, sent: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    if column.kind in MOST:
        return of_numbers(sent, column.kind)
    if column.kind != "numeric":
        return sent
    values = [None if v is None else Decimal(v) for v in sent.to_pylist()]
    if column.precision is None:
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    finite = [None if v is None or not v.is_finite() else v for v in values]
    return pa.array(finite, pa.decimal128(*column.precision))
