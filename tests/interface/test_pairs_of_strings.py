"""Questions about several text columns: guessed from each column's strings, foreseen, and no surer than they are."""

from pathlib import Path

import duckdb
import numpy as np
import pytest

import dpsql
from dpsql.policy_file import parse_policy

ROWS, CITIES, NOTES = 30_000, 12, 6
POLICY = """
version = 1
privacy = { epsilon = 1.0, delta = 1e-6, planned_queries = 1000 }
[tables.orders.columns]
city = { type = "text" }
note = { type = "text", prefixes = [1] }
day = { type = "integer", min = 1, max = 7, nullable = false }
paid = { type = "boolean", nullable = false }
"""
ONE = "SELECT COUNT(*) FROM orders WHERE city = 'c0' AND note = 'n1'"
PAIRS = "SELECT city, note, COUNT(*) FROM orders GROUP BY city, note"
STARTS = "SELECT note, left(note, 1), COUNT(*) FROM orders GROUP BY 1, 2"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pairs") / "orders.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(
            f"CREATE TABLE orders AS SELECT 'c' || hash(i) % {CITIES} AS city,"
            f" 'n' || hash(i + 1000000) % {NOTES} AS note, 1 + hash(i + 2000000) % 7 AS day,"
            f" hash(i + 3000000) % 3 = 0 AS paid FROM range({ROWS}) t(i)"
        )
    return path


def connected(database: Path) -> dpsql.Connection:
    return dpsql.connect(database, policy=parse_policy(POLICY), ledger=":memory:")


def truth(database: Path, sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(database), read_only=True) as con:
        return con.execute(sql).fetchall()


def test_the_first_question_about_a_pair_is_answered_from_its_strings(database: Path) -> None:
    with connected(database) as con:
        cursor = con.execute(ONE)
        ((said,),), (answer,) = cursor.fetchall(), cursor.answers
    ((true,),) = truth(database, ONE)
    assert answer.error is not None and abs(said - true) <= answer.error  # type: ignore[operator]
    assert answer.source == "measurement" or abs(said - true) < 100  # type: ignore[operator]


def test_groups_of_pairs_are_near_what_is_true(database: Path) -> None:
    with connected(database) as con:
        cursor = con.execute(PAIRS)
        said = {row[:2]: row[2] for row in cursor.fetchall()}
        bars = [float(answer.error or 0.0) for answer in cursor.answers]
    true = {row[:2]: row[2] for row in truth(database, PAIRS)}
    off = np.array([abs(float(n) - float(true.get(pair, 0))) for pair, n in said.items()])  # type: ignore[arg-type]
    assert set(true) <= set(said)
    assert np.mean(off <= np.array(bars)) > 0.9


@pytest.mark.parametrize(
    "sql", [ONE, PAIRS, STARTS, "SELECT COUNT(*) FROM orders WHERE city = 'c1' AND note LIKE 'n%'"]
)
def test_what_they_charge_was_foreseen(database: Path, sql: str) -> None:
    for _ in range(3):
        with connected(database) as con:
            foreseen = con.explain(sql).worst_charge
            con.execute(sql)
            assert con.budget.spent_epsilon <= foreseen + 1e-9
            with pytest.raises(dpsql.Error):
                connected(database).execute(sql, max_charge=0)
