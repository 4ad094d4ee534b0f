"""The filter refuses before anything is spent, and purses never lend to one another."""

from fractions import Fraction

import pytest

from dpsql.accounting import Accountant, calibrate
from dpsql.errors import BudgetExhausted, InternalError

PLAN = calibrate(Fraction(1), Fraction(1, 10**6), hard_rounds=10, release_share=0.8)


def test_the_plans_purses_are_the_whole_budget() -> None:
    accountant = Accountant.of(PLAN)
    assert accountant.noise_budget == PLAN.noise_budget == PLAN.release_budget + PLAN.hard_rounds * PLAN.measure_cost
    assert accountant.noise_budget + PLAN.hard_rounds * PLAN.test_cost == PLAN.total_units == accountant.total_units


def test_all_planned_hard_rounds_fit_and_no_more() -> None:
    accountant = Accountant.of(PLAN)
    spent = 0
    for tested in range(PLAN.hard_rounds):
        accountant.check(spent, 0, PLAN.hard_cost, tested=tested, tests=1)
        spent += PLAN.hard_cost
    with pytest.raises(BudgetExhausted):
        accountant.check(spent, 0, PLAN.hard_cost, tested=PLAN.hard_rounds, tests=1)
    accountant.check(spent, 0, PLAN.release_budget, tested=PLAN.hard_rounds)
    with pytest.raises(BudgetExhausted):
        accountant.check(spent + PLAN.release_budget, 0, 1, tested=PLAN.hard_rounds)


def test_tests_do_not_pay_for_noise_nor_noise_for_tests() -> None:
    accountant = Accountant.of(PLAN)
    accountant.check(0, 0, PLAN.noise_budget)
    with pytest.raises(BudgetExhausted):
        accountant.check(0, 0, PLAN.noise_budget + 1)  # tests that are never made leave nothing
    rounds = PLAN.hard_rounds
    with pytest.raises(BudgetExhausted):  # hard rounds that were burnt before their noise leave no test
        accountant.check(rounds * PLAN.test_cost, 0, PLAN.hard_cost, tested=rounds, tests=1)
    accountant.check((rounds - 1) * PLAN.test_cost, 0, PLAN.hard_cost, tested=rounds - 1, tests=1)


def test_a_test_that_is_charged_too_little_is_no_charge_of_this_plan() -> None:
    with pytest.raises(InternalError):
        Accountant.of(PLAN).check(0, 0, PLAN.test_cost - 1, tests=1)
    with pytest.raises(InternalError):
        Accountant.of(PLAN).check(PLAN.test_cost - 1, 0, 0, tested=1)


def test_check_counts_open_reservations() -> None:
    accountant = Accountant(100)
    accountant.check(60, 30, 10)
    with pytest.raises(BudgetExhausted) as caught:
        accountant.check(60, 30, 11)
    assert caught.value.requested == pytest.approx(0.11)
    assert caught.value.remaining == pytest.approx(0.1)
    assert caught.value.hint


def test_requested_and_remaining_are_shares_of_epsilon() -> None:
    with pytest.raises(BudgetExhausted) as caught:
        Accountant(100, Fraction(2)).check(50, 0, 75)
    assert (caught.value.requested, caught.value.remaining) == (1.5, 1.0)


def test_overspent_totals_show_nothing_left() -> None:
    with pytest.raises(BudgetExhausted) as caught:
        Accountant(10).check(12, 0, 0)
    assert caught.value.remaining == 0.0


@pytest.mark.parametrize("cost", [-1, 0.5, True, None])
def test_charges_are_whole_units(cost: object) -> None:
    with pytest.raises(InternalError):
        Accountant(10).check(0, 0, cost)  # type: ignore[arg-type]


def test_impossible_budgets_are_refused() -> None:
    for wrong in ((-1, 0, 0), (5, 2, 3), (5, -1, 1), (5, 1, -1)):
        with pytest.raises(InternalError):
            Accountant(wrong[0], Fraction(1), *wrong[1:])
