"""What draws cost and which rate a budget buys; the ledger's charge beside a sum worked out another way."""

from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.accounting import UNITS, Plan
from dpsql.errors import DataError, InternalError
from dpsql.synthesis.dual_query.setting import (
    FEWEST_ROUNDS,
    MOST_RATE,
    MOST_ROUNDS,
    Setting,
    bought,
    round_cost,
    rounds_for,
    total_cost,
)
from tests.support.dual import ORDERED, PURSES

SETTING = Setting(30, 20, Fraction(1, 2), 5000, 1)


def test_a_round_is_charged_its_draws_by_the_range_of_its_scores() -> None:
    assert SETTING.range_of(1) == 0
    assert SETTING.range_of(5) == Fraction(1, 2) * 4 / 5000
    assert replace(SETTING, width=2).range_of(5) == 2 * SETTING.range_of(5)
    assert SETTING.scale == 10_000
    for plan in (ORDERED, PURSES):
        assert round_cost(plan, SETTING, 1, "range") == 1
        assert round_cost(plan, SETTING, 7, "range") == 20 * plan.range_cost(SETTING.range_of(7))
        assert round_cost(plan, SETTING, 7, "pure") == 20 * plan.pure_cost(SETTING.range_of(7))


def test_the_total_with_an_order_is_the_sum_of_squares() -> None:
    squares = sum((t - 1) ** 2 for t in range(1, 31))
    assert ORDERED.alpha is not None
    exact = ORDERED.alpha / 8 * 20 * squares * (Fraction(1, 2) / 5000) ** 2 * UNITS
    assert exact <= total_cost(ORDERED, SETTING, "range") <= exact + 30 * 20 + 2
    # Gong 2021: s eps_t^2 / 2 at each order, eps_t the range under replace-one: four times as much
    assert 4 * exact <= total_cost(ORDERED, SETTING, "zcdp") <= 4 * exact + 30 * 20 + 2


def test_concentrated_privacy_is_no_charge_of_a_plan_with_two_purses() -> None:
    with pytest.raises(InternalError):
        round_cost(PURSES, SETTING, 2, "zcdp")
    with pytest.raises(InternalError):
        round_cost(ORDERED, SETTING, 2, "subsampled")


@pytest.mark.parametrize("plan", [ORDERED, PURSES])
@pytest.mark.parametrize("charge", ["range", "pure"])
@pytest.mark.parametrize("rounds", [1, 2, 40])
def test_the_rate_that_is_bought_is_hardly_below_what_is_paid(plan: Plan, charge: str, rounds: int) -> None:
    units = plan.total_units // 3
    found = bought(plan, units, replace(SETTING, rounds=rounds), charge)
    assert total_cost(plan, found, charge) <= units
    more = replace(found, rate=found.rate * Fraction(101, 100))
    assert rounds == 1 or total_cost(plan, more, charge) > units or more.range_of(rounds) > 1 or more.rate > MOST_RATE


def test_too_little_budget_buys_nothing() -> None:
    with pytest.raises(DataError, match="draws nothing"):
        bought(ORDERED, 40, SETTING, "range")


def test_more_budget_makes_more_rounds() -> None:
    found = [rounds_for(ORDERED, ORDERED.total_units // d, SETTING, "range") for d in (1, 10, 100, 10**7)]
    assert found == sorted(found, reverse=True)
    assert found[-1] == FEWEST_ROUNDS
    assert rounds_for(ORDERED, ORDERED.total_units, replace(SETTING, rows=10**8), "range") == MOST_ROUNDS
    rounds = rounds_for(ORDERED, ORDERED.total_units, SETTING, "range")
    rate = float(bought(ORDERED, ORDERED.total_units, replace(SETTING, rounds=rounds), "range").rate)
    assert 0.7 < rate < 1.3
