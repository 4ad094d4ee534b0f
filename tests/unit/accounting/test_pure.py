"""What an epsilon-DP release costs: enough beside exact divergences, and not 2 % more than needed."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from dpsql.accounting import UNITS, Plan, calibrate
from dpsql.accounting.profile import gaussian_profile, pure_precision
from dpsql.errors import InternalError

DELTA = Fraction(1, 10**6)
TWO_PURSES = calibrate(Fraction(1), DELTA, hard_rounds=0, releases=100)
EPSILONS = [0.001, 0.05, 0.3, 1.0, 2.5, 6.0, 15.0]


def answered(epsilon: float, times: int) -> tuple[np.ndarray, np.ndarray]:
    """The laws of so many answers of randomised response, by the number of true ones: (P, Q)."""
    true = math.exp(epsilon) / (1 + math.exp(epsilon))
    k = np.arange(times + 1)
    return stats.binom.pmf(k, times, true), stats.binom.pmf(k, times, 1 - true)


def delta_of(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return math.fsum(np.maximum(p - math.exp(epsilon) * q, 0.0))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_precision_is_that_of_the_gaussian_whose_sign_is_randomised_response(epsilon: float) -> None:
    """P[N(m / 2, 1) > 0] by quadrature is e^eps / (1 + e^eps); checked in 40 digits."""
    with mpmath.workdps(40):
        half = mpmath.sqrt(pure_precision(epsilon)) / 2
        true = mpmath.quad(mpmath.npdf, [-half, 0, 20])
        wanted = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
        assert 0 <= true - wanted <= 2e-6 * epsilon
    inside, _ = integrate.quad(stats.norm.pdf, 0, float(half))
    assert inside == pytest.approx(float(wanted) - 0.5, rel=1e-5)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_gaussian_loses_more_than_any_such_release_at_every_epsilon(epsilon: float) -> None:
    p, q = answered(epsilon, 1)
    for at in np.linspace(0.0, 1.5 * epsilon, 200):
        assert delta_of(p, q, at) <= gaussian_profile(float(at), pure_precision(epsilon)) + 1e-15


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_two_per_cent_less_would_be_too_little(epsilon: float) -> None:
    """Randomised response is the pair that shows it, at the total variation of both."""
    p, q = answered(epsilon, 1)
    assert delta_of(p, q, 0.0) > gaussian_profile(0.0, 0.98 * pure_precision(epsilon))


@pytest.mark.parametrize(("epsilon", "times"), [(0.05, 40), (0.3, 10), (1.0, 5)])
def test_many_of_them_stay_below_the_sum_of_their_precisions(epsilon: float, times: int) -> None:
    p, q = answered(epsilon, times)
    precision = times * pure_precision(epsilon)
    for at in np.linspace(0.0, epsilon * times, 100):
        assert delta_of(p, q, at) <= gaussian_profile(float(at), precision) * (1 + 1e-9) + 1e-13


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_plan_charges_at_least_the_precision(epsilon: float) -> None:
    assert TWO_PURSES.alpha is None
    cost = TWO_PURSES.pure_cost(Fraction(epsilon))
    assert pure_precision(epsilon) <= 2 * cost / UNITS <= pure_precision(epsilon) * (1 + 1e-9) + 4 / UNITS


def with_order(alpha: Fraction) -> Plan:
    return Plan(Fraction(60), DELTA, Fraction(0), alpha, 0, Fraction(0), Fraction(0), 0, 0, 1)


@pytest.mark.parametrize("alpha", [Fraction(3, 2), Fraction(20), Fraction(400)])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_plan_with_an_order_charges_at_least_the_renyi_divergence(alpha: Fraction, epsilon: float) -> None:
    cost = with_order(alpha).pure_cost(Fraction(epsilon)) / UNITS
    with mpmath.workdps(40):
        true = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
        a, other = mpmath.mpf(alpha.numerator) / alpha.denominator, 1 - true
        found = mpmath.log(true**a * other ** (1 - a) + other**a * true ** (1 - a)) / (a - 1)
        assert found <= cost + mpmath.mpf(1) / UNITS
        if float(alpha) * epsilon < 0.03:
            assert found > 0.98 * cost  # small releases, where nothing is given away
        if float(alpha) * epsilon > 100:
            assert found > 0.98 * cost


@pytest.mark.parametrize("wrong", [0.0, -1.0, 1e-9, 20.1, math.nan, math.inf])
def test_an_epsilon_beyond_what_doubles_can_bound_is_refused(wrong: float) -> None:
    with pytest.raises(InternalError):
        pure_precision(wrong)
