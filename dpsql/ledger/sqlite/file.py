"""One connection to one SQLite file: checked settings, safe across forks, errors in dpsql's words.

A setting that SQLite silently ignores would make "durable" a wish, so the ones that matter are read back; and no
message of SQLite's is shown untranslated.
"""

import ctypes
import os
import sqlite3
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from dpsql.errors import LedgerError

Synchronous = Literal["FULL", "OFF"]
BUSY_SECONDS = 20.0
"""For another process that is writing to a ledger."""
_LEVELS = {"FULL": 2, "OFF": 0}
LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


_FULL = frozenset(
    {
        sqlite3.SQLITE_IOERR_WRITE,
        sqlite3.SQLITE_IOERR_TRUNCATE,
        sqlite3.SQLITE_IOERR_SHMOPEN,
        sqlite3.SQLITE_IOERR_SHMSIZE,
        sqlite3.SQLITE_IOERR_SHMMAP,
    }
)
"""Extended codes of what a disk without space refuses, beside ``SQLITE_FULL``."""


class SqliteFile:
    """An open connection in autocommit mode. Methods raise ``sqlite3.Error``; callers turn it into ``LedgerError``."""

    def __init__(self, path: Path | None, *, synchronous: Synchronous, busy_timeout: float) -> None:
        """Open an existing file (``None``: a private database in memory); ``busy_timeout`` in seconds."""
        name = "file::memory:" if path is None else f"file:{quote(str(path))}?mode=rw"
        self._path = path
        self._busy_timeout = busy_timeout
        self._connection = sqlite3.connect(
            name, uri=True, timeout=busy_timeout, isolation_level=None, check_same_thread=False
        )
        _files.add(self)
        try:
            self._configure(synchronous, memory=path is None)
            self._identity = self._at_path()
        except BaseException:
            self.close()
            raise

    def _configure(self, synchronous: Synchronous, *, memory: bool) -> None:
        self.execute("PRAGMA trusted_schema = OFF")
        self.execute(f"PRAGMA synchronous = {synchronous}")
        if synchronous == "FULL":
            # Without these macOS acknowledges a sync that is still in the drive's cache.
            self.execute("PRAGMA fullfsync = ON")
            self.execute("PRAGMA checkpoint_fullfsync = ON")
        mode = self.one("PRAGMA journal_mode")[0]
        if not memory and mode != "wal":
            mode = self.one("PRAGMA journal_mode = WAL")[0]
        if self.one("PRAGMA synchronous")[0] != _LEVELS[synchronous] or (not memory and mode != "wal"):
            raise sqlite3.OperationalError("settings were not accepted")

    def execute(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        return self._connection.execute(sql, values)

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self._connection.executemany(sql, rows)

    def one(self, sql: str, values: Sequence[Any] = ()) -> tuple[Any, ...]:
        """The first row; ``sqlite3.DatabaseError`` when there is none."""
        row: tuple[Any, ...] | None = self._connection.execute(sql, values).fetchone()
        if row is None:
            raise sqlite3.DatabaseError("a row is missing")
        return row

    def begin(self, *, waits: bool = True) -> None:
        """Take the write lock, waiting up to the busy timeout, or not at all."""
        self.rollback()  # what an interrupt left open
        if waits:
            self.execute("BEGIN IMMEDIATE")
            return
        self.execute("PRAGMA busy_timeout = 0")
        try:
            self.execute("BEGIN IMMEDIATE")
        finally:
            self.execute(f"PRAGMA busy_timeout = {int(1000 * self._busy_timeout)}")

    def commit(self) -> None:
        self.execute("COMMIT")

    def rollback(self) -> None:
        if self._connection.in_transaction:
            self.execute("ROLLBACK")

    @property
    def total_changes(self) -> int:
        return self._connection.total_changes

    def data_version(self) -> int:
        """Changes when another connection has committed to the file, never through this one."""
        version: int = self.one("PRAGMA data_version")[0]
        return version

    def still_there(self) -> bool:
        """Whether the path still names the file that was opened, which else nobody finds again: some microseconds."""
        return self._at_path() == self._identity

    def _at_path(self) -> tuple[int, int] | None:
        try:
            status = None if self._path is None else self._path.stat()
        except FileNotFoundError:
            return None
        return None if status is None else (status.st_dev, status.st_ino)

    def close(self) -> None:
        self._connection.close()

    def abandon(self) -> None:
        """After a fork: SQLite forbids even closing a connection of the parent, so it must outlive the interpreter."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))


_files: "weakref.WeakSet[SqliteFile]" = weakref.WeakSet()


def _abandon_all() -> None:
    for file in list(_files):
        file.abandon()


os.register_at_fork(after_in_child=_abandon_all)


def code(error: Exception) -> int | None:
    """SQLite's primary result code, ``None`` for errors that carry none."""
    extended: int | None = getattr(error, "sqlite_errorcode", None)
    return None if extended is None else extended & 0xFF


def is_passing(error: Exception) -> bool:
    """Whether the file itself may be sound: somebody else is writing to it, or there is no space to write."""
    return code(error) in {*LOCKED, sqlite3.SQLITE_FULL} or getattr(error, "sqlite_errorcode", None) in _FULL


WRITABLE = (
    "make the file and its directory writable for you: "
    "SQLite keeps the latest charges beside it, and to look at it, too, is to write there"
)
_EXPLAINED: dict[int, tuple[str, str]] = {
    sqlite3.SQLITE_BUSY: ("is locked by another process", "wait for it to finish or end it, then try again"),
    sqlite3.SQLITE_LOCKED: ("is locked by another process", "wait for it to finish or end it, then try again"),
    sqlite3.SQLITE_FULL: ("cannot grow: the disk is full", "free some space, then open the ledger again"),
    sqlite3.SQLITE_IOERR: ("could not be read or written", "check the disk and its free space, then open it again"),
    sqlite3.SQLITE_READONLY: ("is read-only", WRITABLE),
    sqlite3.SQLITE_PERM: ("is read-only", WRITABLE),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "make the file and its directory readable and writable for you"),
    sqlite3.SQLITE_CORRUPT: ("is damaged or truncated", "restore it from the owner's copy; never delete it to go on"),
    sqlite3.SQLITE_NOTADB: ("is not a dpsql ledger", "check the path; if it was one, restore it from the owner's copy"),
    sqlite3.SQLITE_CONSTRAINT: ("is altered", "restore it from the owner's copy; never delete it to go on"),
}


def explain(path: Path, error: Exception) -> LedgerError:
    """The failure in words for the analyst: the path and a next step, none of SQLite's text."""
    if isinstance(error, OSError):
        reason = os.strerror(error.errno) if error.errno is not None else "unknown error"
        return LedgerError(
            f"the ledger {path} cannot be used: {reason}", hint="check the path, its permissions and the free space"
        )
    known = _EXPLAINED.get(code(error) or -1)
    if known is None:
        known = ("could not be read or written", "check the disk and its free space, then open the ledger again")
    return LedgerError(f"the ledger {path} {known[0]}", hint=known[1])
