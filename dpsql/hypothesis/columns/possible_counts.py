"""The possible counts of a column's cells that are near to noisy ones: none below 0, with a known sum. Public.

What is cut off below 0 is left above it: each empty cell keeps .4 sds of its noise on average. Of an unordered column
the nearest counts take that from all cells alike. Of an ordered one, whose empty cells lie together, ranges are made
possible before their halves: the noise of a long empty range is one noise, and not one for each of its cells. Where
many rows have one value and its neighbours none, each half of a range that holds it would take some: what stands out of
its neighbours beyond all noise is kept as it was measured, and possible counts are those of the rest.
"""

from collections.abc import Callable
from math import log, sqrt

import numpy as np

from dpsql.query import Estimates

NEAR = 8
"""Cells on each side that say what a cell would be if it were like its neighbours: their median, which a few others
that stand out do not move."""
SURELY_ABOVE = 1.0
"""A cell stands out of these by so many sds of its noise more than the largest of all cells' noise is."""
Possible = Callable[[Estimates, float], Estimates]
"""Counts of a column's cells that sum to a total, none below 0, near to noisy ones."""
LEAST = 1e-6
"""Of an equal share of the rows, that a cell has at least: a later measurement can bring it back."""


def nearest(cells: Estimates, total: float) -> Estimates:
    """The nearest counts (float64, > 0) that sum to ``total``: the projection on a simplex (Held, Wolfe and Crowder
    1974), with a trace in every cell.

    >>> nearest(np.array([8.0, -4.0, 4.0]), 10.0).round(3)
    array([7., 0., 3.])
    """
    descending = np.sort(cells)[::-1]
    shifts = (np.cumsum(descending) - total) / np.arange(1, len(cells) + 1)
    shift = shifts[int(np.flatnonzero(descending > shifts)[-1])]
    return _traced(cells - shift, total)


def top_down(cells: Estimates, total: float, *, apart: bool = False) -> Estimates:
    """Counts (float64, > 0) that sum to ``total``, of cells in order: in a tree of ranges each one's rows are shared
    between its halves as these were measured, what is missing by their cells (Hay et al. 2010, theorem 3, from the root
    down), but none below 0. ``apart``: the last cell is in no range, as NULL is.

    >>> top_down(np.array([8.0, -4.0, 4.0, -2.0]), 10.0).round(3)
    array([6., 0., 4., 0.])
    """
    if apart and len(cells) > 1:
        of_range = np.array([cells[:-1].sum()])
        rows = float(_shared(of_range, cells[-1:], np.array([len(cells) - 1.0]), np.ones(1), np.full(1, total))[0])
        return _traced(np.append(_halved(cells[:-1], rows), total - rows), total)
    return _traced(_halved(cells, total), total)


def least_peak(number: int, sigma: float) -> float:
    """Counts that noise of sd ``sigma`` hardly ever makes of one of ``number`` cells without rows."""
    return sigma * (sqrt(2.0 * log(number)) + SURELY_ABOVE)


def peaks(cells: Estimates, sigma: float, *, apart: bool = False) -> Estimates:
    """By how much each of ``cells`` in order (counts, noise of sd ``sigma`` in each) stands out of those about it,
    the same shape; 0 where noise, of N cells at most sqrt(2 ln N) sds (Donoho and Johnstone 1994), may be all of it.

    A column of fewer than 2 NEAR + 1 cells has none. ``apart``: the last cell, that of NULL, is beside no other.

    >>> peaks(np.array([3.0] * 8 + [90.0] + [-2.0] * 9), 4.0, apart=True).nonzero()[0].tolist()
    [8]
    """
    out, inside = np.zeros(len(cells)), len(cells) - apart
    if inside <= 2 * NEAR:
        return out
    least = least_peak(inside, sigma)
    high = np.flatnonzero(cells[:inside] > least)
    around = high[:, None] + np.concatenate([np.arange(-NEAR, 0), np.arange(1, NEAR + 1)])
    around = np.abs(around)  # beyond an end as before it
    around = np.where(around < inside, around, 2 * (inside - 1) - around)
    above = cells[high] - np.median(cells[around], axis=1)
    out[high] = np.where(above > least, above, 0.0)
    return out


def beside_peaks(possible: Possible, cells: Estimates, above: Estimates, total: float) -> Estimates:
    """Counts that sum to ``total``: ``peaks``, and the ``possible`` ones of ``cells``, from which these were taken.

    >>> beside_peaks(top_down, np.array([2.0, -2.0, 1.0]), np.array([0.0, 8.0, 0.0]), 10.0).round(3)
    array([0.667, 8.   , 1.333])
    """
    if not above.any():
        return possible(cells, total)
    left = total - float(above.sum())
    if left > LEAST * total:
        return possible(cells, left) + above
    return _traced(above * (total / float(above.sum())), total)


def halvings(cells: Estimates) -> list[tuple[Estimates, Estimates]]:
    """A tree of ranges of cells in order, level by level from the cells to all of them: what each range sums to and how
    many cells it has, float64, shape (ranges,). Ranges beyond the last cell have none.

    >>> [(sums.tolist(), sizes.tolist()) for sums, sizes in halvings(np.array([5.0, 2.0, 1.0]))][1:]
    [([7.0, 1.0], [2.0, 1.0]), ([8.0], [3.0])]
    """
    whole = 1 << max(len(cells) - 1, 0).bit_length()
    sums, sizes = np.zeros(whole), np.zeros(whole)
    sums[: len(cells)], sizes[: len(cells)] = cells, 1.0
    levels = [(sums, sizes)]
    while len(sums) > 1:
        sums, sizes = sums.reshape(-1, 2).sum(axis=1), sizes.reshape(-1, 2).sum(axis=1)
        levels.append((sums, sizes))
    return levels


def _halved(cells: Estimates, total: float) -> Estimates:
    rows = np.full(1, total)
    for here, size in halvings(cells)[-2::-1]:
        first = _shared(here[::2], here[1::2], size[::2], size[1::2], rows)
        rows = np.stack([first, rows - first], axis=1).reshape(-1)
    return rows[: len(cells)]


def _shared(
    left: Estimates, right: Estimates, left_size: Estimates, right_size: Estimates, rows: Estimates
) -> Estimates:
    """What the left ones have of ``rows``; a side of no cells has none."""
    missing = (rows - left - right) * left_size / np.maximum(left_size + right_size, 1.0)
    share = np.clip(left + missing, 0.0, rows)
    return np.asarray(np.where(right_size > 0.0, share, rows))


def _traced(cells: Estimates, total: float) -> Estimates:
    kept = np.maximum(cells, LEAST * total / len(cells))
    return np.asarray(kept * (total / kept.sum()))
