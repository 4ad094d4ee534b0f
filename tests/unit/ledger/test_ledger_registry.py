"""Anchors: deleted, older, copied or second ledgers do not open a fresh budget silently."""

import json
import shutil
from pathlib import Path

import pytest

from dpsql.errors import LedgerError
from dpsql.ledger import Registry, SqliteLedger, Totals
from tests.contracts.ledger_contract import HEADER, any_cost


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(tmp_path / "state")


@pytest.fixture
def path(tmp_path: Path, registry: Registry) -> Path:
    """A registered ledger with 10 units spent, closed."""
    path = tmp_path / "a.ledger"
    spend(path, registry)
    return path


def spend(path: Path, registry: Registry | None, cost: int = 10) -> None:
    with SqliteLedger.open(path, HEADER, registry=registry) as ledger:
        ledger.release(ledger.reserve(cost, any_cost, {}), {})


def remove(path: Path) -> None:
    for entry in path.parent.glob(f"{path.name}*"):
        entry.unlink()


def refused(path: Path, registry: Registry, header: dict[str, str] = HEADER) -> LedgerError:
    with pytest.raises(LedgerError) as raised:
        SqliteLedger.open(path, header, registry=registry)
    assert raised.value.hint
    assert raised.value.__context__ is None
    return raised.value


def test_goes_on(path: Path, registry: Registry) -> None:
    spend(path, registry)
    with SqliteLedger.open(path, HEADER, registry=registry) as ledger:
        assert ledger.totals() == Totals(20, 0)
        assert ledger.notices == ()


def test_second_ledger_for_the_same_data(path: Path, registry: Registry) -> None:
    second = path.with_name("b.ledger")
    error = refused(second, registry)
    assert str(path) in error.message
    assert "--new-budget" in error.hint
    assert not second.exists()
    with SqliteLedger.open(second, HEADER, registry=registry, new_budget=True) as ledger:
        assert ledger.totals() == Totals(0, 0)
    spend(second, registry)  # decided once, both go on
    spend(path, registry)


def test_a_ledger_is_named_as_a_shell_reads_it(registry: Registry, tmp_path: Path) -> None:
    path = tmp_path / "a folder" / "a.ledger"
    path.parent.mkdir()
    spend(path, registry)
    assert f"--ledger '{path}'" in refused(tmp_path / "b.ledger", registry).hint


def test_other_data_have_their_own(path: Path, registry: Registry) -> None:
    SqliteLedger.open(path.with_name("b.ledger"), {**HEADER, "data": "other"}, registry=registry).close()


def test_another_policy_is_no_way_round(path: Path, registry: Registry) -> None:
    refused(path.with_name("b.ledger"), registry, {**HEADER, "policy": "other"})


def test_deleted(path: Path, registry: Registry) -> None:
    remove(path)
    error = refused(path, registry)
    assert "missing" in error.message
    assert "--new-budget" in error.hint
    with SqliteLedger.open(path, HEADER, registry=registry, new_budget=True) as ledger:
        assert any("new ledger" in notice for notice in ledger.notices)


def test_older_copy(path: Path, registry: Registry) -> None:
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    spend(path, registry)
    remove(path)
    shutil.move(copy, path)
    assert "older than" in refused(path, registry).message
    assert "older than" in refused(path, registry).message


def test_older_copy_that_went_on_elsewhere(path: Path, registry: Registry) -> None:
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    spend(path, registry)
    remove(path)
    shutil.move(copy, path)
    spend(path, None, cost=1)
    spend(path, None, cost=1)
    assert "older" in refused(path, registry).message


def test_moved_ledger_goes_on(path: Path, registry: Registry) -> None:
    moved = path.with_name("moved.ledger")
    shutil.move(path, moved)
    spend(moved, registry)
    anchors = registry.anchors(HEADER["data"])
    assert [anchor.path for anchor in anchors.values()] == [str(moved)]


