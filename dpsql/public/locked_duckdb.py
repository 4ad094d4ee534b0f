"""A locked, empty, in-memory DuckDB for public work: predicates over public values, outer statements, lookups.

DuckDB itself decides what an expression means, so that no second implementation can disagree with it. It is empty, has
no files and no network, and every piece of work is limited in time and memory, since the text may come from anybody.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from math import prod
from threading import RLock
from typing import Any, TypeVar
from uuid import UUID

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dpsql.dialect.calls import LOCKED, without_cause
from dpsql.dialect.quoting import identifier
from dpsql.dialect.types import released_type, sql_type
from dpsql.domain import Value
from dpsql.errors import DataError, Error, InterfaceError, InternalError, ProgrammingError, UnsupportedQuery
from dpsql.public.deadline import Deadline
from dpsql.query import Weights
from dpsql.sql.public_sql import GridColumn

SECONDS = 2.0
GRID_TABLES, GRID_VALUES = 256, 1 << 22
"""Room for cached domain tables: their number, and their values together."""
BATCH_CELLS = 1 << 26
"""Truth values asked for in one query: cells times predicates."""

_MESSAGE = 300  # characters of DuckDB's that are quoted
T = TypeVar("T")


class DuckDbPublicSql:
    """Implements :class:`dpsql.sql.public_sql.PublicSql`. Safe to use from several threads; one works at a time.

    ``public_table`` gives a public table whole, for example ``engine.public_table``; it is copied in at first use.

    >>> sql = DuckDbPublicSql(lambda name: pa.table({}))
    >>> sql.truth([GridColumn("age", "BIGINT", (17, 18, None))], ["age > 17"])
    [array([0, 1, 0])]
    >>> sql.values([GridColumn("age", "BIGINT", (17, 18))], "age + 0.5")
    ([17.5, 18.5], 'DECIMAL(21,1)')
    """

    def __init__(
        self, public_table: Callable[[str], pa.Table], *, seconds: float = SECONDS, memory_limit: str = "2GB"
    ) -> None:
        self._public_table = public_table
        self._seconds = seconds
        self._memory_limit = memory_limit
        self._lock = RLock()
        self._closed = False
        self._open()

    def _open(self) -> None:
        # one thread: sums of floats and the first of several errors do not depend on timing, and short calls are faster
        config = {**LOCKED, "lock_configuration": "false", "memory_limit": self._memory_limit, "threads": "1"}
        con = duckdb.connect(":memory:", config=config)
        con.execute("SET TimeZone = 'UTC'").fetchall()  # results must not depend on the machine
        con.execute("CREATE SCHEMA dpsql_grid").fetchall()
        con.execute("SET lock_configuration = true").fetchall()
        self._connection = con
        self._deadline = Deadline(self._seconds, con.interrupt)
        self._grids: OrderedDict[tuple[str, str, tuple[Value, ...]], str] = OrderedDict()
        self._grid_values = 0
        self._made = 0
        self._loaded: set[str] = set()
        self._half_done = False

    @contextmanager
    def _working(self) -> Iterator[None]:
        """One piece of work at a time. An interrupt may leave a transaction, or a table that nothing here knows: then
        the next piece begins with a connection of its own."""
        with self._lock:
            if self._half_done and not self._closed:
                self._connection.close()
                self._open()
            self._half_done = True
            try:
                yield
            except Exception:
                self._half_done = False
                raise
            self._half_done = False

    def truth(self, columns: Sequence[GridColumn], predicates: Sequence[str]) -> list[Weights]:
        """Where each predicate is TRUE, row-major over the cross product of the columns; int64 arrays of 0 and 1."""
        shape = tuple(len(c.values) for c in columns)
        cells = prod(shape)
        if cells == 0:
            return [np.zeros(shape, dtype=np.int64) for _ in predicates]
        batch = max(1, BATCH_CELLS // cells)
        out = []
        for start in range(0, len(predicates), batch):
            tests = [f'({p}) IS TRUE AS "dpsql#{i}"' for i, p in enumerate(predicates[start : start + batch])]
            with self._working():
                sql = self._over(columns, tests)
                found = self._run(lambda con: con.execute(sql).fetchnumpy())  # noqa: B023 - runs at once
                self._make_room()
            where = _row_major(columns, found, shape)
            for i in range(len(tests)):
                weights = np.empty(cells, dtype=np.int64)
                weights[where] = found[f"dpsql#{i}"]
                out.append(weights.reshape(shape))
        return out

    def values(self, columns: Sequence[GridColumn], expression: str) -> tuple[list[Value], str]:
        """The expression's value in every cell, row-major, and its DuckDB type.

        Values are Python's natural ones; a DECIMAL comes as a float. Lists, intervals, times and the like are refused
        with UnsupportedQuery: they are no group keys.
        """

        def work(con: duckdb.DuckDBPyConnection) -> tuple[str, list[tuple[Any, ...]]]:
            cursor = con.execute(sql)
            kind = str(cursor.description[-1][1])
            known = sql_type(kind)
            if known is not None and known.released is not None:
                return kind, cursor.fetchall()
            con.execute("SELECT 1").fetchall()  # a pending result would block the connection
            return kind, []

        shape = tuple(len(c.values) for c in columns)
        out: list[Value] = [None] * prod(shape)
        with self._working():
            sql = self._over(columns, [f'{expression} AS "dpsql#0"'])
            kind, rows = self._run(work)
            self._make_room()
        if out:
            released_type(kind)  # refuses
        strides = [prod(shape[i + 1 :]) for i in range(len(shape))]
        for *cell, value in rows:
            out[sum(c * s for c, s in zip(cell, strides, strict=True))] = _natural(value)
        return out, kind

    def run(self, sql: str, tables: Mapping[str, pa.Table], public_tables: Sequence[str] = ()) -> pa.Table:
        """The rows of one SELECT over ``tables`` (dropped afterwards) and copies of the named public tables."""
        with self._working():
            self._one_select(sql)
            for name in self._loaded.intersection(t.lower() for t in tables):  # a released table hides a public one
                self._command(f"DROP TABLE {identifier(name)}")
                self._loaded.discard(name)
            for name in public_tables:
                if name.lower() not in self._loaded:
                    self._create(identifier(name), self._public_table(name), "SELECT *")
                    self._loaded.add(name.lower())
            self._command("BEGIN")
            try:
                for name, table in tables.items():
                    self._create(identifier(name), table, "SELECT *")
                return self._run(lambda con: con.sql(sql).to_arrow_table())
            finally:
                with suppress(Error):  # after a fatal error the connection is a new one, without a transaction
                    self._command("ROLLBACK")

    def close(self) -> None:
        """Idempotent."""
        with self._lock:
            self._closed = True
            self._connection.close()

    def _run(self, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """``work`` within the time limit. Its messages are about public values, so they are kept."""
        if self._closed:
            raise InterfaceError("the connection is closed")
        with self._deadline.limit():
            return without_cause(lambda: work(self._connection), self._translate)

    def _command(self, sql: str) -> None:
        self._run(lambda con: con.execute(sql).fetchall())

    def _translate(self, e: Exception) -> Error:
        lines = str(e).strip().splitlines() or [type(e).__name__]
        text = lines[0].partition(": ")[2][:_MESSAGE] or lines[0][:_MESSAGE]
        match e:
            case duckdb.InterruptException():
                return UnsupportedQuery(
                    f"takes longer than {self._seconds:g} s",
                    hint="write a simpler expression, or one over fewer columns",
                )
            case duckdb.OutOfMemoryException() | MemoryError():
                return UnsupportedQuery("needs too much memory", hint="write a simpler expression")
            case duckdb.PermissionException() | duckdb.NotImplementedException():
                return UnsupportedQuery(text)
            case duckdb.FatalException() | duckdb.InternalException():
                self._connection.close()
                self._open()  # DuckDB refuses all work after such an error; nothing here is worth keeping
                return InternalError("DuckDB failed on public values", hint="write the expression in another way")
            case duckdb.InvalidInputException() | duckdb.DataError() | ValueError():
                return DataError(text, hint="the expression fails on a declared value; guard it with CASE or TRY_CAST")
            case duckdb.ProgrammingError():
                return ProgrammingError(text)
        return DataError(text)

    def _one_select(self, sql: str) -> None:
        """The second layer behind the front end's check: nothing but one SELECT ever runs here."""
        statements = self._run(lambda con: con.extract_statements(sql))
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise UnsupportedQuery("not one SELECT statement", hint="send one SELECT statement")

    def _over(self, columns: Sequence[GridColumn], outputs: Sequence[str]) -> str:
        """SELECT of the outputs over the cross product, with the position in each column: no row order is relied on."""
        names = [self._grid(c) for c in columns]
        positions = [_position(c) for c in columns]
        sql = f"SELECT {', '.join([*positions, *outputs])}"
        return f"{sql} FROM {', '.join(names)}" if names else sql

    def _grid(self, column: GridColumn) -> str:
        """The table of a column's values, made once."""
        key = (column.name, column.sql_type, column.values)
        found = self._grids.get(key)
        if found is not None:
            self._grids.move_to_end(key)
            return found
        self._made += 1
        name = f"dpsql_grid.g{self._made}"
        # parameters rather than an Arrow table: registering one imports pandas, where it is installed
        sql = (
            f"CREATE TABLE {name} AS SELECT unnest(?::{column.sql_type}[]) AS {identifier(column.name)}, "
            f"unnest(range(?)::INTEGER[]) AS {_position(column)}"
        )
        given = [list(column.values), len(column.values)]
        self._run(lambda con: con.execute(sql, given).fetchall())
        self._grids[key] = name
        self._grid_values += len(column.values)
        return name

    def _make_room(self) -> None:
        while len(self._grids) > GRID_TABLES or (self._grid_values > GRID_VALUES and len(self._grids) > 1):
            (_, _, values), dropped = self._grids.popitem(last=False)
            self._grid_values -= len(values)
            self._command(f"DROP TABLE {dropped}")

    def _create(self, name: str, table: pa.Table, select: str) -> None:
        def work(con: duckdb.DuckDBPyConnection) -> None:
            con.register("dpsql_incoming", table)
            try:
                con.execute(f"CREATE TABLE {name} AS {select} FROM dpsql_incoming").fetchall()
            finally:
                con.unregister("dpsql_incoming")

        self._run(work)


def _position(column: GridColumn) -> str:
    return identifier(f"dpsql#{column.name}")


def _row_major(
    columns: Sequence[GridColumn], found: Mapping[str, npt.NDArray[Any]], shape: tuple[int, ...]
) -> npt.NDArray[np.int64]:
    """The row-major cell of every row."""
    out = np.zeros(1 if not columns else len(found[f"dpsql#{columns[0].name}"]), dtype=np.int64)
    for column, size in zip(columns, shape, strict=True):
        out = out * size + found[f"dpsql#{column.name}"]
    return out


def _natural(value: Any) -> Value:
    if isinstance(value, Decimal):
        return float(value)
    return str(value) if isinstance(value, UUID) else value
