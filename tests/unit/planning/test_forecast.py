"""Errors foreseen from public numbers, and the choice that follows from them."""

from dataclasses import replace
from fractions import Fraction
from math import isqrt, sqrt
from typing import Any

import numpy as np
import pytest

from dpsql.accounting import Plan, calibrate
from dpsql.domain import NumberDomain, TableDomain, TextDomain
from dpsql.errors import InternalError, LedgerError
from dpsql.planning import PlannedContingency, make_plan, plan_tables
from dpsql.planning.forecast import CUT_BIN, NOMINAL_ROWS, OWN_MARGIN, Forecast, half_width, own_noise_is_better
from dpsql.planning.outlook import forecast, outlook
from dpsql.planning.ways import LONE_CELLS
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.query import Factor, LinearQuery, linear_query
from dpsql.session.table_state import TableState
from tests.support.asking import ask
from tests.support.simulated import table_of
from tests.support.warm import MANY, NARROW, WIDE, asker_of, ledger_of, one_of, policy, query, unit

CENSUS = table_of((17, 9, 16, 7, 2, 2), (True,))


def with_questions(planned: int, table: TableDomain = CENSUS, epsilon: int = 1, **mechanism: Any) -> Policy:
    privacy = Privacy(Fraction(epsilon), Fraction(1, 10**6), planned_queries=planned)
    return Policy(privacy, (table,), Mechanism(**mechanism))


# --- the forecast -----------------------------------------------------------------------------------------------


def test_a_query_is_as_noisy_as_the_best_average_of_the_contingencies_that_hold_it() -> None:
    """Oracle: simulated tables of noise, each read by the query, averaged with weights that another way finds best."""
    rng = np.random.default_rng(3)
    table = table_of((6, 4, 3))
    forecast = Forecast(table, 0.01)
    weights = np.array([1, 1, 0, 1, 0, 0])
    q = linear_query(table, [Factor(("a",), weights)])
    assert q is not None
    readings = []
    for p in forecast.planned:
        if "a" in p.columns:
            shape = (20_000, *table.shape(p.columns))
            noise = rng.normal(0.0, p.sigma(0.01), shape)
            axis = 1 + p.columns.index("a")
            other = tuple(i for i in range(1, noise.ndim) if i != axis)
            readings.append(noise.sum(axis=other) @ weights)
    covariance = np.cov(np.array(readings)) if len(readings) > 1 else np.array([[np.var(readings[0])]])
    best = 1.0 / np.sqrt(np.linalg.inv(covariance).sum())
    assert forecast.query_sd(q) == pytest.approx(best, rel=0.03)


def test_three_columns_are_known_through_pairs_where_these_say_more() -> None:
    table = table_of((20, 20, 20, 20, 20), (True,))
    forecast = Forecast(table, 0.04)
    assert max(len(p.columns) for p in forecast.planned) == 2
    sds = [forecast.query_sd(one_of(table, *"abcd"[:n])) for n in (2, 3, 4)]
    assert sds == sorted(sds, reverse=True)
    # three pairs, each scaled by 1/20
    assert sds[1] == pytest.approx(sds[0] * 3**0.5 / 20)


def test_a_condition_on_several_columns_at_once_is_foreseen_too() -> None:
    table = table_of((20, 20, 20, 20, 20), (True,))
    either = np.zeros((20, 20, 20), dtype=np.int64)
    either[:2], either[:, :3] = 1, 1
    found = Forecast(table, 0.04).query_sd(LinearQuery("t", (Factor(("a", "b", "c"), either),)))
    assert 0 < found < 1e4
    everything = linear_query(table, [])
    assert everything is not None
    assert Forecast(table, 0.04).query_sd(everything) == 0.0


@pytest.mark.parametrize("table", [NARROW, WIDE, MANY, CENSUS, table_of((2, 2))])
def test_noise_scales_with_the_precision_until_it_blurs_the_cells(table: TableDomain) -> None:
    sharp, fine, blurred = (Forecast(table, p).typical_sd for p in (100.0, 1.0, 0.0001))
    assert fine == pytest.approx(10 * sharp, rel=0.01)
    assert 5 * fine < blurred <= 100.001 * fine


