"""The cells of a hard round beside what the model said: closer than either, bars that hold, certificates that hold."""

from dataclasses import replace

import numpy as np
import pytest

from dpsql.confidence import DEVIATIONS, error_bound
from dpsql.domain import CategoryDomain, IntegerDomain, TableDomain
from dpsql.hypothesis.rules import MODEL_RULES, NEWEST
from dpsql.query import Factor, KeyedFactor, LinearQuery
from dpsql.result import Answer
from dpsql.session.answers import from_measurement
from dpsql.session.model.beside_model import FAR, Beside, is_weighed
from dpsql.session.own.weighing import TOGETHER

CELLS, NOISE, CERTAIN = 200, 60.0, 5.0
AGREE = NEWEST.rounds_weighed
TABLE = TableDomain("t", (IntegerDomain("age", 0, CELLS - 1), CategoryDomain("side", ("a", "b"))))


def cells(number: int = CELLS) -> tuple[LinearQuery, ...]:
    ages = np.eye(CELLS + 1, dtype=np.int64)
    return tuple(LinearQuery("t", (Factor(("age",), ages[i]),)) for i in range(number))


QUERIES = cells()


def answered(
    true: np.ndarray, off: float, bar: float, seed: int, *, weighs: bool = True, hard: int = 0, number: int = CELLS
) -> tuple[list[Answer], list[Answer]]:
    """(measured, answered) where the model is off by normal errors of sd ``off`` and says ``bar``."""
    rng = np.random.default_rng(seed)
    queries = QUERIES[:number]
    measured = [
        from_measurement(q, int(v), NOISE, CERTAIN)
        for q, v in zip(queries, np.rint(true + rng.normal(0, NOISE, number)), strict=True)
    ]
    said = tuple(int(v) for v in np.rint(true + rng.normal(0, off, number)))
    beside = Beside(queries[hard], queries, said, (round(bar * DEVIATIONS),) * number, weighs)
    return measured, beside.answers(measured, [NOISE] * number)


def misses(answers: list[Answer], true: np.ndarray) -> np.ndarray:
    return np.array([float(a.value or 0) for a in answers]) - true


@pytest.mark.parametrize(("off", "bar", "most"), [(15.0, 20.0, 0.5), (15.0, 60.0, 0.5), (60.0, 60.0, 0.8)])
def test_cells_are_closer_than_they_were_measured(off: float, bar: float, most: float) -> None:
    true, ratios, inside = np.full(CELLS, 500.0), [], []
    for seed in range(20):
        measured, found = answered(true, off, bar, seed)
        ratios.append(np.abs(misses(found, true)).mean() / np.abs(misses(measured, true)).mean())
        inside += [abs(m) <= (a.error or 0.0) for m, a in zip(misses(found, true), found, strict=True)]
    assert np.mean(ratios) < most
    assert np.mean(inside) > 0.94


def test_a_model_that_is_far_off_is_not_believed() -> None:
    true = np.full(CELLS, 5000.0)
    measured, found = answered(true, 2000.0, 20.0, 1)
    assert np.abs(misses(found, true)).mean() < 1.1 * np.abs(misses(measured, true)).mean()


def test_a_cell_far_from_the_model_is_as_it_was_measured() -> None:
    true = np.full(CELLS, 500.0)
    true[7] += 20 * NOISE
    rng = np.random.default_rng(2)
    measured = [from_measurement(q, round(v), NOISE, CERTAIN) for q, v in zip(QUERIES, true, strict=True)]
    said = tuple(int(v) for v in np.rint(np.full(CELLS, 500.0) + rng.normal(0, 5, CELLS)))
    found = Beside(QUERIES[0], QUERIES, said, (10,) * CELLS, weighs=True).answers(measured, [NOISE] * CELLS)
    assert abs(misses(found, true)[7]) < NOISE
    assert found[7].error == error_bound(NOISE)


def test_the_query_that_failed_is_answered_as_it_was_measured() -> None:
    measured, found = answered(np.full(CELLS, 500.0), 15.0, 20.0, 3, hard=11)
    assert found[11] is measured[11]
    assert found[11].error_kind == "exact"
    assert found[12].error_kind == "calibrated"


def test_a_certificate_holds_for_what_was_measured_and_how_far_the_answer_is_from_it() -> None:
    measured, found = answered(np.full(CELLS, 500.0), 15.0, 20.0, 4)
    for before, after in zip(measured, found, strict=True):
        low, high = (
            (before.value or 0) - (before.certified_bound or 0),
            (before.value or 0) + (before.certified_bound or 0),
        )
        assert (after.value or 0) - (after.certified_bound or 0) <= low
        assert (after.value or 0) + (after.certified_bound or 0) >= high
        assert after.certified == before.certified


def test_few_cells_and_those_of_older_ledgers_are_as_measured() -> None:
    few = np.full(TOGETHER - 1, 500.0)
    measured, found = answered(few, 15.0, 20.0, 5, number=TOGETHER - 1)
    assert found == measured
    measured, found = answered(np.full(CELLS, 500.0), 15.0, 20.0, 5, weighs=False)
    assert found == measured


