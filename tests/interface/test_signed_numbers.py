"""Amounts on both sides of 0 through a whole session: their bars grow with the distance of rows from 0."""

from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path

import duckdb
import pytest

import dpsql
import dpsql.mechanism
from dpsql import Answer
from tests.support.entropy import SeededEntropy

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


def asked_of(folder: Path, epsilon: float, planned: int) -> Iterator[tuple[Answer, float]]:
    """Answers of a session, and what is true."""
    with duckdb.connect() as truth, opened(folder, epsilon, planned) as con:
        truth.execute(ROWS)
        for where, value in product(WHERES, ("amount", "3 - 2 * amount", "amount + 600")):
            sql = f"SELECT SUM({value}), AVG({value}) FROM moves WHERE {where}"
            cursor = con.execute(sql)
            (wanted,) = truth.execute(sql).fetchall()
            assert len(cursor.fetchall()) == 1
            yield from zip(cursor.answers, wanted, strict=True)


@pytest.mark.parametrize(
    ("epsilon", "planned", "sessions", "least"), [(1.0, 100_000, 1, 0.0), (1.0, 60, 12, 0.2), (20.0, 10_000, 1, 0.0)]
)
def test_bars_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, epsilon: float, planned: int, sessions: int, least: float
) -> None:
    """Numbers about the same rows are outside together, so that one session tells little. With noise for each question
    bars are no wider than they must be: a third of all is beyond half of its bar."""
    outside, beyond_half, asked = 0, 0, 0
    for seed in range(sessions):
        monkeypatch.setattr(dpsql.mechanism, "SystemEntropy", partial(SeededEntropy, seed))
        (tmp_path / str(seed)).mkdir()
        for answer, right in asked_of(tmp_path / str(seed), epsilon, planned):
            assert answer.interval is not None and answer.value is not None
            low, high = answer.interval
            off, error = abs(answer.value - right), answer.error or 0.0
            asked, outside, beyond_half = (
                asked + 1,
                outside + (not low <= right <= high),
                beyond_half + (off > error / 2),
            )
            assert low <= answer.value <= high and off <= 2.5 * error + 1e-6
    assert outside <= 0.1 * asked
    assert beyond_half >= least * asked


def test_a_sum_near_0_is_known_as_well_as_its_rows(tmp_path: Path) -> None:
    """-500 times the rows, and 900.5 times a sum of shares, each with its bar, were ten times as wide."""
    with opened(tmp_path, 1.0, 100_000) as con:
        cursor = con.execute("SELECT COUNT(*), SUM(amount), AVG(amount) FROM moves WHERE amount BETWEEN 0 AND 50")
        rows, total, mean = cursor.answers
        assert rows.error and total.error and mean.interval
        rounded = 900.5  # of the sum of shares, and of the rows
        assert total.error < 50 * rows.error + 25 * 0.1 * float(rows.value or 0) + 2 * rounded
        assert 0.0 <= mean.interval[0] <= mean.interval[1] <= 50.0
