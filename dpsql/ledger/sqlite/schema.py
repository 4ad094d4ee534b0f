"""The ledger's file: its tables, its creation in one atomic step, and the check that it is one.

A ledger must exist whole or not at all, also when the process dies while it is created.
"""

import os
import secrets
import sqlite3
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from dpsql.errors import LedgerError
from dpsql.ledger.os_lock import locked
from dpsql.ledger.sqlite.file import WRITABLE, SqliteFile

FORMAT = "1"
_SMALLEST = 512  # bytes, SQLite's smallest page

_HEADER = "CREATE TABLE header (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID"
_EVENTS = (
    "CREATE TABLE events (sequence INTEGER PRIMARY KEY, kind TEXT NOT NULL, reservation INTEGER NOT NULL, "
    "cost TEXT NOT NULL, payload TEXT NOT NULL, holder TEXT NOT NULL, answers TEXT, digest BLOB NOT NULL) STRICT"
)


def _refuse(name: str, when: str) -> str:
    return f"CREATE TRIGGER {name} BEFORE {when} BEGIN SELECT RAISE(ABORT, 'append-only'); END"


# The header's triggers come after its rows; from then on nothing can be added to it either.
_TRIGGERS = (
    _refuse("header_insert", "INSERT ON header"),
    _refuse("header_update", "UPDATE ON header"),
    _refuse("header_delete", "DELETE ON header"),
    _refuse("events_update", "UPDATE ON events"),
    _refuse("events_delete", "DELETE ON events"),
    _refuse(
        "events_insert",
        "INSERT ON events WHEN NEW.sequence IS NOT (SELECT coalesce(max(sequence), 0) + 1 FROM events)",
    ),
)
_SCHEMA = frozenset((_HEADER, _EVENTS, *_TRIGGERS))


def create(path: Path, header: Mapping[str, str], timeout: float, on_step: Callable[[str], None]) -> bool:
    """Make a new ledger at ``path``; False when another process was first. The file appears complete or not at all."""
    draft = path.with_name(f"{path.name}.new-{secrets.token_hex(8)}")
    try:
        # Created here, not by SQLite, so that no umask can make it readable for others.
        os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        _write(draft, header, timeout)
        on_step("create:written")
        with locked(path.parent, timeout):
            if path.exists():
                return False
            draft.rename(path)
            sync_directory(path.parent)
        on_step("create:named")
        return True
    finally:
        for leftover in (draft, *companions(draft)):
            with suppress(OSError):
                leftover.unlink(missing_ok=True)


def rebind(file: SqliteFile, header: Mapping[str, str], former: str) -> bool:
    """Another header for a ledger without events, in one transaction; False when it is not ``former`` or has some.

    Whoever has the file open under its former header finds out before they append (``SqliteLedger``).
    """
    file.begin()
    found = file.one("SELECT value FROM header WHERE key = 'ledger'")[0]
    if found != former or file.execute("SELECT 1 FROM events LIMIT 1").fetchone() is not None:
        file.rollback()
        return False
    for name in ("header_insert", "header_update", "header_delete"):
        file.execute(f"DROP TRIGGER {name}")
    file.execute("DELETE FROM header")
    file.executemany("INSERT INTO header VALUES (?, ?)", sorted(header.items()))
    for trigger in _TRIGGERS[:3]:
        file.execute(trigger)
    file.commit()
    return True


def _write(draft: Path, header: Mapping[str, str], timeout: float) -> None:
    file = SqliteFile(draft, synchronous="FULL", busy_timeout=timeout)
    try:
        file.begin()
        file.execute(_HEADER)
        file.execute(_EVENTS)
        file.executemany("INSERT INTO header VALUES (?, ?)", sorted(header.items()))
        for trigger in _TRIGGERS:
            file.execute(trigger)
        file.commit()
        if file.one("PRAGMA wal_checkpoint(TRUNCATE)")[
            0
        ]:  # here, for a close that fails to fold the log in says nothing
            raise sqlite3.OperationalError("the write-ahead log is in use")
    finally:
        file.close()
    descriptor = os.open(draft, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def companions(path: Path) -> tuple[Path, ...]:
    """SQLite's files beside ``path``."""
    return tuple(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm", "-journal"))


def sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_file(path: Path) -> None:
    """Before SQLite sees it: a regular, writable, non-empty file with one name; ``LedgerError`` or ``OSError``.

    Never opens the file: closing a descriptor would drop the locks of this process's other connections to it.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise LedgerError(f"the ledger {path} is not a file", hint="choose another path with --ledger PATH")
    if not os.access(path, os.R_OK | os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise LedgerError(f"the ledger {path} is read-only", hint=WRITABLE)
    if status.st_size < _SMALLEST:
        raise LedgerError(f"the ledger {path} is truncated")
    if status.st_nlink > 1:
        # SQLite names its write-ahead log after the file: under two names it would have two of them.
        raise LedgerError(f"the ledger {path} has a second hard link", hint="keep exactly one name for the file")


def read_header(file: SqliteFile, path: Path) -> dict[str, str]:
    """The header of an open file whose tables and triggers are exactly a ledger's; ``LedgerError`` otherwise."""
    found = {sql for (sql,) in file.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")}
    header: dict[str, str] = {}
    # An unreadable header table is answered below like a missing one.
    with suppress(sqlite3.OperationalError):
        header = dict(file.execute("SELECT key, value FROM header").fetchall())
    if "ledger" not in header or "format" not in header:
        raise LedgerError(
            f"{path} is not a dpsql ledger", hint="check the path; if it was one, restore it from the owner's copy"
        )
    if header["format"] != FORMAT:
        raise LedgerError(
            f"the ledger {path} has format {header['format']}, this dpsql reads format {FORMAT}",
            hint="open it with the dpsql version that wrote it",
        )
    if found != _SCHEMA:
        raise LedgerError(f"the ledger {path} is altered: its tables or triggers are not a ledger's")
    return header
