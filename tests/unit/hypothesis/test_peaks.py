"""What stands out of its neighbours in a column: found by a loop, hardly ever in noise, and kept by both models."""

from collections.abc import Callable
from functools import partial
from math import log, sqrt
from statistics import median

import numpy as np
import pytest

from dpsql.domain import IntegerDomain, TableDomain
from dpsql.hypothesis import MODEL_RULES, DenseHypothesis, WideHypothesis
from dpsql.hypothesis.columns.contrasts import smoothed
from dpsql.hypothesis.columns.possible_counts import NEAR, SURELY_ABOVE, beside_peaks, nearest, peaks, top_down
from dpsql.query import Estimates
from tests.support.simulated import measured

SIGMA = 20.0


def by_loop(cells: list[float], sigma: float) -> list[float]:
    """One cell after the other; beyond an end the column is mirrored."""
    size, out = len(cells), []
    for i, cell in enumerate(cells):
        around = []
        for step in range(1, NEAR + 1):
            below, above = i - step, i + step
            around += [cells[-below if below < 0 else below], cells[2 * (size - 1) - above if above >= size else above]]
        least = sigma * (sqrt(2 * log(size)) + SURELY_ABOVE)
        out.append(cell - median(around) if cell > least and cell - median(around) > least else 0.0)
    return out


@pytest.mark.parametrize("size", [17, 18, 40, 300])
def test_they_are_what_a_loop_finds(size: int) -> None:
    rng = np.random.default_rng(size)
    cells = rng.normal(30.0, SIGMA, size)
    cells[rng.choice(size, 4, replace=False)] += 300.0
    cells[0] += 500.0
    found = peaks(cells, SIGMA)
    assert np.count_nonzero(found) >= 4
    assert found == pytest.approx(by_loop(cells.tolist(), SIGMA))


def test_null_is_beside_no_cell() -> None:
    cells = np.concatenate([np.full(20, 5.0), [900.0]])
    assert not peaks(cells, SIGMA, apart=True).any()
    assert peaks(cells, SIGMA)[-1] > 0.0


def test_short_columns_have_none() -> None:
    cells = np.zeros(2 * NEAR)
    cells[5] = 1e4
    assert not peaks(cells, SIGMA).any()
    assert peaks(np.append(cells, 0.0), SIGMA)[5] == 1e4


def share_with_peaks(sd: float) -> float:
    """Of draws of a column that rises slowly, with noise of ``sd``, where noise of SIGMA is told."""
    rng, true = np.random.default_rng(3), np.linspace(0.0, 200.0, 1_000)
    return float(np.mean([peaks(true + rng.normal(0.0, sd, 1_000), SIGMA).any() for _ in range(300)]))


def test_noise_hardly_ever_stands_out() -> None:
    """Of 1,000 normals one exceeds sqrt(2 ln N) + 1 = 4.7 sds with a chance of .0012 (and the median's noise more)."""
    assert share_with_peaks(SIGMA) < 0.03
    assert share_with_peaks(1.5 * SIGMA) > 0.3  # more noise than is told of would be seen


@pytest.mark.parametrize("possible", [nearest, top_down, partial(top_down, apart=True)])
@pytest.mark.parametrize("total", [0.5, 700.0, 1500.0, 1e6])
def test_counts_beside_them_are_possible_ones(possible: Callable[[Estimates, float], Estimates], total: float) -> None:
    """More rows than there are may stand out: they are then the nearest that there may be, the rest next to none."""
    rng = np.random.default_rng(1)
    above = np.zeros(60)
    above[[3, 20, 59]] = 400.0, 900.0, 100.0
    found = beside_peaks(possible, rng.normal(0.0, SIGMA, 60), above, total)
    assert (found > 0.0).all()
    assert found.sum() == pytest.approx(total)
    if total > above.sum():
        assert (found >= above).all()
    else:
        assert found[above == 0.0].sum() < 1e-3 * total


def test_without_any_counts_are_as_they_were() -> None:
    cells = np.random.default_rng(2).normal(20.0, SIGMA, 100)
    assert (beside_peaks(top_down, cells, np.zeros(100), 2_000.0) == top_down(cells, 2_000.0)).all()
    assert (smoothed(cells, SIGMA) == smoothed(cells, SIGMA, above=np.zeros(100))).all()


# --- models --------------------------------------------------------------------------------------------------------

CELLS = np.zeros(1_001)
CELLS[np.arange(0, 1_000, 50)] = 20 * SIGMA
TABLE = TableDomain("t", (IntegerDomain("a", 0, 999), IntegerDomain("b", 0, 1, nullable=False)))


def lost(model: type[DenseHypothesis] | type[WideHypothesis], rules: int) -> float:
    """What round values lose, in sds of the noise of one, on average."""
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        both = np.stack([CELLS, CELLS], axis=1) / 2.0
        made = model(TABLE, CELLS.sum(), MODEL_RULES[rules])
        made.absorb(measured(both, ("a",), SIGMA, rng))
        found.append(float((CELLS - made.contingency(("a",)))[CELLS > 0.0].mean()) / SIGMA)
    return float(np.mean(found))


@pytest.mark.parametrize("model", [DenseHypothesis, WideHypothesis])
def test_round_values_keep_their_rows(model: type[DenseHypothesis] | type[WideHypothesis]) -> None:
    now, before = lost(model, 36), lost(model, 35)
    assert abs(now) < 0.5 < 1.5 < before
