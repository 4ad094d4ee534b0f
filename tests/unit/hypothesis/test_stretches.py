"""Rows of a bin that its cells share stretch by stretch, against the rows that they were counted from."""

from dataclasses import replace

import numpy as np
import pytest

from dpsql.domain import NumberDomain, marks_of
from dpsql.hypothesis import Axis, Measurement
from dpsql.hypothesis.values.marked_cells import MarkedCells
from dpsql.hypothesis.values.places import as_less_round, slopes
from dpsql.hypothesis.values.stretches import Stretches, crowds_of
from dpsql.query import Interval

SIGMA = 32.0
DOMAIN = NumberDomain("x", tuple(float(i) for i in range(0, 110, 10)), nullable=False)
EDGES, MARKS = np.array(DOMAIN.edges), np.array(marks_of(DOMAIN.edges))


def cells(x: np.ndarray, seed: int, *, together: bool = True) -> tuple[MarkedCells, np.ndarray]:
    rng = np.random.default_rng(seed)
    place = np.searchsorted(MARKS, x, side="right") - 1
    counts = np.bincount(2 * place + (x != MARKS[place]), minlength=2 * len(MARKS))
    counts = counts + np.rint(SIGMA * rng.normal(size=len(counts))).astype(np.int64)
    rows = np.histogram(x, EDGES)[0].astype(float)
    told = Measurement("x", (Axis.cells(("x",), (len(counts),)),), counts, SIGMA)
    return MarkedCells.of(DOMAIN, rows, told, together=together), rows


def asked(x: np.ndarray, low: float, high: float, *, together: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Errors and bars of forty measurements."""
    off, bars = [], []
    for seed in range(40):
        known, rows = cells(x, seed, together=together)
        taken = known.inside(Interval("x", low, high))
        off.append(float(taken.share @ rows) - float(((x >= low) & (x <= high)).sum()))
        bars.append(1.96 * float(np.sqrt(((taken.sd * rows) ** 2).sum())) + float(taken.doubt @ rows) + 1.0)
    return np.array(off), np.array(bars)


def floor_at_37() -> np.ndarray:
    r = np.random.default_rng(1)
    return np.minimum(37.0 + 60.0 * r.random(8_000) ** 2, 100.0)


@pytest.mark.parametrize(("low", "high"), [(0.0, 36.99), (37.0, 100.0), (30.0, 36.5), (36.0, 38.0)])
def test_a_floor_inside_a_bin_is_seen_by_its_long_empty_stretch(low: float, high: float) -> None:
    off, bars = asked(floor_at_37(), low, high)
    assert (np.abs(off) <= bars).mean() >= 0.9
    assert np.median(bars) < 180.0


def test_empty_cells_keep_no_common_part_that_no_bar_knows() -> None:
    """By older rules rows of a bin with a floor are taken to be below it, beyond their bars."""
    r = np.random.default_rng(1)
    x = np.concatenate([floor_at_37(), 40.0 + 60.0 * r.random(4_000)])
    new, bars = asked(x, 30.0, 36.99)
    old, of_old = asked(x, 30.0, 36.99, together=False)
    assert abs(new.mean()) < 0.5 * abs(old.mean())
    assert (np.abs(new) <= bars).mean() >= 0.95 > (np.abs(old) <= of_old).mean()


def test_a_crowd_is_not_scaled_by_what_was_cut_off_below_0() -> None:
    """Nine thousand rows at one value beside many cells that hardly have any."""
    r = np.random.default_rng(2)
    x = np.concatenate([np.full(9_000, 40.0), 40.0 + 10.0 * r.random(6_000) ** 3, 100.0 * r.random(2_000)])
    off, bars = asked(x, 40.0, 40.0)
    assert abs(off.mean()) < 4.0 * SIGMA / np.sqrt(40.0) and (np.abs(off) <= bars).mean() >= 0.9


def made(found: np.ndarray, rows: float, out: np.ndarray | None = None) -> Stretches:
    number = len(found)
    bins, even = np.zeros(number, dtype=np.intp), np.full(number, 1.0 / number)
    out = np.zeros(number, dtype=bool) if out is None else out
    return Stretches.of(np.full(1, rows), bins, found, even, np.ones(number), bins, out, SIGMA)


def test_counts_sum_to_the_rows_of_their_bin_and_the_rest_errs_as_what_is_taken() -> None:
    rng = np.random.default_rng(3)
    out = np.arange(24) == 5
    for some in (None, out):
        found = 50.0 + SIGMA * rng.normal(size=24) + 900.0 * out
        known = made(found, 2_100.0, some)
        assert known.counted.sum() == pytest.approx(2_100.0)
        taken = (np.arange(24) < 9).astype(float)
        assert known.variance(taken) == pytest.approx(known.variance(1.0 - taken))
        assert known.variance(np.ones(24)) == pytest.approx(0.0, abs=1e-6)


def test_stretches_around_a_place_err_alike() -> None:
    """Were what is not known of halves of its own in each, as noise is, a cut through five of them would be surer."""
    known = made(np.full(32, 40.0), 1_280.0)
    apart = replace(known, levels=[(share, noise + beyond, 0.0 * beyond) for share, noise, beyond in known.levels])
    taken = (np.arange(32) < 11).astype(float)
    assert known.variance(taken)[0] > 1.2 * apart.variance(taken)[0]


def test_cells_beside_a_cliff_are_no_crowds_and_one_above_its_neighbours_is() -> None:
    bins, even = np.zeros(40, dtype=np.intp), np.full(40, 1.0 / 40)
    found = np.where(np.arange(40) < 20, 0.0, 60.0)
    assert not crowds_of(1, bins, found, even, SIGMA).any()
    found[30] += 400.0
    assert np.flatnonzero(crowds_of(1, bins, found, even, SIGMA)).tolist() == [30]


def test_a_mark_that_has_rows_beside_cells_that_usually_have_none_is_as_counted() -> None:
    """It has what is usual of it, and the noise of the empty cells beside it is not shared with it."""
    bins, usual = np.zeros(16, dtype=np.intp), np.full(16, 0.001)
    usual[[3, 11]] = 0.4925
    found = np.where(usual > 0.1, 400.0, 0.0)
    assert np.flatnonzero(crowds_of(1, bins, found, usual, SIGMA)).tolist() == [3, 11]
    assert not crowds_of(1, bins, found / 4.0, usual, SIGMA).any()


def test_an_empty_neighbour_tells_no_slope() -> None:
    edges = np.arange(5.0)
    assert slopes(edges, np.array([100.0, 100.0, 1.0, 1.0])) == pytest.approx([0.0] * 4)
    assert slopes(edges, np.exp(np.arange(4.0))) == pytest.approx([1.0] * 4)


def test_a_rounder_mark_has_what_less_round_ones_have() -> None:
    """45 beside whole numbers that are told; cells between marks have nothing of it, nor has another bin."""
    bins, round_ = np.array([0, 0, 0, 0, 1]), np.array([0, 200, 201, 198, 203])
    shares = np.array([0.0, 0.2, 0.0, 0.0, 0.0])
    assert as_less_round(bins, round_, shares).tolist() == pytest.approx([0.0, 0.2, 0.2, 0.0, 0.0])
