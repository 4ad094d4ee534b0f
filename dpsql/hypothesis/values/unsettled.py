"""Which bins of a number column have rows elsewhere than their cells, each on its own, say. Public.

Where rows begin or end inside a bin the bins beside it tell no slope, and no single cell says that it is empty. Such
bins are known by a neighbour that is empty, or by a stretch of cells which together have other rows than they were
given.
"""

import numpy as np
import numpy.typing as npt

from dpsql.hypothesis.values.places import beside_empty, by_bin
from dpsql.query import Estimates

MISFIT = 4.0
"""Sds by which a stretch of a bin's cells has other rows than it was given, at least."""
MORE = 3.0
"""Rows that a bin beside an empty one has outside of its fullest cell, in sds of the noise of a cell, at least."""


def unsettled_bins(
    edges: Estimates, bins: npt.NDArray[np.intp], rows: Estimates, found: Estimates, given: Estimates, sd: float
) -> npt.NDArray[np.bool_]:
    """Of the ``rows`` of bins cells were ``given`` some, and were ``found`` to have others, with noise ``sd``.

    ``bins``: of each cell. Bool, (bins,)."""
    fullest = by_bin(given, bins, len(rows)).max(axis=1)
    many = rows - fullest > MORE * sd
    return np.asarray(beside_empty(edges, rows + sd) & many | (misfits(bins, len(rows), found - given, sd) > MISFIT))


def misfits(bins: npt.NDArray[np.intp], number: int, off: Estimates, sd: float) -> Estimates:
    """By how many sds of its noise the worst stretch of each bin is ``off``: of halves of halves of it, as in
    Arias-Castro, Donoho and Huo 2005, and of all that begin with it; float64, (bins,).

    The rows of a bin are known, so that what all cells are off by is noise, and each has the same part of it.
    """
    cells = by_bin(np.ones(len(bins)), bins, number)
    size = cells.sum(axis=1, keepdims=True)
    all_off = by_bin(off, bins, number)
    rest = all_off - cells * all_off.sum(axis=1, keepdims=True) / np.maximum(size, 1.0)
    stretches = [(rest.cumsum(axis=1), cells.cumsum(axis=1))]
    while rest.shape[1] > 1:
        stretches.append((rest, cells))
        rest, cells = (a.reshape(number, -1, 2).sum(axis=2) for a in (rest, cells))
    worst = np.zeros(number)
    for off_by, of_size in stretches:
        # of k of m numbers whose sum is known the variance is k (m - k) / m of one's
        noise = sd * np.sqrt(of_size * (size - of_size) / np.maximum(size, 1.0))
        some = noise > 0.0
        worst = np.maximum(worst, np.max(np.where(some, np.abs(off_by) / np.where(some, noise, 1.0), 0.0), axis=1))
    return worst
