"""Calibrated error bars: they cover fresh noise, follow it, repeat, and keep silent where nothing was measured."""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import pytest

from dpsql.domain import TableDomain
from dpsql.hypothesis.bars.calibration import Calibration, learn_calibration, random_queries
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.local.wide import WideHypothesis
from dpsql.hypothesis.measurement import Measurement
from dpsql.policy import Mechanism
from dpsql.query import Factor, LinearQuery, linear_query
from tests.support.simulated import all_of, marginal, measured, pairwise_table, table_of

SHAPE = (8, 5, 4, 6)
NAMES = ("a", "b", "c", "d")
TABLE = table_of(SHAPE, (True,))
CELLS = np.rint(pairwise_table(SHAPE, 20_000, np.random.default_rng(0)))
TOTAL = float(CELLS.sum())
FACTOR = float(Mechanism().error_factor)


def wide(measurements: Sequence[Measurement]) -> WideHypothesis:
    out = WideHypothesis(TABLE, TOTAL)
    for m in measurements:
        out.absorb(m)
    return out


def fit(measurements: Sequence[Measurement]) -> Callable[[LinearQuery], float]:
    return wide(measurements).answer


def noisy(sigma: float, seed: int) -> list[Measurement]:
    rng = np.random.default_rng(seed)
    return [*all_of(CELLS, 1, sigma, rng), *all_of(CELLS, 2, sigma, rng)]


def calibrated(found: Sequence[Measurement], table: TableDomain = TABLE) -> Calibration:
    return learn_calibration(table, TOTAL, found, fit, wide(found).contingency, simulations=4, queries=80)


def asked(number: int, count: int, seed: int) -> list[LinearQuery]:
    coverage = Coverage(TABLE, TOTAL, noisy(30.0, 1))
    return random_queries(coverage, number, count, np.random.default_rng(seed))


def truth(query: LinearQuery) -> float:
    return query.estimate(marginal(CELLS, NAMES, query.scope))


@pytest.mark.statistical
@pytest.mark.parametrize("sigma", [15.0, 80.0])
def test_error_bars_cover_fresh_queries_without_being_wide(sigma: float) -> None:
    inside: dict[int, list[bool]] = {}
    errors, bounds = [], []
    for seed in (11, 12):
        found = noisy(sigma, seed)
        answer, bars = fit(found), calibrated(found)
        for number in (1, 2, 3, 4):
            for q in asked(number, 120, seed):
                bound = bars.bound(q, FACTOR)
                assert bound is not None
                errors.append(abs(round(answer(q)) - truth(q)))
                bounds.append(bound)
                inside.setdefault(number, []).append(errors[-1] <= bound)
    assert np.mean([x for found in inside.values() for x in found]) >= 0.95
    assert min(np.mean(found) for found in inside.values()) >= 0.92
    assert np.median(bounds) <= 7 * np.median(errors)


def test_error_bars_follow_the_noise() -> None:
    small, large = calibrated(noisy(10.0, 21)), calibrated(noisy(100.0, 21))
    ratios = [large.bound(q, FACTOR) / small.bound(q, FACTOR) for q in asked(2, 60, 3)]  # type: ignore[operator]
    assert float(np.median(ratios)) > 2.5


def test_equal_measurements_give_equal_error_bars() -> None:
    found = noisy(30.0, 31)
    one, other = calibrated(found), calibrated(found)
    assert [one.bound(q, FACTOR) for q in asked(3, 40, 4)] == [other.bound(q, FACTOR) for q in asked(3, 40, 4)]


def test_columns_that_were_not_measured_together_have_no_error_bar() -> None:
    rng = np.random.default_rng(41)
    found = [*all_of(CELLS, 1, 20.0, rng), measured(CELLS, "ab", 20.0, rng), measured(CELLS, "ac", 20.0, rng)]
    bars = calibrated(found)
    half = {c: Factor((c,), np.arange(n) % 2) for c, n in zip(NAMES, SHAPE, strict=True)}

    def over(columns: str) -> LinearQuery:
        query = linear_query(TABLE, [half[c] for c in columns])
        assert query is not None
        return query

    assert bars.bound(over("a"), FACTOR) is not None
    assert bars.bound(over("ab"), FACTOR) is not None
    assert bars.bound(over("bc"), FACTOR) is None
    assert bars.bound(over("abc"), FACTOR) is None
    assert calibrated([]).bound(over("a"), FACTOR) is None


