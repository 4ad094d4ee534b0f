"""Tail bounds against exact tails and against draws; a bound that is too small is noticed."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpsql.mechanism.randomized_response import least_flips
from dpsql.synthesis.graph.bounds import laplace_bound, laplace_tail, noise_bound
from dpsql.synthesis.graph.noise import Noise


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, 2.0, 5.0, 20.0])
def test_the_tail_of_one_and_of_two_laplace_variables(alpha: float) -> None:
    """Exact: exp(-a)/2 for one, (2 + a) exp(-a)/4 for two (their density is (1 + |x|) exp(-|x|) / 4)."""
    assert math.exp(-alpha) / 2 <= laplace_tail(alpha, 1, 1.0)
    assert (2 + alpha) * math.exp(-alpha) / 4 <= laplace_tail(alpha, 2, 1.0)
    assert laplace_tail(3 * alpha, 2, 3.0) == pytest.approx(laplace_tail(alpha, 2, 1.0))


def exceeded(terms: int, scale: float, widths: tuple[float, ...] = (2.0, 3.0, 4.5)) -> bool:
    """Whether sums of weighted Laplace variables of ``scale`` are beyond alpha more often than scale 1 allows."""
    generator, draws = np.random.default_rng(terms), 20_000
    for weights in (np.ones(terms), generator.random(terms)):
        sums = generator.laplace(0, scale, (draws, terms)) @ weights
        for width in widths:
            alpha = width * math.sqrt(terms)
            allowed = laplace_tail(alpha, terms, 1.0)
            if (sums >= alpha).mean() > allowed + 5 * math.sqrt(allowed / draws):
                return True
    return False


@pytest.mark.parametrize("terms", [30, 60, 100])
def test_sums_of_many_stay_below_the_tail_and_larger_noise_does_not(terms: int) -> None:
    assert not exceeded(terms, 1.0)
    assert exceeded(terms, 2.5)


def test_the_bound_is_where_the_tail_is_beta() -> None:
    for terms, log_queries in ((400, 20.0), (50, 200.0)):
        bound = laplace_bound(0.5, terms, log_queries, 0.05)
        assert 2 * math.exp(log_queries) * laplace_tail(bound, terms, 2.0) == pytest.approx(0.05)


def failures(scale: float, bound: float, queries: int = 200) -> float:
    """How often some query among many is beyond the bound."""
    generator, terms, runs = np.random.default_rng(8), 150, 300
    weights = (generator.random((terms, queries)) < 0.5).astype(float)
    noise = generator.laplace(0, scale, (runs, terms))
    return float((np.abs(noise @ weights).max(axis=1) > bound).mean())


def test_lemma_6_1_holds_for_all_queries_at_once() -> None:
    bound = laplace_bound(0.5, 150, math.log(200), 0.05)
    assert failures(2.0, bound) <= 0.05
    assert failures(6.0, bound) > 0.05


def test_the_bound_of_responses_is_of_the_order_of_laplace_and_less() -> None:
    noise = Noise("randomised-response", 1, flips=least_flips(Fraction(1)))
    ours, theirs = (noise_bound(noise, 780, 55.0, 0.05), laplace_bound(1.0, 780, 55.0, 0.05))
    assert 0.5 * theirs < ours < theirs
    spread = Noise("gaussian", 1, sigma=Fraction(7))
    assert noise_bound(spread, 2, 0.0, 2 / math.e) == pytest.approx(14.0)