def test_strings_sums_of_values_and_fractions_are_not_weighed() -> None:
    first = QUERIES[0]
    assert is_weighed(first, QUERIES)
    assert not is_weighed(replace(first, value="side"), QUERIES)
    half = LinearQuery("t", (Factor(("age",), np.ones(CELLS + 1, dtype=np.int64), unit=2),))
    assert not is_weighed(half, QUERIES)


def test_noise_alone_seldom_moves_a_cell_that_the_model_knows() -> None:
    """With cells believed from 3 sds on, one in 370 would be shown with all of its noise."""
    true = np.full(CELLS, 500.0)
    worst = max(np.abs(misses(answered(true, 5.0, 10.0, seed)[1], true)[1:]).max() for seed in range(50))
    assert worst < FAR * NOISE / 2


def alone(measured: float, said: int, bar: int | None, noise: float = NOISE, *, agree: float = AGREE) -> Answer:
    """The answer of a round on one query."""
    released = from_measurement(QUERIES[0], round(measured), noise, CERTAIN)
    (found,) = Beside(QUERIES[0], QUERIES[:1], (said,), (bar,), weighs=True, agree=agree).answers([released], [noise])
    return found


def test_one_number_that_agrees_with_the_model_is_weighed_by_precision() -> None:
    found = alone(560.0, 500, 98)
    sd, noise = 98 / DEVIATIONS, NOISE
    assert found.value == round((560 / noise**2 + 500 / sd**2) / (1 / noise**2 + 1 / sd**2))
    assert found.error == error_bound((1 / noise**2 + 1 / sd**2) ** -0.5)
    assert (found.error_kind, found.source) == ("calibrated", "measurement")
    released = from_measurement(QUERIES[0], 560, NOISE, CERTAIN)
    assert found.certified_bound == (released.certified_bound or 0) + 560 - (found.value or 0)


def test_one_number_apart_has_the_wider_bar_and_one_far_apart_is_as_measured() -> None:
    together = float(np.hypot(NOISE, 98 / DEVIATIONS))
    near, apart, far = (alone(500 + round(t * together), 500, 98) for t in (0.9, 2.9, 3.1))
    assert near.error is not None and apart.error is not None
    assert apart.error == pytest.approx(2.9 * near.error, rel=0.03)
    assert far == from_measurement(QUERIES[0], 500 + round(3.1 * together), NOISE, CERTAIN)
    assert alone(500 + round(2.1 * together), 500, 98, agree=2.0).value == 500 + round(2.1 * together)


@pytest.mark.parametrize(("bar", "agree"), [(None, AGREE), (98, 0.0)])
def test_without_a_bar_or_by_older_rules_it_is_as_measured(bar: int | None, agree: float) -> None:
    assert alone(510.0, 500, bar, agree=agree) == from_measurement(QUERIES[0], 510, NOISE, CERTAIN)
    older = dict.fromkeys(range(1, 13), 0.0) | {13: 2.0, 14: 2.0}
    assert {n: rules.rounds_weighed for n, rules in MODEL_RULES.items()} == older | dict.fromkeys(range(15, 39), AGREE)


@pytest.mark.parametrize("fine", [True, False])
def test_a_sum_is_told_in_parts_of_a_range_unless_older_rules_round_it(fine: bool) -> None:
    """Thousands of groups of a row or two, each rounded to a whole number of ranges, all go the same way."""
    query, rules = replace(QUERIES[0], value="age"), NEWEST if fine else MODEL_RULES[25]
    released = from_measurement(query, 4, NOISE, CERTAIN)
    (found,) = Beside.by(rules, query, (query,), (0.37,), (2,)).answers([released], [NOISE])
    sd, value = 2 / DEVIATIONS, found.value or 0.0
    mean = (4 / NOISE**2 + 0.37 / sd**2) / (1 / NOISE**2 + 1 / sd**2)
    assert value == (pytest.approx(mean) if fine else 0)
    left = (1 / NOISE**2 + 1 / sd**2) ** -0.5
    assert found.error == (pytest.approx(DEVIATIONS * left) if fine else error_bound(left, fractional=True))
    assert found.certified_bound == pytest.approx((released.certified_bound or 0) + 4 - value)


@pytest.mark.statistical
def test_what_a_test_finds_is_believed() -> None:
    """A model that is off by the threshold of a test, 4.7 sds of the noise of a round at 100 planned statements."""
    rng = np.random.default_rng(5)
    believed = [alone(5000 + rng.normal(0, NOISE), round(5000 - 4.7 * NOISE), 50).error for _ in range(400)]
    assert np.mean([error == error_bound(NOISE) for error in believed]) > 0.9


