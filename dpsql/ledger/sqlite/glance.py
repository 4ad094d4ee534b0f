"""What a ledger's file tells of itself to somebody who is about to make another one.

The registry may be gone, or older than what it should tell; the file beside the database is still there.
"""

import sqlite3
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from dpsql.errors import LedgerError
from dpsql.ledger.known import Known, budget_of
from dpsql.ledger.registry import registered_tables
from dpsql.ledger.sqlite.file import BUSY_SECONDS, SqliteFile
from dpsql.ledger.sqlite.schema import check_file, read_header

T = TypeVar("T")


def is_unspent(file: SqliteFile) -> bool:
    """Whether nothing was ever reserved: no private row was looked at under this ledger."""
    return file.execute("SELECT 1 FROM events LIMIT 1").fetchone() is None


def known_by_itself(file: SqliteFile, path: Path, header: Mapping[str, str]) -> Known:
    """What an open file tells. ``sqlite3.Error`` or ValueError where it cannot be read."""
    sequence, units = _spent(file)
    budget = budget_of(header)
    epsilon = None if budget is None else float(budget[0])
    spent = None if budget is None else float(budget[0] * units / budget[1])
    return Known(header["ledger"], str(path), sequence, (), _declared(header), epsilon, spent)


def glance(path: Path) -> Known | None:
    """The same for a file that need not be a ledger, or be there at all: ``None`` then."""
    return _looked_into(path, lambda file: known_by_itself(file, path, read_header(file, path)))


def rows_of(path: Path) -> tuple[str, frozenset[str]]:
    """The identity of such a file and the fingerprints of the rows that it is about; empty where it is no ledger."""
    header = _looked_into(path, lambda file: read_header(file, path))
    return ("", frozenset()) if header is None else (header["ledger"], frozenset(registered_tables(header)))


def _looked_into(path: Path, look: Callable[[SqliteFile], T]) -> T | None:
    try:
        check_file(path)
        file = SqliteFile(path, synchronous="FULL", busy_timeout=BUSY_SECONDS)
        try:
            return look(file)
        finally:
            file.close()
    except (sqlite3.Error, OSError, LedgerError, ValueError):
        return None


def _spent(file: SqliteFile) -> tuple[int, int]:
    """The last event's number, and units spent or set aside."""
    last, spent = 0, 0
    reserved: dict[int, int] = {}
    for sequence, kind, reservation, cost in file.execute("SELECT sequence, kind, reservation, cost FROM events"):
        last = max(last, sequence)
        if kind == "reserve":
            reserved[reservation] = int(cost)
        elif kind != "hard":
            reserved.pop(reservation, None)
            spent += int(cost)
    return last, spent + sum(reserved.values())


def _declared(header: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """The tables and columns of the policy that the ledger began with, in lower case."""
    try:
        tables = tomllib.loads(header.get("rules", "")).get("tables", {})
    except tomllib.TOMLDecodeError:
        return {}
    return {name.lower(): frozenset(c.lower() for c in table.get("columns", ())) for name, table in tables.items()}
