"""Lists of values of a number that is counted in bins: each value is asked about, where nobody pays for each."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import dpsql
from tests.support.seeded_sessions import seeded_sessions

SEEDS = (1, 2, 3)
SALES = """
CREATE TABLE sales AS SELECT
  CASE WHEN i % 2 = 0 THEN [5, 10, 20, 50, 100, 15, 25, 30][1 + (i * 31 % 97) % 8]
    WHEN i % 37 = 1 THEN NULL ELSE round(200 * ((i * 7919 % 19973) / 19973.0), 2) END::DOUBLE AS amount,
  ['Bern', 'Chur', 'Genf'][1 + (i * 13 % 101) % 3] AS city, i % 24 AS hour
FROM range(30000) t(i)"""
POLICY = """version = 1
[privacy]
epsilon = 1
delta = 1e-6
{privacy}
[tables.sales.columns]
amount = {{ type = "number", min = 0, max = 200, bins = 20 }}
city = {{ type = "text" }}
hour = {{ type = "integer", min = 0, max = 23 }}
{more}"""
FIVE = "amount IN (5, 10, 20, 50, 100)"
ASKED = (
    FIVE,
    "amount IN (5, 10, 15, 20, 25, 30, 50, 100)",
    f"{FIVE} AND hour < 12",
    f"city = 'Bern' AND {FIVE}",
    "amount NOT IN (5, 10, 20, 50, 100)",
    "amount IN (5, 7.25, 10, 33, 41.5, 100, 180)",
    "amount BETWEEN 4 AND 6 OR amount BETWEEN 9 AND 11 OR amount IN (20, 50) OR amount > 190",
)


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dpsql.Connection]]:
    with seeded_sessions(tmp_path, monkeypatch, SALES, POLICY.format(privacy="", more=""), SEEDS) as made:
        yield made


def truth(what: str, sql: str) -> float:
    with duckdb.connect() as con:
        con.execute(SALES)
        return float(con.execute(f"SELECT {what} FROM sales WHERE {sql}").fetchall()[0][0])


def number(con: dpsql.Connection, what: str, sql: str) -> tuple[float, float]:
    cursor = con.execute(f"SELECT {what} FROM sales WHERE {sql}")
    ((value,),) = cursor.fetchall()
    (answer,) = cursor.answers
    assert answer.error is not None
    return float(value), float(answer.error)


@pytest.mark.parametrize("what", ["COUNT(*)", "SUM(amount)"])
def test_intervals_hold_and_are_no_guesses(sessions: list[dpsql.Connection], what: str) -> None:
    inside = 0
    for con in sessions:
        for sql in ASKED:
            (value, error), true = number(con, what, sql), truth(what, sql)
            inside += abs(value - true) <= error
            assert error < 0.8 * true, (sql, value, error)
            assert abs(value - true) < 0.15 * true, (sql, value, error)
    assert inside >= 0.9 * len(SEEDS) * len(ASKED)


def test_a_list_counts_what_its_values_count_and_sums_them(sessions: list[dpsql.Connection]) -> None:
    con = sessions[0]
    each = {v: number(con, "COUNT(*)", f"amount = {v}")[0] for v in (5, 10, 20, 50, 100)}
    assert number(con, "COUNT(*)", FIVE)[0] == pytest.approx(sum(each.values()), abs=3)
    assert number(con, "SUM(amount)", FIVE)[0] == pytest.approx(sum(v * n for v, n in each.items()), rel=1e-3)
    average, total = number(con, "AVG(amount)", FIVE)[0], sum(each.values())
    assert average == pytest.approx(sum(v * n for v, n in each.items()) / total, rel=1e-2)


def test_beside_strings_count_and_sum_are_asked_alike(sessions: list[dpsql.Connection]) -> None:
    """More than a few stretches beside a string are single values, or an average would be of two different things."""
    con, mixed = sessions[0], f"city = 'Bern' AND ({FIVE} OR amount BETWEEN 14 AND 16)"
    for sql in (mixed, f"city = 'Bern' AND NOT {FIVE}"):
        cursor = con.execute(f"SELECT COUNT(*), SUM(amount) FROM sales WHERE {sql}")
        ((count, total),) = cursor.fetchall()
        with_sum = abs(float(total) - truth("SUM(amount)", sql)), abs(count - truth("COUNT(*)", sql))
        errors = [answer.error for answer in cursor.answers]
        assert all(error is not None and off <= error for off, error in zip(with_sum[::-1], errors, strict=True))
    assert len(con.explain(f"SELECT COUNT(*) FROM sales WHERE {mixed}").plans) <= 2
    assert len(con.explain(f"SELECT COUNT(*) FROM sales WHERE city = 'Bern' AND {FIVE}").plans) == 5


def test_values_at_both_ends_of_the_range_are_asked_as_others_are(sessions: list[dpsql.Connection]) -> None:
    """All rows less what is between would be as few questions, and of stretches in place of values."""
    for con in sessions:
        for sql in ("amount IN (0, 5, 10, 20, 200)", "city = 'Chur' AND amount IN (0, 5, 10, 20, 200)"):
            value, error = number(con, "SUM(amount)", sql)
            assert abs(value - truth("SUM(amount)", sql)) <= error < 1.5 * truth("SUM(amount)", sql)


def test_many_groups_have_fewer_questions_each(sessions: list[dpsql.Connection]) -> None:
    listed = ", ".join(str(5 * i) for i in range(1, 17))
    whole, by_hour = (f"SELECT {what} FROM sales WHERE amount IN ({listed})" for what in ("COUNT(*)", "hour, COUNT(*)"))
    assert len(sessions[0].explain(whole).plans) == 16
    assert len(sessions[0].explain(f"{by_hour} GROUP BY hour").plans) < 16


@pytest.mark.parametrize(
    ("privacy", "more"),
    [("planned_queries = 12", ""), ("planned_queries = 300", ""), ("", '[mechanism]\nwhen_spent = "refuse"\n')],
)
def test_where_each_value_would_be_paid_for_more_than_four_are_guessed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, privacy: str, more: str
) -> None:
    """Else one statement would use up the planned questions, or be refused for the hard rounds that it may need."""
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    rows, rules = tmp_path / "rows.duckdb", tmp_path / "policy.toml"
    with duckdb.connect(str(rows)) as con:
        con.execute(SALES)
    found = []
    for mine in ((privacy, more), ("", "")):
        without_text = POLICY.replace('city = {{ type = "text" }}\n', "")
        rules.write_text(without_text.format(privacy=mine[0], more=mine[1]))
        with dpsql.connect(rows, policy=rules, ledger=":memory:", new_budget=True) as con_:
            four, five = (
                con_.explain(f"SELECT COUNT(*) FROM sales WHERE {s}") for s in (FIVE.replace("5, ", ""), FIVE)
            )
            found.append((len(four.plans), len(five.plans)))
    assert found == [(4, 1), (4, 5)]
