"""The chain, the fold and the state directory, each against a second way of computing it."""

import hashlib
import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from dpsql.errors import LedgerError
from dpsql.ledger import Event, SqliteLedger, Totals, default_state_directory, state_directory
from dpsql.ledger.balance import Balance
from dpsql.ledger.record import Record, genesis
from tests.contracts.ledger_contract import HEADER, any_cost

RECORD = Record(1, "reserve", 1, "10", '{"burn":3}', "holder", None)
RESERVE = Event(1, "reserve", 1, 10, {"burn": 3})


@pytest.mark.parametrize(
    "change",
    [
        {"sequence": 2},
        {"kind": "hard"},
        {"reservation": 2},
        {"cost": "11"},
        {"payload": "{}"},
        {"holder": "other"},
        {"answers": "[]"},
    ],
)
def test_the_digest_covers_every_field_and_all_before(change: dict[str, object]) -> None:
    before = genesis(HEADER)
    assert RECORD.digest(before) == RECORD.digest(before)
    assert RECORD.digest(before) != replace(RECORD, **change).digest(before)  # type: ignore[arg-type]
    assert RECORD.digest(before) != RECORD.digest(genesis({**HEADER, "plan": ""}))


def test_the_chain_can_be_checked_without_this_package(tmp_path: Path) -> None:
    with SqliteLedger.open(tmp_path / "a.ledger", HEADER) as ledger:
        ledger.release(ledger.reserve(10, any_cost, {"burn": 3}), {"values": [1]})
        header = json.dumps(dict(ledger.header), separators=(",", ":"), sort_keys=True)
        head = hashlib.sha256(b"dpsql ledger 1\n" + header.encode()).digest()
        connection = sqlite3.connect(tmp_path / "a.ledger")
        for *fields, digest in connection.execute("SELECT * FROM events ORDER BY sequence").fetchall():
            head = hashlib.sha256(head + json.dumps(fields, separators=(",", ":")).encode()).digest()
            assert head == digest
        connection.close()


@pytest.mark.parametrize(("kind", "cost", "payload"), [("other", "1", "{}"), ("free", "x", "{}"), ("free", "0", "[")])
def test_unreadable_records(kind: str, cost: str, payload: str) -> None:
    with pytest.raises(LedgerError, match="unreadable") as raised:
        Record(1, kind, 1, cost, payload, "holder", None).event()
    assert raised.value.__context__ is None


@pytest.mark.parametrize(
    ("event", "holder"),
    [
        (Event(2, "reserve", 1, 10, {}), "a"),
        (Event(2, "reserve", 2, -1, {}), "a"),
        (Event(2, "free", 9, 0, {}), "a"),
        (Event(2, "free", 1, 0, {}), "b"),
        (Event(2, "free", 1, 1, {}), "a"),
        (Event(2, "release", 1, 9, {}), "a"),
        (Event(2, "release", 1, 10, {}), "b"),
        (Event(2, "hard", 1, 1, {}), "a"),
        (Event(2, "burn", 1, 2, {}), "b"),
        (Event(2, "burn", 1, 0, {}), "a"),
    ],
)
def test_events_that_cannot_follow(event: Event, holder: str) -> None:
    balance = Balance()
    balance.apply(RESERVE, "a")
    with pytest.raises(LedgerError):
        balance.apply(event, holder)
    assert balance.totals == Totals(0, 10)


def test_burnt_in_full_once_hard() -> None:
    balance = Balance()
    balance.apply(RESERVE, "a")
    balance.apply(Event(2, "hard", 1, 0, {}), "a")
    for event in (Event(3, "free", 1, 0, {}), Event(3, "hard", 1, 0, {})):
        with pytest.raises(LedgerError):
            balance.apply(event, "a")
    with pytest.raises(LedgerError):
        balance.apply(Event(3, "burn", 1, 3, {}), "b")
    balance.apply(Event(3, "burn", 1, 10, {}), "b")
    assert balance.totals == Totals(10, 0)


def test_state_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    home = Path("/home/ada")
    assert state_directory({"DPSQL_STATE_HOME": "/a", "XDG_STATE_HOME": "/b"}, home) == Path("/a")
    assert state_directory({"DPSQL_STATE_HOME": "", "XDG_STATE_HOME": "/b"}, home) == Path("/b/dpsql")
    assert state_directory({}, home) == Path("/home/ada/.local/state/dpsql")
    monkeypatch.setenv("DPSQL_STATE_HOME", "/elsewhere")
    assert default_state_directory() == Path("/elsewhere")
