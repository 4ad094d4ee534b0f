"""Averages where few questions are planned, through a connection: right within their bars, and told again alike."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import dpsql
import dpsql.mechanism
from tests.support.entropy import SeededEntropy

ROWS = 6000
RULES = """version = 1
[privacy]
epsilon = 8.0
delta = 1e-6
planned_queries = 60
[mechanism]
on_demand = 0.1
[tables.t.columns]
g = { type = "integer", min = 0, max = 3, nullable = false }
b = { type = "boolean" }
y = { type = "integer", min = 0, max = 9 }
x = { type = "number", bins = [-50, 0, 50, 100, 150] }
z = { type = "number", min = 0, max = 2000, nullable = false }
d = { type = "date", min = 2020-01-01, max = 2020-12-31 }
"""
ASKED = (
    "SELECT AVG(x) FROM t",
    "SELECT g, AVG(x) FROM t GROUP BY g",
    "SELECT AVG(x) FROM t WHERE x BETWEEN 12.5 AND 40",
    "SELECT x >= 50 AS f, COUNT(*), AVG(x) FROM t WHERE x IS NOT NULL GROUP BY f",
    "SELECT floor(x / 50) * 50 AS f, AVG(x) FROM t WHERE g = 1 AND x IS NOT NULL GROUP BY f",
    "SELECT g, x >= 100 AS f, AVG(x) FROM t WHERE x IS NOT NULL GROUP BY ALL",
    "SELECT AVG(x) FILTER (WHERE x >= 50), AVG(x) FILTER (WHERE x < 50) FROM t",
    "SELECT g, AVG(x) FILTER (WHERE b), AVG(x) FILTER (WHERE NOT b) FROM t GROUP BY g",
    "SELECT AVG(y), AVG(x) FROM t WHERE y > 3",
    "SELECT b, AVG(y) FROM t WHERE b IS NOT NULL GROUP BY b",
    "SELECT g, AVG(y) FROM t GROUP BY ROLLUP (g)",
    "SELECT AVG(2 * x - y), AVG(month(d)) FROM t WHERE g < 2",
    "SELECT SUM(x), AVG(x), COUNT(x) FROM t WHERE x BETWEEN 0 AND 20",
    "SELECT SUM(x) FROM t WHERE x BETWEEN 60 AND 80 AND g = 2",
    "SELECT g, SUM(z) FROM t WHERE z < 30 GROUP BY g",
    "SELECT SUM(z), AVG(z) FROM t WHERE z BETWEEN 100 AND 120",
    "SELECT MAX(a) - MIN(a) FROM (SELECT g, AVG(x) AS a FROM t GROUP BY g)",
)
GROUPED = {ASKED[5]: 2, ASKED[-1]: 0}
"""Columns of groups, where they are not one for each GROUP BY."""


@pytest.fixture(scope="module")
def rows(database: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """What is true, from a copy: the file itself is locked by sessions."""
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE t AS FROM read_parquet('{database.with_suffix('.parquet')}')")
        yield con


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(5)
    path = tmp_path_factory.mktemp("few") / "t.duckdb"
    g = rng.integers(0, 4, ROWS)
    x = rng.normal(30.0 + 20.0 * g, 40.0, ROWS).clip(-50, 149.99).round(2)
    rows = {
        "g": g,
        "b": pa.array([None if i % 9 == 0 else bool(i % 2) for i in range(ROWS)]),
        "y": pa.array([None if i % 7 == 0 else int(v) for i, v in enumerate(rng.integers(0, 10, ROWS))]),
        "x": pa.array([None if i % 11 == 0 else v for i, v in enumerate(x.tolist())]),
        "z": rng.lognormal(3.0, 1.2, ROWS).clip(0, 2000).round(2),
        "d": pa.array((np.datetime64("2020-01-01") + rng.integers(0, 366, ROWS)).astype("datetime64[D]")),
    }
    with duckdb.connect(str(path)) as con:
        con.register("rows", pa.table(rows))
        con.execute("CREATE TABLE t AS SELECT * FROM rows")
        con.execute(f"COPY t TO '{path.with_suffix('.parquet')}'")
    return path


@pytest.fixture
def session(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dpsql.Connection]:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(dpsql.mechanism, "SystemEntropy", lambda: SeededEntropy(3))
    with dpsql.connect(database, policy=dpsql.load_policy(RULES), ledger=":memory:", new_budget=True) as con:
        yield con


def bars(cursor: dpsql.Cursor) -> list[float]:
    return [a.error or 0.0 for column in cursor.result.column_answers.values() for a in column]


def test_every_number_is_near_the_truth_and_is_told_again(
    session: dpsql.Connection, rows: duckdb.DuckDBPyConnection
) -> None:
    wrong = []
    for sql in ASKED:
        groups = GROUPED.get(sql, int(" GROUP BY " in sql))
        true = {row[:groups]: row[groups:] for row in rows.execute(sql).fetchall()}
        cursor = session.execute(sql)
        told, errors = cursor.fetchall(), bars(cursor)
        again = session.execute(sql)
        assert again.fetchall() == told and bars(again) == errors, sql
        assert session.explain(sql).worst_charge == 0.0, sql
        for i, row in enumerate(told):  # groups without rows are shown, too
            truths = true.get(row[:groups], row[groups:])
            for place, (said, truth) in enumerate(zip(row[groups:], truths, strict=True), groups):
                error = cursor.result.column_answers[place][i].error or 0.0
                wrong += [(sql, row)] if said is not None and abs(said - truth) > 2 * error else []
    assert not wrong


def test_a_group_that_is_asked_alone_has_the_bar_that_it_had(session: dpsql.Connection) -> None:
    groups = session.execute("SELECT g, AVG(x) FROM t GROUP BY g")
    value = dict(groups.fetchall())[2]
    bar = bars(groups)[2]
    alone = session.execute("SELECT AVG(x) FROM t WHERE g = 2")
    assert alone.fetchall() == [(value,)]
    assert bars(alone) == [bar]
    some = session.execute("SELECT g, AVG(x) FROM t WHERE g IN (2, 3) GROUP BY g")
    assert bars(some) == bars(groups)[2:]


def test_sums_under_conditions_on_their_own_values_have_bars_of_these(session: dpsql.Connection) -> None:
    """Not of the range: of values up to 2,000 a sum of those below 30 is off by some hundred times 30."""
    alone = session.execute("SELECT SUM(z) FROM t WHERE z < 30 AND g = 1")
    assert bars(alone)[0] < 30 * 60
    both = session.execute("SELECT AVG(z), SUM(z) FROM t WHERE z < 30 AND g = 2")
    assert bars(both)[1] < 30 * 60
    again = session.execute("SELECT SUM(z) FROM t WHERE z < 30 AND g = 2")
    assert again.fetchall() == [both.fetchall()[0][1:]] and bars(again) == bars(both)[1:]
    signed = session.execute("SELECT SUM(x) FROM t WHERE x BETWEEN 0 AND 10")
    assert bars(signed)[0] < 10 * 60


def test_a_count_that_is_asked_anew_makes_its_average_better(
    session: dpsql.Connection, rows: duckdb.DuckDBPyConnection
) -> None:
    """What was measured of the sum are distances from the middle: they hold beside any answer to the count."""
    text = "SELECT AVG(x) FROM t WHERE g = 3"
    before = session.execute(text)
    before.fetchall()
    session.execute("SELECT COUNT(x) FROM t WHERE g = 3", within=5).fetchall()
    after = session.execute(text)
    ((said,),) = after.fetchall()
    ((truth,),) = rows.execute(text).fetchall()
    assert bars(after)[0] < bars(before)[0]
    assert abs(said - truth) <= bars(after)[0]
