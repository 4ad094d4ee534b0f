"""Rows from a distribution: every cell gets its share of them, rounded up or down. Public."""

import numpy as np

from dpsql.query import Estimates
from dpsql.synthesis.coins import Coins
from dpsql.synthesis.synthetic import Codes


def systematic_rows(distribution: Estimates, count: int, rng: Coins) -> Codes:
    """``count`` rows with the cells of ``distribution`` (any shape and sum), shape (count, axes), in shuffled order.

    Systematic sampling: every cell, and every run of cells in row-major order, gets its share of the rows rounded up
    or down, without bias, as the offset is uniform.
    """
    sums = np.cumsum(distribution.reshape(-1))
    marks = (np.arange(count) + rng.random()) / max(count, 1) * sums[-1]
    cells = np.minimum(np.searchsorted(sums, marks, side="right"), sums.size - 1)
    codes = np.stack(np.unravel_index(rng.permutation(cells), distribution.shape), axis=1)
    return np.ascontiguousarray(codes, dtype=np.int64)
