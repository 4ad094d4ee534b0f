"""Ledgers that earlier commits wrote open and answer as they did there: tests/fixtures/make.py says how they were made.

What differs on purpose is said here. ``replace_one_rows``: its row count was published exactly, which only a policy
with ``row_count = "public"`` allows now; without that line the ledger is refused, with it answers as before. Notes may
say more than they said. Sums that are measured are rounded by chance now, which takes no coin of a test. Bars of counts
whose rows were guessed in part went below 0, and are cut there now.
"""

import json
import math
import re
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import dpsql
import dpsql.mechanism
from dpsql.engine import Rules
from dpsql.engine.duckdb import DuckDbEngine
from dpsql.first import bench
from dpsql.ledger import Registry, stored_header
from dpsql.ledger.record import genesis
from dpsql.ledger.registry import Anchor
from tests.support import old_ledgers

NAMES = sorted(path.name for path in old_ledgers.FIXTURES.iterdir())
AS_BEFORE = [name for name in NAMES if name not in ("replace_one_rows", "retired_strategy")]


@pytest.fixture
def certain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> old_ledgers.Certain:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    entropy = old_ledgers.Certain()
    monkeypatch.setattr(dpsql.mechanism, "SystemEntropy", lambda: entropy)
    monkeypatch.setattr(bench, "rounded_by_chance", lambda shares, *_: shares)
    return entropy


_STRINGS = re.compile(r" \([\d,]+ of them\)")
"""How many strings were released: notes counted NULL among them once."""


