"""Averages over listed strings under another condition: that an amount is known is one that hardly any row fails."""

from pathlib import Path

import duckdb
import pytest

import dpsql
from dpsql.policy_file import parse_policy

POLICY = """
version = 1
privacy = { epsilon = 1.0, delta = 1e-6, planned_queries = 1000 }
[tables.pay.columns]
amount = { type = "number", min = 0, max = 100000 }
city = { type = "text" }
kind = { type = "category", values = ["a", "b", "c"] }
"""
OF_A = "FROM pay WHERE city IN ('c1', 'c2', 'c3') AND kind = 'a'"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("amounts") / "pay.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(
            "CREATE TABLE pay AS SELECT 2000 + hash(i) % 6000 AS amount, 'c' || hash(i + 1000000) % 40 AS city,"
            " ['a', 'b', 'c'][1 + i % 3] AS kind FROM range(20000) t(i)"
        )
    return path


def test_an_average_over_strings_under_a_condition_is_known(database: Path) -> None:
    with duckdb.connect(str(database)) as con:
        ((average, number),) = con.execute(f"SELECT AVG(amount), COUNT(amount) {OF_A}").fetchall()
    with dpsql.connect(database, policy=parse_policy(POLICY), ledger=":memory:") as con:
        ((said,),) = con.execute(f"SELECT AVG(amount) {OF_A}").fetchall()
        assert said is not None and abs(said - average) < 0.3 * average  # type: ignore[operator]
        cursor = con.execute(f"SELECT COUNT(amount) {OF_A}")
        ((counted,),), (answer,) = cursor.fetchall(), cursor.answers
        assert answer.error is not None and answer.error < 250  # a test alone would certify 715
        assert abs(counted - number) <= answer.error  # type: ignore[operator]


def test_a_condition_that_many_rows_fail_is_no_such(database: Path) -> None:
    """The bar of both is that of no condition less: what fails it is not known string by string."""
    with dpsql.connect(database, policy=parse_policy(POLICY), ledger=":memory:") as con:
        alone = con.execute("SELECT COUNT(*) FROM pay WHERE city = 'c1'").answers[0].error
        both = (
            con.execute("SELECT COUNT(*) FROM pay WHERE city = 'c1' AND amount < 5000 AND kind = 'a'").answers[0].error
        )
        assert alone is not None and both is not None and both > 1.2 * alone
