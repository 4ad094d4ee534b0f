"""One budget for each table, whichever rules its fingerprints were made by."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from dpsql.errors import LedgerError
from dpsql.ledger import Registry, SqliteLedger

FIRST = {"policy": "p", "data": "data by the first rules", "tables": "aa bb"}
NEWER = {"policy": "p", "data": "data by newer rules", "tables": "2:cc 2:dd", "fingerprint": "2", "unit_rows": "2"}
ELSEWHERE = {"policy": "p", "data": "other data", "tables": "ee"}


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(tmp_path / "state")


def by_first_rules() -> Sequence[str]:
    return ("bb", "aa")


def by_newer_rules() -> Sequence[str]:
    return ("2:cc", "2:dd")


def never() -> Sequence[str]:
    raise AssertionError("this would scan the tables again")


def test_a_new_ledger_for_data_that_an_earlier_version_knew_needs_a_decision(
    tmp_path: Path, registry: Registry
) -> None:
    old, new = tmp_path / "old.ledger", tmp_path / "new.ledger"
    SqliteLedger.open(old, FIRST, registry=registry).close()  # as an earlier version: it knows no other rules
    with pytest.raises(LedgerError, match=r"already have a ledger, .*old\.ledger") as caught:
        SqliteLedger.open(new, NEWER, registry=registry, others=by_first_rules)
    assert "--new-budget" in caught.value.hint and not new.exists()
    SqliteLedger.open(new, NEWER, registry=registry, others=by_first_rules, new_budget=True).close()
    SqliteLedger.open(new, NEWER, registry=registry, others=by_first_rules).close()  # decided once, both go on
    SqliteLedger.open(old, FIRST, registry=registry, others=by_newer_rules).close()
    third = tmp_path / "third.ledger"
    with pytest.raises(LedgerError, match="already have a ledger"):
        SqliteLedger.open(third, NEWER, registry=registry, others=by_first_rules)


def test_an_earlier_ledger_becomes_known_by_the_newer_rules_when_it_is_opened(
    tmp_path: Path, registry: Registry
) -> None:
    old, new = tmp_path / "old.ledger", tmp_path / "new.ledger"
    SqliteLedger.open(old, FIRST, registry=registry).close()
    SqliteLedger.open(old, FIRST, registry=registry, others=by_newer_rules).close()
    SqliteLedger.open(old, FIRST, registry=registry, others=never).close()  # once is enough
    with pytest.raises(LedgerError, match=r"already have a ledger, .*old\.ledger"):
        SqliteLedger.open(new, NEWER, registry=registry, others=never)


def test_it_is_as_far_by_the_newer_rules_as_by_its_own(tmp_path: Path, registry: Registry) -> None:
    old = tmp_path / "old.ledger"
    for _ in range(2):
        with SqliteLedger.open(old, FIRST, registry=registry, others=by_newer_rules) as ledger:
            ledger.release(ledger.reserve(1, lambda _: None, {}), {})
    found = [registry.anchors(table) for table in ("aa", "bb", "2:cc", "2:dd")]
    assert found == [found[0]] * 4 and len(found[0]) == 1
    (anchor,) = found[0].values()
    assert anchor.sequence == 4


def test_a_copy_from_elsewhere_is_compared_by_all_rules(tmp_path: Path, registry: Registry) -> None:
    old, new, copy = tmp_path / "old.ledger", tmp_path / "new.ledger", tmp_path / "copy.ledger"
    SqliteLedger.open(old, FIRST).close()  # on another machine
    SqliteLedger.open(new, NEWER, registry=registry, others=by_first_rules).close()
    with pytest.raises(LedgerError, match="not the one known for these data"):
        SqliteLedger.open(old, FIRST, registry=registry, others=by_newer_rules)
    SqliteLedger.open(old, FIRST, registry=registry, others=by_newer_rules, new_budget=True).close()
    registry_of_others = Registry(tmp_path / "others")
    SqliteLedger.open(old, FIRST, registry=registry_of_others).close()
    shutil.copy(new, copy)
    with pytest.raises(LedgerError, match="not the one known for these data"):
        SqliteLedger.open(copy, NEWER, registry=registry_of_others, others=by_first_rules)


def test_nothing_is_scanned_where_all_is_known_by_the_same_rules(tmp_path: Path, registry: Registry) -> None:
    new, other = tmp_path / "new.ledger", tmp_path / "other.ledger"
    SqliteLedger.open(new, NEWER, registry=registry, others=never).close()
    SqliteLedger.open(new, NEWER, registry=registry, others=never).close()
    SqliteLedger.open(other, {**NEWER, "tables": "2:zz"}, registry=registry, others=never).close()
    SqliteLedger.open(tmp_path / "older.ledger", ELSEWHERE, registry=registry).close()
    SqliteLedger.open(new, NEWER, registry=registry, others=never).close()  # known: no stranger can be its like


@pytest.mark.parametrize("tables", ["aa", "aa bb"])
def test_a_damaged_file_hides_nothing(tmp_path: Path, registry: Registry, tables: str) -> None:
    old, new = tmp_path / "old.ledger", tmp_path / "new.ledger"
    SqliteLedger.open(old, {**FIRST, "tables": tables}, registry=registry).close()
    for file in (registry.directory / "ledgers").glob("*.json"):
        if json.loads(file.read_text())["data"] == "aa":
            file.write_text("{")
    with pytest.raises(LedgerError):
        SqliteLedger.open(new, NEWER, registry=registry, others=by_first_rules)


def test_a_ledger_of_other_rules_than_its_engine_is_refused(tmp_path: Path) -> None:
    """The header is read before the engine is opened; the file may have come in between."""
    path = tmp_path / "a.ledger"
    with SqliteLedger.open(path, FIRST) as ledger:
        ledger.reserve(1, lambda _: None, {})
    with pytest.raises(LedgerError, match="just now"):
        SqliteLedger.open(path, {**FIRST, "unit_rows": "2"})
    with pytest.raises(LedgerError, match="just now"):
        SqliteLedger.open(path, {**FIRST, "fingerprint": "2"})
