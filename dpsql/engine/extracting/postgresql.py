"""PostgreSQL as a source of extracts: all tables from one snapshot, column by column in types that DuckDB has.

What Arrow cannot carry is written as text: decimals, UUIDs, enumerations. Infinite dates, which no domain holds, are
NULL in private tables. Of the unit nothing may be merged and nothing told apart that PostgreSQL calls equal, so it has
a text of its own.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb

from dpsql.dialect.quoting import identifier as duckdb_identifier
from dpsql.engine.extracting.frames import stream_relation
from dpsql.engine.extracting.source import Reading, Relation
from dpsql.engine.postgresql.connection import Column, Snapshot, Table, identifier
from dpsql.engine.postgresql.moments import MOST, as_number, of_number
from dpsql.errors import PolicyError

_AS_THEY_ARE = frozenset(["bool", "int2", "int4", "int8", "float4", "float8", "text", "varchar"])
_AS_TEXT = frozenset(["bpchar", "name", "uuid", "citext"])


@dataclass(frozen=True)
class PostgresSource:
    """The database at a libpq address, ``postgresql://user@host/name``."""

    uri: str

    holds_one_table = False

    @contextmanager
    def open(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Reading]:
        """EngineError without the driver, a connection, or a snapshot."""
        snapshot = Snapshot(self.uri)
        try:
            yield _PostgresReading(snapshot, connection)
        finally:
            snapshot.close()


@dataclass(frozen=True)
class _PostgresReading:
    held: Snapshot
    connection: duckdb.DuckDBPyConnection

    @property
    def address(self) -> str:
        return self.held.address

    @property
    def snapshot(self) -> str:
        return self.held.snapshot

    def relation(
        self,
        table: str,
        columns: Sequence[str] | None,
        *,
        unit: str | None = None,
        strings: Sequence[str] = (),
        private: bool = True,
    ) -> Relation:
        found = self.held.table(table)
        if found is None:
            path = f"tables.{table}" if private else "public.tables"
            raise PolicyError("the database has no such table or view", path=path, hint="check its name and schema")
        if not private and found.view:
            raise PolicyError(
                f"{table!r} is a view, and may show rows of a private table",
                path="public.tables",
                hint="publish a table of its own, made from what everybody may know",
            )
        wanted = found.columns if columns is None else _named(found, columns)
        apart = None if unit is None else unit.lower()
        sent = ", ".join(
            f"{_sent(c, table, private, is_unit=c.name.lower() == apart)} AS {identifier(c.name)}" for c in wanted
        )
        stream = self.held.stream(f"reading {table}", f"SELECT {sent or 'NULL AS nothing'} FROM {found.sql}")
        relation = stream_relation(self.connection, stream)
        kept = ", ".join(_kept(c, private, is_unit=c.name.lower() == apart) for c in wanted)
        return Relation(f"(SELECT {kept or '*'} FROM {relation.sql})", found.view)


def _named(table: Table, names: Sequence[str]) -> list[Column]:
    """Those that there are: what is missing is said by who checks the policy."""
    return [c for c in map(table.column, names) if c is not None]


def _sent(column: Column, table: str, private: bool, *, is_unit: bool) -> str:
    """SQL of PostgreSQL for what is sent of a column."""
    name = identifier(column.name)
    if column.kind in MOST and not private:
        return as_number(name, column.kind)
    if column.kind in MOST:
        return f"{name}::text" if is_unit else _finite(name, column.kind)
    if column.kind == "citext" and is_unit:
        return f"lower({name}::text)"
    if column.kind == "numeric" and column.precision is None and private and not is_unit:
        held = f"least(greatest(round({name}, 300), '-1e308'), '1e308')"  # what no double holds would fail
        nan = f"WHEN {name} = 'NaN' THEN 'NaN'::float8"
        return f"CASE {nan} WHEN {name} IS NOT NULL THEN {held}::float8 END"  # least and greatest pass over NULL
    if column.kind == "numeric":
        return f"trim_scale({name})::text" if is_unit else f"{name}::text"
    if column.kind in _AS_THEY_ARE:
        return name
    if column.kind in _AS_TEXT or column.is_enum or not private:
        return f"{name}::text"
    raise PolicyError(
        f"a column of PostgreSQL type {column.kind} cannot be extracted",
        path=f"tables.{table}.columns.{column.name}",
        hint="declare a view that casts it to text, or to a number or a date",
    )


def _finite(name: str, kind: str) -> str:
    """Moments that Arrow can hold; all that a domain can have are among them."""
    low, high = (
        f"{kind} '0001-01-01'",
        f"{kind} '9999-12-31'" if kind == "date" else f"{kind} '9999-12-31 23:59:59.999999'",
    )
    return f"CASE WHEN {name} BETWEEN {low} AND {high} THEN {name} END"


def _kept(column: Column, private: bool, *, is_unit: bool) -> str:
    """SQL of DuckDB for what is kept of it."""
    name = duckdb_identifier(column.name)
    if column.kind in MOST and not private:
        return f"{of_number(name, column.kind)} AS {name}"
    if column.kind != "numeric" or is_unit or (column.precision is None and private):
        return name
    if column.precision is None:
        return f"TRY_CAST({name} AS DOUBLE) AS {name}"
    return f"TRY_CAST({name} AS {'DECIMAL({}, {})'.format(*column.precision)}) AS {name}"
