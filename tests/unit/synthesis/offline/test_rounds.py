"""Rounds cost what they say under both kinds of plan, and never more than they were given."""

import math
from fractions import Fraction

import pytest

from dpsql.accounting import Plan, calibrate
from dpsql.errors import BudgetExhausted, InternalError
from dpsql.planning import make_plan
from dpsql.synthesis.offline.rounds import MOST_ROUNDS, Rounds, balanced_rounds, plan_rounds, pure_epsilon, usual_rounds
from tests.support.offline import table_policy
from tests.support.simulated import table_of

PURSES = make_plan(table_policy(table_of([2, 3])))
ORDER = calibrate(Fraction(1), Fraction(1, 10**6), hard_rounds=10, releases=0)


@pytest.mark.parametrize("plan", [PURSES, ORDER], ids=["two purses", "an order"])
@pytest.mark.parametrize("count", [1, 7, 300])
@pytest.mark.parametrize("sensitivity", [1, 4])
def test_rounds_cost_at_most_what_they_are_given_and_nearly_all_of_it(plan: Plan, count: int, sensitivity: int) -> None:
    units = plan.noise_budget // 2
    rounds = plan_rounds(plan, units, count, 0.5, sensitivity)
    paid = plan.pure_cost(rounds.epsilon) + plan.release_cost(rounds.sigma, sensitivity**2)
    assert paid == rounds.cost
    assert 0.999 * units < rounds.cost * count <= units
    choosing = plan_rounds(plan, units, count, 1.0, sensitivity)
    assert choosing.sigma == 0
    assert choosing.cost == plan.pure_cost(choosing.epsilon)


def test_the_two_kinds_of_plan_are_both_there() -> None:
    assert PURSES.alpha is None
    assert ORDER.alpha is not None


@pytest.mark.parametrize("plan", [PURSES, ORDER], ids=["two purses", "an order"])
def test_the_epsilon_of_a_choice_is_the_largest_that_is_paid(plan: Plan) -> None:
    cost = plan.noise_budget // 10
    epsilon = pure_epsilon(plan, cost)
    assert epsilon is not None
    assert plan.pure_cost(epsilon) <= cost < plan.pure_cost(epsilon * Fraction(1001, 1000))
    assert pure_epsilon(plan, 0) is None


def test_nothing_buys_nothing() -> None:
    with pytest.raises(BudgetExhausted, match="too small"):
        plan_rounds(PURSES, 0, 1, 0.5, 1)
    with pytest.raises(BudgetExhausted, match="too small"):
        plan_rounds(PURSES, 100, 200, 0.5, 1)
    with pytest.raises(InternalError, match="rounds need"):
        plan_rounds(PURSES, 100, 1, 0.0, 1)
    assert balanced_rounds(PURSES, 0, 0.5, 1, 1000.0, 5.0, 100) == 0.0


def test_balanced_rounds_balance_the_two_terms() -> None:
    units, rows, log_cells, queries = PURSES.noise_budget, 50_000.0, 12.0, 1000
    count = round(balanced_rounds(PURSES, units, 0.5, 2, rows, log_cells, queries))
    rounds = plan_rounds(PURSES, units, count, 0.5, 2)
    choice = 2 * 2 * math.log(queries) / float(rounds.epsilon)
    assert choice == pytest.approx(2 * rows * math.sqrt(log_cells / count), rel=0.02)


def test_a_unit_of_several_rows_makes_both_errors_that_much_larger() -> None:
    one, four = (Rounds(10, Fraction(1, 10), Fraction(30 * c), c, 1) for c in (1, 4))
    assert four.choice_error(100, 0.05) == pytest.approx(4 * one.choice_error(100, 0.05))
    assert four.noise_bound(10, 0.05) == pytest.approx(4 * one.noise_bound(10, 0.05))


def test_the_usual_rounds_are_twice_the_root_of_the_balanced_ones() -> None:
    assert [usual_rounds(b, 2.0) for b in (0.0, 100.0, 2500.0, 1e12)] == [1, 20, 100, MOST_ROUNDS]
