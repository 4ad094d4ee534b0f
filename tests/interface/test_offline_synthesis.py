"""Offline constructions through the front door: charged once, free again, refused in words."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import dpsql
from dpsql.errors import BudgetExhausted, DataError, NotSupportedError
from dpsql.synthesis.released import SyntheticTable

POLICY = """
version = 1
[privacy]
epsilon = 4.0
delta = 1e-6
[tables.t]
[tables.t.columns]
a = { type = "integer", min = 0, max = 3, nullable = false }
b = { type = "category", values = ["x", "y", "z"], nullable = false }
name = { type = "text" }
"""


@pytest.fixture
def connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dpsql.Connection]:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as con:
        rows = "SELECT (i % 4)::INTEGER AS a, CASE WHEN i % 4 < 2 THEN 'x' ELSE 'z' END AS b, 'n' || i AS name"
        con.execute(f"CREATE TABLE t AS {rows} FROM range(4000) r(i)")
    (tmp_path / "t.dpsql.toml").write_text(POLICY)
    with dpsql.connect(path) as con:
        yield con


@pytest.mark.parametrize("method", ["iterative", "mwem"])
def test_a_table_is_charged_once_and_answers_its_workload(connection: dpsql.Connection, method: str) -> None:
    def make() -> SyntheticTable:
        return connection.synthesize(
            "t", method, workload="marginals:2", epsilon="1", rounds=30, keeps_first_look=False
        )

    connection.execute("SELECT COUNT(*) FROM t").fetchall()
    made = make()
    assert 0.98 < made.charged <= 1.0
    found = made.to_arrow()
    assert found.column_names == ["a", "b", "name"]
    rows = duckdb.sql("SELECT a, b, COUNT(*) AS n FROM found GROUP BY ALL").fetchall()
    counts = {(a, b): n for a, b, n in rows}
    assert abs(counts[0, "x"] - 1000) < 250
    assert counts.get((0, "z"), 0) < 250
    again = make()
    assert again.charged == 0.0
    assert again.to_arrow().equals(found)


def test_what_cannot_be_paid_or_read_charges_nothing(connection: dpsql.Connection) -> None:
    connection.execute("SELECT COUNT(*) FROM t").fetchall()
    before = connection.budget.spent_epsilon
    with pytest.raises(BudgetExhausted):
        connection.synthesize("t", "mwem", epsilon="1e-12")
    with pytest.raises(DataError, match="no option iterate"):
        connection.synthesize("t", "iterative", epsilon="0.01", iterate="last")
    after = connection.budget.spent_epsilon
    assert after == before


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("mwem", {"rounds": "x"}),
        ("mwem", {"iterate": "first"}),
        ("iterative", {"iterate": "last"}),
        ("iterative", {"alpha": "0"}),
        ("dual-query", {"rate": "x"}),
        ("dual-query", {"accounting": "subsampled"}),
    ],
)
def test_wrong_options_are_refused_before_a_table_is_looked_at(
    connection: dpsql.Connection, method: str, options: dict[str, str]
) -> None:
    with pytest.raises(DataError):
        connection.synthesize("t", method, epsilon="0.01", **options)
    assert connection.budget.spent_epsilon == 0.0


def test_a_workload_that_is_too_wide_is_refused_before_a_table_is_looked_at(
    connection: dpsql.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpsql.synthesis.offline.parts.TENSOR_CELLS", 5)
    for method in ("mwem", "iterative"):
        with pytest.raises(NotSupportedError, match="joins 2 columns"):
            connection.synthesize("t", method, epsilon="0.01")
    assert connection.budget.spent_epsilon == 0.0
