"""The curves against oracles computed another way: mpmath, and google's dp-accounting."""

import decimal
import math
from fractions import Fraction

import dp_accounting
import mpmath
import pytest
from dp_accounting.rdp import RdpAccountant

from dpsql.accounting import UNITS, epsilon_at, gaussian_cost, hard_round_cost, hard_round_curve, pure_cost, units
from dpsql.accounting.curve import approximate_budget, approximate_hard_round_cost, budget_units
from dpsql.errors import InternalError

DELTA = Fraction(1, 10**6)


@pytest.mark.parametrize("v", [Fraction(1, 10**6), Fraction(1, 60), Fraction(1, 24), Fraction(3, 10)])
@pytest.mark.parametrize("share", [Fraction(1, 20), Fraction(1, 2), Fraction(99, 100)])
def test_hard_round_curve_against_mpmath(v: Fraction, share: Fraction) -> None:
    with mpmath.workdps(80):
        step = mpmath.mpf(v.numerator) / v.denominator
        a = Fraction(str(share / Fraction(str(mpmath.nstr(mpmath.expm1(step), 20)))))
        order = mpmath.mpf(a.numerator) / a.denominator
        oracle = -order * step - mpmath.log(1 - order * mpmath.expm1(step))
        assert abs(mpmath.mpf(str(hard_round_curve(v, a))) - oracle) < mpmath.mpf("1e-45")
    assert approximate_hard_round_cost(float(v), 1 + float(a)) == pytest.approx(float(oracle / order), rel=1e-7)


def test_hard_round_curve_starts_like_its_series() -> None:
    a, v = 16.0, 1e-4
    series = (1 + a) * v * v / 2 * (1 + (1 + 2 * a) * v / 3)  # docs/privacy.md, the test's cost
    assert float(hard_round_cost(Fraction(1, 10**4), Fraction(17))) == pytest.approx(series, rel=1e-5)


@pytest.mark.parametrize(
    ("v", "a"), [(Fraction(1, 5), Fraction(5)), (Fraction(-1, 10), Fraction(5)), (Fraction(1), Fraction(0))]
)
def test_hard_round_curve_refuses_beyond_the_pole(v: Fraction, a: Fraction) -> None:
    with pytest.raises(InternalError) as caught:
        hard_round_curve(v, a)
    assert caught.value.hint
    assert approximate_hard_round_cost(0.2, 6.0) == math.inf


@pytest.mark.parametrize("order", [Fraction(3), Fraction(1715, 100), Fraction(43, 2)])
@pytest.mark.parametrize(
    "sigmas", [[Fraction(30)] * 7, [Fraction(9, 2)], [Fraction(10), Fraction(20), Fraction(41, 3)]]
)
def test_gaussian_compositions_agree_with_dp_accounting(order: Fraction, sigmas: list[Fraction]) -> None:
    oracle = RdpAccountant([float(order)])
    for sigma in sigmas:
        oracle.compose(dp_accounting.GaussianDpEvent(float(sigma)))
    spent = sum(units(gaussian_cost(order, Fraction(1), sigma)) for sigma in sigmas)
    assert float(epsilon_at(spent, order, DELTA)) == pytest.approx(oracle.get_epsilon(float(DELTA)), abs=1e-6)


def test_pure_cost_is_the_smaller_bound() -> None:
    assert pure_cost(Fraction(4), Fraction(1, 2)) == Fraction(1, 2)
    assert pure_cost(Fraction(4), Fraction(1, 4)) == Fraction(1, 8)


def test_gaussian_cost_refuses_zero_noise() -> None:
    with pytest.raises(InternalError):
        gaussian_cost(Fraction(4), Fraction(1), Fraction(0))


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(8)])
def test_budget_is_the_largest_within_epsilon(epsilon: Fraction) -> None:
    order = Fraction(35, 2)
    whole = budget_units(epsilon, order, DELTA)
    limit = decimal.Decimal(epsilon.numerator) / epsilon.denominator
    assert epsilon_at(whole, order, DELTA) <= limit < epsilon_at(whole + 1, order, DELTA)
    approximate = approximate_budget(float(epsilon), float(order), float(DELTA))
    assert approximate == pytest.approx(whole / UNITS, rel=1e-9)


def test_results_do_not_depend_on_the_callers_decimal_context() -> None:
    expected = units(hard_round_cost(Fraction(1, 24), Fraction(17)))
    with decimal.localcontext(decimal.Context(prec=3, rounding=decimal.ROUND_DOWN, traps=[decimal.Inexact])):
        assert units(hard_round_cost(Fraction(1, 24), Fraction(17))) == expected
        assert units(Fraction(1, 3)) == math.ceil(UNITS / 3)


@pytest.mark.parametrize("purse", [Fraction(0), Fraction(1, 10**7), Fraction(1, 3), Fraction(999, 1000)])
def test_what_key_selections_may_fail_with_costs_epsilon_too(purse: Fraction) -> None:
    """Against mpmath: epsilon + ln(1 - purse), less what order alpha costs at the delta that is left."""
    epsilon, order, delta = Fraction(3), Fraction(35, 2), Fraction(9995, 10_000)
    with mpmath.workdps(80):
        e, a, d, p = (mpmath.mpf(x.numerator) / x.denominator for x in (epsilon, order, delta, purse))
        room = e + mpmath.log(1 - p) - mpmath.log(1 - 1 / a) + mpmath.log((d - p) * a) / (a - 1)
        assert budget_units(epsilon, order, delta, purse) == int(mpmath.floor(room * UNITS))
