"""A limit of what was explained is kept, and is enough."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import dpsql
import dpsql.mechanism
from tests.support.entropy import SeededEntropy
from tests.support.lessons import learned_briefly

POLICY = """\
version = 1
[privacy]
epsilon = 2.0
delta = 1e-6
planned_queries = PLANNED
[tables.visits.columns]
age = { type = "integer", min = 0, max = 89, nullable = false }
ward = { type = "category", values = ["a", "b", "c", "d"], nullable = false }
urgent = { type = "boolean" }
bill = { type = "number", min = 0, max = 500 }
doctor = { type = "text" }
"""
STATEMENTS = (
    "SELECT doctor, COUNT(*) FROM visits WHERE urgent GROUP BY doctor",
    "SELECT COUNT(*) FROM visits WHERE age < 30",
    "SELECT ward, AVG(bill), COUNT(*) FROM visits WHERE age > 40 AND urgent GROUP BY ward",
    "SELECT COUNT(*), COUNT(DISTINCT doctor) FROM visits WHERE ward = 'a'",
    "SELECT SUM(bill) FROM visits WHERE bill BETWEEN 10 AND 20 UNION ALL SELECT AVG(age) FROM visits WHERE urgent",
    "SELECT COUNT(*) FROM visits WHERE doctor IN ('dr 1', 'dr 2') AND ward = 'b'",
    "SELECT COUNT(*) FROM visits WHERE age BETWEEN 3 AND 50 AND ward <> 'c' AND urgent AND bill > 77.5",
)


@pytest.fixture(params=[20, 400])
def con(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dpsql.Connection]:
    """Tests of a model, and spare releases beside one."""
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(dpsql.mechanism, "SystemEntropy", lambda: SeededEntropy(7))
    learned_briefly(monkeypatch)
    with duckdb.connect(str(tmp_path / "visits.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT hash(i) % 90 AS age, substr('abcd', 1 + (hash(i * 3) % 4)::INT, 1) AS ward,"
            " hash(i * 5) % 3 = 0 AS urgent, (hash(i * 7) % 5000) / 10.0 AS bill, 'dr ' || (i % 6) AS doctor"
            " FROM range(4000) t(i)"
        )
    (tmp_path / "policy.toml").write_text(POLICY.replace("PLANNED", str(request.param)))
    with dpsql.connect(tmp_path / "visits.duckdb", policy=tmp_path / "policy.toml", ledger=tmp_path / "ledger") as con:
        yield con


def test_what_is_explained_is_enough_and_is_kept(con: dpsql.Connection) -> None:
    """Where a first measurement could tell that more is needed, more than was explained had to be allowed; strings
    that were not released yet were refused whatever the limit."""
    for sql in STATEMENTS:
        explained, before = con.explain(sql).worst_charge, con.budget.spent_epsilon
        assert con.execute(sql, max_charge=explained).fetchall()
        assert con.budget.spent_epsilon - before <= explained + 1e-12  # the difference is rounded


def test_less_than_is_explained_is_refused_at_no_charge(con: dpsql.Connection) -> None:
    for sql in (STATEMENTS[0], STATEMENTS[1], STATEMENTS[3]):  # strings, the first question, different values
        explained = con.explain(sql).worst_charge
        with pytest.raises(dpsql.BudgetExhausted, match="max_charge") as refused:
            con.execute(sql, max_charge=0.999 * explained)
        assert refused.value.charged == 0.0 == con.budget.spent_epsilon
        assert refused.value.requested == pytest.approx(explained)
        assert refused.value.remaining == pytest.approx(0.999 * explained)
