"""Weighted draws of bounded range: both charges hold for random and for the worst laws, and none smaller does."""

import math
from fractions import Fraction
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest

from dpsql.accounting import UNITS, Plan, calibrate, range_cost
from dpsql.accounting.profile import gaussian_profile, pure_precision

RNG = np.random.default_rng(5)
LAW = NormalDist()


def pair(scores: np.ndarray, changes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The exponential mechanism on D and on D'."""
    both = [np.exp(s - s.max()) for s in (scores, scores + changes)]
    return both[0] / both[0].sum(), both[1] / both[1].sum()


def random_pairs(width: float, number: int) -> list[tuple[np.ndarray, np.ndarray]]:
    out = []
    for _ in range(number):
        size = int(RNG.integers(2, 9))
        changes = RNG.choice([0.0, width, RNG.uniform(0, width)], size=size) - RNG.uniform(0, width)
        out.append(pair(RNG.normal(0, RNG.choice([0.1, 1.0, 4.0]), size), changes))
    return out


def renyi(p: np.ndarray, q: np.ndarray, order: float) -> float:
    exponents = order * np.log(p) + (1 - order) * np.log(q)  # powers of rare draws would overflow
    largest = float(exponents.max())
    return (largest + math.log(float(np.exp(exponents - largest).sum()))) / (order - 1)


def excess(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """The exact delta at epsilon, of any sign."""
    return float(np.sum(np.maximum(0, p - math.exp(epsilon) * q)))


def coins(width: float, middle: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    up, down = (1 / (1 + math.exp(-middle - sign * width / 2)) for sign in (1, -1))
    return np.array([up, 1 - up]), np.array([down, 1 - down])


def kept_by(p: np.ndarray, q: np.ndarray, precision: float) -> bool:
    """Whether no epsilon sees more of the pair than of Gaussian noise: it is then a post-processing of it."""
    return all(excess(p, q, e) <= gaussian_profile(e, precision) + 1e-13 for e in np.linspace(-4, 4, 161))


@pytest.mark.parametrize("width", [0.01, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("order", [1.5, 4.0, 30.0])
def test_the_divergence_is_within_the_charge(width: float, order: float) -> None:
    charge = float(range_cost(Fraction(order), Fraction(width)))
    for p, q in random_pairs(width, 100):
        assert max(renyi(p, q, order), renyi(q, p, order)) <= charge + 1e-12
    tight = renyi(*coins(width), order)
    assert tight <= charge + 1e-12
    if width * order < 0.1:
        assert tight > 0.99 * charge


@pytest.mark.parametrize("width", [0.01, 0.3, 1.0, 3.0])
def test_the_draw_is_a_post_processing_of_the_noise_that_is_charged(width: float) -> None:
    precision = pure_precision(width / 2)
    for p, q in [*random_pairs(width, 25), *(coins(width, y) for y in (-3.0, -0.5, 0.0, 0.5, 3.0))]:
        assert kept_by(p, q, precision)
        assert kept_by(q, p, precision)


@pytest.mark.parametrize("width", [0.3, 1.0, 3.0])
def test_less_noise_would_not_cover_it(width: float) -> None:
    p, q = coins(width)
    kink = LAW.inv_cdf(float(p[0])) - LAW.inv_cdf(float(q[0]))  # what a Gaussian needs to tell P from Q as well
    assert kink**2 == pytest.approx(pure_precision(width / 2), rel=1e-5)
    assert not kept_by(p, q, 0.98 * pure_precision(width / 2))


@pytest.mark.parametrize("width", [0.01, 1.0, 6.0])
def test_even_coins_are_the_worst(width: float) -> None:
    needs = [
        LAW.inv_cdf(float(p[0])) - LAW.inv_cdf(float(q[0]))
        for p, q in (coins(width, float(y)) for y in np.linspace(0, 12, 241))
    ]
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(needs))


@pytest.mark.parametrize(("epsilon", "has_order"), [(Fraction(1), True), (Fraction(1, 10), False)])
def test_a_plan_charges_by_its_kind(epsilon: Fraction, has_order: bool) -> None:
    plan: Plan = calibrate(epsilon, Fraction(1, 10**6), hard_rounds=6)
    assert (plan.alpha is not None) == has_order
    for width in (Fraction(1, 10**5), Fraction(1, 100), Fraction(2)):
        charged = Fraction(plan.range_cost(width), UNITS)
        if plan.alpha is None:
            expected = 2 * (LAW.inv_cdf(1 / (1 + math.exp(-float(width) / 2)))) ** 2
            assert expected <= float(charged) <= expected * (1 + 3e-6) + 2 / UNITS
        else:
            assert 0 <= charged - min(width, plan.alpha * width**2 / 8) < Fraction(1, UNITS)
        assert plan.range_cost(width) <= plan.pure_cost(width)
    assert 0 < plan.range_cost(Fraction(1, 10**9)) <= plan.range_cost(Fraction(1, 10**5))