def test_two_copies_cannot_both_go_on(path: Path, registry: Registry) -> None:
    copy = path.with_name("copy.ledger")
    shutil.copy(path, copy)
    spend(copy, registry)
    assert "older than" in refused(path, registry).message


def test_spent_without_the_registry_is_caught_up(path: Path, registry: Registry) -> None:
    spend(path, None)
    spend(path, registry)
    (anchor,) = registry.anchors(HEADER["data"]).values()
    assert anchor.sequence == 6


def test_unregistered_ledger_beside_a_registered_one(path: Path, registry: Registry) -> None:
    second = path.with_name("b.ledger")
    spend(second, None)
    assert str(path) in refused(second, registry).message
    SqliteLedger.open(second, HEADER, registry=registry, new_budget=True).close()
    spend(second, registry)


def test_anchored_from_its_creation_on(tmp_path: Path, registry: Registry) -> None:
    class Crash(Exception):
        pass

    def crash(step: str) -> None:
        if step == "recover:begin":
            raise Crash

    path = tmp_path / "a.ledger"
    (tmp_path / "a.ledger.holder-x").touch()
    with pytest.raises(Crash):
        SqliteLedger.open(path, HEADER, registry=registry, on_step=crash)
    (known,) = registry.known()
    assert (known.path, known.sequence) == (str(path), 0)
    assert list(registry.anchors(HEADER["data"])) == [known.ledger]


def test_a_directory_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with SqliteLedger.open(tmp_path / "a.ledger", HEADER, registry=Registry(tmp_path / "file" / "state")) as ledger:
        assert any("cannot be written" in notice for notice in ledger.notices)
        ledger.reserve(1, any_cost, {})


def test_a_registry_lost_on_the_way_is_reported(path: Path, registry: Registry) -> None:
    with SqliteLedger.open(path, HEADER, registry=registry) as ledger:
        shutil.rmtree(registry.directory)
        registry.directory.touch()
        ledger.reserve(1, any_cost, {})
        assert any("cannot be written" in notice for notice in ledger.notices)
        ledger.reserve(1, any_cost, {})


def test_a_damaged_registry_is_not_taken_for_an_empty_one(path: Path, registry: Registry) -> None:
    (file,) = (registry.directory / "ledgers").glob("*.json")
    for text in ("", "{", "[]", '{"ledgers": [{}]}', '{"ledgers": 5}'):
        file.write_text(text)
        assert "damaged" in refused(path, registry).message
        assert "damaged" in refused(path.with_name("b.ledger"), registry).message


def test_never_goes_back(path: Path, registry: Registry) -> None:
    (anchor,) = registry.anchors(HEADER["data"]).values()
    older = type(anchor)(anchor.ledger, anchor.path, 1, "00")
    registry.record(HEADER["data"], older, sync=True)
    assert list(registry.anchors(HEADER["data"]).values()) == [anchor]


def test_holds_public_values_only(path: Path, registry: Registry) -> None:
    (file,) = (registry.directory / "ledgers").glob("*.json")
    content = json.loads(file.read_text())
    assert set(content) == {"data", "ledgers"}
    assert [set(entry) for entry in content["ledgers"]] == [{"ledger", "path", "sequence", "head"}]
    assert file.stat().st_mode & 0o077 == 0


TABLES = {**HEADER, "tables": "adult pets"}


def test_a_policy_of_other_columns_or_tables_opens_no_second_budget(tmp_path: Path, registry: Registry) -> None:
    """The data identity follows the policy; the tables' fingerprints do not."""
    with SqliteLedger.open(tmp_path / "a.ledger", TABLES, registry=registry) as ledger:
        ledger.release(ledger.reserve(10, any_cost, {}), {})
    for tables in ("pets", "adult", "adult other", "pets adult"):
        other = {"policy": "another", "data": "another", "plan": "{}", "tables": tables}
        error = refused(tmp_path / "b.ledger", registry, other)
        assert str(tmp_path / "a.ledger") in error.message
        assert "--new-budget" in error.hint
    SqliteLedger.open(tmp_path / "c.ledger", {**TABLES, "tables": "other"}, registry=registry).close()


