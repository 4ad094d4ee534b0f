"""Noisy counts of an ordered column, smoothed where neighbours are alike. Empirical Bayes, post-processing, public.

What is finer than noise is mostly noise: of a column of a thousand values each count has noise of its own, though its
neighbours say about what it is. In a tree of ranges the differences of the halves' means (a Haar wavelet) are shrunk
where many of them together show little beyond their noise, and kept where they show more: weekends, round numbers.
"""

from collections.abc import Callable
from math import log

import numpy as np
import numpy.typing as npt

from dpsql.hypothesis.columns.possible_counts import halvings
from dpsql.query import Estimates

BLOCK = 16
"""Neighbouring differences that are shrunk alike, about: what is smooth in one place is rugged in another."""
FEWEST = 32
"""A level with fewer differences is kept as it is: too few to tell what is noise, and what all ranges rest on."""
KEPT = 4.0
"""Where one of a block is so many sds of its noise, or sqrt(2 ln N) of them on a level of N, all of it is kept: values
that many rows have stand beside others that few have, and neither is like its neighbour."""
_TINY = 1e-12

Normals = Callable[[int], Estimates]
"""So many standard normals."""


def smoothed(
    cells: Estimates,
    sigma: float,
    *,
    apart: bool = False,
    drawn: Normals | None = None,
    above: Estimates | float = 0.0,
) -> Estimates:
    """The cells (counts, float64, shape (cells,), noise of sd ``sigma`` in each), differences of neighbouring ranges
    shrunk by James and Stein's factor (1961) of their block and level, as in Cai (1999); their sum is kept.

    ``apart``: the last cell, that of NULL, is in no range. ``drawn``: one draw of what they may be in place of their
    mean, which is smoother than they are. ``above``: what stands out of its neighbours (``peaks``) and is kept.

    >>> noisy = 100.0 + 10.0 * np.sin(np.arange(256.0) ** 2)
    >>> bool(smoothed(noisy, 10.0).std() < 0.5 * noisy.std())
    True
    >>> smoothed(np.array([8.0, -4.0, 4.0]), 10.0).tolist()
    [8.0, -4.0, 4.0]
    """
    inside = (cells - above)[: len(cells) - apart]
    if not is_fine(len(inside)):
        return cells
    *finer, (rows, _) = halvings(inside)
    for here, size in reversed(finer):
        left, right = size[::2], np.maximum(size[1::2], 1.0)
        split = size[1::2] > 0.0  # ranges at the end have no right half
        gap = here[::2] / np.maximum(left, 1.0) - here[1::2] / right
        sd = sigma * np.sqrt(1.0 / left[split] + 1.0 / right[split])
        gap[split] = sd * _shrunk(gap[split] / sd, drawn)
        first = np.where(split, (rows + right * gap) * (left / (left + right)), rows)
        rows = np.stack([first, rows - first], axis=1).reshape(-1)
    found = rows[: len(inside)]
    return (np.append(found, cells[-1:]) if apart else found) + above


def is_fine(cells: int) -> bool:
    """Whether a column of so many cells in order has a level that is shrunk."""
    return cells >= 2 * FEWEST


def _shrunk(differences: Estimates, drawn: Normals | None) -> Estimates:
    """A level's differences in sds of their noise: their means, or what they may be about them, normal with variance f
    of what f is kept of (of a normal prior), where there may be an sd more of it than there seems to be."""
    kept = kept_shares(differences)
    if drawn is None:
        return kept * differences
    unsure = np.where(kept < 1.0, kept_shares(differences, unsure=1.0), 0.0)
    return np.asarray(kept * differences + np.sqrt(unsure) * drawn(len(differences)))


def kept_shares(differences: Estimates, unsure: float = 0.0) -> Estimates:
    """What is kept of each of a level's differences (float64, shape (N,), in sds of their noise, in order).

    All where they are few or one of its block of k is large, else 1 - (k - 2) / the sum of their squares, at least 0
    (James and Stein 1961, positive part). ``unsure``: of how many sds of such a sum more there may be.

    >>> kept_shares(np.array([5.0] + 31 * [1.0])).round(3).tolist() == 16 * [1.0] + 16 * [0.125]
    True
    """
    number = len(differences)
    if number < FEWEST:
        return np.ones(number)
    blocks = number // BLOCK
    block: npt.NDArray[np.int64] = np.arange(number) * blocks // number
    squares = differences * differences
    large = squares > max(KEPT**2, 2.0 * log(number))
    sizes, told = np.bincount(block, minlength=blocks), np.bincount(block[large], minlength=blocks) > 0
    total = np.bincount(block, weights=squares, minlength=blocks) + unsure * np.sqrt(2.0 * sizes)
    factor = np.maximum(0.0, 1.0 - (sizes - 2.0) / np.maximum(total, _TINY))
    return np.asarray(np.where(told, 1.0, factor)[block])
