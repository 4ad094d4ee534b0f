"""Running our own SQL on the private connection: every failure becomes an ``EngineError`` without the engine's text.

Errors of a database quote values. Here they end: what failed is said in our words, and the cause is cut off.
"""

import ctypes
import os
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dpsql.dialect.calls import LOCKED, without_cause
from dpsql.engine.duckdb.importing import is_file_of_rows
from dpsql.errors import EngineError, Error

T = TypeVar("T")
Array = npt.NDArray[Any]


def open_read_only(path: str | Path) -> duckdb.DuckDBPyConnection:
    """A locked, read-only connection to a database file. Raises EngineError with the next step."""
    file = Path(path)
    if "\0" in str(path):
        raise EngineError("the database path contains a NUL character", hint="pass the path of a DuckDB file")
    if str(path) == ":memory:":
        raise EngineError(
            "an in-memory database is empty when it is opened by name", hint="pass your own open duckdb connection"
        )
    if not file.exists():
        raise EngineError(f"database not found: {path}", hint="check the path, or pass an open duckdb connection")
    if file.is_dir():
        raise EngineError(f"{path} is a directory", hint="pass the path of a DuckDB file")

    if is_file_of_rows(file):
        raise EngineError(
            f"{path} is a file of rows, not a DuckDB database",
            hint=f"make a database and a policy from it with dpsql init {quote(str(file))}",
        )

    def refused(e: Exception) -> Error:
        text = str(e)
        if "different configuration" in text:
            return EngineError(
                f"{path} is already open in this process with other settings",
                hint="close that connection, or pass it itself to dpsql.connect(...)",
            )
        if "lock" in text:
            return EngineError(
                f"{path} is open for writing in another process",
                hint="close the writer, or give dpsql a copy of the file",
            )
        if "not a valid DuckDB database" in text:
            return EngineError(
                f"{path} is not a DuckDB database",
                hint="pass a file written by DuckDB; dpsql init makes one from csv or parquet",
            )
        if "ermission" in text:
            return EngineError(f"{path} cannot be read", hint="check the file's permissions")
        return EngineError(
            f"{path} cannot be opened by DuckDB {duckdb.__version__}",
            hint="open it with the duckdb shell to see why; an older DuckDB cannot read a newer file",
        )

    return without_cause(lambda: duckdb.connect(str(path), read_only=True, config=LOCKED), refused)


class Reader:
    """One connection. Callers hold their own lock: a DuckDB connection runs one query at a time."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection: duckdb.DuckDBPyConnection | None = connection
        _readers.add(self)

    def _run(self, what: str, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        con = self._connection
        if con is None:
            raise EngineError("the connection to the private database is closed", hint="open a new one")
        failure = EngineError(f"DuckDB failed while {what}", hint="ask the owner to check the database file")
        return without_cause(lambda: work(con), lambda _: failure)

    def rows(
        self, what: str, sql: str, parameters: Sequence[object] | dict[str, object] | None = None
    ) -> list[tuple[Any, ...]]:
        """All rows; also for commands, whose result must be fetched before the connection is used again."""
        return self._run(what, lambda con: con.execute(sql, parameters).fetchall())

    def arrays(self, what: str, sql: str) -> dict[str, Array]:
        """All rows, one numpy array per column; NULLs are masked."""
        return self._run(what, lambda con: con.execute(sql).fetchnumpy())

    def integers(self, what: str, sql: str) -> dict[str, npt.NDArray[np.int64]]:
        """All rows of columns that are never NULL and fit in 64 bits."""
        return {name: np.asarray(a, dtype=np.int64) for name, a in self.arrays(what, sql).items()}

    def table_names(self, what: str, sql: str) -> set[str]:
        """The names of the tables that a query reads, through views; reads no row."""
        return self._run(what, lambda con: con.get_table_names(sql, qualified=True))

    def arrow(self, what: str, sql: str) -> pa.Table:
        """All rows as an Arrow table."""
        return self._run(what, lambda con: con.sql(sql).to_arrow_table())

    def close(self) -> None:
        """Idempotent."""
        con, self._connection = self._connection, None
        if con is not None:
            con.close()

    def abandon(self) -> None:
        """After a fork: the threads of the parent's database are not here, and closing it without them crashes."""
        con, self._connection = self._connection, None
        if con is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(con))


_readers: "weakref.WeakSet[Reader]" = weakref.WeakSet()


def _abandon_all() -> None:
    for reader in list(_readers):
        reader.abandon()


os.register_at_fork(after_in_child=_abandon_all)