def test_every_table_remembers_the_latest_state(tmp_path: Path, registry: Registry) -> None:
    path, copy = tmp_path / "a.ledger", tmp_path / "copy"
    SqliteLedger.open(path, TABLES, registry=registry).close()
    shutil.copy(path, copy)
    with SqliteLedger.open(path, TABLES, registry=registry) as ledger:
        ledger.release(ledger.reserve(10, any_cost, {}), {})
    for table in ("adult", "pets"):
        (anchor,) = registry.anchors(table).values()
        assert anchor.sequence == 2
    remove(path)
    shutil.move(copy, path)
    assert "older than" in refused(path, registry, TABLES).message


def test_a_new_budget_is_decided_for_all_tables_at_once(tmp_path: Path, registry: Registry) -> None:
    SqliteLedger.open(tmp_path / "a.ledger", TABLES, registry=registry).close()
    second = tmp_path / "b.ledger"
    wider = {**TABLES, "data": "wider", "tables": "adult more"}
    SqliteLedger.open(second, wider, registry=registry, new_budget=True).close()
    SqliteLedger.open(second, wider, registry=registry).close()
    SqliteLedger.open(tmp_path / "a.ledger", TABLES, registry=registry).close()
    refused(tmp_path / "c.ledger", registry, {**TABLES, "tables": "more"})


def test_two_copies_that_are_open_at_once(path: Path, registry: Registry) -> None:
    """Both are the latest state when they are opened; the one that is further goes on, whichever it is."""
    copy = path.with_name("copy.ledger")
    shutil.copy(path, copy)
    with SqliteLedger.open(path, HEADER, registry=registry) as one:
        other = SqliteLedger.open(copy, HEADER, registry=registry)
        one.release(one.reserve(10, any_cost, {}), {})
        with pytest.raises(LedgerError, match="copy of the ledger") as raised:
            other.reserve(10, any_cost, {})
        assert raised.value.hint
        with pytest.raises(LedgerError):
            other.reserve(10, any_cost, {})
        other.close()
        one.release(one.reserve(10, any_cost, {}), {})
    refused(copy, registry)
    spend(path, registry)


def test_two_sessions_on_one_file_by_two_names(path: Path, registry: Registry, tmp_path: Path) -> None:
    """A folder that is known by two names holds one ledger."""
    (tmp_path / "link").symlink_to(path.parent)
    one = SqliteLedger.open(path, HEADER, registry=registry)
    other = SqliteLedger.open(tmp_path / "link" / path.name, HEADER, registry=registry)
    with one, other:
        for ledger in (one, other, one, other):
            ledger.release(ledger.reserve(1, any_cost, {}), {})
        assert one.totals() == other.totals() == Totals(14, 0)


@pytest.mark.parametrize("how", ["removed", "moved", "replaced"])
def test_the_file_goes_while_it_is_open(path: Path, registry: Registry, how: str) -> None:
    """What is appended to a file without a name is lost, and is spent once more from the one in its place."""
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    with SqliteLedger.open(path, HEADER, registry=registry) as ledger:
        {
            "removed": path.unlink,
            "moved": lambda: path.rename(path.with_name("b")),
            "replaced": lambda: copy.replace(path),
        }[how]()
        with pytest.raises(LedgerError, match="moved, removed or replaced") as raised:
            ledger.reserve(1, any_cost, {})
        assert raised.value.hint
        with pytest.raises(LedgerError):
            ledger.totals()


def test_an_older_copy_without_a_later_one(path: Path, registry: Registry, tmp_path: Path) -> None:
    """The hint names the one way that is left, and it is one."""
    old = tmp_path / "old"
    shutil.copy(path, old)
    spend(path, registry)
    remove(path)
    shutil.copy(old, path)
    assert "--ledger PATH --new-budget" in refused(path, registry).hint
    SqliteLedger.open(path.with_name("b.ledger"), HEADER, registry=registry, new_budget=True).close()
