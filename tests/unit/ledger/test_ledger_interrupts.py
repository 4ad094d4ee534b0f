"""What an interrupt leaves behind in a ledger: nothing counted twice, no lock kept, nothing that cannot be closed."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dpsql.errors import LedgerError
from dpsql.ledger import SqliteLedger, Totals
from dpsql.ledger.balance import Balance
from dpsql.ledger.sqlite import opening
from dpsql.ledger.sqlite.file import SqliteFile, Synchronous
from dpsql.ledger.sqlite.holder import is_alive
from tests.contracts.ledger_contract import HEADER, any_cost


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.ledger"


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> list[SqliteFile]:
    """The SQLite files of ledgers, in the order in which they were opened."""
    opened: list[SqliteFile] = []

    class Noted(SqliteFile):
        def __init__(self, path: Path | None, *, synchronous: Synchronous, busy_timeout: float) -> None:
            super().__init__(path, synchronous=synchronous, busy_timeout=busy_timeout)
            opened.append(self)

    monkeypatch.setattr(opening, "SqliteFile", Noted)
    return opened


@pytest.fixture
def mine(path: Path, files: list[SqliteFile]) -> Iterator[SqliteLedger]:
    with SqliteLedger.open(path, HEADER) as ledger:
        yield ledger


@pytest.fixture
def other(path: Path, mine: SqliteLedger) -> Iterator[SqliteLedger]:
    with SqliteLedger.open(path, HEADER, busy_timeout=0.2) as ledger:
        yield ledger


def interrupt_once(monkeypatch: pytest.MonkeyPatch, target: str, *, after: bool) -> None:
    """The first call of ``target`` is interrupted, before or ``after`` it did its work."""
    module, _, name = target.rpartition(".")
    owner = Balance if module.endswith("Balance") else __import__(module, fromlist=[name])
    original: Callable[..., Any] = getattr(owner, name)
    calls: list[int] = []

    def interrupted(*arguments: Any, **others: Any) -> Any:
        calls.append(1)
        if len(calls) > 1:
            return original(*arguments, **others)
        if after:
            original(*arguments, **others)
        raise KeyboardInterrupt

    monkeypatch.setattr(owner, name, interrupted)


def test_an_event_that_was_half_followed_is_not_counted_twice(
    monkeypatch: pytest.MonkeyPatch, mine: SqliteLedger, other: SqliteLedger
) -> None:
    kept = mine.reserve(1, any_cost, {})
    number = other.reserve(10, any_cost, {"burn": 3})
    mine.totals()
    other.release(number, {})
    with monkeypatch.context() as patch:
        interrupt_once(patch, "dpsql.ledger.balance.Balance.apply", after=True)
        with pytest.raises(KeyboardInterrupt):
            mine.totals()
    assert mine.settle(kept) == kept
    assert mine.totals() == Totals(10, 1)
    assert [e.kind for e in mine.events()] == ["reserve", "reserve", "release"]


@pytest.mark.parametrize("after", [False, True])
def test_an_interrupt_while_the_holder_locks_leaves_it_alive_and_able_to_die(
    monkeypatch: pytest.MonkeyPatch, path: Path, mine: SqliteLedger, other: SqliteLedger, after: bool
) -> None:
    with monkeypatch.context() as patch:
        interrupt_once(patch, "dpsql.ledger.sqlite.holder.try_lock", after=after)
        with pytest.raises(KeyboardInterrupt):
            mine.reserve(10, any_cost, {"burn": 3})
    number = mine.reserve(10, any_cost, {"burn": 3})
    with sqlite3.connect(path) as events:
        ((holder,),) = events.execute("SELECT DISTINCT holder FROM events")
    events.close()
    assert is_alive(path, holder)
    other.settle(None, dead=True)
    assert other.totals() == Totals(0, 10)
    mine.free(number)
    mine.close()
    assert not is_alive(path, holder)


def test_a_session_that_could_not_read_is_dead_for_others(
    monkeypatch: pytest.MonkeyPatch, mine: SqliteLedger, other: SqliteLedger
) -> None:
    mine.reserve(10, any_cost, {"burn": 3})

    def broken(_: object) -> int:
        raise OSError(5, "broken")

    with monkeypatch.context() as patch:
        patch.setattr(SqliteFile, "data_version", broken)
        with pytest.raises(LedgerError):
            mine.events()
    other.settle(None, dead=True)
    assert other.totals() == Totals(3, 0)
    with pytest.raises(LedgerError, match="stopped"):
        mine.totals()


def test_a_transaction_that_an_interrupt_left_open_is_rolled_back(
    mine: SqliteLedger, other: SqliteLedger, files: list[SqliteFile]
) -> None:
    files[0].begin()
    assert other.totals() == Totals(0, 0)
    with pytest.raises(LedgerError, match="locked"):
        other.reserve(1, any_cost, {})
    mine.reserve(10, any_cost, {"burn": 3})
    other.reserve(1, any_cost, {})
    assert mine.totals() == Totals(0, 11)


def test_a_kept_reservation_that_is_closed_already_is_not_kept(mine: SqliteLedger) -> None:
    number = mine.reserve(10, any_cost, {"burn": 3})
    mine.free(number)
    assert mine.settle(number) is None
