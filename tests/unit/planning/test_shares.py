"""The shares of a plan: none is negative, and all of them together are never more than the plan has."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dpsql.domain import TableDomain, TextDomain
from dpsql.planning import make_plan, plan_tables
from dpsql.planning.contingencies import FIRST_TOUCH, MOST_FIRST_TOUCH
from dpsql.planning.shares import Shares
from dpsql.policy import Policy, Privacy
from tests.support.simulated import table_of


def tables(number: int) -> tuple[TableDomain, ...]:
    """The first has a text column, and so less for its pairs: parts of unequal starts are rounded."""
    wide = table_of((40, 9, 8, 7, 6, 5, 4, 3))
    first = replace(wide, name="t0", columns=(*wide.columns, TextDomain("s")))
    return first, *(replace(wide, name=f"t{i}", max_rows_per_unit=1 + i, unit="a") for i in range(1, number))


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("planned", [3, 24])
def test_starts_row_counts_and_spare_releases_fit_into_the_releases(neighbors: Any, planned: int) -> None:
    for number in (2, 3):
        policy = Policy(Privacy(Fraction(1), Fraction(1, 10**6), neighbors, planned_queries=planned), tables(number))
        plan = make_plan(policy)
        shares = Shares(plan, policy)
        parts = [f(table) for table in policy.tables for f in (shares.contingencies, shares.row_count, shares.texts)]
        assert min(parts) >= 0
        questions = plan.questions * shares.question
        assert sum(parts) + plan.spares * plan.spare_units + questions <= plan.release_budget
        assert (plan.spares > 0) == (plan.spare_units > 0)


@pytest.mark.parametrize(
    ("columns", "planned", "number", "share"),
    [(20, 2_000, 1_200, 0.35), (20, 4_000, 1_500, 0.219), (20, 10_000, 1_500, 0.21), (16, 10_000, 6_000, 0.35)],
)
def test_spare_releases_are_few_where_pairs_wait_and_many_questions_are_planned(
    columns: int, planned: int, number: int, share: float
) -> None:
    """Shares of the local models' budget, to one spare release."""
    policy = Policy(Privacy(Fraction(1), Fraction(1, 10**6), planned_queries=planned), (table_of((6,) * columns),))
    plan = make_plan(policy)
    assert plan.spares == number
    assert plan.spares * plan.spare_units / Shares(plan, policy).spared_starts == pytest.approx(share, abs=0.001)


def test_ledgers_of_earlier_rules_keep_their_shares_of_pairs() -> None:
    policy = Policy(Privacy(Fraction(1), Fraction(1, 10**6), planned_queries=10_000), (table_of((6,) * 20),))
    plan = make_plan(policy)
    found = {models: plan_tables(replace(plan, models=models), policy)["t"].first_touch for models in (8, plan.models)}
    assert found == {8: FIRST_TOUCH, plan.models: MOST_FIRST_TOUCH}
