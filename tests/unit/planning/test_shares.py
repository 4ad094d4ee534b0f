"""The shares of a plan: none is negative, and all of them together are never more than the plan has."""

from dataclasses import replace
from fractions import Fraction
from math import exp, pi, sqrt
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


def test_where_units_are_replaced_half_of_delta_hides_a_string_that_comes_and_half_one_that_goes() -> None:
    table = TableDomain("t", (TextDomain("w"), *table_of((6, 4)).columns))
    found = {}
    for neighbors in ("add-remove", "replace-one"):
        policy = Policy(Privacy(Fraction(1), Fraction(1, 10**6), neighbors, planned_queries=100), (table,))  # type: ignore[arg-type]
        plan = make_plan(policy)
        for models in (33, 34):
            start = plan_tables(replace(plan, models=models), policy)["t"].texts["w"]
            chosen = start.selection(Fraction(20), 2)
            found[neighbors, models] = chosen.threshold
            beyond = sum(exp(-z * z / 800) for z in range(chosen.threshold, 2_000)) / sqrt(800 * pi)
            parts = 2 if (neighbors, models) == ("replace-one", 34) else 1
            assert 0.5 * chosen.delta <= parts * beyond <= chosen.delta
    assert found["add-remove", 33] == found["add-remove", 34] == found["replace-one", 33] < found["replace-one", 34]


def test_of_one_finite_column_strings_keep_the_shares_of_their_rules() -> None:
    table = TableDomain("t", (TextDomain("w"), *table_of((6,)).columns))
    policy = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (table,))
    plan = make_plan(policy)
    for models, select, pair in ((33, 0.15, 0.30), (plan.models, 0.20, 0.45)):
        start = plan_tables(replace(plan, models=models), policy)["t"].texts["w"]
        assert start.select_units / start.units == pytest.approx(select, abs=1e-6)
        assert start.pair_units / start.units == pytest.approx(pair, abs=1e-6)


@pytest.mark.parametrize(
    ("finite", "planned", "models", "strings", "choosing"),
    [
        (2, 100, 35, 0.25 * 0.464, 0.50),
        (2, 300, 35, 0.25 * 0.669, 0.25 / 0.669),
        (2, 1_000, 35, 0.25, 0.25),
        (2, 30_000, 35, 0.25, 0.25),
        (2, 100, 34, 0.25, 0.25),
        (1, 100, 35, 0.90, 0.20),
        (0, 100, 35, 1.0, 0.25),
    ],
)
def test_strings_have_less_where_few_questions_are_planned(
    finite: int, planned: int, models: int, strings: float, choosing: float
) -> None:
    """Cube roots of a tenth and of .3; as many units choose strings, but for half of theirs at most."""
    table = TableDomain("t", (TextDomain("w"), *(table_of((6, 4)[:finite]).columns if finite else ())))
    policy = Policy(Privacy(Fraction(1), Fraction(1, 10**6), planned_queries=planned), (table,))
    plan = replace(make_plan(policy), models=models)
    shares, start = Shares(plan, policy), plan_tables(plan, policy)["t"].texts["w"]
    whole = plan.planned_releases - shares.row_counts
    assert start.units / whole == pytest.approx(strings, abs=1e-6)
    assert start.select_units / start.units == pytest.approx(choosing, abs=1e-6)


def test_few_planned_questions_show_about_the_strings_that_many_do() -> None:
    table = TableDomain("t", (TextDomain("w"), *table_of((6, 4)).columns))
    shown = {}
    for planned in (100, 1_000):
        policy = Policy(Privacy(Fraction(1), Fraction(1, 10**6), planned_queries=planned), (table,))
        shown[planned] = plan_tables(make_plan(policy), policy)["t"].texts["w"].shown_from
    assert shown[1_000] < shown[100] < 1.05 * shown[1_000]


def test_tables_share_the_start_by_their_weights() -> None:
    first, second = (replace(table_of((6, 4)), name=name) for name in ("a", "b"))
    found = {}
    for weight in (Fraction(1), Fraction(4)):
        policy = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (replace(first, weight=weight), second))
        plan = make_plan(policy)
        shares = Shares(plan, policy)
        found[weight] = [shares.contingencies(table) for table in policy.tables]
        assert 0 <= plan.planned_releases - shares.row_counts - sum(found[weight]) <= 2
    assert found[Fraction(1)][0] == found[Fraction(1)][1]
    assert found[Fraction(4)][0] / found[Fraction(4)][1] == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("finite", "weights", "strings"),
    [
        (2, (1,), 1 / 4),
        (2, (3,), 1 / 2),  # a third of the rest, three times
        (2, (Fraction(1, 3),), 1 / 10),
        (2, (1, 3), 2 / 3),  # as much as the rest, twice on average
        (1, (Fraction(1, 9),), 1 / 2),
        (0, (1, 3), 1.0),
    ],
)
def test_strings_have_as_much_more_than_the_rest_as_they_weigh(
    finite: int, weights: tuple[Fraction | int, ...], strings: float
) -> None:
    text = tuple(TextDomain(f"w{i}", (1,), weight=Fraction(weight)) for i, weight in enumerate(weights))
    table = TableDomain("t", (*text, *(table_of((6, 4)[:finite]).columns if finite else ())))
    policy = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (table,))
    plan = make_plan(policy)
    whole, starts = plan.planned_releases - Shares(plan, policy).row_counts, plan_tables(plan, policy)["t"].texts
    assert sum(start.units for start in starts.values()) / whole == pytest.approx(strings, abs=1e-6)
    units = [starts[column.name].units + starts[f"{column.name}[:1]"].units for column in text]
    assert [u / sum(units) for u in units] == pytest.approx([float(w / sum(weights)) for w in weights])
