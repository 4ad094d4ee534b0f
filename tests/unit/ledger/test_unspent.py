"""A ledger without events takes another header in one step, and only then."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from dpsql.errors import LedgerError
from dpsql.ledger import Registry, SqliteLedger, stored_header
from dpsql.ledger.sqlite.doors import Earlier
from tests.contracts.ledger_contract import EASY, HEADER, any_cost

OTHERS = [{"policy": "other"}, {"data": "other"}, {"plan": '{"epsilon": "2"}'}, {"numbers": "9"}, {"rules": "x = 1"}]


@pytest.mark.parametrize("change", OTHERS)
def test_it_begins_anew_for_any_other_header(tmp_path: Path, change: dict[str, str]) -> None:
    path, registry = tmp_path / "a.ledger", Registry(tmp_path / "state")
    with SqliteLedger.open(path, HEADER, registry=registry) as ledger:
        before = ledger.header["ledger"]
        ledger.remember([("public", EASY)])
    assert stored_header(path) == {}
    with SqliteLedger.open(path, HEADER | change, registry=registry) as ledger:
        assert ledger.header == HEADER | change | {"ledger": ledger.header["ledger"], "format": "1"}
        assert ledger.header["ledger"] != before and ledger.lookup("public") is None
        assert any("begins anew" in notice for notice in ledger.notices)
        ledger.reserve(1, any_cost, {})
    assert [(known.ledger == before, known.forgotten) for known in registry.known()].count((True, True)) == 1
    assert stored_header(path)["policy"] == (HEADER | change)["policy"]
    with pytest.raises(sqlite3.IntegrityError), sqlite3.connect(path) as file:  # its triggers stand again
        file.execute("UPDATE header SET value = 'x'")


def test_one_event_binds_it_for_good(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    with SqliteLedger.open(path, HEADER) as ledger:
        ledger.free(ledger.reserve(1, any_cost, {}))  # nothing is spent, but rows may have been looked at
    with pytest.raises(LedgerError, match="another policy"):
        SqliteLedger.open(path, HEADER | {"policy": "other"})


def test_an_event_that_comes_in_between_binds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.ledger"
    with SqliteLedger.open(path, HEADER) as first:

        def meanwhile(*_: object) -> Earlier:
            first.reserve(1, any_cost, {})
            return Earlier()

        monkeypatch.setattr("dpsql.ledger.sqlite.opening.earlier_ledgers", meanwhile)
        with pytest.raises(LedgerError, match="another policy"):
            SqliteLedger.open(path, HEADER | {"policy": "other"})
        assert first.totals().reserved == 1


def test_the_same_header_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    with SqliteLedger.open(path, HEADER) as one, SqliteLedger.open(path, HEADER) as two:
        assert one.header == two.header and two.notices == ()
        two.free(two.reserve(1, any_cost, {}))
        one.free(one.reserve(1, any_cost, {}))


@pytest.mark.parametrize("change", OTHERS)
@pytest.mark.parametrize("place", ["a.ledger", "copy.ledger"])
@pytest.mark.parametrize("witness", ["registry", "answers"])
def test_a_copy_from_before_the_first_event_is_refused(
    tmp_path: Path, change: dict[str, str], place: str, witness: str
) -> None:
    path, registry = tmp_path / "a.ledger", Registry(tmp_path / "state") if witness == "registry" else None
    SqliteLedger.open(path, HEADER, registry=registry).close()
    before = path.read_bytes()
    with SqliteLedger.open(path, HEADER, registry=registry) as ledger:
        ledger.release(ledger.reserve(1, any_cost, {}), {}, [("q", EASY)])
        identity = ledger.header["ledger"]
    copy = tmp_path / place
    copy.write_bytes(before)
    if copy != path:
        path.with_name("a.ledger.answers").rename(copy.with_name("copy.ledger.answers"))
    with pytest.raises(LedgerError, match="older than its state on record"):
        SqliteLedger.open(copy, HEADER | change, registry=registry)
    if registry is not None:
        (known,) = registry.known()
        assert known.ledger == identity and known.sequence > 0 and not known.forgotten
    # an owner who decides on another budget reads of the one that it adds to
    with SqliteLedger.open(copy, HEADER | change, registry=registry, new_budget=True) as ledger:
        assert any("older copy" in notice for notice in ledger.notices)
        if registry is not None:  # which stays known
            assert {(k.ledger == identity, k.sequence > 0, k.forgotten) for k in registry.known()} == {
                (True, True, False),
                (False, False, False),
            }


def test_answers_that_another_process_holds_may_be_a_witness(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    SqliteLedger.open(path, HEADER).close()
    before = path.read_bytes()
    with SqliteLedger.open(path, HEADER) as ledger:
        ledger.release(ledger.reserve(1, any_cost, {}), {}, [("q", EASY)])
    path.write_bytes(before)
    with closing(sqlite3.connect(path.with_name("a.ledger.answers"), isolation_level=None)) as held:
        held.execute("PRAGMA locking_mode = EXCLUSIVE")
        held.execute("BEGIN IMMEDIATE")
        held.execute("COMMIT")
        with pytest.raises(LedgerError, match="locked by another process"):
            SqliteLedger.open(path, HEADER | {"policy": "other"})
    with pytest.raises(LedgerError, match="older than its state on record"):
        SqliteLedger.open(path, HEADER | {"policy": "other"})