@pytest.mark.statistical
@pytest.mark.parametrize(("off", "most"), [(10.0, 0.4), (25.0, 0.6), (400.0, 1.3)])
def test_rounds_by_chance_are_nearer_and_others_as_near(off: float, most: float) -> None:
    """Model answers with a bar of 50 that are off by normal errors; those that are far off show by their distance."""
    rng, before, after, inside = np.random.default_rng(4), [], [], []
    for _ in range(400):
        measured, said = 5000 + rng.normal(0, NOISE), round(5000 + rng.normal(0, off))
        found = alone(measured, said, 50)
        before.append(abs(round(measured) - 5000))
        after.append(abs((found.value or 0) - 5000))
        inside.append(after[-1] <= (found.error or 0.0))
    assert np.mean(after) <= most * np.mean(before)
    assert np.mean(inside) >= (0.93 if off <= 25.0 else 0.75)


def test_what_is_no_count_of_finite_columns_is_as_measured() -> None:
    keyed = replace(QUERIES[0], value="age")
    released = from_measurement(QUERIES[0], 510, NOISE, CERTAIN)
    found = Beside(keyed, (keyed,), (500,), (50,), weighs=True, agree=AGREE).answers([released], [NOISE])
    assert found == [released]


def test_of_groups_tested_as_one_counts_and_sums_are_weighed_alike_whichever_is_asked_first() -> None:
    rng = np.random.default_rng(8)
    sums = [LinearQuery("t", (Factor(("age",), 2 * q.factors[0].weights + 1, 4),)) for q in QUERIES[:40]]
    queries, true = [*QUERIES[:40], *sums], np.full(80, 500.0)
    measured = [from_measurement(q, round(500 + rng.normal(0, NOISE)), NOISE, CERTAIN) for q in queries]
    said = [round(500 + rng.normal(0, 3.0)) for _ in queries]

    def answered_in(order: list[int]) -> dict[int, Answer]:
        asked = tuple([queries[i] for i in order])
        beside = Beside(None, asked, tuple([said[i] for i in order]), (10,) * 80, weighs=True, mixed=True, agree=AGREE)
        return dict(zip(order, beside.answers([measured[i] for i in order], [NOISE] * 80), strict=True))

    forth, back = answered_in(list(range(80))), answered_in(list(range(79, -1, -1)))
    assert [forth[i].value for i in range(80)] == [back[i].value for i in range(80)]
    assert np.abs(misses([forth[i] for i in range(80)], true)).mean() < 0.2 * NOISE
    counts, weighted = ([forth[i].error or 0.0 for i in some] for some in (range(40), range(40, 80)))
    assert min(weighted) >= min(counts) + 1  # rounded down where rows count by fractions


def strings(number: int) -> tuple[LinearQuery, ...]:
    """Counts of one string each."""
    keyed = [KeyedFactor(("w",), ((f"k{i}",),), (), np.ones(1, dtype=np.int64)) for i in range(number)]
    return tuple(LinearQuery("t", (), one) for one in keyed)


def test_groups_of_strings_are_closer_than_they_were_measured_too() -> None:
    rng, queries = np.random.default_rng(3), strings(CELLS)
    true = rng.uniform(20.0, 300.0, CELLS)
    said, noisy = true + rng.normal(0.0, 10.0, CELLS), true + rng.normal(0.0, NOISE, CELLS)
    measured = [from_measurement(q, round(v), NOISE, CERTAIN) for q, v in zip(queries, noisy, strict=True)]
    off = {}
    for rules in (MODEL_RULES[34], NEWEST):
        found = Beside.by(rules, queries[0], queries, said.tolist(), [60] * CELLS).answers(measured, [NOISE] * CELLS)
        off[rules] = np.abs(misses(found, true)).mean()
        assert np.mean([abs(m) <= (a.error or 0.0) for m, a in zip(misses(found, true), found, strict=True)]) > 0.93
    assert off[NEWEST] < 0.4 * off[MODEL_RULES[34]]


def test_a_string_that_the_model_did_not_know_is_as_it_was_measured() -> None:
    (query,) = strings(1)
    measured = [from_measurement(query, 900, NOISE, CERTAIN)]
    for estimate, bar in ((5.0, None), (5.0, 20)):
        (answer,) = Beside.by(NEWEST, query, (query,), [estimate], [bar]).answers(measured, [NOISE])
        assert answer.value == 900
    (both,) = Beside.by(NEWEST, query, (query,), [800.0], [120]).answers(measured, [NOISE])
    assert 800 < float(both.value or 0) < 900


def test_of_several_text_columns_measurements_stand_as_they_are() -> None:
    keyed = [KeyedFactor(("v", "w"), ((f"k{i}", "x"),), (), np.ones(1, dtype=np.int64)) for i in range(CELLS)]
    queries = tuple(LinearQuery("t", (), one) for one in keyed)
    measured = [from_measurement(q, 100 + i, NOISE, CERTAIN) for i, q in enumerate(queries)]
    found = Beside.by(NEWEST, queries[0], queries, [5.0] * CELLS, [200] * CELLS).answers(measured, [NOISE] * CELLS)
    assert found == measured