def test_a_long_column_is_no_noisier_than_what_rows_resolve() -> None:
    long, short = (Forecast(table_of((n, 9, 8, 7, 6, 5, 4, 3), (True,)), 0.04).typical_sd for n in (90_000, 60))
    assert long < 3 * short


@pytest.mark.parametrize("table", [NARROW, WIDE])
def test_what_is_foreseen_is_near_what_is_printed(table: TableDomain) -> None:
    rules = policy(table)
    asker, _ = asker_of(rules, ledger_of(rules))
    state = asker.states["t"]
    queries = [one_of(table, *c) for c in ("a", "b", "ab", "bc", "cd")]
    queries += [query(table, a=[1] * 5 + [0] * (table.finite[0].size - 5), b=unit(table.finite[1].size, 2))]
    foreseen = [state.forecast_error(q) for q in queries]
    for q, before in zip(queries, foreseen, strict=True):
        printed = ask(asker, q).error
        assert before is not None
        assert printed is not None
        assert printed / 3 <= before <= 3 * printed
        assert state.forecast_error(q) is None  # measured now
    row_count = linear_query(table, [])
    assert row_count is not None
    assert state.forecast_error(row_count) is None


def test_the_half_width_of_a_95_percent_interval() -> None:
    assert [half_width(sd) for sd in (0.0, 0.3, 10.0)] == [1, 1, 20]


# --- the choice ---------------------------------------------------------------------------------------------------


def test_noise_of_ones_own_is_chosen_up_to_the_predicted_crossover_and_never_beyond() -> None:
    chosen = {k: make_plan(with_questions(k)).questions > 0 for k in range(1, 60)}
    last = max(k for k, own in chosen.items() if own)
    assert chosen == {k: k <= last for k in chosen}
    # the same from the published figures: of 4 + 4.2247^2 K / s a quarter, and of the row count's
    plan = make_plan(with_questions(100_000))
    state = TableState(plan_tables(plan, with_questions(100_000))[CENSUS.name])
    forecast = state.forecast()
    assert forecast is not None
    shares = {k: 1 / (1 + 2 * isqrt(k)) for k in chosen}
    own = {k: sqrt((8 + 4.2247**2 * (k / (1 - s) + 1 / s)) / 4) for k, s in shares.items()}
    assert last == max(k for k, sd in own.items() if sd <= OWN_MARGIN * forecast.typical_sd)
    assert 5 <= last < 59


@pytest.mark.parametrize("planned", [100, 1000, 10**12])
def test_many_questions_are_answered_from_models(planned: int) -> None:
    assert make_plan(with_questions(planned)).questions == 0


def test_the_owner_can_want_a_model() -> None:
    assert make_plan(with_questions(5)).questions == 5
    assert make_plan(with_questions(5, hard_rounds=10)).questions == 0
    assert make_plan(with_questions(5, strategy="pmw")).questions == 0
    text = TableDomain("u", (TextDomain("name"),))
    assert make_plan(Policy(with_questions(5).privacy, (CENSUS, text))).questions == 0


def test_one_table_that_a_histogram_knows_better_keeps_the_models() -> None:
    small = TableDomain("small", table_of((2, 2)).columns)
    assert make_plan(with_questions(5, small)).questions == 0
    assert make_plan(Policy(with_questions(10).privacy, (CENSUS, small))).questions == 0


def test_the_comparison_leaves_the_model_a_margin() -> None:
    assert own_noise_is_better(8.0, 10.0)
    assert not own_noise_is_better(8.1, 10.0)


def test_a_unit_of_several_rows_has_more_noise_in_both() -> None:
    people = TableDomain("t", CENSUS.columns, unit="person", max_rows_per_unit=3)
    plan = make_plan(with_questions(5, people))
    assert plan.questions == 5
    ours = plan_tables(plan, with_questions(5, people))[people.name].question.sigma
    theirs = plan_tables(plan, with_questions(5))[CENSUS.name].question.sigma
    assert float(ours) ** 2 - 4 == pytest.approx(9 * (float(theirs) ** 2 - 4), rel=1e-3)


# --- the plan -----------------------------------------------------------------------------------------------------