def test_an_error_bar_is_at_least_one_and_grows_with_its_factor() -> None:
    bars = calibrated(noisy(0.01, 51))
    for q in asked(2, 20, 5):
        narrow, broad = bars.bound(q, 1.0), bars.bound(q, 50.0)
        assert narrow is not None
        assert broad is not None
        assert 1 <= narrow <= broad


def test_noise_of_a_query_is_that_of_its_best_table() -> None:
    rng = np.random.default_rng(61)
    coverage = Coverage(TABLE, TOTAL, [measured(CELLS, "ab", 10.0, rng), measured(CELLS, "abc", 4.0, rng)])
    q = linear_query(
        TABLE, [Factor(("a",), np.array([1, 1, 0, 0, 0, 0, 0, 0])), Factor(("b",), np.array([1, 0, 0, 0, 0]))]
    )
    assert q is not None
    assert coverage.noise(q, 0.0, lambda _: 0.0) == pytest.approx(min(10.0 * 2**0.5, 4.0 * 8**0.5))


def test_cut_parts_are_taken_in_or_left_out_whole() -> None:
    rng = np.random.default_rng(71)
    labels = {"a": np.array([0, 0, 0, 1, 1, 2, 2, 2])}
    found = [measured(CELLS, p, 10.0, rng, labels) for p in combinations(NAMES, 2)]
    coverage = Coverage(TABLE, TOTAL, found)
    b = Factor(("b",), np.array([1, 0, 0, 0, 1]))
    cut = linear_query(TABLE, [Factor(("a",), np.array([0, 1, 1, 1, 1, 0, 0, 0])), b])
    whole = linear_query(TABLE, [Factor(("a",), np.array([0, 0, 0, 1, 1, 0, 0, 0])), b])
    assert cut is not None
    assert whole is not None
    outer, inner = coverage.rounded(cut)
    assert outer is not None
    assert inner is not None
    assert outer.factors[0].weights.tolist() == [1, 1, 1, 1, 1, 0, 0, 0]
    assert inner.digest == whole.digest
    assert coverage.rounded(whole) == (None, None)


def test_bars_of_large_answers_follow_errors_that_level_off() -> None:
    found = noisy(1.0, 81)
    answer, rng = fit(found), np.random.default_rng(8)
    bars = Calibration(Coverage(TABLE, TOTAL, found), answer, wide(found).contingency)
    queries = asked(2, 200, 9)
    size = np.log1p([answer(q) for q in queries])
    # errors that are largest for answers of middle size: without the square of log h the ratio below is 1.8
    sds = 2000.0 * np.exp(-((size - np.median(size)) ** 2))
    bars.learn(2, queries, rng.normal(0.0, 1.0, (40, len(queries))) * sds)
    bounds = np.array([bars.bound(q, 1.0) for q in queries], dtype=float)
    _, middle, large = np.array_split(np.argsort(size), 3)
    assert float(np.median(bounds[middle] / (1.96 * sds[middle]))) > 0.8
    assert float(np.median(bounds[large] / (1.96 * sds[large]))) < 1.6


def test_raw_noise_counts_up_to_ten_times_the_answer() -> None:
    """With errors of 0 in every simulation, what is left of a bar is a tenth of the noise: of 300, or of 10 (h + 1)."""
    sigma = 300.0
    found, queries = noisy(sigma, 3), asked(2, 80, 5)

    def bounds(h: float) -> list[int]:
        out = Calibration(Coverage(TABLE, TOTAL, found), lambda query: h, wide(found).contingency)
        out.learn(2, queries, np.zeros((4, len(queries))))
        return [bound for q in queries if (bound := out.bound(q, FACTOR)) is not None]

    assert max(bounds(0.0)) <= 3
    assert max(bounds(4.0)) <= 11
    assert min(bounds(1000.0)) >= 1.96 * 0.1 * sigma
    assert len(bounds(0.0)) == len(queries)
