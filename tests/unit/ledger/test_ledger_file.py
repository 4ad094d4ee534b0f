"""The ledger's file: created for its owner alone, refused when it is not what it was."""

import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dpsql.errors import LedgerError
from dpsql.ledger import SqliteLedger, Totals
from dpsql.ledger.sqlite import opening
from dpsql.ledger.sqlite.file import SqliteFile
from tests.contracts.ledger_contract import EASY, HEADER, PAID, any_cost
from tests.support.users import ordinary_user


def spend(ledger: SqliteLedger, cost: int = 10) -> None:
    number = ledger.reserve(cost, any_cost, {"burn": 3})
    ledger.hard(number, {"query": "q"})
    ledger.release(number, {"values": [1, 2]}, [("paid", PAID)])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with 10 units spent, closed."""
    path = tmp_path / "a.ledger"
    with SqliteLedger.open(path, HEADER) as ledger:
        spend(ledger)
    return path


@pytest.fixture
def ordinary_folder(tmp_path: Path) -> Iterator[Path]:
    """A directory of our own, without the superuser's powers, who would not notice permissions."""
    SqliteLedger.open(tmp_path / "a.ledger", HEADER).close()  # loads what Python loads late and may not read as nobody
    with ordinary_user() as folder:
        yield folder


def refused(path: Path, header: dict[str, str] = HEADER) -> LedgerError:
    """The refusal, which carries a next step and nothing of SQLite's."""
    with pytest.raises(LedgerError) as raised:
        SqliteLedger.open(path, header)
    assert raised.value.hint
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None
    assert not list(path.parent.glob("*.new-*"))
    return raised.value


