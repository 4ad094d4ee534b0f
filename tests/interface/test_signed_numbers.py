"""Amounts on both sides of 0 through a whole session: their bars grow with the distance of rows from 0."""

from itertools import product
from pathlib import Path

import duckdb
import pytest

import dpsql

POLICY = """\
version = 1
[privacy]
epsilon = {epsilon}
delta = 1e-6
planned_queries = {planned}
[tables.moves.columns]
amount = {{ type = "number", min = -500, max = 400.5, bins = 24 }}
shop = {{ type = "integer", min = 0, max = 3 }}
"""
ROWS = """\
CREATE TABLE moves AS SELECT (i % 5)::INTEGER AS shop,
  greatest(-500, least(400.5, round(90 * ln((hash(i) % 1000003 + 1) / (1000005.0 - hash(i) % 1000003)), 2)))
  ::DOUBLE AS amount FROM range(24000) r(i)
"""
WHERES = (
    "true",
    "amount BETWEEN 0 AND 50",
    "abs(amount) < 30",
    "amount > 100",
    "amount < -20 AND shop = 1",
    "shop = 2",
)


def opened(folder: Path, epsilon: float, planned: int) -> dpsql.Connection:
    path = folder / "moves.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(ROWS)
    (folder / "moves.dpsql.toml").write_text(POLICY.format(epsilon=epsilon, planned=planned))
    return dpsql.connect(path, new_budget=True)


@pytest.mark.parametrize(("epsilon", "planned"), [(1.0, 100_000), (1.0, 60), (20.0, 10_000)])
def test_bars_hold(tmp_path: Path, epsilon: float, planned: int) -> None:
    outside, asked = 0, 0
    with duckdb.connect() as truth, opened(tmp_path, epsilon, planned) as con:
        truth.execute(ROWS)
        for where, value in product(WHERES, ("amount", "3 - 2 * amount", "amount + 600")):
            sql = f"SELECT SUM({value}), AVG({value}) FROM moves WHERE {where}"
            cursor = con.execute(sql)
            (wanted,) = truth.execute(sql).fetchall()
            assert len(cursor.fetchall()) == 1
            for answer, right in zip(cursor.answers, wanted, strict=True):
                assert answer.interval is not None and answer.value is not None
                low, high = answer.interval
                asked, outside = asked + 1, outside + (not low <= right <= high)
                assert low <= answer.value <= high and abs(answer.value - right) <= 2.5 * (answer.error or 0.0) + 1e-6
    assert outside <= asked // 8


def test_a_sum_near_0_is_known_as_well_as_its_rows(tmp_path: Path) -> None:
    """-500 times the rows, and 900.5 times a sum of shares, each with its bar, were ten times as wide."""
    with opened(tmp_path, 1.0, 100_000) as con:
        cursor = con.execute("SELECT COUNT(*), SUM(amount), AVG(amount) FROM moves WHERE amount BETWEEN 0 AND 50")
        rows, total, mean = cursor.answers
        assert rows.error and total.error and mean.interval
        rounded = 900.5  # of the sum of shares, and of the rows
        assert total.error < 50 * rows.error + 25 * 0.1 * float(rows.value or 0) + 2 * rounded
        assert 0.0 <= mean.interval[0] <= mean.interval[1] <= 50.0
