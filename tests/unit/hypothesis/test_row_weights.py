"""Sums have the bars of the rows that they are made of."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from dpsql.hypothesis.bars.calibration import Calibration
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.bars.lesson import learn_calibration
from dpsql.hypothesis.bars.row_weights import HARDLY, RowWeights
from dpsql.hypothesis.local.wide import WideHypothesis
from dpsql.hypothesis.measurement import Measurement
from dpsql.hypothesis.rules import MODEL_RULES, NEWEST, ModelRules
from dpsql.query import Crosstab, Factor, LinearQuery
from tests.support.simulated import all_of, marginal, pairwise_table, table_of

SHAPE = (10, 6, 5, 4)
NAMES = "abcd"
TABLE = table_of(SHAPE, (True,))
CELLS = pairwise_table(SHAPE, 20_000.0, np.random.default_rng(3))
TOTAL = float(CELLS.sum())
OLDER = replace(NEWEST, row_weights=False, effective_rows=False)
WITHOUT_PAIRS = replace(NEWEST, effective_rows=False)


def fitted(found: Sequence[Measurement]) -> WideHypothesis:
    out = WideHypothesis(TABLE, TOTAL)
    for m in found:
        out.absorb(m)
    return out


def noisy(seed: int, sigma: float = 30.0) -> list[Measurement]:
    rng = np.random.default_rng(seed)
    return [*all_of(CELLS, 1, sigma, rng), *all_of(CELLS, 2, sigma, rng)]


FOUND = noisy(1)
LEARNED = learn_calibration(TABLE, TOTAL, FOUND, fitted, simulations=4, queries=80)


def bars(rules: ModelRules) -> Calibration:
    model = fitted(FOUND)
    return LEARNED.on(Coverage(TABLE, TOTAL, FOUND, rules), model.answers, model.contingency)


def of(*weights: tuple[str, Sequence[int], int]) -> LinearQuery:
    return LinearQuery("t", tuple(Factor((c,), np.array(w), unit) for c, w, unit in weights))


def random_sum(rng: np.random.Generator, number: int) -> LinearQuery:
    """The sum of ``a`` under conditions on so many other columns."""
    others = sorted(rng.choice(3, number, replace=False) + 1)
    asked: list[tuple[str, Sequence[int], int]] = [("a", list(range(10)), 9)]
    for place in others:
        inside = np.zeros(SHAPE[place], dtype=np.int64)
        inside[rng.choice(SHAPE[place], rng.integers(1, SHAPE[place]), replace=False)] = 1
        asked.append((NAMES[place], inside.tolist(), 1))
    return of(*asked)


def test_a_row_counts_one_in_conditions_and_the_mean_of_squares_over_the_mean_in_sums() -> None:
    model = fitted(FOUND)
    asked = Crosstab.of([of(("a", list(range(10)), 9), ("b", [1, 1, 0, 0, 0, 0], 1))]).choices
    rows, values = model.one_way("a"), np.arange(10) / 9
    expected = float(sum(r * v**2 for r, v in zip(rows, values, strict=True))) / float(rows @ values)
    found = RowWeights(model.contingency).of(asked)
    assert found is not None and found == [pytest.approx(expected), 1.0]
    condition = Crosstab.of([of(("a", [1, 0] * 5, 1), ("b", [1, 1, 0, 0, 0, 0], 1))]).choices
    assert RowWeights(model.contingency).of(condition) is None
    nothing = RowWeights(lambda columns: np.zeros(SHAPE[0])).of(asked)
    assert nothing is not None and nothing[0] == 1.0  # the largest weight, where no row tells more


@pytest.mark.parametrize(
    "others", [(), (("b", [1, 1, 0, 0, 0, 0], 1),), (("b", [1, 1, 1, 0, 0, 0], 1), ("c", [1, 0, 1, 0, 0], 1))]
)
def test_a_condition_that_counts_a_third_has_a_third_of_the_bar(
    others: Sequence[tuple[str, Sequence[int], int]],
) -> None:
    """Bars of answers in other units are the same bars."""
    inside = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    whole, third = of(("a", inside, 1), *others), of(("a", inside, 3), *others)
    now, before = bars(NEWEST), bars(OLDER)
    counted = now.bound(whole, 1.0) or 0
    assert counted == before.bound(whole, 1.0)
    assert abs((now.bound(third, 1.0) or 0) - counted / 3) <= 1.0
    assert (before.bound(third, 1.0) or 0) > counted / 3 + 1.0


@pytest.mark.statistical
def test_bars_of_sums_hold_and_are_narrower() -> None:
    rng, inside, widths = np.random.default_rng(8), [], []
    asked = [random_sum(rng, 1 + i % 3) for i in range(60)]
    now, before = bars(NEWEST), bars(OLDER)
    for seed in range(2, 8):
        answer = fitted(noisy(seed)).answer
        for query in asked:
            truth = query.estimate(marginal(CELLS, NAMES, query.scope))
            bar = now.bound(query, 1.0) or 0
            inside.append(abs(answer(query) - truth) <= bar)
            widths.append(bar / (before.bound(query, 1.0) or 1))
    assert np.mean(inside) >= 0.95
    assert np.median(widths) < 0.9
    assert {n: rules.row_weights for n, rules in MODEL_RULES.items()} == {n: n >= 13 for n in MODEL_RULES}


# --- effective rows ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gains", [[0.0, 0.0, 0.0, 0.5, 1.0], [0.1, 0.4, 0.4, 0.4, 0.7], [0.0, 0.0, 0.0, 0.0, 0.25]])
def test_a_sum_is_of_so_many_rows_of_one_weight(gains: list[float]) -> None:
    """Row by row: those that count a tenth of the others and less are in no sum."""
    counts = np.array([5000, 300, 200, 40, 9])
    weights = np.repeat(np.array(gains), counts)
    weight = float((weights**2).sum() / weights.sum())
    inside = weights[weights >= HARDLY * weight]
    expected = float(inside.sum() ** 2 / (inside**2).sum()) / len(inside)
    units = [round(g * 20) for g in gains]
    found = RowWeights(lambda columns: counts.astype(float))
    kept, one = found.kept(Crosstab.of([of(("c", units, 20), ("b", [1, 0, 0, 0, 1, 1], 1))]).choices)
    assert (kept, one) == (pytest.approx(expected), 1.0)
    assert (kept == pytest.approx(1.0)) == (len(set(inside.tolist())) == 1)


def test_nothing_that_counts_is_no_part_of_a_sum() -> None:
    nothing = RowWeights(lambda columns: np.zeros(SHAPE[0]))
    (kept,) = nothing.kept(Crosstab.of([of(("a", list(range(10)), 9))]).choices)
    assert kept == 1.0


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("values", "most"), [([30, 31, 32, 33, 33, 34, 35, 36, 38, 40], 0.92), ([2, 3, 4, 6, 9, 13, 18, 25, 32, 40], 0.85)]
)
def test_what_all_rows_count_alike_is_known_from_other_pairs(values: list[int], most: float) -> None:
    """Pressures, which differ little, and amounts: bars are narrower, and hold."""
    rng, inside, widths = np.random.default_rng(11), [], []
    asked = []
    for i in range(60):
        query = random_sum(rng, 2 + i % 2)
        asked.append(LinearQuery("t", (Factor(("a",), np.array(values), 40), *query.factors[1:])))
    now, before = bars(NEWEST), bars(WITHOUT_PAIRS)
    for seed in range(2, 8):
        answer = fitted(noisy(seed)).answer
        for query in asked:
            truth = query.estimate(marginal(CELLS, NAMES, query.scope))
            bar = now.bound(query, 1.0) or 0
            inside.append(abs(answer(query) - truth) <= bar)
            widths.append(bar / (before.bound(query, 1.0) or 1))
    assert np.mean(inside) >= 0.95
    assert np.median(widths) < most
    assert {n: rules.effective_rows for n, rules in MODEL_RULES.items()} == {n: n >= 14 for n in MODEL_RULES}