def test_the_choice_is_in_the_plan_and_survives_a_restart() -> None:
    plan = make_plan(with_questions(5))
    assert Plan.from_json(plan.to_json()) == plan
    assert "questions" not in make_plan(with_questions(100)).to_json()
    for broken in ('"questions": -1', '"questions": null', '"questions": 1.5'):
        with pytest.raises(LedgerError):
            Plan.from_json(plan.to_json().replace('"questions": 5', broken))
    with pytest.raises(InternalError):
        replace(calibrate(Fraction(1), Fraction(1, 10**6), hard_rounds=10), questions=10)


@pytest.mark.parametrize(
    ("table", "planned", "strategy"),
    [
        (CENSUS, 5, "noise for each question"),
        (CENSUS, 100, "contingencies + net"),
        (table_of((3, 2)), 1000, "one histogram"),
        (WIDE, 1000, "local models + net"),
        (table_of((9,)), 1000, "contingencies + net"),
        (table_of((LONE_CELLS + 1,)), 1000, "net"),
        (TableDomain("t", (*NARROW.columns, TextDomain("w"))), 1000, "contingencies, frequent strings + net"),
        (TableDomain("t", (TextDomain("w"),)), 1000, "frequent strings + net"),
    ],
)
def test_each_table_has_an_outlook(table: TableDomain, planned: int, strategy: str) -> None:
    rules = with_questions(planned, table)
    plan = plan_tables(make_plan(rules), rules)[table.name]
    found = outlook(plan, forecast(plan))
    assert (found.table, found.strategy) == ("t", strategy)
    assert found.error is not None
    assert found.error >= 1


def test_pairs_that_wait_for_a_question_are_foreseen_with_even_shares() -> None:
    planned = Forecast(MANY, 0.04).planned
    pairs = [p for p in planned if len(p.columns) == 2]
    assert len(pairs) == 18 * 17 // 2
    assert sum(p.share for p in planned) == pytest.approx(1.0)
    assert pairs[0] == PlannedContingency(("a", "b"), pairs[-1].share)


# --- numbers that are asked about by their values -------------------------------------------------------------------


def with_numbers(reading: Any, bins: int = 50) -> TableDomain:
    edges = tuple(float(e) for e in range(bins + 1))
    return replace(CENSUS, columns=(*CENSUS.columns, NumberDomain("price", edges, reading=reading)))


def test_what_is_unknown_inside_bins_is_foreseen_for_conditions_that_cut_them() -> None:
    """By drawing: conditions alone and beside a quarter of the rows, each off by a normal share of a bin's rows."""
    table, rng = with_numbers("value"), np.random.default_rng(2)
    found = Forecast(table, 0.04)
    inside = rng.normal(0.0, CUT_BIN * NOMINAL_ROWS / 50, 200_000)
    unknown = (np.std(inside) + np.std(inside / 4)) / 2
    assert found.cutting_sd == pytest.approx(sqrt(found.typical_sd**2 + unknown**2), rel=0.01)
    fine, coarse = (Forecast(with_numbers("value", bins), 0.04) for bins in (500, 5))
    assert fine.cutting_sd < found.cutting_sd
    assert coarse.cutting_sd**2 - coarse.typical_sd**2 == pytest.approx(found.cutting_sd**2 - found.typical_sd**2)
    sharp = Forecast(with_numbers("value"), 400.0)  # a hundredth of the noise
    assert sharp.cutting_sd < 4 * sharp.typical_sd
    for other in (CENSUS, with_numbers("cell")):
        assert Forecast(other, 0.04).cutting_sd == Forecast(other, 0.04).typical_sd


def test_few_questions_about_values_have_noise_of_their_own() -> None:
    """At 300 a model of cells is better than that, and one of values is not; at 600 it is."""
    by_cells, by_values = (make_plan(with_questions(300, with_numbers(r))) for r in ("cell", "value"))
    assert (by_cells.questions, by_values.questions) == (0, 300)
    by_cells, by_values = (make_plan(with_questions(600, with_numbers(r))) for r in ("cell", "value"))
    assert (by_cells.questions, by_values.questions) == (0, 0)
