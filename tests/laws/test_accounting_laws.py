"""Laws of costs and plans for all parameters."""

from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpsql.accounting import (
    TABLE_MARGIN,
    UNITS,
    Accountant,
    Plan,
    calibrate,
    delta_bound,
    epsilon_at,
    gaussian_cost,
    hard_round_cost,
    hard_round_curve,
    pure_cost,
    units,
)
from dpsql.accounting.calibration import default_measure_share
from dpsql.accounting.grid import sigma_from_variance
from dpsql.accounting.profile import SMOOTHING
from dpsql.errors import BudgetExhausted

slopes = st.fractions(Fraction(1, 1000), Fraction(1, 2))
shares = st.fractions(Fraction(1, 100), Fraction(98, 100))
orders = st.fractions(Fraction(11, 10), Fraction(200))


def order_below_the_pole(slope: Fraction, share: Fraction) -> Fraction:
    """a with a (exp(slope) - 1) < share, because exp(v) - 1 <= 1.3 v on [0, 1/2]."""
    return share / (slope * Fraction(13, 10))


@given(slopes, slopes, shares)
def test_the_cost_of_a_hard_round_grows_with_the_slope(one: Fraction, other: Fraction, share: Fraction) -> None:
    low, high = sorted((one, other))
    assume(low < high)
    a = order_below_the_pole(high, share)
    assert hard_round_curve(low, a) < hard_round_curve(high, a)


@given(slopes, shares)
def test_a_hard_round_costs_at_least_its_gaussian_limit(slope: Fraction, share: Fraction) -> None:
    alpha = 1 + order_below_the_pole(slope, share)
    assert Fraction(hard_round_cost(slope, alpha)) >= alpha * slope * slope / 2


@given(slopes, shares, st.fractions(Fraction(1, 10), Fraction(9, 10)))
def test_the_cost_grows_with_the_order(slope: Fraction, share: Fraction, factor: Fraction) -> None:
    a = order_below_the_pole(slope, share)
    assert hard_round_cost(slope, 1 + a * factor) < hard_round_cost(slope, 1 + a)


@given(slopes, shares)
def test_the_certified_margin_costs_next_to_nothing(slope: Fraction, share: Fraction) -> None:
    alpha = 1 + order_below_the_pole(slope, share)
    extra = units(hard_round_cost(slope + TABLE_MARGIN, alpha)) - units(hard_round_cost(slope, alpha))
    assert 0 <= extra <= 1


@given(orders, st.fractions(Fraction(1, 1000), Fraction(5)))
def test_pure_cost_is_between_zero_and_epsilon(alpha: Fraction, epsilon: Fraction) -> None:
    assert 0 < pure_cost(alpha, epsilon) <= epsilon


@given(st.fractions(Fraction(1, 10**6), Fraction(10**8)))
def test_sigma_is_rounded_up_and_by_little(variance: Fraction) -> None:
    sigma = sigma_from_variance(variance)
    assert variance <= sigma * sigma <= variance * Fraction(1001, 1000)
    assert Fraction(float(sigma)) == sigma


@settings(deadline=None, max_examples=25)
@given(
    st.fractions(Fraction(1, 20), Fraction(10)),
    st.integers(3, 12),
    st.integers(0, 150),
    st.floats(0, 0.95),
    st.floats(0.05, 0.95),
)
def test_every_calibration_is_a_sound_plan(
    epsilon: Fraction, digits: int, rounds: int, released: float, share: float
) -> None:
    delta = Fraction(1, 10**digits)
    plan = calibrate(epsilon, delta, hard_rounds=rounds, release_share=released, measure_share=share)
    if plan.alpha is None:
        precision, step = 2 * plan.noise_budget / UNITS, float(plan.certified_slope)
        assert 0.999 * float(delta) < delta_bound(float(epsilon), precision, rounds, step) <= float(delta)
    else:
        assert Fraction(epsilon_at(plan.total_units, plan.alpha, delta)) <= epsilon
        assert Fraction(epsilon_at(plan.total_units, plan.alpha, delta)) > epsilon * Fraction(999_999, 1_000_000)
    assert plan.hard_rounds * plan.hard_cost + plan.release_budget == plan.total_units
    assert Plan.from_json(plan.to_json()) == plan
    if rounds > 0 and released == 0.0:
        assert plan.release_budget <= plan.total_units // 500


@settings(deadline=None, max_examples=15)
@given(st.fractions(Fraction(1, 10), Fraction(3)), st.integers(1, 60))
def test_more_epsilon_buys_less_noise_and_more_rounds_more(epsilon: Fraction, rounds: int) -> None:
    delta = Fraction(1, 10**6)
    plan = calibrate(epsilon, delta, hard_rounds=rounds)
    richer = calibrate(epsilon * Fraction(11, 10), delta, hard_rounds=rounds)
    longer = calibrate(epsilon, delta, hard_rounds=2 * rounds, measure_share=0.3)
    if (richer.alpha is None) == (plan.alpha is None):
        assert richer.sigma < plan.sigma
        assert richer.slope > plan.slope
    else:  # the kind is chosen by one release of everything, which pays for its smoothing once, hard rounds each time
        assert richer.sigma**2 < plan.sigma**2 + SMOOTHING * rounds / default_measure_share(rounds)
    assert longer.sigma > plan.sigma


def test_more_epsilon_may_bring_another_kind_of_plan() -> None:
    plans = [calibrate(e, Fraction(1, 10**6), hard_rounds=2) for e in (Fraction(293, 150), Fraction(3223, 1500))]
    assert [plan.alpha is None for plan in plans] == [True, False]
    assert plans[0].sigma < plans[1].sigma


@given(st.integers(0, 5), st.integers(1, 9), st.lists(st.tuples(st.integers(0, 1), st.integers(0, 30)), max_size=40))
def test_no_sequence_of_charges_passes_a_purse(rounds: int, test_cost: int, charges: list[tuple[int, int]]) -> None:
    accountant = Accountant(40 + rounds * test_cost, hard_rounds=rounds, test_cost=test_cost)
    spent = tested = noise = 0
    for tests, part in charges:
        cost = part + tests * test_cost
        if noise + part <= 40 and tested + tests <= rounds:
            accountant.check(spent, 0, cost, tested=tested, tests=tests)
            accountant.check(spent // 2, spent - spent // 2, cost, tested=tested, tests=tests)
            spent, tested, noise = spent + cost, tested + tests, noise + part
            assert accountant.noise_left(spent, tested) == 40 - noise
        elif tests or noise + part > 40:
            with pytest.raises(BudgetExhausted):
                accountant.check(spent, 0, cost, tested=tested, tests=tests)


@given(orders, st.fractions(Fraction(1, 2), Fraction(100)))
def test_gaussian_costs_add_like_precisions(alpha: Fraction, sigma: Fraction) -> None:
    half = gaussian_cost(alpha, Fraction(1), 2 * sigma)
    assert 4 * half == gaussian_cost(alpha, Fraction(1), sigma)
