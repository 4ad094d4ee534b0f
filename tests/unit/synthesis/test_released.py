"""Rows as values: names, types and NULLs of the policy, values inside their bins, the same for the same seed."""

import json
from collections.abc import Mapping
from datetime import date
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from dpsql.domain import BooleanDomain, CategoryDomain, DateDomain, IntegerDomain, NumberDomain, TableDomain, TextDomain
from dpsql.domain.column import code_of
from dpsql.hypothesis import Measurement
from dpsql.hypothesis.values.marked_cells import MarkedCells
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


# --- steps and whole numbers ---------------------------------------------------------------------------------------

EDGES = (-0.5, 2.5, 7.25, 7.75, 30.0)


def drawn(domain: NumberDomain, *, whole: bool = False, counts: Mapping[float, float] | None = None) -> pa.Table:
    """The rows of a table with one column; ``counts``: of which a first look counted so many at these marks."""
    codes = np.random.default_rng(2).integers(domain.size, size=(N, 1))
    cells = {} if counts is None else {"x": marked(domain, counts)}
    table = Synthetic(TableDomain("t", (domain,)), codes)
    made = SyntheticTable(table, 0.0, Quality(()), {"run": "r"}, cells=cells, whole=frozenset(["x"] if whole else []))
    values = made.to_arrow()
    found = [domain.size - 1 if v is None else code_of(domain, v) for v in values["x"].to_pylist()]
    assert found == codes[:, 0].tolist()  # counts of bins do not change
    return values


def marked(domain: NumberDomain, counts: Mapping[float, float]) -> MarkedCells:
    values = np.zeros(2 * len(domain.marks))
    values[[2 * domain.marks.index(mark) for mark in counts]] = list(counts.values())
    rows = [sum(n for m, n in counts.items() if a <= m < b or m == b == EDGES[-1]) for a, b in pairwise(EDGES)]
    measured = Measurement("t", (), values.astype(np.int64), 1.0)
    return MarkedCells.of(domain, np.array(rows, dtype=np.float64), measured)


def multiples(values: pa.Table, step: Fraction) -> list[float]:
    return [v for v in values["x"].to_pylist() if v is not None and float(round(Fraction(v) / step) * step) == v]


@pytest.mark.parametrize("step", [Fraction(1), Fraction(1, 4), Fraction(1, 100), Fraction(3, 10)])
def test_values_are_multiples_of_the_owners_step_where_their_bin_has_one(step: Fraction) -> None:
    values = drawn(NumberDomain("x", EDGES, step=step))
    inside = [v for v in values["x"].to_pylist() if v is not None and not (step == 1 and 7.25 <= v < 7.75)]
    assert len(multiples(values, step)) == len(inside) and len(set(inside)) > 20


def test_rows_stand_at_the_multiples_where_they_were_counted() -> None:
    counts = {1.0: 500.0, 2.0: 1500.0, 5.0: 2000.0, 20.0: 1000.0, 25.0: 3000.0}
    values = drawn(NumberDomain("x", EDGES, nullable=False, step=Fraction(1)), counts=counts)["x"].to_pylist()
    per_bin = N / 4
    assert values.count(2.0) == pytest.approx(0.75 * per_bin, rel=0.1)
    assert values.count(5.0) == pytest.approx(per_bin, rel=0.1)
    assert values.count(25.0) == pytest.approx(0.75 * per_bin, rel=0.1)


def test_rows_that_crowd_at_a_mark_that_is_no_multiple_stay_there() -> None:
    counts = {-0.5: 3000.0, 1.0: 1000.0, 5.0: 2000.0, 7.25: 1000.0, 20.0: 2000.0}
    domain = NumberDomain("x", EDGES, nullable=False, step=Fraction(1))
    values = drawn(domain, counts=counts)["x"].to_pylist()
    assert values.count(-0.5) == pytest.approx(0.75 * N / 4, rel=0.1)
    assert {v for v in values if v != -0.5 and not 7.25 <= v < 7.75} <= set(map(float, range(31)))


def test_whole_numbers_of_the_database_are_whole() -> None:
    bins = (0.0, 2.5, 6.5, 7.75, 8.25, 30.0)
    for step in (None, Fraction(1), Fraction(1, 2), Fraction(5)):
        values = drawn(NumberDomain("x", bins, step=step), whole=True)
        assert values.schema.field("x").type == pa.int64(), step
    assert 10 in values["x"].to_pylist() and 9 not in values["x"].to_pylist()  # multiples of 5 where there are some


def test_a_bin_without_a_whole_number_leaves_the_column_a_double() -> None:
    values = drawn(NumberDomain("x", EDGES), whole=True)
    assert values.schema.field("x").type == pa.float64()


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
