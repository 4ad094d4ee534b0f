"""Crowds at one place of a bin that noise hides: the mixture against sums over sizes, and bars over many tables."""

from math import nextafter

import numpy as np
import pytest
from scipy.stats import norm

from dpsql.domain import NumberDomain, log_edges, marks_of
from dpsql.hypothesis import Axis, Measurement
from dpsql.hypothesis.values.crowds import Crowds, beyond_neighbours
from dpsql.hypothesis.values.marked_cells import MarkedCells
from dpsql.query import Interval

SIGMA, ROWS = 32.0, 12_000


def test_the_mixture_is_that_of_sums_over_every_size() -> None:
    """Three cells of a bin of 150 rows, one crowd at most: each size in steps of a tenth of a row."""
    found, expected, before = np.array([70.0, 10.0, -30.0]), np.array([20.0, 5.0, 1.0]), np.array([0.3, 0.1, 0.02])
    size, off, off_sd = 150.0, 60.0, 45.0
    made = Crowds.of(
        found, expected, SIGMA, np.zeros(3, np.int64), np.full(1, size), (np.full(1, off), np.full(1, off_sd)), before
    )
    sizes = np.arange(0.05, size, 0.1)
    none = norm.pdf(found, expected, SIGMA) * norm.pdf(off, 0.0, off_sd)
    here = np.stack([norm.pdf(f, sizes, SIGMA) * norm.pdf(off, sizes, off_sd) / size * 0.1 for f in found])
    odds = before / (1.0 - before) * here.sum(axis=1) / none
    chance = odds / (1.0 + odds.sum())
    law = here / here.sum(axis=1, keepdims=True)
    mean = law @ sizes
    assert made.chance == pytest.approx(chance, rel=1e-3)
    assert made.mean == pytest.approx(mean, rel=1e-3)
    assert made.sd == pytest.approx(np.sqrt(law @ sizes**2 - mean**2), rel=1e-2)
    for i in range(3):
        above = chance[i] * law[i, ::-1].cumsum()[::-1]  # more rows than each size
        most = sizes[above > 0.05].max() if (above > 0.05).any() else 0.0
        assert made.most[i] == pytest.approx(most, abs=0.5)


def test_neighbours_tell_of_a_bin_that_has_more_than_they() -> None:
    edges = np.array(log_edges(0.0, 1000.0, 50))
    rows = 400.0 * np.exp(-np.linspace(0.0, 3.0, 50))
    more, sd = beyond_neighbours(edges, rows, 11.0)
    assert (np.abs(more) < sd).all()
    rows[-1] += 150.0
    rows[20] += 300.0
    more, sd = beyond_neighbours(edges, rows, 11.0)
    assert more[-1] == pytest.approx(150.0, abs=sd[-1]) and more[-1] > 3.0 * sd[-1]
    assert more[20] == pytest.approx(300.0, abs=sd[20]) and more[20] > 3.0 * sd[20]
    assert (np.abs(more)[[5, 10, 30, 40]] < sd[[5, 10, 30, 40]]).all()


def amounts(crowd: int, at: float, seed: int) -> np.ndarray:
    x = np.minimum(np.random.default_rng(seed).lognormal(3.0, 1.0, ROWS), 950.0)
    x[:crowd] = at
    return x


def measured(x: np.ndarray, domain: NumberDomain, rng: np.random.Generator) -> tuple[np.ndarray, Measurement]:
    """Rows of each bin with a third of the noise of its cells, which are counted by ``searchsorted``."""
    edges, marks = np.array(domain.edges), np.array(marks_of(domain.edges))
    rows = np.histogram(x, edges)[0] + SIGMA / 3.0 * rng.normal(size=len(edges) - 1)
    place = np.searchsorted(marks, x, side="right") - 1
    counts = np.bincount(2 * place + (x != marks[place]), minlength=2 * len(marks))
    counts = counts + np.rint(SIGMA * rng.normal(size=len(counts))).astype(np.int64)
    return np.maximum(rows, 0.0), Measurement("t", (Axis.cells(("x",), (len(counts),)),), counts, SIGMA)


@pytest.mark.parametrize(("crowd", "least"), [(64, 0.55), (96, 0.75), (130, 0.9), (200, 0.9), (0, 0.95)])
@pytest.mark.parametrize("at", [1000.0, 500.0])
def test_bars_allow_for_a_crowd_that_noise_hides(crowd: int, least: float, at: float) -> None:
    """At the end to which all beyond it are clipped, and at a round number, of two to six sds of the noise."""
    domain = NumberDomain("x", log_edges(0.0, 1000.0, 50), nullable=False)
    conditions = [Interval("x", at, at), Interval("x", at * 0.98, min(at * 1.02, 1000.0)), Interval("x", at, 1000.0)]
    inside: dict[bool, list[bool]] = {True: [], False: []}
    widths: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(40):
        x = amounts(crowd, at, seed)
        rows, told = measured(x, domain, np.random.default_rng(seed + 100))
        for hidden in inside:
            cells = MarkedCells.of(domain, rows, told, hidden=hidden, together=hidden, nested=hidden)
            for condition in conditions:
                taken = cells.inside(condition)
                value = float(taken.share @ rows)
                own = np.hypot(SIGMA / 3.0 * np.sqrt(float((taken.share**2).sum())), 3.0)
                bar = 1.96 * np.hypot(own, np.sqrt(float(((taken.sd * rows) ** 2).sum()))) + float(taken.doubt @ rows)
                true = int(((x >= condition.low) & (x <= condition.high)).sum())
                inside[hidden].append(abs(value - true) <= bar)
                widths[hidden].append(bar)
    assert np.mean(inside[True]) >= least
    if crowd:
        assert np.mean(inside[False]) < np.mean(inside[True]) - 0.1
    else:  # where there is none, bars are not much wider for it
        assert np.mean(widths[True]) < np.mean(widths[False]) + 0.25 * SIGMA


def test_the_mean_of_a_bin_is_as_unsure_as_its_crowd() -> None:
    domain = NumberDomain("x", log_edges(0.0, 1000.0, 50), nullable=False)
    off: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(30):
        x = amounts(80, 1000.0, seed)
        rows, told = measured(x, domain, np.random.default_rng(seed))
        low, high = domain.edges[-2:]
        last = x[x >= low]
        for hidden in off:
            cells = MarkedCells.of(domain, rows, told, hidden=hidden, nested=hidden)
            off[hidden].append(float(abs(cells.mean[-1] - (last.mean() - low) / (high - low)) / cells.mean_sd[-1]))
    assert np.mean(np.array(off[True]) < 1.96) > 0.85 > np.mean(np.array(off[False]) < 1.96)


def test_one_bin_and_two_have_no_neighbours_on_both_sides() -> None:
    for edges in ((0.0, 10.0), (0.0, 5.0, 10.0), (0.0, nextafter(0.0, 1.0), 10.0)):
        more, sd = beyond_neighbours(np.array(edges), np.full(len(edges) - 1, 90.0), 11.0)
        assert not more.any() and (sd > 1e100).all()
