"""Plans without an order: what they charge, that they keep (epsilon, delta), and when they are chosen."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import pytest
from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism

from dpsql.accounting import SMOOTHING, UNITS, Plan, calibrate, delta_bound, noise_cost
from dpsql.accounting.profile import covers, gaussian_profile
from dpsql.errors import InternalError, LedgerError

ONE, DELTA = Fraction(1), Fraction(1, 10**6)
WARM = calibrate(ONE, DELTA, hard_rounds=6, release_share=0.96, releases=36)
QUESTIONS = calibrate(ONE, DELTA, hard_rounds=0, releases=100)


def test_noise_alone_is_the_analytic_gaussian_mechanism() -> None:
    for epsilon, sigma in ((1.0, 4.2247), (0.1, 36.3), (3.0, 1.55)):
        known = from_gaussian_mechanism(sigma, value_discretization_interval=1e-4).get_delta_for_epsilon(epsilon)
        assert delta_bound(epsilon, sigma**-2) == pytest.approx(known, rel=2e-3)
    assert float(Fraction(2 * QUESTIONS.noise_budget, UNITS)) == pytest.approx(4.2247**-2, rel=1e-4)


def test_hard_rounds_of_tiny_steps_cost_what_noise_of_their_variance_does() -> None:
    """2 T v^2 for steps far below the noise: the loss of one hard round has variance 2 v^2."""
    many = delta_bound(1.0, 0.04, 400, 1e-3)
    assert many == pytest.approx(delta_bound(1.0, 0.04 + 400 * 2e-6), rel=0.01)


@pytest.mark.parametrize("wrong", [(-1.0, 0.1, 0, 0.0), (1.0, -0.1, 0, 0.0), (1.0, 0.1, -1, 0.1), (1.0, 0.1, 1, 0.0)])
def test_numbers_out_of_range_have_no_profile(wrong: tuple[float, float, int, float]) -> None:
    with pytest.raises(InternalError):
        delta_bound(*wrong)


def test_extremes_stay_finite_and_safe() -> None:
    assert gaussian_profile(1.0, 0.0) == 0.0
    assert gaussian_profile(-1.0, 0.0) == pytest.approx(1 - math.exp(-1))
    assert 0 <= gaussian_profile(5000.0, 1e-3) < 1e-300
    assert delta_bound(0.5, 1e6) >= 1
    assert delta_bound(1.0, 1e-6) > 0  # never below its absolute margin


@pytest.mark.parametrize("plan", [WARM, QUESTIONS])
def test_a_plan_is_refused_as_soon_as_it_charges_too_little(plan: Plan) -> None:
    assert plan.alpha is None
    left = float(DELTA)
    precision = 2 * plan.noise_budget / UNITS
    assert 0.995 * left < delta_bound(1.0, precision, plan.hard_rounds, float(plan.certified_slope)) <= left
    with pytest.raises(InternalError):
        replace(plan, total_units=plan.total_units + plan.total_units // 500)
    if plan.hard_rounds:
        for change in (
            {"slope": plan.slope * Fraction(21, 20)},
            {"hard_rounds": plan.hard_rounds + 1, "total_units": plan.total_units + plan.hard_cost},
            {"measure_cost": plan.measure_cost - 1},
            {"sigma": Fraction(2)},
        ):
            with pytest.raises(InternalError):
                replace(plan, **change)


def test_the_selections_delta_is_taken_off_first() -> None:
    quarter = calibrate(ONE, DELTA, hard_rounds=6, release_share=0.96, releases=36, delta_purse=DELTA / 4)
    assert quarter.alpha is None
    assert quarter.noise_budget < WARM.noise_budget
    with pytest.raises(InternalError):
        replace(quarter, delta_purse=DELTA / 2)
    whole = Fraction(2 * WARM.noise_budget, UNITS)
    assert covers(ONE, DELTA, Fraction(0), whole, 6, WARM.certified_slope)
    assert not covers(ONE, DELTA, DELTA / 4, whole, 6, WARM.certified_slope)
    assert not covers(Fraction(1, 10**9), Fraction(1, 2), Fraction(1, 4), Fraction(0), 0, Fraction(0))


@pytest.mark.parametrize("l2_squared", [1, 2, 9, 18])
def test_a_release_has_at_least_the_noise_that_its_cost_pays_for(l2_squared: int) -> None:
    for share in (1, 7, 91, 10**6):
        cost = WARM.release_budget // share
        sigma = WARM.release_sigma(cost, l2_squared)
        assert sigma**2 - SMOOTHING >= Fraction(l2_squared * UNITS, 2 * cost)
        assert 0.999 * cost <= WARM.release_cost(sigma, l2_squared) <= cost
    net = WARM.for_sensitivity(3, l2_squared)
    assert WARM.release_cost(net.sigma, l2_squared) <= WARM.measure_cost


def test_noise_that_is_rounding_only_has_no_price() -> None:
    for sigma in (Fraction(2), Fraction(1, 2)):
        with pytest.raises(InternalError):
            noise_cost(Fraction(1), sigma)


def test_the_kind_of_plan_follows_the_noise() -> None:
    def kind(epsilon: str, rounds: int, share: float, releases: int) -> bool:
        plan = calibrate(Fraction(epsilon), DELTA, hard_rounds=rounds, release_share=share, releases=releases)
        return plan.alpha is None

    assert kind("1", 6, 0.96, 36)
    assert not kind("1", 6, 0.96, 0)
    assert not kind("1", 0, 0.0, 1)  # one count: 4.53^2 is less than 4.22^2 + 4
    assert kind("1", 0, 0.0, 2)
    assert not kind("50", 0, 0.0, 10)
    assert not kind("1", 20, 0.02, 1)


def test_a_plan_without_an_order_is_kept_as_it_is() -> None:
    fields = json.loads(WARM.to_json())
    assert fields["alpha"] is None
    assert Plan.from_json(WARM.to_json()) == WARM
    for broken in ({"epsilon": None}, {"alpha": 3}, {"total_units": fields["total_units"] * 2}, {"slope": "1/3"}):
        with pytest.raises(LedgerError):
            Plan.from_json(json.dumps(fields | broken))
