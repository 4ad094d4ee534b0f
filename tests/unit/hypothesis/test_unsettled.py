"""Which bins are shared from long stretches down, and that all others are as if none were."""

import numpy as np
import pytest

from dpsql.domain import NumberDomain, marks_of
from dpsql.hypothesis import Axis, Measurement
from dpsql.hypothesis.values.marked_cells import MarkedCells
from dpsql.hypothesis.values.places import beside_empty
from dpsql.hypothesis.values.unsettled import MISFIT, misfits, unsettled_bins
from dpsql.query import Interval

SIGMA = 32.0
DOMAIN = NumberDomain("x", tuple(float(i) for i in range(0, 210, 10)), nullable=False)
EDGES, MARKS = np.array(DOMAIN.edges), np.array(marks_of(DOMAIN.edges))


def both(x: np.ndarray, seed: int) -> tuple[MarkedCells, MarkedCells]:
    """With such bins shared from long stretches down, and without."""
    place = np.searchsorted(MARKS, x, side="right") - 1
    counts = np.bincount(2 * place + (x != MARKS[place]), minlength=2 * len(MARKS))
    counts = counts + np.rint(SIGMA * np.random.default_rng(seed).normal(size=len(counts))).astype(np.int64)
    told = Measurement("x", (Axis.cells(("x",), (len(counts),)),), counts, SIGMA)
    rows = np.histogram(x, EDGES)[0].astype(float)
    with_, without = (MarkedCells.of(DOMAIN, rows, told, together=together) for together in (True, False))
    return with_, without


def test_a_smooth_column_is_to_the_bit_as_if_no_bin_were_settled_together() -> None:
    x = np.minimum(np.random.default_rng(1).gamma(3.0, 25.0, 40_000), 200.0)
    some = 0
    for seed in range(20):
        new, old = both(x, seed)
        for interval in (Interval("x", 33.0, 200.0), Interval("x", 51.5, 77.7)):
            found, before = new.inside(interval), old.inside(interval)
            assert new.unsettled is not None
            kept = ~new.unsettled
            some += int(new.unsettled[1:].sum())  # few rows are near 0
            for a, b in ((found.share, before.share), (found.sd, before.sd), (found.doubt, before.doubt)):
                assert np.array_equal(a[kept], b[kept])
    assert some <= 8  # of 800


def test_a_bin_where_rows_begin_is_settled_together_and_others_are_not() -> None:
    x, below = 66.0 + 134.0 * np.random.default_rng(2).random(80_000), Interval("x", 0.0, 65.99)
    shares = []
    for seed in range(20):
        new, old = both(x, seed)
        assert new.unsettled is not None and new.unsettled[6]
        assert new.unsettled[8:].sum() <= 1
        shares.append((new.inside(below).share[6], old.inside(below).share[6]))
    of_new, of_old = np.mean(shares, axis=0)
    assert of_new < 0.3 * of_old


def test_a_gap_inside_a_bin_is_a_misfit_though_the_bins_beside_it_have_as_many_rows() -> None:
    x = 200.0 * np.random.default_rng(3).random(60_000)
    new, old = both(x[(x < 71.0) | (x > 76.0)], 0)
    assert new.unsettled is not None and np.flatnonzero(new.unsettled).tolist() == [7]
    gap = Interval("x", 71.1, 75.9)
    assert new.inside(gap).share[7] < 0.5 * old.inside(gap).share[7]


def test_noise_is_no_misfit_and_a_long_stretch_is_one_where_no_cell_of_it_is() -> None:
    bins = np.repeat(np.arange(200), 21)
    noise = SIGMA * np.random.default_rng(4).normal(size=len(bins))
    assert (misfits(bins, 200, noise, SIGMA) > MISFIT).mean() < 0.01
    off = np.where(np.arange(len(bins)) % 21 < 8, 2.5 * SIGMA, 0.0)
    assert off.max() < MISFIT * SIGMA and (misfits(bins, 200, noise + off, SIGMA) > MISFIT).mean() > 0.8


def test_what_all_cells_are_off_by_alike_is_no_misfit() -> None:
    """The rows of a bin are known, be its cells counted too high together."""
    assert misfits(np.zeros(21, dtype=np.intp), 1, np.full(21, 5.0 * SIGMA), SIGMA) == pytest.approx([0.0], abs=1e-9)


def test_bins_of_one_cell_have_no_stretch() -> None:
    assert misfits(np.arange(3), 3, np.full(3, 900.0), SIGMA).tolist() == [0.0] * 3


def test_an_empty_bin_tells_of_both_of_its_neighbours() -> None:
    edges = np.arange(7.0)
    assert beside_empty(edges, np.array([90.0, 80.0, 5.0, 70.0, 60.0, 50.0])).tolist() == [0, 1, 1, 1, 0, 0]
    assert not beside_empty(np.arange(2.0), np.array([5.0])).any()


def test_rows_may_begin_and_end_in_the_outer_bins() -> None:
    edges = np.arange(5.0)
    assert beside_empty(edges, np.array([40.0, 90.0, 80.0, 60.0])).tolist() == [1, 0, 0, 0]
    assert beside_empty(edges, np.array([60.0, 90.0, 80.0, 35.0])).tolist() == [0, 0, 0, 1]
    assert not beside_empty(edges, np.array([90.0, 40.0, 35.0, 80.0])).any()


def test_a_bin_whose_rows_are_at_one_value_has_nothing_to_share() -> None:
    """As of whole numbers in narrow bins, beside bins that have none."""
    edges, bins = np.arange(4.0), np.repeat(np.arange(3), 8)
    rows = np.array([0.0, 5_000.0, 0.0])
    one = np.where(np.arange(24) == 12, 5_000.0, 0.0)
    many = np.where(bins == 1, 625.0, 0.0)
    assert not unsettled_bins(edges, bins, rows, one, one, SIGMA).any()
    few = np.where(np.arange(24) == 12, 5_000.0 - 2.5 * SIGMA, np.where(np.arange(24) == 10, 2.5 * SIGMA, 0.0))
    assert not unsettled_bins(edges, bins, rows, few, few, SIGMA).any()  # within noise of none
    assert unsettled_bins(edges, bins, rows, many, many, SIGMA).tolist() == [False, True, False]
