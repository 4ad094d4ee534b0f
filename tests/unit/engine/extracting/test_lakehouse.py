"""Extracts of one version of a table of Delta or Iceberg, whatever is written to it meanwhile."""

import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import dpsql
from dpsql.domain import IntegerDomain, TableDomain, TextDomain
from dpsql.engine.extracting.lakehouse import DeltaSource
from dpsql.engine.origin import Origin
from dpsql.errors import EngineError
from tests.contracts.engine_contract import policy_of

POLICY = policy_of(TableDomain("people", (IntegerDomain("AGE", 0, 9), TextDomain("name"))))
ROWS = pa.table({"age": [1, 2, 3], "secret": ["s"] * 3, "name": ["x", None, "y"]})


def content(path: Path) -> list[Any]:
    with duckdb.connect(str(path), read_only=True) as con:
        return con.execute("SELECT * FROM people ORDER BY ALL").fetchall()


def state(path: Path) -> str:
    """Which state of its source an extract says that it was made from."""
    with duckdb.connect(str(path), read_only=True) as con:
        ((comment,),) = con.execute("SELECT comment FROM duckdb_tables()").fetchall()
    origin = Origin.of(comment)
    assert origin is not None
    return origin.snapshot


def test_a_version_of_delta(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake", reason="pip install 'dpsql[lakehouse]'")
    deltalake.write_deltalake(str(tmp_path / "d"), ROWS)
    dpsql.extract(tmp_path / "d", POLICY, tmp_path / "x.duckdb")
    assert content(tmp_path / "x.duckdb") == [(1, "x"), (2, None), (3, "y")]
    with duckdb.connect() as con, DeltaSource(tmp_path / "d").open(con) as reading:
        deltalake.write_deltalake(str(tmp_path / "d"), ROWS, mode="append")
        found = con.execute(f"SELECT count(*) FROM {reading.relation('people', ['Age']).sql}").fetchall()
    assert found == [(3,)] and reading.snapshot.endswith("version 0")
    dpsql.extract(f"{tmp_path}/d", POLICY, tmp_path / "new.duckdb")
    dpsql.extract(f"{tmp_path}/d@v0", POLICY, tmp_path / "old.duckdb")
    assert len(content(tmp_path / "new.duckdb")) == 6
    assert content(tmp_path / "old.duckdb") == content(tmp_path / "x.duckdb")
    versions = [state(tmp_path / f"{name}.duckdb")[-9:] for name in ("x", "old", "new")]
    assert versions == ["version 0", "version 0", "version 1"]
    with pytest.raises(EngineError, match="has no version 7") as caught:
        dpsql.extract(f"{tmp_path}/d@v7", POLICY, tmp_path / "y.duckdb")
    assert "d@v1" in str(caught.value.hint)


def test_a_snapshot_of_iceberg(tmp_path: Path) -> None:
    pytest.importorskip("pyiceberg", reason="pip install 'dpsql[lakehouse]'")
    types = pytest.importorskip("pyiceberg.types")
    catalog = pytest.importorskip("pyiceberg.catalog.sql", reason="pyiceberg's own catalog needs SQLAlchemy")
    made = catalog.SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}")
    made.create_namespace("n")
    table = made.create_table("n.people", schema=ROWS.schema)
    table.append(ROWS)
    first = table.metadata_location.removeprefix("file://")
    old = table.current_snapshot()
    assert old is not None
    with table.update_schema() as change:
        change.add_column("later", types.IntegerType())
    table.append(ROWS.append_column("later", pa.array([1, 2, 3], pa.int32())))
    newest = table.metadata_location.removeprefix("file://")
    dpsql.extract(first, POLICY, tmp_path / "x.duckdb")
    assert content(tmp_path / "x.duckdb") == [(1, "x"), (2, None), (3, "y")]
    dpsql.extract(f"{newest}@{old.snapshot_id}", POLICY, tmp_path / "old.duckdb")
    dpsql.extract(newest, POLICY, tmp_path / "new.duckdb")
    assert content(tmp_path / "old.duckdb") == content(tmp_path / "x.duckdb")
    assert len(content(tmp_path / "new.duckdb")) == 6
    assert state(tmp_path / "old.duckdb") == state(tmp_path / "x.duckdb") != state(tmp_path / "new.duckdb")
    assert state(tmp_path / "old.duckdb").endswith(f"snapshot {old.snapshot_id}")
    with pytest.raises(EngineError, match="has no snapshot 17"):
        dpsql.extract(f"{newest}@17", POLICY, tmp_path / "y.duckdb")
    made.engine.dispose()


def test_without_the_reader_and_with_broken_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "d" / "_delta_log").mkdir(parents=True)
    (tmp_path / "1.metadata.json").write_text("{}")
    for _ in ("broken", "no reader"):
        for source in ("d", "1.metadata.json"):
            with pytest.raises(EngineError) as caught:
                dpsql.extract(tmp_path / source, POLICY, tmp_path / "x.duckdb")
            assert caught.value.hint
        monkeypatch.setitem(sys.modules, "deltalake", None)
        monkeypatch.setitem(sys.modules, "pyiceberg.table", None)
    assert "dpsql[lakehouse]" in str(caught.value.hint)
