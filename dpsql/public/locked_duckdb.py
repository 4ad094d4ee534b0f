"""A locked, empty, in-memory DuckDB for public work: predicates over public values, outer statements, lookups.

DuckDB itself decides what an expression means, so that no second implementation can disagree with it. It is empty, has
no files and no network, and runs in a process of its own, which is killed when a statement uses more than its time or
memory, since the text may come from anybody.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from threading import RLock
from weakref import finalize

import numpy as np
import pyarrow as pa

from dpsql.dialect.calls import LOCKED
from dpsql.dialect.quoting import identifier
from dpsql.dialect.types import python_values, released_type, sql_type
from dpsql.domain import Value
from dpsql.errors import DataError, InterfaceError, OperationalError, UnsupportedQuery
from dpsql.public.failures import failure, is_broken, late, syntax_error
from dpsql.public.process import IDLE, KEPT, MEMORY, Died, Process
from dpsql.public.worker import Header, Message, from_stream, to_stream
from dpsql.sql.public_sql import COUNT_TEXT, CellCodes, CellNumbers, GridColumn, Truth

SECONDS = 2.0
"""Processor time of one statement's public work, all pieces together."""
TRIAL = 0.5
"""Share of what is left of it that a trial may use, so that the same work is done within the rest."""
LOADING_SECONDS = 60.0
"""For copying a public table in, which is the owner's doing."""
GRID_TABLES, GRID_VALUES = 256, 1 << 22
"""Room for cached domain tables: their number, and their values together."""
BATCH_CELLS = 1 << 25
"""Truth values asked for in one query: cells times predicates."""
REPLY_BYTES = 1 << 28
"""The largest table that comes back."""
_DUCKDB_SHARE = 0.75  # of the memory: the rest is Python's, and DuckDB's where its own limit does not count


