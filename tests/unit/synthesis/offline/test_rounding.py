"""Rows follow their distribution cell by cell, in no order, and the same for the same seed."""

import numpy as np
import pytest

from dpsql.synthesis.coins import coins
from dpsql.synthesis.offline.rounding import systematic_rows


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_cell_gets_its_share_rounded_up_or_down(seed: int) -> None:
    p = np.random.default_rng(3).dirichlet(np.ones(60)).reshape(3, 4, 5)
    rows = systematic_rows(p, 1000, coins(seed))
    counts = np.bincount(np.ravel_multi_index(rows.T, p.shape), minlength=60).reshape(p.shape)
    assert rows.shape == (1000, 3)
    assert np.abs(counts - 1000 * p).max() < 1


def test_no_rounding_leans_to_a_side() -> None:
    p = np.array([0.26, 0.3, 0.44])
    counts = [np.bincount(systematic_rows(p, 10, coins(i))[:, 0], minlength=3) for i in range(2000)]
    assert np.abs(np.mean(counts, axis=0) - 10 * p).max() < 0.05


def test_the_order_tells_nothing_and_the_seed_tells_all() -> None:
    p = np.full((10, 10), 0.01)
    one, same, other = (systematic_rows(p, 500, coins(s)) for s in "sst")
    assert (one == same).all()
    assert not (one == other).all()
    assert abs(np.corrcoef(np.arange(500), one[:, 0])[0, 1]) < 0.2


def test_no_rows() -> None:
    assert systematic_rows(np.array([0.5, 0.5]), 0, coins("s")).shape == (0, 1)