def said(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((old_ledgers.FIXTURES / name / "said.json").read_text(encoding="utf-8"))
    return found


def statements(then: dict[str, Any]) -> tuple[list[str], list[str], list[str]]:
    """Those that were known, fresh, and explained alone."""
    known, fresh = list(then["known"]), list(then["fresh"])
    return known, fresh, [text for text in then["explained"] if text not in (*known, *fresh)]


def assert_same(now: object, then: object, where: str) -> None:
    """Equal, floats up to the order in which they were added up."""
    if isinstance(now, dict) and isinstance(then, dict):
        assert list(now) == list(then), where
        for key, value in then.items():
            assert_same(now[key], value, f"{where} / {key}")
    elif isinstance(now, list) and isinstance(then, list):
        assert len(now) == len(then), where
        for i, (one, other) in enumerate(zip(now, then, strict=True)):
            assert_same(one, other, f"{where}[{i}]")
    elif isinstance(now, float) and isinstance(then, float):
        assert math.isclose(now, then, rel_tol=1e-9) or _is_cut(now, then, where), f"{where}: {now}, it was {then}"
    elif isinstance(now, str) and isinstance(then, str) and " / notes" in where:
        now, then = (_STRINGS.sub("", text) for text in (now, then))
        assert now == then or now.startswith(f"{then}; "), f"{where}: {now}, it was {then}"
    else:
        assert now == then, f"{where}: {now}, it was {then}"


def _is_cut(now: float, then: float, where: str) -> bool:
    """Intervals begin at 0 now, and those of what noise took below do not end there."""
    if " / answers[" not in where or not where.endswith(("[2][0]", "[2][1]")):
        return False
    return now == 0.0 > then if where.endswith("[2][0]") else 0.0 <= then < now


def test_the_killed_ledger_is_as_the_kill_left_it() -> None:
    """Whoever looks into the file with SQLite moves its log into it, and nothing is left to recover."""
    log = old_ledgers.FIXTURES / "killed" / "old.ledger-wal"
    assert log.exists() and log.stat().st_size > 0


@pytest.mark.parametrize("name", AS_BEFORE)
def test_an_old_ledger_answers_as_before(name: str, tmp_path: Path, certain: old_ledgers.Certain) -> None:
    then = said(name)
    old_ledgers.build(old_ledgers.FIXTURES / name, tmp_path)
    with old_ledgers.connect(tmp_path) as con:
        now = old_ledgers.transcript(con, *statements(then))
    coins = then.pop("coins")
    assert_same(now, then, name)
    assert certain.coins == coins  # as many tests, none of them with another's coins


def test_a_row_count_that_nobody_declared_public_is_refused_in_words(tmp_path: Path) -> None:
    old_ledgers.build(old_ledgers.FIXTURES / "replace_one_rows", tmp_path)
    with pytest.raises(dpsql.LedgerError, match="exact number of rows of pets") as caught:
        old_ledgers.connect(tmp_path)
    assert 'row_count = "public" under [tables.pets]' in caught.value.hint and "--new-budget" in caught.value.hint
    assert "the same people can then lose epsilon" in caught.value.hint


def declared(directory: Path) -> None:
    policy = directory / "policy.toml"
    line = "[tables.pets.columns]"
    policy.write_text(policy.read_text().replace(line, f'[tables.pets]\nrow_count = "public"\n{line}'))


def test_once_it_is_declared_public_the_ledger_answers_as_before(tmp_path: Path, certain: old_ledgers.Certain) -> None:
    then = said("replace_one_rows")
    old_ledgers.build(old_ledgers.FIXTURES / "replace_one_rows", tmp_path)
    declared(tmp_path)
    with old_ledgers.connect(tmp_path) as con:
        now = old_ledgers.transcript(con, *statements(then))
    coins = then.pop("coins")
    assert_same(now, then, "replace_one_rows")
    assert certain.coins == coins


def test_the_declaration_changes_nothing_else_of_a_policy(tmp_path: Path) -> None:
    old_ledgers.build(old_ledgers.FIXTURES / "replace_one_rows", tmp_path)
    declared(tmp_path)
    policy = tmp_path / "policy.toml"
    policy.write_text(policy.read_text().replace("[mechanism]", "[mechanism]\nerror_factor = 2"))
    with pytest.raises(dpsql.LedgerError, match="another policy"):
        old_ledgers.connect(tmp_path)


def test_a_ledger_of_a_word_that_meant_something_else_goes_on_under_the_word_for_what_it_ran(
    tmp_path: Path, certain: old_ledgers.Certain
) -> None:
    then = said("retired_strategy")
    old_ledgers.build(old_ledgers.FIXTURES / "retired_strategy", tmp_path)
    rules = tmp_path / "policy.toml"
    with pytest.raises(dpsql.LedgerError, match="median") as caught:
        old_ledgers.connect(tmp_path)
    assert 'strategy = "pmw"' in caught.value.hint
    written = rules.read_text(encoding="utf-8")
    rules.write_text(written.replace('"median"', '"auto"'), encoding="utf-8")
    with pytest.raises(dpsql.LedgerError, match='strategy = "median" is now "auto"'):
        old_ledgers.connect(tmp_path)
    rules.write_text(written.replace('"median"', '"pmw"'), encoding="utf-8")
    with old_ledgers.connect(tmp_path) as con:
        now = old_ledgers.transcript(con, *statements(then))
    coins = then.pop("coins")
    assert_same(now, then, "retired_strategy")
    assert certain.coins == coins


def test_without_its_answers_a_ledger_still_gives_those_that_were_paid(
    tmp_path: Path, certain: old_ledgers.Certain
) -> None:
    """Error bars are learned anew, to the same."""
    then = said("histogram")
    old_ledgers.build(old_ledgers.FIXTURES / "histogram", tmp_path)
    (tmp_path / "old.ledger.answers").unlink()
    with old_ledgers.connect(tmp_path) as con:
        for text, before in (then["known"] | then["fresh"]).items():
            assert_same(old_ledgers.asked(con, text), before, text)


def registered(directory: Path) -> None:
    """The registry as the earlier version left it: it knew nothing of other rules."""
    path = directory / "old.ledger"
    header = stored_header(path)
    registry = Registry(directory / "state")
    with registry.exclusive():
        for table in header["tables"].split():
            registry.record(table, Anchor(header["ledger"], str(path), 0, genesis(header).hex()))


@pytest.mark.parametrize("opened_before", [False, True])
def test_data_that_have_an_old_ledger_get_no_second_budget_in_silence(
    tmp_path: Path, certain: old_ledgers.Certain, opened_before: bool
) -> None:
    database = old_ledgers.build(old_ledgers.FIXTURES / "two_tables", tmp_path)
    registered(tmp_path)
    if opened_before:
        old_ledgers.connect(tmp_path).close()
    new, policy = tmp_path / "new.ledger", tmp_path / "policy.toml"
    with pytest.raises(dpsql.LedgerError, match=r"already have a ledger, .*old\.ledger") as caught:
        dpsql.connect(database, policy=policy, ledger=new)
    assert "--new-budget" in caught.value.hint and not new.exists()
    dpsql.connect(database, policy=policy, ledger=new, new_budget=True).close()
    dpsql.connect(database, policy=policy, ledger=new).close()
    old_ledgers.connect(tmp_path).close()  # decided once, both go on
    copy = tmp_path / "copy.duckdb"
    shutil.copy(database, copy)
    for name in ("third", "fourth"):
        with pytest.raises(dpsql.LedgerError, match="already have a ledger"):
            dpsql.connect(copy, policy=policy, ledger=tmp_path / f"{name}.ledger")


def test_an_old_ledger_keeps_the_rows_of_units_that_it_speaks_of(
    tmp_path: Path, certain: old_ledgers.Certain, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = []

    class Noted(DuckDbEngine):
        def __init__(self, database: Any, policy: Any, told: Any = None, *more: Any) -> None:
            rules.append(told)
            super().__init__(database, policy, told, *more)

    monkeypatch.setattr("dpsql.engine.duckdb.engine.DuckDbEngine", Noted)
    database = old_ledgers.build(old_ledgers.FIXTURES / "units", tmp_path)
    old_ledgers.connect(tmp_path).close()
    old_ledgers.connect(tmp_path).close()
    new = tmp_path / "new.ledger"
    for _ in range(2):
        dpsql.connect(database, policy=tmp_path / "policy.toml", ledger=new, new_budget=True).close()
    assert rules == [Rules(1, 1, 1), Rules(1, 1, 1), Rules(), Rules()]
    assert stored_header(new) == {}  # nothing is spent: newer rules than these would be its own
    with sqlite3.connect(new) as file:
        header = dict(file.execute("SELECT key, value FROM header"))
    assert {"engine": "duckdb", "fingerprint": "2", "unit_rows": "2"}.items() <= header.items()


def test_another_number_would_be_noticed() -> None:
    then = said("histogram")
    first = next(iter(then["known"]))
    for path, other in ((("rows", 0, 1), 298), (("answers", 0, 1), 17.001), (("answers", 0, 4), "hypothesis")):
        now = json.loads(json.dumps(then))
        *way, last = path
        place = now["known"][first]
        for step in way:
            place = place[step]
        assert place[last] != other
        place[last] = other
        with pytest.raises(AssertionError, match="it was"):
            assert_same(now, then, "histogram")


def test_there_is_a_ledger_of_each_kind() -> None:
    ways = {table[1] for name in NAMES for table in said(name)["opened"]["tables"]}
    assert ways == {
        "net",
        "one histogram",
        "contingencies + net",
        "local models + net",
        "contingencies, frequent strings + net",
        "noise for each question",
    }
    hard = [name for name in NAMES if (old_ledgers.FIXTURES / name / "old.ledger").read_bytes().find(b'"side"') > 0]
    assert hard == [
        *(
            "cold",
            "fifth_strings",
            "fourteenth_rounds",
            "killed",
            "lone_column",
            "narrow",
            "refusing",
            "retired_strategy",
            "sixth_strings",
            "third_strings",
            "thirteenth_values",
            "twelfth_whole",
        )
    ]
