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
city = { type = "text" }
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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(dpsql.mechanism, "SystemEntropy", lambda: SeededEntropy(7))
    learned_briefly(monkeypatch)
    with duckdb.connect(str(tmp_path / "visits.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT hash(i) % 90 AS age, substr('abcd', 1 + (hash(i * 3) % 4)::INT, 1) AS ward,"
            " hash(i * 5) % 3 = 0 AS urgent, (hash(i * 7) % 5000) / 10.0 AS bill, 'dr ' || (i % 6) AS doctor,"
            " 'city ' || (i % 9) AS city FROM range(4000) t(i)"
        )
    return tmp_path


def opened(folder: Path, planned: int = 400, words: str = "") -> dpsql.Connection:
    (folder / "policy.toml").write_text(POLICY.replace("PLANNED", f"{planned}\n{words}"))
    return dpsql.connect(folder / "visits.duckdb", policy=folder / "policy.toml", ledger=folder / "ledger")


@pytest.fixture(params=[20, 400])
def con(request: pytest.FixtureRequest, folder: Path) -> Iterator[dpsql.Connection]:
    """Tests of a model, and spare releases beside one."""
    with opened(folder, request.param) as con:
        yield con


def asked(con: dpsql.Connection, sql: str) -> float:
    """What the statement charges where as much as is explained may be: no more."""
    explained, before = con.explain(sql).worst_charge, con.budget.spent_epsilon
    assert con.execute(sql, max_charge=explained).fetchall()
    charged = con.budget.spent_epsilon - before
    assert charged <= explained + 1e-12  # the difference is rounded
    return charged


def test_what_is_explained_is_enough_and_is_kept(con: dpsql.Connection) -> None:
    """Where a first measurement could tell that more is needed, more than was explained had to be allowed; strings
    that were not released yet were refused whatever the limit."""
    for sql in STATEMENTS:
        asked(con, sql)


def test_less_than_is_explained_is_refused_at_no_charge(con: dpsql.Connection) -> None:
    for sql in (STATEMENTS[0], STATEMENTS[1], STATEMENTS[3]):  # strings, the first question, different values
        explained = con.explain(sql).worst_charge
        with pytest.raises(dpsql.BudgetExhausted, match="max_charge") as refused:
            con.execute(sql, max_charge=0.999 * explained)
        assert refused.value.charged == 0.0 == con.budget.spent_epsilon
        assert refused.value.requested == pytest.approx(explained)
        assert refused.value.remaining == pytest.approx(0.999 * explained)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT city, doctor, COUNT(*) FROM visits GROUP BY city, doctor",
        "SELECT COUNT(*) FROM visits WHERE doctor LIKE 'dr%' AND city = 'city 1'",
    ],
)
@pytest.mark.parametrize("planned", [400, 20000])
def test_strings_of_two_columns_may_need_a_hard_round(folder: Path, sql: str, planned: int) -> None:
    """No first touch counts them together: what was explained did not foresee it, and a limit of it bought the strings
    and then refused."""
    with opened(folder, planned) as con:
        assert asked(con, sql) > 0.0


def test_strings_are_not_bought_where_the_rest_cannot_be_paid(folder: Path) -> None:
    different = "SELECT COUNT(DISTINCT city) FROM visits WHERE age >= {} AND ward = '{}'"
    with opened(folder) as con:
        with pytest.raises(dpsql.BudgetExhausted):
            for number in range(360):
                con.execute(different.format(number // 4, "abcd"[number % 4]))
        spent = con.budget.spent_epsilon
        for terms in ({}, {"max_charge": 1.0}):
            with pytest.raises(dpsql.BudgetExhausted, match="different values"):
                con.execute("SELECT city, COUNT(DISTINCT doctor) FROM visits GROUP BY city", **terms)
            assert con.budget.spent_epsilon == spent


def test_strings_are_not_bought_where_their_tests_would_be_refused(folder: Path) -> None:
    words = '[mechanism]\nhard_rounds = 1\nwhen_spent = "refuse"'
    with opened(folder, words=words) as con:
        for sql in ("SELECT COUNT(*) FROM visits WHERE ward = 'a'", "SELECT COUNT(*) FROM visits WHERE age > 3"):
            con.execute(sql)
        spent, sql = con.budget.spent_epsilon, "SELECT city, ward, COUNT(*) FROM visits WHERE doctor = 'x' GROUP BY ALL"
        with pytest.raises(dpsql.BudgetExhausted, match="may need"):
            con.execute(sql, max_charge=con.explain(sql).worst_charge)
        assert con.budget.spent_epsilon == spent


def test_a_limit_may_be_more_than_there_is(folder: Path) -> None:
    """Each group may need a hard round, and all of them together more than epsilon."""
    with opened(folder, words='[mechanism]\nstrategy = "sparse-pmw"') as con:
        sql = "SELECT age, COUNT(*) FROM visits WHERE ward = 'b' GROUP BY age"
        assert con.explain(sql).worst_charge > 2.0
        assert asked(con, sql) < 2.0


def test_explaining_is_free_whatever_the_limit(con: dpsql.Connection) -> None:
    assert con.execute("EXPLAIN SELECT COUNT(DISTINCT doctor) FROM visits", max_charge=0).fetchall()
