"""Rows on round numbers of which each has fewer than its noise: those that are told together tell of each."""

import numpy as np
import pytest

from dpsql.confidence import DEVIATIONS
from dpsql.domain import NumberDomain, log_edges, marks_of
from dpsql.hypothesis import Axis, Measurement
from dpsql.hypothesis.values.marked_cells import MarkedCells
from dpsql.hypothesis.values.places import kinds_of
from dpsql.hypothesis.values.usual_shares import TOLD_TOGETHER, unseen
from dpsql.query import Interval

SIGMA, ROWS = 32.0, 14_000
DOMAIN = NumberDomain("x", log_edges(0.0, 500_000.0, 50), nullable=False)
EDGES = np.array(DOMAIN.edges)


def incomes(step: float, seed: int) -> np.ndarray:
    """Log-normal ones, as people tell them."""
    return (np.random.default_rng(seed).lognormal(10.3, 0.7, ROWS) / step).round().clip(0, 500_000 / step) * step


def cells_of(x: np.ndarray, seed: int, *, nested: bool) -> tuple[MarkedCells, np.ndarray]:
    """From rows at and between marks with noise, and bins as they are."""
    marks = np.array(marks_of(DOMAIN.edges))
    at = np.searchsorted(marks, x, side="right") - 1
    cell = 2 * at + (marks[at] < x)
    noisy = np.bincount(cell, minlength=2 * len(marks)) + np.random.default_rng(seed).normal(0.0, SIGMA, 2 * len(marks))
    told = Measurement("t", (Axis.cells(("x",), (len(noisy),)),), noisy.round().astype(np.int64), SIGMA)
    rows = np.histogram(x, EDGES)[0].astype(float)
    return MarkedCells.of(DOMAIN, rows, told, nested=nested), rows


def misses(step: float, multiples: int, *, nested: bool) -> tuple[float, float]:
    """(mean error in rows, share within bars) of counts of single values, over five tables."""
    off, inside = [], []
    for seed in range(5):
        x = incomes(step, seed)
        cells, rows = cells_of(x, 100 + seed, nested=nested)
        for value in np.arange(multiples, 60_000, multiples)[:: 1 + (multiples < 5_000)]:
            true = float((x == value).sum())
            if value < 8_000 or true == 0:
                continue
            found, at = cells.inside(Interval("x", value, value)), int(np.searchsorted(EDGES, value, side="right")) - 1
            said, bar = found.share[at] * rows[at], DEVIATIONS * found.sd[at] * rows[at] + 1.0
            off.append(abs(said - true))
            inside.append(off[-1] <= bar)
    return float(np.mean(off)), float(np.mean(inside))


@pytest.mark.parametrize("multiples", [500, 1_000, 5_000])
def test_round_numbers_have_at_least_what_less_round_ones_have(multiples: int) -> None:
    """Told in hundreds, each has some twenty rows; of thousands and of fives there are too few to be seen alone."""
    (before, covered), (now, covers) = (misses(100.0, multiples, nested=nested) for nested in (False, True))
    assert covered < 0.4 < 0.93 < covers
    assert now < 0.85 * before


def test_values_that_are_not_told_round_have_few_rows_more_in_their_bars() -> None:
    x = np.random.default_rng(4).lognormal(10.3, 0.7, ROWS).clip(0, 500_000)
    widths = {}
    for nested in (False, True):
        cells, rows = cells_of(x, 7, nested=nested)
        found = [cells.inside(Interval("x", value, 500_000.0)) for value in np.linspace(9_000.0, 60_000.0, 40)]
        widths[nested] = np.mean([DEVIATIONS * (f.sd * rows).max() for f in found])
    assert widths[True] < 1.15 * widths[False]


def test_what_noise_hides_of_marks_told_together_is_that_of_their_sum() -> None:
    found = np.zeros(2 * len(marks_of(DOMAIN.edges)))
    kinds, sds = kinds_of(DOMAIN), unseen(DOMAIN, found, found, SIGMA)
    for kind in np.unique(kinds, axis=0):
        here = (kinds == kind).all(axis=1)
        if kind[1] == 0:
            assert (sds[here] == 0.0).all()
        elif here.sum() >= TOLD_TOGETHER:
            assert sds[here] == pytest.approx(SIGMA / np.sqrt(here.sum()))
    assert (unseen(DOMAIN, found + 500.0, found, SIGMA) <= SIGMA).all()
