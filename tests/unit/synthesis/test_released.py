"""Rows as values: names, types and NULLs of the policy, values inside their bins, the same for the same seed."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

from dpsql.domain import BooleanDomain, CategoryDomain, DateDomain, IntegerDomain, NumberDomain, TableDomain, TextDomain
from dpsql.domain.column import code_of
from dpsql.interface.table_file import write_table
from dpsql.synthesis import Synthetic
from dpsql.synthesis.quality import Quality
from dpsql.synthesis.released import SyntheticTable

TABLE = TableDomain(
    "t",
    (
        IntegerDomain("age", 17, 20),
        TextDomain("name"),
        NumberDomain("hours", (0.0, 20.0, 40.0, 100.0)),
        CategoryDomain("sex", ("f", "m")),
        BooleanDomain("member"),
        DateDomain("joined", date(2020, 1, 1), date(2020, 3, 31), "month"),
        DateDomain("left", date(2020, 1, 1), date(2020, 1, 9)),
        TextDomain("city"),
    ),
)
N = 4000
RNG = np.random.default_rng(1)
CODES = np.stack([RNG.integers(c.size, size=N) for c in TABLE.finite], axis=1)


def made(**changes: Any) -> SyntheticTable:
    keys = {"city": tuple("ab"[i % 2] if i % 3 else None for i in range(N))}
    fields: dict[str, Any] = {"facts": {"method": "session", "run": "r"}, "notes": ("x",), **changes}
    return SyntheticTable(Synthetic(TABLE, CODES, keys), 0.25, Quality(()), **fields)


def test_each_value_has_the_code_of_its_row() -> None:
    rows = made().to_arrow()
    assert rows.schema.names == [c.name for c in TABLE.columns]
    for position, column in enumerate(TABLE.finite):
        values = rows.column(column.name).to_pylist()
        codes = [column.size - 1 if v is None else code_of(column, v) for v in values]
        assert codes == CODES[:, position].tolist(), column.name


def test_text_columns_are_their_keys_or_null() -> None:
    rows = made().to_arrow()
    assert set(rows.column("name").to_pylist()) == {None}
    assert rows.column("city").to_pylist()[:4] == [None, "b", "a", None]


def test_the_same_seed_gives_the_same_values_and_another_does_not() -> None:
    assert made().to_arrow().equals(made().to_arrow())
    assert made(seed=2).to_arrow().column("hours") != made().to_arrow().column("hours")


def test_values_stand_in_their_bins_where_it_is_known() -> None:
    mean = np.array([0.2, 0.5, 0.9])
    hours = made(positions={"hours": mean}).to_arrow().column("hours").to_numpy(zero_copy_only=False)
    edges = TABLE.finite_domain("hours").edges  # type: ignore[union-attr]
    for i in range(3):
        inside = hours[CODES[:, 1] == i]
        found = (inside.mean() - edges[i]) / (edges[i + 1] - edges[i])
        assert found == pytest.approx(mean[i], abs=0.05)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files_open_elsewhere(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"out.{ending}"
    write_table(made().to_arrow(), path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    types = dict(duckdb.sql(f"SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM '{path}')").fetchall())
    assert types["joined"] == "DATE" and types["age"] == "BIGINT" and types["hours"] == "DOUBLE"
    assert types["member"] == "BOOLEAN" and types["sex"] == types["city"] == "VARCHAR"
    (filled,) = duckdb.sql(f"SELECT COUNT(joined) FROM '{path}'").fetchall()
    assert filled[0] == int((CODES[:, 4] < 3).sum())


def test_parquet_keeps_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    write_table(made().to_arrow(), path)
    frame = pd.read_parquet(path)
    assert frame["hours"].dtype == "float64" and len(frame) == N
    kept = json.loads(pyarrow.parquet.read_schema(path).metadata[b"dpsql"])
    assert kept["method"] == "session" and kept["charged"] == 0.25 and kept["notes"] == ["x"]


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        write_table(made().to_arrow(), tmp_path / "nowhere" / "out.parquet")
    assert not list(tmp_path.iterdir())
