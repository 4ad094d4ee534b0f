"""Tables that are measured whole: what no three columns tell, and how far answers can be from the truth then."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from dpsql.hypothesis.bars.assumed.whole_table import WholeTable, scatter_of
from dpsql.hypothesis.bars.calibration import Calibration
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.bars.lesson import learn_calibration
from dpsql.hypothesis.measurement import Measurement
from dpsql.hypothesis.rules import MODEL_RULES, NEWEST, ModelRules
from dpsql.hypothesis.tensor.dense import DenseHypothesis
from dpsql.query import Crosstab, Factor, LinearQuery
from tests.support.simulated import all_of, marginal, measured, pairwise_table, table_of

SHAPE = (4, 4, 3, 3)
NAMES = "abcd"
TABLE = table_of(SHAPE)
SMOOTH = pairwise_table(SHAPE, 200_000.0, np.random.default_rng(5))
SIGNS = np.prod(np.meshgrid([1, -1, 1, -1], [1, 1, -1, -1], [1, 0, -1], [-1, 1, 0], indexing="ij"), axis=0)
CELLS = SMOOTH.mean() * (1.0 + 0.5 * SIGNS)
"""Four columns together, of which no three tell anything."""
TOTAL = float(CELLS.sum())


def noisy(seed: int, cells: np.ndarray = CELLS, *, whole: bool) -> list[Measurement]:
    rng = np.random.default_rng(seed)
    found = [m for order in (1, 2, 3) for m in all_of(cells, order, 30.0, rng)]
    return [*found, measured(cells, NAMES, 15.0, rng)] if whole else found


def fitted(found: Sequence[Measurement], rules: ModelRules = NEWEST) -> DenseHypothesis:
    out = DenseHypothesis(TABLE, TOTAL, rules)
    for m in found:
        out.absorb(m)
    return out


def off(found: Sequence[Measurement], cells: np.ndarray, rules: ModelRules = NEWEST) -> float:
    """The mean error of a cell."""
    return float(np.abs(fitted(found, rules).contingency(tuple(NAMES)) - cells).mean())


def random_condition(rng: np.random.Generator) -> LinearQuery:
    factors = []
    for name, size in zip(NAMES, SHAPE, strict=True):
        inside = np.zeros(size, dtype=np.int64)
        inside[rng.choice(size, rng.integers(1, size), replace=False)] = 1
        factors.append(Factor((name,), inside))
    return LinearQuery("t", tuple(factors))


def test_four_columns_together_are_known_from_the_whole_table() -> None:
    beside, without = (np.mean([off(noisy(s, whole=w), CELLS) for s in range(4)]) for w in (True, False))
    assert beside < 0.1 * without


def test_the_whole_table_is_not_taken_apart() -> None:
    """Where a few cells have most of the rows, its interactions of four columns are mostly noise of cells without any;
    a step on all cells moves those that have rows."""
    steep, apart = pairwise_table(SHAPE, TOTAL, np.random.default_rng(5), 2.0), replace(NEWEST, pure_columns=5)
    together, before = (
        np.mean([off(noisy(s, steep, whole=True), steep, rules) for s in range(4)]) for rules in (NEWEST, apart)
    )
    assert together < 0.5 * before
    assert {n: rules.pure_columns for n, rules in MODEL_RULES.items()} == {n: 3 if n >= 13 else 5 for n in MODEL_RULES}
    assert {n: rules.whole_tables for n, rules in MODEL_RULES.items()} == {n: n >= 13 for n in MODEL_RULES}


def calibrated(found: Sequence[Measurement], rules: ModelRules) -> Calibration:
    model = fitted(found)
    learned = learn_calibration(TABLE, TOTAL, found, fitted, simulations=3, queries=60)
    return learned.on(Coverage(TABLE, TOTAL, found, rules), model.answers, model.contingency)


@pytest.mark.statistical
def test_bars_know_a_measurement_of_all_columns() -> None:
    """Against the formula, from the cells that were measured: wider by what their noise does not explain of the
    distance to them, and no wider than that distance and 1.96 sds."""
    rng, found = np.random.default_rng(2), noisy(9, whole=True)
    now, before = (calibrated(found, replace(NEWEST, as_measured=on, left_out=False)) for on in (True, False))
    narrower, wider, inside = 0, 0, []
    for query in (random_condition(rng) for _ in range(80)):
        answer, sd = fitted(found).answer(query), 15.0 * query.estimate(np.ones(SHAPE)) ** 0.5
        apart = abs(answer - query.estimate(found[-1].values.astype(np.float64))) + 1.0
        bar, alone = now.bound(query, 1.0) or 0, before.bound(query, 1.0) or 0
        expected = min((alone**2 + max(0.0, apart**2 - 4.0 * sd**2)) ** 0.5, apart + 1.96 * sd)
        assert bar == pytest.approx(expected, abs=1.0)
        narrower, wider = narrower + (bar < alone), wider + (bar > alone)
        inside.append(abs(answer - query.estimate(marginal(CELLS, NAMES, query.scope))) <= bar)
    assert narrower > 5 and wider > 0
    assert np.mean(inside) >= 0.95
    assert {n: rules.as_measured for n, rules in MODEL_RULES.items()} == {n: n >= 13 for n in MODEL_RULES}


@pytest.mark.parametrize("whole", [True, False])
def test_what_was_not_measured_together_keeps_its_bar(whole: bool) -> None:
    """Without a measurement of all four columns there is nothing to compare an answer with."""
    found = noisy(4, whole=whole)
    now, before = (calibrated(found, replace(NEWEST, as_measured=on, left_out=False)) for on in (True, False))
    rng = np.random.default_rng(6)
    other = [now.bound(q, 1.0) != before.bound(q, 1.0) for q in (random_condition(rng) for _ in range(40))]
    assert any(other) == whole


def test_the_scatter_of_cells_is_the_moment_estimate_and_twice_its_sd() -> None:
    """Against sums over cells one by one; nothing is less than 0."""
    whole, cells = noisy(3, whole=True)[-1], SMOOTH
    pairs = zip(whole.values.reshape(-1).tolist(), cells.reshape(-1).tolist(), strict=True)
    terms = [((y - m) ** 2 - whole.sigma**2 - m, m**1.7) for y, m in pairs]
    excess = sum(gap for gap, _ in terms) + 2.0 * whole.sigma**2 * (2.0 * len(terms)) ** 0.5
    assert scatter_of(whole, cells) == pytest.approx(excess / sum(power for _, power in terms))
    assert scatter_of(replace(whole, values=np.rint(cells).astype(np.int64), sigma=900.0), cells) == 0.0


def test_what_is_left_of_a_cell_is_between_its_scatter_and_its_noise() -> None:
    """Of a sum of ``a`` under a condition on ``c``, term by term; together as one by one."""
    whole = noisy(3, whole=True)[-1]
    left = 0.0
    for place in np.ndindex(*SHAPE):
        rows = float(SMOOTH[place])
        before = rows + 0.02 * rows**1.7
        left += (place[0] / 3) ** 2 * (place[2] == 1) * before * 225.0 / (before + 225.0)
    asked = [
        LinearQuery("t", (Factor(("a",), np.arange(4), 3), Factor(("c",), np.array(c)))) for c in ([0, 1, 0], [1, 0, 1])
    ]
    found = WholeTable(whole, SMOOTH, 0.02)
    each = [float(found.variance(Crosstab.of([q]).choices)) for q in asked]
    assert each[0] == pytest.approx(left)
    assert found.variance(Crosstab.of(asked).choices) == pytest.approx(each)
    noise = WholeTable(whole, SMOOTH, 1e9).variance(Crosstab.of(asked[:1]).choices)
    assert left < noise == pytest.approx(225.0 * 4 * 3 * sum((i / 3) ** 2 for i in range(4)))


@pytest.mark.statistical
@pytest.mark.parametrize(("cells", "narrower"), [(SMOOTH, 0.8), (CELLS, 1.0)])
def test_bars_know_how_much_cells_scatter(cells: np.ndarray, narrower: float) -> None:
    """Where fewer columns say nearly all, bars are far narrower than an allowance for any interaction; where four say
    something together, they still hold."""
    rng, inside, widths = np.random.default_rng(2), [], []
    asked = [random_condition(rng) for _ in range(60)]
    truths = [q.estimate(marginal(cells, NAMES, q.scope)) for q in asked]
    for seed in range(3):
        found = noisy(seed, cells, whole=True)
        now, answer = calibrated(found, NEWEST), fitted(found).answer
        blind = now.on(Coverage(TABLE, TOTAL, found), fitted(found).answers, fitted(found).contingency)
        blind.scatter = None
        for query, truth in zip(asked, truths, strict=True):
            bar = now.bound(query, 1.0) or 0
            inside.append(abs(answer(query) - truth) <= bar)
            widths.append(bar / (blind.bound(query, 1.0) or 1))
    assert np.mean(inside) >= 0.95
    assert np.median(widths) < narrower


def test_the_scatter_is_kept_with_what_was_learned() -> None:
    found = noisy(1, whole=True)
    made, model = calibrated(found, NEWEST), fitted(found)
    assert made.scatter is not None
    coverage = Coverage(TABLE, TOTAL, found)
    again = Calibration.from_json(made.to_json(), coverage, model.answers, model.contingency)
    assert again is not None and again.scatter == made.scatter
    older = replace(NEWEST, whole_tables=False)
    assert Coverage(TABLE, TOTAL, found, older).whole_table is None
    fewer = [m for m in found if len(m.axes) < 4]
    assert calibrated(fewer, NEWEST).scatter is None
    assert "whole" not in calibrated(fewer, NEWEST).to_json()
