"""Bars of cells that noise took to 0: their upper ends by simulation, and on columns of few and of many values."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from dpsql.domain import CategoryDomain, IntegerDomain, TableDomain
from dpsql.hypothesis.bars.assumed.cut_off import CutOff, upper_end
from dpsql.hypothesis.bars.assumed.single_columns import SingleColumns
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.bars.lesson import learn_calibration
from dpsql.hypothesis.local.wide import WideHypothesis
from dpsql.hypothesis.measurement import Axis, Measurement
from dpsql.hypothesis.rules import NEWEST
from dpsql.query import Choices, Crosstab, Estimates, Factor, LinearQuery, linear_query
from tests.support.simulated import table_of

SIGMA = 100.0
ROWS = np.array([700.0, 400.0, 300.0, 60.0, 0.0, 40.0])
TABLE = TableDomain("t", (CategoryDomain("a", tuple("uvwxyz"), nullable=False), IntegerDomain("b", 0, 2)))


@pytest.mark.parametrize("mean", [1.0, 20.0, 90.0, 400.0, 20_000.0])
def test_the_upper_end_is_that_of_counts_whose_noise_was_drawn(mean: float) -> None:
    rng = np.random.default_rng(int(mean))
    counts = rng.exponential(mean, 2_000_000)
    hidden = counts[counts + rng.normal(0.0, SIGMA, len(counts)) <= 0.0]
    (end,) = upper_end(np.array([mean]), np.array([SIGMA])).tolist()
    beyond = np.mean(hidden > end)
    assert len(hidden) > 2_000 and abs(beyond - 0.05) < 4.0 * np.sqrt(0.05 * 0.95 / len(hidden)) + 1e-3


def test_of_noise_far_larger_than_counts_it_is_that_of_their_law() -> None:
    ends = upper_end(np.array([1.0, 1.0]), np.array([24.9, 25.1]))
    assert ends.tolist() == pytest.approx([np.log(20.0)] * 2, rel=0.05)
    assert upper_end(np.zeros(1), np.ones(1)).tolist() == pytest.approx([0.0])


def measured(counts: Estimates, columns: str, sd: float, rng: np.random.Generator | None = None) -> Measurement:
    noise = 0.0 if rng is None else rng.normal(0.0, sd, counts.shape)
    axes = tuple(Axis.cells((c,), (size,)) for c, size in zip(columns, counts.shape, strict=True))
    return Measurement("t", axes, np.rint(counts + noise).astype(np.int64), sd)


def query(column: str, weights: Estimates, unit: int = 1) -> LinearQuery:
    found = linear_query(TABLE, [Factor((column,), weights.astype(np.int64), unit)])
    assert found is not None
    return found


def cut_off(rows: Estimates, *, used: bool = True) -> CutOff:
    """Of a model that says these rows of ``a``, measured with noise of sd SIGMA."""
    ones = {"a": rows, "b": np.array([500.0, 500.0, 0.0, 500.0])}
    coverage = Coverage(TABLE, float(rows.sum()), [measured(ones[c], c, SIGMA) for c in "ab"])
    single = SingleColumns(coverage, lambda columns: ones[columns[0]])
    return CutOff(single, lambda asked: coverage.noise(asked, 0.0, []), used=used)


def off(rows: Estimates, asked: LinearQuery) -> float:
    return float(cut_off(rows).off(Crosstab.of([asked]).choices))


def test_light_cells_may_have_what_light_cells_have_and_an_sd_of_it_more() -> None:
    mean = (60.0 + 40.0) / 3 + SIGMA / np.sqrt(3)  # three of 60, 0 and 40 rows; 300 is three sds
    ends = upper_end(np.array([mean, 2 * mean]), SIGMA * np.sqrt([1.0, 2.0]))
    assert off(ROWS, query("a", np.eye(6)[4])) == pytest.approx(ends[0])
    assert off(ROWS, query("a", np.eye(6)[3])) == pytest.approx(ends[0] - 60.0)
    assert off(ROWS, query("a", np.eye(6)[4] + np.eye(6)[5])) == pytest.approx(ends[1] - 40.0)
    assert off(ROWS, query("a", np.eye(6)[0])) == 0.0


def test_what_is_left_out_is_as_far_off() -> None:
    few = query("a", np.eye(6)[4])
    assert off(ROWS, query("a", 1 - np.eye(6)[4])) == pytest.approx(off(ROWS, few))


def test_null_is_a_cell_by_itself() -> None:
    """It has an sd of its own noise more, values of the column have that of all light ones."""
    (end,) = upper_end(np.array([SIGMA]), np.array([SIGMA]))
    rows = np.array([500.0, 500.0, 0.0, 500.0])
    assert off(ROWS, query("b", np.eye(4)[2])) == pytest.approx(end)
    assert off(np.append(ROWS[:5], 40.0), query("b", np.eye(4)[3])) == 0.0 and rows[3] > 0.0


def test_several_columns_older_rules_and_constants() -> None:
    asked = query("a", np.eye(6)[4])
    assert float(cut_off(ROWS, used=False).off(Crosstab.of([asked]).choices)) == 0.0
    both = LinearQuery("t", (*asked.factors, *query("b", np.eye(4)[2]).factors))
    assert off(ROWS, both) == 0.0
    half = LinearQuery("t", (Factor((), np.array([1]), 2), *asked.factors))
    assert off(ROWS, half) == pytest.approx(off(ROWS, asked) / 2)
    points = Factor.points("a", 6, range(6))
    together = cut_off(ROWS).off(Choices((points,), (np.arange(6),), 6))
    assert np.allclose(together, [off(ROWS, query("a", row)) for row in np.eye(6)])


def test_cells_that_were_not_measured_move_nothing() -> None:
    parts = Measurement("t", (Axis(("a",), np.arange(6) // 3, 2),), np.array([1_400, 100]), 5.0)
    coverage = Coverage(TABLE, float(ROWS.sum()), [parts])
    known = CutOff(SingleColumns(coverage, lambda _: ROWS), lambda asked: coverage.noise(asked, 0.0, []), used=True)
    assert float(known.off(Crosstab.of([query("a", np.eye(6)[4])]).choices)) == 0.0


def coverage_of(rows: Estimates, sigma: float, *, used: bool) -> tuple[float, float]:
    """Of the values of a column that are shown as 0: the share inside their bars, and the mean bar. Beside it are four
    columns that tell nothing of it; noise of single columns has twice the sd of that of pairs."""
    table, total = table_of((len(rows), 6, 5, 4, 3)), float(rows.sum())
    ones = {"a": rows, **{c: np.full(n, total / n) for c, n in zip("bcde", (6, 5, 4, 3), strict=True)}}
    rules, inside, bars = replace(NEWEST, cut_off=used), [], []

    def fit(found: Sequence[Measurement]) -> WideHypothesis:
        model = WideHypothesis(table, total, rules)
        for m in found:
            model.absorb(m)
        return model

    for seed in range(10):
        rng = np.random.default_rng([37, seed])
        found = [measured(ones[c], c, 2 * sigma, rng) for c in ones]
        for x, y in combinations(ones, 2):
            found.append(measured(np.outer(ones[x], ones[y]) / total, x + y, sigma, rng))
        model, known = fit(found), learn_calibration(table, total, found, fit, rules=rules)
        for value, true in enumerate(rows.tolist()):
            asked = linear_query(table, [Factor(("a",), (np.arange(len(rows)) == value).astype(np.int64))])
            assert asked is not None
            said = model.answer(asked)
            if said < 1.0:
                bar = known.bound(asked, 1.0)
                assert bar is not None
                inside.append(abs(said - true) <= bar)
                bars.append(bar)
    return float(np.mean(inside)), float(np.mean(bars))


def test_values_that_noise_hides_are_inside_their_bars() -> None:
    """900 rows in four groups: noise hides every third of these."""
    rows = np.array([300.0, 250.0, 200.0, 150.0])
    assert coverage_of(rows, 250.0, used=True)[0] >= 0.95
    assert coverage_of(rows, 250.0, used=False)[0] < 0.9


def test_values_without_rows_have_no_wider_bars_than_their_noise() -> None:
    rows = np.where(np.arange(60) < 8, 2_000.0, 0.0)
    inside, bar = coverage_of(rows, 30.0, used=True)
    assert inside >= 0.95 and bar < 40.0  # of single columns 60
