"""Counting from coded rows gives what a scan of the database gives."""

from itertools import combinations
from pathlib import Path

import duckdb
import numpy as np
import pytest

from dpsql.domain import BooleanDomain, CategoryDomain, IntegerDomain, NumberDomain, TableDomain
from dpsql.engine.duckdb import DuckDbEngine, coded_rows
from dpsql.engine.duckdb import engine as duckdb_engine
from dpsql.engine.duckdb.coded_rows import CodedRows
from dpsql.engine.partition import Partition
from dpsql.errors import EngineError
from tests.contracts.engine_contract import policy_of

COLUMNS = (
    IntegerDomain("age", 0, 9),
    CategoryDomain("kind", tuple(f"k{i}" for i in range(300)), nullable=False),
    NumberDomain("size", tuple(float(i) for i in range(70_000))),
    BooleanDomain("member"),
)
ROWS = (
    "CREATE TABLE people AS SELECT i % 40 AS owner, (i % 12)::INTEGER AS age, 'k' || (i % 301) AS kind, "
    "(i * 37 % 80000)::DOUBLE AS size, CASE WHEN i % 5 > 0 THEN i % 3 = 0 END AS member FROM range(3000) AS r(i)"
)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(ROWS).fetchall()
    return path


def scan_from_now_on(coded: DuckDbEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all engines only ``coded`` has codes of its rows."""
    coded.contingency("people", ("kind",))
    monkeypatch.setattr(coded_rows.CodedRows, "read", lambda *_: None)


@pytest.mark.parametrize("unit", [None, "owner"])
@pytest.mark.parametrize("chunk", [7, 1 << 20])
def test_codes_count_as_scans_do(database: Path, monkeypatch: pytest.MonkeyPatch, unit: str | None, chunk: int) -> None:
    table = TableDomain("people", COLUMNS, unit=unit, max_rows_per_unit=20)
    coded = DuckDbEngine(database, policy_of(table))
    assert table.cells > duckdb_engine.WHOLE_CELLS
    scanned = DuckDbEngine(database, policy_of(table))
    monkeypatch.setattr(coded_rows, "_CHUNK", chunk)
    scan_from_now_on(coded, monkeypatch)
    names = [c.name for c in COLUMNS]
    for size in (0, 1, 2):
        for scope in combinations(names, size):
            one, other = coded.contingency("people", scope).reveal(), scanned.contingency("people", scope).reveal()
            assert (one == other).all() and one.dtype == other.dtype and not one.flags.writeable
    three = ("member", "age", "kind")
    assert (coded.contingency("people", three).reveal() == scanned.contingency("people", three).reveal()).all()


def test_a_table_that_is_too_large_is_scanned(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coded_rows, "CODED_BYTES", 1000)
    read: list[CodedRows | None] = []
    original = CodedRows.read
    monkeypatch.setattr(CodedRows, "read", lambda *given: read.append(original(*given)) or read[-1])
    engine = DuckDbEngine(database, policy_of(TableDomain("people", COLUMNS)))
    assert int(engine.contingency("people", ("member", "age")).reveal().sum()) > 2900
    assert read == [None]


def test_nothing_is_kept_after_close(database: Path) -> None:
    engine = DuckDbEngine(database, policy_of(TableDomain("people", COLUMNS)))
    engine.contingency("people", ("member",))
    engine.contingency("people", ("age",))  # from coded rows, without another scan
    engine.close()
    for scope in (("member",), ("age", "member")):
        with pytest.raises(EngineError, match="closed"):
            engine.contingency("people", scope)


@pytest.mark.parametrize("unit", [None, "owner"])
def test_parts_of_coded_rows_are_those_of_a_scan(
    database: Path, monkeypatch: pytest.MonkeyPatch, unit: str | None
) -> None:
    table = TableDomain("people", COLUMNS, unit=unit, max_rows_per_unit=20)
    coded, scanned = DuckDbEngine(database, policy_of(table)), DuckDbEngine(database, policy_of(table))
    monkeypatch.setattr(coded_rows, "_CHUNK", 7)
    scan_from_now_on(coded, monkeypatch)
    rng = np.random.default_rng(1)
    for scopes in ((("kind",),), (("member", "age"), ("kind",)), (("kind",), ("size",), ("member",))):
        labels = [rng.integers(0, 4, table.shape(columns)) for columns in scopes]
        partitions = tuple(Partition(columns, own, 4) for columns, own in zip(scopes, labels, strict=True))
        one, other = (e.part_counts("people", partitions).reveal() for e in (coded, scanned))
        assert (one == other).all() and one.dtype == other.dtype == np.int64
        assert one.sum() == coded.contingency("people", ()).reveal()
