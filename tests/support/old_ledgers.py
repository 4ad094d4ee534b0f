"""Ledgers that an earlier commit wrote: how they are opened, and what is asked of them and noted.

Made by tests/fixtures/make.py with the earlier code and read by tests/durability/test_old_ledgers.py with today's, so
nothing here may use more than both have: ``dpsql.connect``, its connection, and ``dpsql.mechanism.SystemEntropy``.
"""

import json
import shutil
from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import duckdb

import dpsql

FIXTURES = Path(__file__).parent.parent / "fixtures" / "ledgers"
FILES = ("old.ledger", "old.ledger-wal", "old.ledger.answers")
"""The write-ahead log is there where a session was killed."""


class Certain:
    """Every test comes out easy, and nothing is measured: what is answered then depends on the ledger alone."""

    def __init__(self) -> None:
        self.coins = 0

    def bits(self, n: int) -> int:
        self.coins += 1
        return 0

    def discrete_gaussian(self, sigma: Fraction, size: int) -> NoReturn:
        raise AssertionError("an old ledger has all measurements that these statements need")


def build(fixture: Path, directory: Path) -> Path:
    """The fixture's tables as a database, its policy, and a copy of its ledger; the path of the database."""
    path = directory / "old.duckdb"
    with duckdb.connect(str(path)) as connection:
        for rows in sorted(fixture.glob("*.parquet")):
            connection.execute(f"CREATE TABLE {rows.stem} AS FROM read_parquet('{rows}')")
    for name in ("policy.toml", *FILES):
        if (fixture / name).exists():
            shutil.copy(fixture / name, directory / name)
    return path


def connect(directory: Path) -> dpsql.Connection:
    """A session on what ``build`` made."""
    return dpsql.connect(directory / "old.duckdb", policy=directory / "policy.toml", ledger=directory / "old.ledger")


def transcript(
    con: dpsql.Connection, known: Sequence[str], fresh: Sequence[str], planned: Sequence[str] = ()
) -> dict[str, Any]:
    """What a session says about statements that were answered before, then about new ones, and how it would answer
    others (``planned``); in JSON's words."""
    opened = budget(con)
    plans = {text: explained(con, text) for text in (*known, *fresh, *planned)}
    said = {"opened": opened, "explained": plans, "known": {text: asked(con, text) for text in known}}
    return said | {"fresh": {text: asked(con, text) for text in fresh}, "closed": budget(con)}


def asked(con: dpsql.Connection, text: str) -> dict[str, Any]:
    """Rows, and each released number with all that stands beside it; or the error."""
    try:
        cursor = con.execute(text)
    except dpsql.Error as error:
        return {"error": type(error).__name__, "message": str(error)}
    fields = ("value", "error", "interval", "error_kind", "source", "certified", "certified_bound", "charged")
    answers = [[getattr(answer, name) for name in fields] for answer in cursor.answers]
    types = [(column[0], column[1]) for column in cursor.description or ()]
    return _json(
        {"columns": types, "rows": cursor.fetchall(), "answers": answers, "notes": notes(cursor.result, "strings")}
    )


def explained(con: dpsql.Connection, text: str) -> dict[str, Any]:
    plan = con.explain(text)
    fields = ("table", "scope", "cells", "support", "queries", "source", "error", "worst_charge", "foreseen")
    plans = [[getattr(part, name) for name in fields] for part in plan.plans]
    numbers = {"worst_charge": plan.worst_charge, "remaining": plan.remaining}
    return _json({"plans": plans} | numbers | {"notes": notes(plan, "plan"), "statements_left": plan.statements_left})


def notes(of: Any, kind: str) -> list[str]:
    """The notes of a result or a plan that are of the only kind which these had when the fixtures were made."""
    return [str(note) for note in of.notes if getattr(note, "kind", kind) == kind]


def budget(con: dpsql.Connection) -> dict[str, Any]:
    found = con.budget
    names = ("epsilon", "delta", "spent_epsilon", "remaining_epsilon", "hard_rounds_left", "queries_answered")
    said = {name: getattr(found, name) for name in (*names, "queries_free", "purses", "questions_left")}
    return _json(said | {"tables": [(table.table, table.strategy, table.error) for table in found.tables]})


def _json(said: dict[str, Any]) -> dict[str, Any]:
    """As it comes back from a file."""
    found: dict[str, Any] = json.loads(json.dumps(said, default=_text))
    return found


def _text(value: object) -> str:
    """What JSON has no word for."""
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} in a transcript")
