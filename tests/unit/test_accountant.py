"""The filter refuses before anything is spent, and purses never lend to one another."""

from fractions import Fraction

import pytest

from dpsql.accounting import MEASUREMENTS, RELEASES, TESTS, Accountant, Purse, calibrate
from dpsql.errors import BudgetExhausted, InternalError

PLAN = calibrate(Fraction(1), Fraction(1, 10**6), hard_rounds=10, release_share=0.8)


def test_the_plans_purses_are_the_whole_budget() -> None:
    accountant = Accountant.of(PLAN)
    assert [purse.name for purse in accountant.purses] == [TESTS, MEASUREMENTS, RELEASES]
    assert sum(purse.planned for purse in accountant.purses) == PLAN.total_units == accountant.total_units
    assert accountant.spent == 0


def test_all_planned_hard_rounds_fit_and_no_more() -> None:
    accountant = Accountant.of(PLAN)
    for _ in range(PLAN.hard_rounds):
        accountant = accountant.charge(TESTS, PLAN.test_cost).charge(MEASUREMENTS, PLAN.measure_cost)
    with pytest.raises(BudgetExhausted):
        accountant.charge(TESTS, 1)
    accountant = accountant.charge(RELEASES, PLAN.release_budget)
    assert accountant.spent == PLAN.total_units
    with pytest.raises(BudgetExhausted):
        accountant.check(accountant.spent, 0, 1)


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


def test_a_refusal_changes_nothing() -> None:
    accountant = Accountant(10, purses=(Purse(TESTS, 6), Purse(RELEASES, 4))).charge(TESTS, 5)
    before = accountant
    with pytest.raises(BudgetExhausted):
        accountant.charge(TESTS, 2)
    assert accountant == before
    assert accountant.charge(TESTS, 1).purse(TESTS).left == 0


def test_overspent_totals_show_nothing_left() -> None:
    with pytest.raises(BudgetExhausted) as caught:
        Accountant(10).check(12, 0, 0)
    assert caught.value.remaining == 0.0


@pytest.mark.parametrize("cost", [-1, 0.5, True, None])
def test_charges_are_whole_units(cost: object) -> None:
    with pytest.raises(InternalError):
        Accountant(10).check(0, 0, cost)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "purses",
    [
        (Purse("a", 6), Purse("b", 5)),
        (Purse("a", 6), Purse("a", 1)),
        (Purse("a", -1),),
    ],
)
def test_impossible_purses_are_refused(purses: tuple[Purse, ...]) -> None:
    with pytest.raises(InternalError):
        Accountant(10, purses=purses)


def test_unknown_purse() -> None:
    with pytest.raises(InternalError):
        Accountant(10).charge("tips", 1)
