"""Bins that conditions cut, beside other conditions: against rows of which it is known who meets these."""

from dataclasses import replace
from math import inf, nextafter

import numpy as np
import pytest

from dpsql.domain import NumberDomain, marks_of
from dpsql.hypothesis import Axis, Measurement
from dpsql.hypothesis.values.beside_neighbours import OPEN, Met, beside_neighbours
from dpsql.hypothesis.values.inside import Inside
from dpsql.hypothesis.values.marked_cells import MarkedCells
from dpsql.query import Estimates, Interval

DOMAIN = NumberDomain("x", tuple(float(i) for i in range(0, 220, 20)), nullable=False)
EDGES, MARKS = np.array(DOMAIN.edges), np.array(marks_of(DOMAIN.edges))
SIGMA = 25.0


def bins(x: Estimates) -> np.ndarray:
    return np.minimum(np.searchsorted(EDGES, x, side="right") - 1, len(EDGES) - 2)


def cells_of(x: Estimates) -> MarkedCells:
    place = np.searchsorted(MARKS, x, side="right") - 1
    counts = np.bincount(2 * place + (x != MARKS[place]), minlength=2 * len(MARKS))
    told = Measurement("x", (Axis.cells(("x",), (len(counts),)),), counts.astype(np.int64), SIGMA)
    return MarkedCells.of(DOMAIN, np.histogram(x, EDGES)[0].astype(float), told)


def others(x: Estimates, meets: np.ndarray, noise: float = SIGMA) -> Met:
    rows, met = (np.bincount(bins(a), minlength=len(EDGES) - 1).astype(np.float64) for a in (x, x[meets]))
    return Met(rows, lambda cell: float(met[cell]), noise)


def counted(inside: Inside, met: Met) -> float:
    """Rows that meet both, as the bins say."""
    return float(sum(share * met.met(cell) for cell, share in enumerate(inside.share)))


def even(number: int = 40_000) -> Estimates:
    return np.floor(200.0 * np.random.default_rng(1).random(number))


def test_a_rule_that_begins_inside_a_bin() -> None:
    """From 150 on all meet it; nobody below does, of whom the bin from 140 on has half."""
    x = even()
    meets, below = x >= 150, Interval("x", 0.0, nextafter(150.0, -inf))
    cells, met = cells_of(x), others(x, meets)
    alike = cells.inside(below)
    found = beside_neighbours(alike, cells, met)
    before, after = counted(alike, met), counted(found.inside, met)
    assert before > 900.0
    assert after < 0.5 * before
    assert DOMAIN.edges[7] == 140.0
    sd = found.sd[7] * met.met(7)
    assert sd >= OPEN * (before - after) - 1e-6
    assert after <= 1.96 * sd


def test_who_does_not_meet_it_are_the_others() -> None:
    x = even()
    meets, below = x >= 150, Interval("x", 0.0, nextafter(150.0, -inf))
    cells = cells_of(x)
    both = [others(x, some) for some in (meets, ~meets)]
    found = [counted(beside_neighbours(cells.inside(below), cells, met).inside, met) for met in both]
    assert sum(found) == pytest.approx(counted(cells.inside(below), others(x, np.ones(len(x), dtype=bool))), rel=1e-6)


def test_a_slope_is_followed_as_it_is() -> None:
    x = even(400_000)
    meets = np.random.default_rng(2).random(len(x)) < x / 200.0
    interval = Interval("x", 0.0, 65.0)
    cells, met = cells_of(x), others(x, meets)
    truth = float((meets & (x <= 65.0)).sum())
    before = counted(cells.inside(interval), met)
    after = counted(beside_neighbours(cells.inside(interval), cells, met).inside, met)
    assert abs(after - truth) < 0.4 * abs(before - truth)


def test_a_crowd_is_not_as_the_rest_of_its_bin() -> None:
    """Who pays nothing is never late, who pays little always is, as who pays more."""
    rng = np.random.default_rng(3)
    x = np.concatenate([np.zeros(30_000), np.floor(1.0 + 199.0 * rng.random(10_000))])
    meets = x > 0.0
    cells, met = cells_of(x), others(x, meets)
    for interval, truth in ((Interval("x", 0.0, 0.0), 0.0), (Interval("x", nextafter(0.0, inf), 200.0), 10_000.0)):
        alike = cells.inside(interval)
        found = beside_neighbours(alike, cells, met)
        before, after = (abs(counted(i, met) - truth) for i in (alike, found.inside))
        assert before > 800.0
        assert after < 0.1 * before + 60.0
        assert after <= 1.96 * found.sd[0] * met.met(0)


