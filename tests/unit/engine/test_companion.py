"""Counts beside a ledger: the same counts, of the same rows alone, whatever became of the file."""

import os
import stat
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest

from dpsql.domain import IntegerDomain, NumberDomain, TableDomain
from dpsql.engine import companion as companion_module
from dpsql.engine.companion import Companion
from dpsql.engine.duckdb import DuckDbEngine
from dpsql.engine.duckdb import engine as duckdb_engine
from dpsql.engine.duckdb.reader import Reader
from dpsql.engine.rules import Rules
from dpsql.ledger import Contents
from tests.contracts.engine_contract import policy_of

TABLE = TableDomain("people", (IntegerDomain("age", 0, 9), NumberDomain("size", (0.0, 5.0, 10.0))))
UNITS = replace(TABLE, unit="owner", max_rows_per_unit=2)
COUNTS = np.array([0, 5, 0, 2**40, 1])


@pytest.fixture
def kept(tmp_path: Path) -> Companion:
    return Companion(tmp_path / "people.ledger.cells")


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was read from tables of any number of rows."""
    monkeypatch.setattr(duckdb_engine, "LEAST_ROWS", 0)
    found: list[str] = []
    original = Reader.integers

    def noted(self: Reader, what: str, sql: str) -> dict[str, np.ndarray]:
        found.append(what)
        return original(self, what, sql)

    monkeypatch.setattr(Reader, "integers", noted)
    return found


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "people.duckdb"
    write(path, 900)
    yield path


def write(path: Path, rows: int) -> None:
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as con:
        con.execute(
            f"CREATE TABLE people AS SELECT (i % 12)::INTEGER AS age, (i % 7)::DOUBLE AS size, i % 100 AS owner "
            f"FROM range({rows}) AS r(i)"
        ).fetchall()


def engine(path: Path, kept: Companion, table: TableDomain = TABLE, rules: Rules | None = None) -> DuckDbEngine:
    return DuckDbEngine(path, policy_of(table), rules, Contents(path.parent / "state"), kept)


def seen(one: DuckDbEngine) -> list[np.ndarray]:
    found = [one.contingency("people", ("age", "size")), one.contingency("people", ("age",))]
    return [p.reveal() for p in (*found, one.sums("people", "size", ("age",)), one.positions("people", "size"))]


def same(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    return all(a.shape == b.shape and a.dtype == b.dtype and (a == b).all() for a, b in zip(one, other, strict=True))


def test_what_is_kept_comes_back(kept: Companion) -> None:
    kept.keep("a", COUNTS)
    kept.keep("b", np.zeros(3, dtype=np.int64))
    found, nothing = kept.get("a", 5), kept.get("b", 3)
    assert found is not None and (found == COUNTS).all() and found.dtype == np.int64
    assert nothing is not None and not nothing.any() and len(nothing) == 3
    assert kept.get("c", 5) is None


@pytest.mark.skipif(os.name == "nt", reason="modes")
def test_only_the_owner_can_read_it(tmp_path: Path, kept: Companion) -> None:
    kept.keep("a", COUNTS)
    (file,) = (tmp_path / "people.ledger.cells").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "torn": lambda content: content[:-5],
    "longer": lambda content: content + b"\0",
    "a bit": lambda content: content[:80] + bytes([content[80] ^ 1]) + content[81:],
    "another version": lambda content: content.replace(b"cells 1", b"cells 2"),
    "no file of ours": lambda content: b"\0" * 4096,
}


@pytest.mark.parametrize("how", SPOILT)
def test_a_spoilt_file_is_none(tmp_path: Path, kept: Companion, how: str) -> None:
    kept.keep("a", COUNTS)
    (file,) = (tmp_path / "people.ledger.cells").iterdir()
    file.write_bytes(SPOILT[how](file.read_bytes()))
    assert kept.get("a", 5) is None
    kept.keep("a", COUNTS)
    assert kept.get("a", 5) is not None


def test_a_file_under_anothers_name_is_none(tmp_path: Path, kept: Companion) -> None:
    kept.keep("a", COUNTS)
    (one,) = (tmp_path / "people.ledger.cells").iterdir()
    content = one.read_bytes()
    one.unlink()
    kept.keep("b", COUNTS)
    (other,) = (tmp_path / "people.ledger.cells").iterdir()
    other.write_bytes(content)
    assert kept.get("b", 5) is None
    assert kept.get("a", 4) is None  # fewer cells than the counts have


def test_where_nothing_can_be_written_nothing_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    for folder in (tmp_path / "file", tmp_path / "file" / "in", tmp_path / "nowhere" / "cells"):
        kept = Companion(folder)
        kept.keep("a", COUNTS)
        assert kept.get("a", 5) is None


def test_the_oldest_make_room(tmp_path: Path, kept: Companion, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.keep("a", COUNTS)
    (file,) = (tmp_path / "people.ledger.cells").iterdir()
    os.utime(file, (1, 1))
    monkeypatch.setattr(companion_module, "MOST_BYTES", 2 * file.stat().st_size)
    kept.keep("b", COUNTS)
    kept.keep("c", COUNTS)
    assert [kept.get(k, 5) is None for k in "abc"] == [True, False, False]


def test_an_interrupt_leaves_no_draft(tmp_path: Path, kept: Companion, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Path, target: Path) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kept.keep("a", COUNTS)
    assert list((tmp_path / "people.ledger.cells").iterdir()) == []


def test_writers_at_once_leave_whole_files(kept: Companion) -> None:
    wrong: list[int] = []

    def work() -> None:
        for _ in range(60):
            kept.keep("a", COUNTS)
            found = kept.get("a", 5)
            if found is None or not (found == COUNTS).all():
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


@pytest.mark.parametrize("table", [TABLE, UNITS], ids=["rows", "units"])
def test_the_next_engine_reads_no_row(database: Path, kept: Companion, scans: list[str], table: TableDomain) -> None:
    first = seen(engine(database, kept, table))
    assert len(scans) == 3
    assert same(first, seen(engine(database, kept, table)))
    assert len(scans) == 3


def test_other_rows_rules_or_columns_are_counted_anew(database: Path, kept: Companion, scans: list[str]) -> None:
    seen(engine(database, kept, UNITS))
    other = replace(UNITS, columns=(IntegerDomain("age", 0, 8), UNITS.columns[1]))
    for table, rules in (
        (replace(UNITS, max_rows_per_unit=3), None),
        (other, None),
        (replace(UNITS, columns=(UNITS.columns[0], NumberDomain("size", (0.0, 4.0, 10.0)))), None),
        (TABLE, None),
        (UNITS, Rules(2, 1, 2)),
    ):
        before = len(scans)
        assert same(seen(engine(database, kept, table, rules)), seen(DuckDbEngine(database, policy_of(table), rules)))
        assert len(scans) == before + 6
    write(database, 901)
    before = len(scans)
    assert seen(engine(database, kept, UNITS))[0].sum() == seen(DuckDbEngine(database, policy_of(UNITS)))[0].sum()
    assert len(scans) == before + 6


def test_views_small_tables_and_open_connections_keep_nothing(
    tmp_path: Path, database: Path, kept: Companion, scans: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with duckdb.connect(str(database)) as con:
        con.execute("ALTER TABLE people RENAME TO stored; CREATE VIEW people AS FROM stored")
    seen(engine(database, kept))
    write(database, 900)
    with duckdb.connect(str(database)) as con:
        seen(DuckDbEngine(con, policy_of(TABLE), None, Contents(tmp_path / "state"), kept))
    monkeypatch.setattr(duckdb_engine, "LEAST_ROWS", 901)
    seen(engine(database, kept))
    assert not (tmp_path / "people.ledger.cells").exists()
