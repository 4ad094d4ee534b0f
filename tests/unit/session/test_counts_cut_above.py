"""Counts of a table's rows are shown as no more than these may be, in ledgers of rules 31."""

from pathlib import Path

import duckdb
import numpy as np
import pytest

import dpsql
from dpsql.postprocess import shown_count
from dpsql.result import Answer, CrosstabAnswers

POLICY = """version = 1
[privacy]
epsilon = 0.2
delta = 1e-6
neighbors = "replace-one"
planned_queries = 20
[tables.t]
row_count = "public"
[tables.t.columns]
a = { type = "integer", min = 0, max = 9 }
b = { type = "boolean" }
"""


@pytest.fixture
def con(tmp_path: Path) -> dpsql.Connection:
    """Forty rows, most alike, at an epsilon that says little of them."""
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as stored:
        stored.execute("CREATE TABLE t AS SELECT (i % 40 = 0)::INT AS a, true AS b FROM range(40) r(i)")
    path.with_suffix(".dpsql.toml").write_text(POLICY)
    return dpsql.connect(path, ledger=":memory:")


def test_no_count_is_more_than_the_public_rows(con: dpsql.Connection) -> None:
    wheres = [
        "b",
        "a < 5",
        "b OR a = 1",
        "a > 0 OR b",
        "a <> 3",
        "b AND a < 8",
        "a = 0",
        "a < 9",
        "a IN (0, 2)",
        "a < 3",
    ]
    seen = []
    for where in wheres:
        cursor = con.execute(f"SELECT COUNT(*) FROM t WHERE {where}")
        ((shown,),) = cursor.fetchall()
        (answer,) = cursor.answers
        assert answer.interval is not None and answer.error is not None
        assert shown == answer.value <= 40 and answer.interval[1] <= 40.0
        seen.append((where, shown, answer.error))
    assert any(shown + error > 60 for _, shown, error in seen)  # which would be shown else
    where, shown, _ = max(seen, key=lambda one: one[1])
    ((more,),) = con.execute(f"SELECT n + 1 FROM (SELECT COUNT(*) AS n FROM t WHERE {where})").fetchall()
    assert more >= shown + 1  # what is computed takes it as it was released
    groups = con.execute("SELECT b, COUNT(*) FROM t GROUP BY b").fetchall()
    assert all(0 <= n <= 40 for _, n in groups)


@pytest.mark.parametrize(("value", "interval"), [(50, (45.0, 55.0)), (38, (30.0, 46.0)), (-5, (0.0, 4.0)), (3, None)])
def test_values_and_intervals_are_cut(value: int, interval: tuple[float, float] | None) -> None:
    answer = Answer(value, 8.0 if interval else None, interval, "exact", "measurement", True)
    found = shown_count(answer, 1, 40)
    assert found.value == max(0, min(40, value)) and found.error == answer.error
    assert found.interval == (None if interval is None else (min(interval[0], 40.0), min(interval[1], 40.0)))
    assert shown_count(answer).value == max(0, value) and shown_count(answer).interval == interval


def test_crosstabs_are_cut_as_their_answers_are() -> None:
    found = CrosstabAnswers(np.array([3, -2, 0, 59]), np.array([45.0, 7.0, np.nan, 2.0]), "calibrated", "hypothesis")
    shown = found.shown(40)
    assert [*shown] == [shown_count(a, 1, 40) for a in found]
    assert shown.numbers.tolist() == [3, 0, 0, 40] and found.shown().numbers.tolist() == [3, 0, 0, 59]
