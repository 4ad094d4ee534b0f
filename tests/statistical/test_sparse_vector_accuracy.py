"""Lecture 11's accuracy of sparse vector (Theorems 2 and 5), repaired: simulated, and dpsql's own test beside it.

Repaired means that what is printed has noise of its own: the lecture prints the value that was compared, which is not
private (tests/statistical/test_compared_noise_is_never_printed.py).
"""

from fractions import Fraction
from math import log, sqrt

import numpy as np
import pytest

from dpsql.accounting import calibrate
from dpsql.mechanism.threshold_test import ThresholdTest
from dpsql.planning.paper import sparse_vector_accuracy

pytestmark = pytest.mark.statistical

ROWS = 10_000.0
EPSILON = 1.0
DELTA = 1e-6
QUERIES = 1000
ABOVE = 5
BETA = 0.05
THRESHOLD = 0.5
RUNS = 400
MOST_FAILURES = 37
"""Of RUNS: more have probability below 1e-4 where each fails with probability BETA."""


def scale(delta: float | None) -> float:
    """sigma of the noise of queries: 2 c / (epsilon n), or sqrt(32 c ln(1/delta)) / (epsilon n)."""
    return (2.0 * ABOVE if delta is None else sqrt(32.0 * ABOVE * log(1.0 / delta))) / (EPSILON * ROWS)


def sparse(values: np.ndarray, sigma: float, rng: np.random.Generator) -> list[float | None]:
    """Algorithm 1: noisy threshold, noisy values, at most ABOVE answers; each printed with noise of its own."""
    line = THRESHOLD + rng.laplace(0.0, 2.0 / (EPSILON * ROWS))
    compared = values + rng.laplace(0.0, sigma, len(values))
    printed = values + rng.laplace(0.0, sigma, len(values))
    above = compared >= line
    asked = int(np.searchsorted(np.cumsum(above), ABOVE)) + 1  # the cut-off's own answer is the last
    return [v if high else None for high, v in zip(above[:asked].tolist(), printed.tolist(), strict=False)]


def accurate(values: np.ndarray, given: list[float | None], alpha: float) -> bool:
    """Definition 1: it ends before the last query only where ABOVE have reached T - alpha, and all answers are near."""
    if len(given) < len(values) and (values[: len(given)] >= THRESHOLD - alpha).sum() < ABOVE:
        return False
    return all(
        value <= THRESHOLD + alpha if answer is None else abs(answer - value) <= alpha
        for value, answer in zip(values.tolist(), given, strict=False)
    )


def worst(alpha: float) -> np.ndarray:
    """All queries hardly below T - alpha, but ABOVE of them hardly above T + alpha: no margin is wasted."""
    values = np.full(QUERIES, THRESHOLD - alpha - 1e-9)
    values[:: QUERIES // ABOVE] = THRESHOLD + alpha + 1e-9
    return values


def failures(delta: float | None, factor: float, seed: int) -> int:
    alpha = sparse_vector_accuracy(EPSILON, ABOVE, QUERIES, BETA, ROWS, delta)
    rng = np.random.default_rng(seed)
    values = worst(alpha)
    return sum(not accurate(values, sparse(values, factor * scale(delta), rng), alpha) for _ in range(RUNS))


@pytest.mark.parametrize("delta", [None, DELTA])
def test_it_is_accurate_with_the_probability_that_the_theorem_says(delta: float | None) -> None:
    assert failures(delta, 1.0, 3) <= MOST_FAILURES


@pytest.mark.parametrize("delta", [None, DELTA])
def test_three_times_the_noise_is_caught(delta: float | None) -> None:
    assert failures(delta, 3.0, 3) > MOST_FAILURES


def test_the_formulas_are_the_lectures() -> None:
    pure, approximate = (sparse_vector_accuracy(EPSILON, ABOVE, QUERIES, BETA, ROWS, d) for d in (None, DELTA))
    assert pure == pytest.approx(2 * scale(None) * (log(QUERIES) + log(2 / BETA)))
    assert approximate == pytest.approx(2 * scale(DELTA) * (log(QUERIES) + log(2 / BETA)))


def chance_of_failure(alpha: int, planned: float, slope_factor: Fraction = Fraction(1)) -> float:
    """Exactly: that dpsql's test, for c hard rounds at (epsilon, delta), is not (alpha, beta)-accurate; in counts."""
    net = calibrate(Fraction(1), Fraction(1, 10**6), hard_rounds=ABOVE).for_sensitivity()
    test = ThresholdTest(net.slope * slope_factor, net.certified_slope * slope_factor)
    theta = round(log(log(2 * ABOVE / planned)) / float(net.slope))  # half of the failures above it
    low, high = (float(test.easy_probability(g + theta, 2 * theta)) for g in (-alpha, alpha))
    return (QUERIES - ABOVE) * (1.0 - low) + ABOVE * high


def test_the_session_s_test_is_more_accurate_at_the_same_price() -> None:
    """Its alpha at the same (epsilon, delta), cut-off and beta: less than a third of Theorem 5's."""
    lecture = sparse_vector_accuracy(EPSILON, ABOVE, QUERIES, BETA, 1.0, DELTA)
    assert chance_of_failure(round(lecture / 3), BETA) <= BETA
    assert chance_of_failure(round(lecture / 3), BETA, Fraction(1, 4)) > BETA  # a blunter test is not
