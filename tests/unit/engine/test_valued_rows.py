"""Rows in the order of a column's values count what a scan of the database counts."""

from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pytest

from dpsql.domain import CategoryDomain, NumberDomain, TableDomain
from dpsql.engine.duckdb import DuckDbEngine, coded_rows, valued_rows
from dpsql.engine.duckdb import engine as engine_module
from dpsql.engine.duckdb.sums import scanned_parts, sums_by_cell
from dpsql.engine.partition import Partition
from dpsql.query import Interval
from tests.contracts.engine_contract import policy_of

COLUMNS = (
    NumberDomain("size", tuple(float(i * i) for i in range(90))),
    NumberDomain("age", (0.0, 10.0, 60.0), nullable=False),
    CategoryDomain("kind", tuple(f"k{i}" for i in range(300))),
)
ROWS = (
    "CREATE TABLE people AS SELECT i % 40 AS owner, 'k' || (i % 301) AS kind, (i % 61)::DOUBLE AS age, "
    "CASE WHEN i % 9 > 0 THEN (i * 37 % 9000) / 4 END AS size FROM range(4000) AS r(i)"
)
INTERVALS = [
    Interval("size", *ends) for ends in ((0.0, 100.0), (2.25, 2.25), (100.25, 3000.0), (0.0, 7921.0), (9.0, 8.0))
]


TOGETHER = [
    (Interval("size", 100.25, 3000.0), Interval("age", 3.0, 20.0)),
    (Interval("age", 0.0, 60.0), Interval("size", 2.25, 7000.0)),
    (Interval("age", 0.0, 40.0), Interval("size", 0.0, 7921.0), Interval("age", 30.0, 60.0)),
    (Interval("size", 9.0, 8.0), Interval("age", 0.0, 60.0)),
]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / "people.duckdb")) as con:
        con.execute(ROWS)
    return tmp_path / "people.duckdb"


@pytest.mark.parametrize("unit", [None, "owner"])
@pytest.mark.parametrize("chunk", [7, 1 << 20])
def test_a_slice_counts_as_a_scan_does(
    database: Path, monkeypatch: pytest.MonkeyPatch, unit: str | None, chunk: int
) -> None:
    policy = policy_of(TableDomain("people", COLUMNS, unit=unit, max_rows_per_unit=20))
    halves = (Partition(("kind",), np.arange(301) % 2, 2), Partition(("age",), np.array([0, 1]), 2))
    monkeypatch.setattr(coded_rows, "_CHUNK", chunk)
    with closing(DuckDbEngine(database, policy)) as engine:
        held = [engine.part_counts("people", p, (i,)).reveal() for i in INTERVALS for p in ((), halves)]
    monkeypatch.setattr(valued_rows, "CODED_BYTES", 100)
    with closing(DuckDbEngine(database, policy)) as engine:
        scanned = [engine.part_counts("people", p, (i,)).reveal() for i in INTERVALS for p in ((), halves)]
    assert [c.tolist() for c in held] == [c.tolist() for c in scanned] and sum(int(c.sum()) for c in held) > 500


@pytest.mark.parametrize("unit", [None, "owner"])
@pytest.mark.parametrize("room", [4000 * 21, 1 << 28])
def test_stretches_of_several_columns_count_as_a_scan_does(
    database: Path, monkeypatch: pytest.MonkeyPatch, unit: str | None, room: int
) -> None:
    """With room for the values of both columns, and for all that there are (a third is never asked about)."""
    third = NumberDomain("third", (0.0, 10.0, 20.0))
    with duckdb.connect(str(database)) as con:
        con.execute("ALTER TABLE people ADD COLUMN third DOUBLE DEFAULT 5")
    policy = policy_of(TableDomain("people", (*COLUMNS, third), unit=unit, max_rows_per_unit=20))
    halves = (Partition(("kind",), np.arange(301) % 2, 2), Partition(("age",), np.array([0, 1]), 2))
    counted, scans = [], []
    for bytes_ in (room, 100):
        monkeypatch.setattr(valued_rows, "CODED_BYTES", bytes_)
        with monkeypatch.context() as patched, closing(DuckDbEngine(database, policy)) as engine:
            patched.setattr("dpsql.engine.duckdb.engine.scanned_parts", partial(noted, scans, scanned_parts))
            counted.append([engine.part_counts("people", p, i).reveal() for i in TOGETHER for p in ((), halves)])
            scans.append(bytes_)
    held, scanned = counted
    assert [c.tolist() for c in held] == [c.tolist() for c in scanned]
    assert min(int(c.sum()) for c in held[:6]) > 50 and not any(c.any() for c in held[6:])
    assert scans == [room, *["scan"] * 8, 100]  # none where there was room


def noted(scans: list[object], scanned: Callable[..., object], *parts: object) -> object:
    scans.append("scan")
    return scanned(*parts)


def test_what_is_held_makes_room(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for one column's order at a time: asked in turn they still count alike."""
    policy = policy_of(TableDomain("people", COLUMNS))
    with closing(DuckDbEngine(database, policy)) as engine:
        asked = [(Interval("size", 0.0, 50.0),), (Interval("age", 0.0, 5.0),)] * 2
        first = [int(engine.part_counts("people", (), i).reveal()) for i in asked]
    monkeypatch.setattr(valued_rows, "CODED_BYTES", 4000 * 14)
    with closing(DuckDbEngine(database, policy)) as engine:
        assert [int(engine.part_counts("people", (), i).reveal()) for i in asked] == first
    assert first[:2] == first[2:] and min(first) > 0


def test_questions_about_one_column_in_turn_read_each_column_once(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With room for the orders of both, but not for all values in each."""
    policy, read, reads = policy_of(TableDomain("people", COLUMNS)), valued_rows.ValuedRows.read, []

    def counted(*parts: object) -> object:
        reads.append(parts)
        return read(*parts)

    monkeypatch.setattr(valued_rows.ValuedRows, "read", counted)
    monkeypatch.setattr(valued_rows, "CODED_BYTES", 4000 * 25)
    with closing(DuckDbEngine(database, policy)) as engine:
        for _ in range(4):
            for column in ("size", "age"):
                engine.part_counts("people", (), (Interval(column, 0.0, 50.0),))
    assert len(reads) == 2


def test_sums_over_a_stretch_are_scanned_once_for_all_groups(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scans = []

    def scanned(*asked: object) -> np.ndarray:
        scans.append(asked[3:])
        return sums_by_cell(*asked)  # type: ignore[arg-type]

    monkeypatch.setattr(engine_module, "sums_by_cell", scanned)
    with closing(DuckDbEngine(database, policy_of(TableDomain("people", COLUMNS)))) as engine:
        told = (INTERVALS[2],)
        first, again = (engine.sums("people", "size", ("kind", "size"), told).reveal() for _ in range(2))
        assert len(scans) == 1 and (first == again).all()
        other = engine.sums("people", "size", ("kind", "size"), (INTERVALS[0],)).reveal()
        assert len(scans) == 2 and (other != first).any()
        assert engine.sums("people", "size", ("kind", "size")).reveal().sum() > first.sum()