@pytest.mark.parametrize("kind", ["all alike", "noise is more", "nobody", "everybody"])
def test_else_all_places_of_a_bin_are_alike(kind: str) -> None:
    x, rng = even(), np.random.default_rng(4)
    meets = {"all alike": rng.random(len(x)) < 0.4, "noise is more": x >= 150, "nobody": x < 0, "everybody": x >= 0}[
        kind
    ]
    cells, interval = cells_of(x), Interval("x", 0.0, 145.0)
    alike = cells.inside(interval)
    found = beside_neighbours(alike, cells, others(x, meets, 5e4 if kind == "noise is more" else 200.0))
    assert found.inside.share.tolist() == alike.share.tolist()
    assert not found.sd.any()


def test_a_bin_of_three_whole_numbers_has_no_crowd() -> None:
    """One of three has a third of the rows, and is no crowd: shares change from one neighbour to the other."""
    x = np.floor(30.0 * np.random.default_rng(5).random(30_000))
    thirds = replace(DOMAIN, edges=tuple(float(i) - 0.5 for i in range(0, 33, 3)))
    rows = np.histogram(x, np.array(thirds.edges))[0].astype(float)
    marks = np.array(marks_of(thirds.edges))
    place = np.searchsorted(marks, x, side="right") - 1
    counts = np.bincount(2 * place + (x != marks[place]), minlength=2 * len(marks)).astype(np.int64)
    cells = MarkedCells.of(thirds, rows, Measurement("x", (Axis.cells(("x",), (len(counts),)),), counts, SIGMA))
    assert not cells.inside(Interval("x", 0.0, 13.0)).crowd.any()


def test_empty_neighbours_and_empty_bins_tell_nothing() -> None:
    x = np.full(5_000, 70.0) + np.floor(10.0 * np.random.default_rng(6).random(5_000))
    cells, interval = cells_of(x), Interval("x", 0.0, 75.0)
    alike = cells.inside(interval)
    found = beside_neighbours(alike, cells, others(x, x >= 75.0))
    assert found.inside.share.tolist() == alike.share.tolist()
    assert np.isfinite(found.sd).all()


def test_a_crowded_neighbour_tells_nothing_of_its_rest() -> None:
    """Most rows of the first bin are at 0 and are others than all that follow, which are alike."""
    rng = np.random.default_rng(7)
    x = np.concatenate([np.zeros(60_000), np.floor(1.0 + 199.0 * rng.random(40_000))])
    meets = rng.random(len(x)) < np.where(x == 0.0, 0.02, 0.5)
    cells, interval = cells_of(x), Interval("x", 30.0, 200.0)
    alike, met = cells.inside(interval), others(x, meets)
    truth = float((meets & (x >= 30.0)).sum())
    found = counted(beside_neighbours(alike, cells, met).inside, met)
    assert abs(found - truth) < abs(counted(alike, met) - truth) + 20.0


def test_shares_that_go_nowhere_are_not_followed() -> None:
    """A bin in which more rows meet a condition than on both sides of it is of other rows, and has no slope."""
    x = even()
    meets = np.random.default_rng(8).random(len(x)) < np.select([x < 140, x < 160], [0.2, 0.9], 0.6)
    cells, interval = cells_of(x), Interval("x", 0.0, 145.0)
    alike = cells.inside(interval)
    assert beside_neighbours(alike, cells, others(x, meets)).inside.share.tolist() == alike.share.tolist()


@pytest.mark.parametrize("share", [0.02, 0.5, 0.95])
def test_a_string_has_the_crowd_that_its_neighbours_leave(share: float) -> None:
    """Half of all rows are at 0; of one string's rows this share. Where it is the table's, only noise is unknown."""
    rng = np.random.default_rng(5)
    number = 60_000
    mine = rng.random(number) < 0.1
    zero = rng.random(number) < np.where(mine, share, 0.5)
    x = np.where(zero, 0.0, np.floor(1.0 + 199.0 * rng.random(number)))
    interval, cells, truth = Interval("x", 0.0, 0.0), cells_of(x), float((mine & zero).sum())
    met = others(x, mine)
    listed, alike = replace(met, listed=True), cells.inside(interval)
    found, before = beside_neighbours(alike, cells, listed), beside_neighbours(alike, cells, met)
    off, sd = abs(counted(found.inside, met) - truth), float(found.sd[0]) * met.met(0)
    assert found.settled == {0}
    assert off <= 1.96 * sd + 1.0
    if share == 0.5:
        assert before.settled == frozenset()
        assert 0.0 < sd < 6 * SIGMA
        return
    assert off < 0.2 * abs(counted(alike, met) - truth)
    assert before.settled == found.settled
