"""The shares of a plan: none is negative, and all of them together are never more than the plan has."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dpsql.domain import TableDomain, TextDomain
from dpsql.planning import make_plan
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