def raw(path: Path, *statements: str) -> None:
    """Change the file behind the ledger's back."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        for statement in statements:
            connection.execute(statement)
    finally:
        connection.close()


def test_creation_is_loud_and_reopening_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    with SqliteLedger.open(path, HEADER) as ledger:
        assert any("new ledger" in notice and "epsilon 1" in notice for notice in ledger.notices)
    with SqliteLedger.open(path, HEADER) as ledger:
        assert ledger.notices == ()


def test_state_survives(path: Path) -> None:
    with SqliteLedger.open(path, HEADER, create=False) as ledger:
        assert ledger.totals() == Totals(10, 0)
        assert [event.kind for event in ledger.events()] == ["reserve", "hard", "release"]
        assert ledger.events()[2].payload == {"values": [1, 2]}
        assert ledger.lookup("paid") == PAID


def test_only_the_owner_can_read(tmp_path: Path) -> None:
    previous = os.umask(0)
    try:
        with SqliteLedger.open(tmp_path / "a.ledger", HEADER) as ledger:
            spend(ledger)
            modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in tmp_path.iterdir()}
    finally:
        os.umask(previous)
    assert set(modes.values()) == {0o600}
    assert {"a.ledger", "a.ledger-wal", "a.ledger.answers"} <= set(modes)


def test_settings_are_durable(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[SqliteFile] = []

    def noted(path: Path, **settings: Any) -> SqliteFile:
        opened.append(SqliteFile(path, **settings))
        return opened[-1]

    monkeypatch.setattr(opening, "SqliteFile", noted)
    with SqliteLedger.open(path, HEADER):
        (file,) = opened
        assert file.one("PRAGMA synchronous") == (2,)
        assert file.one("PRAGMA journal_mode") == ("wal",)


def test_close_leaves_no_litter(path: Path) -> None:
    with SqliteLedger.open(path, HEADER) as ledger:
        ledger.reserve(1, any_cost, {})
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["a.ledger", "a.ledger.answers"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET cost = '0'",
        "DELETE FROM events",
        "INSERT INTO events VALUES (9, 'free', 1, '0', '{}', 'x', NULL, x'00')",
        "INSERT OR REPLACE INTO events VALUES (1, 'free', 1, '0', '{}', 'x', NULL, x'00')",
        "UPDATE header SET value = 'x'",
        "DELETE FROM header",
        "INSERT INTO header VALUES ('x', 'y')",
        "INSERT INTO events VALUES (4, 'free', 'one', '0', '{}', 'x', NULL, x'00')",
    ],
)
def test_append_only(path: Path, statement: str) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        raw(path, statement)


@pytest.mark.parametrize(
    ("trigger", "statement"),
    [
        ("events_update", "UPDATE events SET cost = '9' WHERE sequence = 3"),
        ("events_update", "UPDATE events SET kind = 'free', cost = '0' WHERE sequence = 3"),
        ("events_update", "UPDATE events SET payload = '{\"values\":[1,3]}' WHERE sequence = 3"),
        ("events_update", "UPDATE events SET answers = NULL WHERE sequence = 3"),
        ("events_update", "UPDATE events SET digest = x'00' WHERE sequence = 2"),
        ("events_delete", "DELETE FROM events WHERE sequence = 2"),
        ("header_update", "UPDATE header SET value = 'other' WHERE key = 'plan'"),
    ],
)
def test_altered_rows_break_the_chain(path: Path, trigger: str, statement: str) -> None:
    connection = sqlite3.connect(path)
    (sql,) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (trigger,)).fetchone()
    connection.close()
    raw(path, f"DROP TRIGGER {trigger}", statement, sql)
    assert "altered" in refused(path).message


def test_altered_tables(path: Path) -> None:
    raw(path, "DROP TRIGGER events_delete")
    assert "altered" in refused(path).message


def test_altered_while_open(path: Path) -> None:
    with SqliteLedger.open(path, HEADER) as ledger:
        raw(path, "DROP TRIGGER events_update", "UPDATE events SET payload = '{}' WHERE sequence = 3")
        assert ledger.changed()
        with pytest.raises(LedgerError, match="altered"):
            ledger.events()
        with pytest.raises(LedgerError, match="stopped"):
            ledger.totals()


def test_truncated_anywhere(path: Path) -> None:
    content = path.read_bytes()
    last = len(content.rstrip(b"\0")) - 1  # a page that is cut reads as zeros: without one of those it is the same file
    for size in {0, 1, 99, 511, 4096, *range(4096, len(content), 4096), last}:
        path.write_bytes(content[:size])
        for companion in path.parent.glob("a.ledger-*"):
            companion.unlink()
        assert any(word in refused(path).message for word in ("truncated", "altered", "not a dpsql ledger"))
    path.write_bytes(content)
    with SqliteLedger.open(path, HEADER) as ledger:
        assert ledger.totals() == Totals(10, 0)


def test_not_a_ledger(tmp_path: Path) -> None:
    text = tmp_path / "text.ledger"
    text.write_text("twelve bytes" * 100)
    assert "not a dpsql ledger" in refused(text).message
    other = tmp_path / "other.ledger"
    raw(other, "CREATE TABLE header (key, value)", "INSERT INTO header VALUES ('a', 'b')")
    assert "not a dpsql ledger" in refused(other).message
    empty = tmp_path / "empty.ledger"
    empty.touch()
    assert "truncated" in refused(empty).message
    assert "not a file" in refused(tmp_path).message


def test_another_format(path: Path) -> None:
    connection = sqlite3.connect(path)
    (sql,) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'header_update'").fetchone()
    connection.close()
    raw(path, "DROP TRIGGER header_update", "UPDATE header SET value = '2' WHERE key = 'format'", sql)
    assert "format 2" in refused(path).message


def test_another_policy_and_other_data_are_told_apart(path: Path) -> None:
    policy = refused(path, {**HEADER, "policy": "other"})
    assert "policy" in policy.message
    assert "--ledger" in policy.hint
    data = refused(path, {**HEADER, "data": "other"})
    assert "data" in data.message
    with SqliteLedger.open(path, {**HEADER, "plan": "another"}) as ledger:
        assert ledger.header["plan"] == HEADER["plan"]


def test_another_policy_is_told_by_what_changed(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    before = {**HEADER, "rules": '[mechanism]\nwarm_start = 0.9\nstrategy = "auto"\n'}
    with SqliteLedger.open(path, before) as ledger:
        spend(ledger)
    after = {**before, "policy": "other", "rules": before["rules"].replace("0.9", "0.96")}
    assert "([mechanism] warm_start = 0.9 is now 0.96)" in refused(path, after).message
    for untold in ({**HEADER, "policy": "other"}, {**before, "policy": "other"}):
        assert "after the ledger was created; " in refused(path, untold).message


@pytest.mark.parametrize("header", [{}, {"policy": "p"}, {**HEADER, "format": "2"}, {**HEADER, "n": 1}])
def test_headers_that_bind_nothing(tmp_path: Path, header: dict[str, str]) -> None:
    refused(tmp_path / "a.ledger", header)
    assert not (tmp_path / "a.ledger").exists()


@pytest.mark.parametrize("name", ["missing/a.ledger", "a\x00b", "loop", "file/a.ledger"])
def test_impossible_paths(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    refused(tmp_path / name)


def test_missing_and_not_to_be_created(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="no ledger"):
        SqliteLedger.open(tmp_path / "a.ledger", HEADER, create=False)
    assert list(tmp_path.iterdir()) == []


def test_deleted_but_for_its_companions(path: Path) -> None:
    path.unlink()
    assert "missing" in refused(path).message
    with SqliteLedger.open(path, HEADER, new_budget=True) as ledger:
        assert ledger.totals() == Totals(0, 0)
        assert ledger.lookup("paid") is None


def test_a_former_ledgers_log_is_not_replayed(path: Path) -> None:
    copy, log = path.with_name("copy"), path.with_name("a.ledger-wal")
    with SqliteLedger.open(path, HEADER) as ledger:
        spend(ledger)
        copy.write_bytes(log.read_bytes())
    for entry in (path, path.with_name("a.ledger.answers")):
        entry.unlink()
    copy.rename(log)
    refused(path)
    with SqliteLedger.open(path, HEADER, new_budget=True) as ledger:
        assert ledger.totals() == Totals(0, 0)
        assert ledger.events() == []
        spend(ledger)
    assert len(list(path.parent.glob("a.ledger-wal.aside-*"))) == 1


def test_symbolic_links_are_one_ledger(path: Path) -> None:
    link = path.with_name("link.ledger")
    link.symlink_to(path)
    with SqliteLedger.open(link, HEADER) as ledger:
        assert ledger.path == path.resolve()
        assert ledger.totals() == Totals(10, 0)


def test_hard_links_are_refused(path: Path) -> None:
    path.with_name("second.ledger").hardlink_to(path)
    assert "hard link" in refused(path).message


def test_read_only_file(ordinary_folder: Path) -> None:
    path = ordinary_folder / "a.ledger"
    SqliteLedger.open(path, HEADER).close()
    path.chmod(0o400)
    error = refused(path)
    assert "read-only" in error.message and "to look at it, too, is to write there" in error.hint


def test_read_only_directory(ordinary_folder: Path) -> None:
    path = ordinary_folder / "a.ledger"
    SqliteLedger.open(path, HEADER).close()
    (ordinary_folder / "a.ledger.answers").unlink()
    ordinary_folder.chmod(0o500)
    refused(path)
    refused(ordinary_folder / "b.ledger")


def test_locked_by_another(path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    with SqliteLedger.open(path, HEADER, busy_timeout=0.05) as ledger:
        number = ledger.reserve(1, any_cost, {})
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="locked") as raised:
            ledger.reserve(1, any_cost, {})
        assert raised.value.__context__ is None
        ledger.totals()  # nothing was appended, nothing is poisoned
        with pytest.raises(LedgerError, match="locked"):
            ledger.hard(number, {})
        with pytest.raises(LedgerError, match="stopped"):  # an unrecorded hard outcome stops everything
            ledger.totals()
        other.execute("ROLLBACK")
    other.close()
    with SqliteLedger.open(path, HEADER) as ledger:
        assert ledger.totals() == Totals(11, 0)


def test_two_sessions_see_each_other(path: Path) -> None:
    with SqliteLedger.open(path, HEADER) as one, SqliteLedger.open(path, HEADER) as two:
        assert one.changed()  # never read yet
        one.events()
        assert not one.changed()
        number = two.reserve(5, any_cost, {"burn": 2})
        assert one.changed()
        assert one.totals() == Totals(10, 5)
        assert one.changed()  # only ``events`` takes note
        assert [event.kind for event in one.events(after=3)] == ["reserve"]
        assert not one.changed()
        with pytest.raises(LedgerError, match="another session"):
            one.free(number)
        two.release(number, {}, [("theirs", EASY)])
        assert one.lookup("theirs") == EASY


def test_close_settles_own_reservations_only(path: Path) -> None:
    with SqliteLedger.open(path, HEADER) as other:
        other.reserve(100, any_cost, {"burn": 50})
        with SqliteLedger.open(path, HEADER) as ledger:
            ledger.reserve(10, any_cost, {"burn": 3})
            ledger.hard(ledger.reserve(20, any_cost, {"burn": 3}), {})
            drawing = ledger.reserve(40, any_cost, {"burn": 4})
            with pytest.raises(ZeroDivisionError), ledger.drawing(drawing):
                raise ZeroDivisionError
        assert other.totals() == Totals(10 + 20 + 4, 100)
    with SqliteLedger.open(path, HEADER) as ledger:
        assert ledger.totals() == Totals(34, 0)


def test_nothing_is_burnt_while_its_holder_lives(path: Path) -> None:
    with SqliteLedger.open(path, HEADER) as other:
        number = other.reserve(100, any_cost, {"burn": 50})
        with SqliteLedger.open(path, HEADER) as ledger:
            ledger.reserve(1, any_cost, {})
            assert ledger.totals() == Totals(10, 101)
        other.free(number)


def test_a_lost_lock_file_burns(path: Path) -> None:
    with SqliteLedger.open(path, HEADER) as other:
        number = other.reserve(100, any_cost, {"burn": 50})
        next(path.parent.glob("*.holder-*")).unlink()
        with SqliteLedger.open(path, HEADER) as ledger:
            assert ledger.totals() == Totals(60, 0)
        with pytest.raises(LedgerError, match="not open"):
            other.free(number)
        assert other.totals() == Totals(60, 0)


def test_quick(path: Path) -> None:
    begin = time.perf_counter()
    for _ in range(5):
        SqliteLedger.open(path, HEADER).close()
    assert (time.perf_counter() - begin) / 5 < 0.2  # some milliseconds on an idle machine