class _Borrowed:
    """The process that a connection has at the moment; goes back when the connection is closed or forgotten."""

    def __init__(self) -> None:
        self.process: Process | None = None

    def give_back(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            IDLE.give_back(process)

    def end(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            process.kill()


class DuckDbPublicSql:
    """Implements :class:`dpsql.sql.public_sql.PublicSql`. Safe to use from several threads; one works at a time.

    ``public_table`` gives a public table whole, for example ``engine.public_table``; it is copied in at first use.
    ``seconds``: processor time of a statement's pieces together; ``memory``: bytes of the process that does the work.

    >>> sql = DuckDbPublicSql(lambda name: pa.table({}))
    >>> sql.truth([GridColumn("age", "BIGINT", (17, 18, None))], ["age > 17"])
    [array([False,  True, False])]
    >>> sql.codes([GridColumn("age", "BIGINT", (17, 18))], "age + 0.5")
    CellCodes(codes=array([0, 1]), values=(17.5, 18.5), sql_type='DECIMAL(21,1)')
    """

    def __init__(
        self, public_table: Callable[[str], pa.Table], *, seconds: float = SECONDS, memory: int = MEMORY
    ) -> None:
        self._public_table = public_table
        self._seconds = seconds
        self._memory = memory
        self._lock = RLock()
        self._closed = self._half_done = False
        self._left: float | None = None
        self._borrowed = _Borrowed()
        self._give_back = finalize(self, self._borrowed.give_back)
        self._forget()

    def _forget(self) -> None:
        """What the process knew is gone with it."""
        self._grids: OrderedDict[tuple[str, str, tuple[Value, ...]], str] = OrderedDict()
        self._grid_values = 0
        self._made = 0
        self._loaded: set[str] = set()

    @contextmanager
    def statement(self) -> Iterator[None]:
        """Everything asked inside shares the time of one statement. May be nested: the outermost counts."""
        with self._lock:
            if self._left is not None:
                yield
                return
            try:
                self._left = self._seconds
                yield
            finally:
                self._left = None

    @contextmanager
    def _working(self) -> Iterator[None]:
        """One piece of work at a time. An interrupt may leave what nothing here knows: then the process goes."""
        with self._lock:
            if self._half_done:
                self._borrowed.end()
            self._half_done = True
            try:
                yield
            except Exception:
                self._half_done = False
                raise
            self._half_done = False

    def read(self, text: str) -> None:
        """Whether the text is SQL at all, by DuckDB's own parser. Raises SqlSyntaxError with line and column."""
        with self._working():
            reply, _ = self._ask({"do": "read", "sql": text})
        if "kinds" in reply:
            raise syntax_error(text, reply)

    def truth(self, columns: Sequence[GridColumn], predicates: Sequence[str]) -> list[Truth]:
        """Where each predicate is TRUE, row-major over the cross product of the columns."""
        shape = tuple(len(c.values) for c in columns)
        cells = prod(shape)
        if cells == 0:
            return [np.zeros(shape, dtype=bool) for _ in predicates]
        batch = max(1, BATCH_CELLS // cells)
        out: list[Truth] = []
        for start in range(0, len(predicates), batch):
            tests = [f'({p}) IS TRUE AS "dpsql#{i}"' for i, p in enumerate(predicates[start : start + batch])]
            _, blocks = self._over(columns, {"do": "truth", "cells": cells}, tests)
            out += [_bits(b, cells).reshape(shape) for b in blocks]
        return out

    def codes(self, columns: Sequence[GridColumn], expression: str) -> CellCodes:
        """The expression's value in every cell, row-major, as an index into its distinct values.

        These are Python's natural ones (a DECIMAL comes as a float), in the order in which they appear. Lists,
        intervals, times and the like are refused with UnsupportedQuery: they are no group keys. DataError for a value
        that has no Python form, such as a date after the year 9999.
        """
        cells = prod(len(c.values) for c in columns)
        reply, blocks = self._over(columns, {"do": "codes", "cells": cells}, [f'{expression} AS "dpsql#0"'])
        kind = str(reply["kind"])
        known = sql_type(kind)
        if cells == 0 and (known is None or known.released is None):
            return CellCodes(np.zeros(0, dtype=np.int64), (), kind)
        released = released_type(kind)  # refuses
        distinct = from_stream(blocks[1]).column(0)
        values = python_values(distinct, released)
        return CellCodes(np.frombuffer(blocks[0], dtype=np.int32).astype(np.int64), values, kind)

    def numbers(self, columns: Sequence[GridColumn], expression: str) -> CellNumbers:
        """The numeric expression's value in every cell, row-major. DataError for what is no number."""
        cells = prod(len(c.values) for c in columns)
        reply, blocks = self._over(columns, {"do": "numbers", "cells": cells}, [f'{expression} AS "dpsql#0"'])
        kind = str(reply["kind"])
        if not blocks:
            hint = "cast the expression to a number"
            if kind.startswith(("DATE", "TIMESTAMP")):
                hint = "average how far it is from a day, as in AVG(date_diff('day', DATE '2024-01-31', x))"
            elif kind == "VARCHAR":
                hint = COUNT_TEXT
            raise DataError(f"SUM and AVG need numbers, not {kind}", hint=hint)
        known = _bits(blocks[1], cells)
        if reply["whole"]:
            return CellNumbers(np.frombuffer(blocks[0], dtype=np.int64), known, kind)
        return CellNumbers(np.frombuffer(blocks[0], dtype=np.float64), known, kind)

    def run(
        self, sql: str, tables: Mapping[str, pa.Table], public_tables: Sequence[str] = (), *, trial: bool = False
    ) -> pa.Table:
        """The rows of one SELECT over ``tables`` (dropped afterwards) and copies of the named public tables.

        A ``trial`` may use half of the statement's time at most, so that what it tries can be done in the rest.
        """
        with self._working():
            self._process()  # the one that knows what is loaded
            for name in self._loaded.intersection(t.lower() for t in tables):  # a released table hides a public one
                self._work({"do": "execute", "sql": f"DROP TABLE {identifier(name)}"})
                self._loaded.discard(name)
            for name in public_tables:
                self._load(name)
            blocks = [to_stream(t) for t in tables.values()]
            names = [identifier(name) for name in tables]
            reply, found = self._work({"do": "run", "sql": sql, "names": names}, blocks, TRIAL if trial else 1.0)
        if "several" in reply:  # the second layer behind the front end's check
            raise UnsupportedQuery("not one SELECT statement", hint="send one SELECT statement")
        return from_stream(found[0])

    def close(self) -> None:
        """Idempotent."""
        with self._lock:
            self._closed = True
            self._give_back()

    def _load(self, name: str) -> None:
        if name.lower() not in self._loaded:
            create = {"do": "create", "name": identifier(name), "select": "SELECT *"}
            self._work(create, [to_stream(self._public_table(name))], loading=True)
            self._loaded.add(name.lower())

    def _work(
        self, header: Header, blocks: Sequence[bytes] = (), share: float = 1.0, *, loading: bool = False
    ) -> Message:
        """A reply that is no failure."""
        reply, found = self._ask(header, blocks, share, loading=loading)
        if "kinds" not in reply:
            return reply, found
        if is_broken(reply):
            self._borrowed.end()
        raise failure(reply)

    def _ask(
        self, header: Header, blocks: Sequence[bytes] = (), share: float = 1.0, *, loading: bool = False
    ) -> Message:
        """The reply to one request, within what is left of the statement's time, or the time for ``loading``."""
        process = self._process()
        left = self._seconds if self._left is None else self._left
        try:
            reply = process.ask(header, blocks, LOADING_SECONDS if loading else share * left)
        except Died as died:
            out_of_time = died.out_of_time
        else:
            if self._left is not None and not loading:
                self._left = max(0.0, self._left - reply[0]["seconds"])
            return reply
        raise late(self._seconds) if out_of_time else failure({"kinds": ["MemoryError"], "text": ""})

    def _process(self) -> Process:
        """The running process, or a new one with an empty database."""
        if self._closed:
            raise InterfaceError("the connection is closed")
        process = self._borrowed.process
        if process is not None and process.alive:
            return process
        self._forget()
        for _ in range(KEPT + 1):  # one that waited may have been ended from outside
            process = self._opened()
            if process is not None:
                return process
        raise OperationalError("the process for public work ends at once", hint="see what ends processes here")

    def _opened(self) -> Process | None:
        """A process with an empty, locked database; ``None`` where it has ended."""
        # one thread: sums of floats and the first of several errors do not depend on timing
        config = {**LOCKED, "lock_configuration": False, "threads": 1, "temp_directory": ""}
        config["memory_limit"] = f"{int(self._memory * _DUCKDB_SHARE)}B"
        # in UTC, since results must not depend on the machine
        setup = ["SET TimeZone = 'UTC'", "CREATE SCHEMA dpsql_grid", "SET lock_configuration = true"]
        process = IDLE.take(self._memory)
        try:
            process.ask({"do": "open", "config": config, "setup": setup, "most": REPLY_BYTES}, (), LOADING_SECONDS)
            self._borrowed.process = process
        except Died:
            return None
        except BaseException:
            process.kill()
            raise
        return process

    def _over(self, columns: Sequence[GridColumn], header: Header, outputs: Sequence[str]) -> Message:
        """The reply about the outputs over the cross product, with the row-major cell first: no order is relied on."""
        with self._working():
            self._process()  # the one that knows the grids
            names = [self._grid(c) for c in columns]
            cell = "0"
            for column in columns:
                cell = f"({cell} * {len(column.values)} + {_position(column)})"
            sql = f"SELECT {cell}::INTEGER AS dpsql_cell, {', '.join(outputs)}"
            sql = f"{sql} FROM {', '.join(names)}" if names else sql
            reply = self._work({**header, "sql": sql})
            self._make_room()
            return reply

    def _grid(self, column: GridColumn) -> str:
        """The table of a column's values, made once."""
        key = (column.name, column.sql_type, column.values)
        found = self._grids.get(key)
        if found is not None:
            self._grids.move_to_end(key)
            return found
        self._made += 1
        name = f"dpsql_grid.g{self._made}"
        select = f"SELECT v::{column.sql_type} AS {identifier(column.name)}, i AS {_position(column)}"
        values = pa.array(column.values, released_type(column.sql_type))
        table = pa.table({"v": values, "i": pa.array(range(len(values)), pa.int32())})
        self._work({"do": "create", "name": name, "select": select}, [to_stream(table)])
        self._grids[key] = name
        self._grid_values += len(column.values)
        return name

    def _make_room(self) -> None:
        while len(self._grids) > GRID_TABLES or (self._grid_values > GRID_VALUES and len(self._grids) > 1):
            (_, _, values), dropped = self._grids.popitem(last=False)
            self._grid_values -= len(values)
            self._work({"do": "execute", "sql": f"DROP TABLE {dropped}"})


def _position(column: GridColumn) -> str:
    return identifier(f"dpsql#{column.name}")


def _bits(block: bytes, count: int) -> Truth:
    return np.unpackbits(np.frombuffer(block, dtype=np.uint8), count=count).view(np.bool_)
