"""How the rows of strings lean within a finite column, beside what their cells say one by one. Public.

A trade is paid more than others in all of fifty bins of wages, in each by less than noise hides. So cells are halved
again and again, in their order: of each half's share noise is as large as of the whole, and how far strings stray from
what was estimated of it is learned from all of them, at each level by itself (as in Efron and Morris 1973).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import numpy as np
import numpy.typing as npt

from dpsql.hypothesis.strings.mixture import Floats

SURE = 1.0
"""Sds of what noise alone makes of it by which strings are taken to stray more than it seems."""
LEAST_CROWDED = 0.25
"""How far strings are taken to crowd inside of cells at least: one value that most rows of some strings have, as a fee
of 0, is seen in no cell beside it."""
IN_COMMON = 0.1
"""Of how strings crowd, what those of a list have in common: people list strings that are alike."""
ROUNDS = 8
"""Of scoring, from one half on."""
_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Halves:
    """Cells ``low`` to ``middle`` beside ``middle`` to ``high``, of each int64 of shape (halvings,), and how often all
    cells were halved before: their ``level``."""

    low: npt.NDArray[np.int64]
    middle: npt.NDArray[np.int64]
    high: npt.NDArray[np.int64]
    level: npt.NDArray[np.int64]


@lru_cache(maxsize=256)
def halves(cells: int) -> Halves:
    """Of so many cells, until each is alone.

    >>> (halves(3).low.tolist(), halves(3).middle.tolist(), halves(3).high.tolist())
    ([0, 0], [2, 1], [3, 2])
    """
    found, waiting = [], [(0, cells, 0)]
    while waiting:
        low, high, level = waiting.pop(0)
        if high - low > 1:
            middle = (low + high + 1) // 2
            found.append((low, middle, high, level))
            waiting += [(low, middle, level + 1), (middle, high, level + 1)]
    return Halves(*np.array(found, dtype=np.int64).reshape(-1, 4).T)


@dataclass(frozen=True, eq=False)
class Leaning:
    """Estimated ``counts`` of cells, >= 0, shape (strings, cells). ``moved``: how many more rows each halving has on
    its first side by what was measured of it, as far as strings stray, shape (strings, halvings), in counts;
    ``variances``: of what is unknown of that, in their squares. ``crowding``: as in ``crowded``, inside of cells."""

    counts: Floats
    moved: Floats
    variances: Floats
    crowding: float

    def variance(self, places: Sequence[int], weights: Floats) -> Floats:
        """The mean square of what the rows of these strings with ``weights`` of their cells are off by, in squares of
        counts; shape (places,). Estimates are not moved by it: of few strings it may be noise."""
        cells, of = self.counts[places], halves(self.counts.shape[1])
        rows, weighted = _sides(cells, of), _sides(cells * weights, of)
        left, right = (w / np.maximum(r, _TINY) for w, r in zip(weighted, rows, strict=True))
        times = left - right
        off = (self.moved[places] * times).sum(axis=1)
        out: Floats = off**2 + (self.variances[places] * times**2).sum(axis=1)
        return out

    def inside(self, places: Sequence[int], spread: Floats) -> Floats:
        """The same of how their rows stand inside of cells; ``spread``: the variance of what the rows of a cell count,
        which is 0 where all count the same."""
        out: Floats = self.crowding * (self.counts[places] ** 2 @ spread)
        return out


def leaning(values: Floats, variances: Floats, counts: Floats, shares: Floats) -> Leaning:
    """How far halves of cells may be from their estimated ``counts``, by how far all strings stray from theirs at that
    level beyond noise.

    ``values``: measured counts, both of shape (strings, cells); ``variances`` of their noise, one a string;
    ``shares``: of the column's cells in the table.
    """
    of, cells = halves(counts.shape[1]), np.maximum(counts, 0.0)
    off, noise, most = _strayed(values, variances, cells, _sides(cells, of), of)
    open_ = np.zeros_like(noise)
    for level in np.unique(of.level):
        here = of.level == level
        open_[:, here] = _share(off[:, here], noise[:, here], most[:, here]) * most[:, here]
    kept = open_ / (open_ + noise)
    return Leaning(cells, kept * off, kept * noise, max(LEAST_CROWDED, crowded(values, variances, cells, shares)))


def crowding(rows: Sequence[float], found: Leaning | None) -> float:
    """How far the rows of some strings together may crowd inside of a cell, in [0, 1]: as far as each does, and less
    where they are many. 1 for one string of which nothing is known.

    >>> crowding([100.0], None), crowding([100.0] * 4, None)
    (1.0, 0.325)
    """
    each = np.maximum(np.array(rows), 0.0)
    alike = min(1.0, float((each**2).sum()) / max(float(each.sum()) ** 2, _TINY))
    return (IN_COMMON + (1.0 - IN_COMMON) * alike) * (1.0 if found is None else found.crowding)


def crowded(values: Floats, variances: Floats, cells: Floats, shares: Floats) -> float:
    """How far strings stray from the column's ``shares`` between two cells that follow each other, in [0, 1]: 1 where a
    string's rows are all in one of them. So they may stray inside of a cell, of which nothing was measured."""
    of = halves(cells.shape[1])
    split = np.broadcast_to(shares, cells.shape)
    off, noise, most = _strayed(values, variances, split, _sides(cells, of), of)
    last = of.high - of.low == 2
    return _share(off[:, last], noise[:, last], most[:, last])


def _strayed(
    values: Floats, variances: Floats, split: Floats, rows: tuple[Floats, Floats], of: Halves
) -> tuple[Floats, Floats, Floats]:
    """Of each halving: how many rows more were measured in its first part than ``split`` has it, of all its rows; the
    variance of the noise in that; and the largest variance that it could have."""
    (left, right), (first, second) = _sides(values, of), _sides(split, of)
    share = first / np.maximum(first + second, _TINY)
    sizes = (of.middle - of.low, of.high - of.middle)
    noise = variances[:, None] * ((1.0 - share) ** 2 * sizes[0] + share**2 * sizes[1]) + _TINY
    return (1.0 - share) * left - share * right, noise, (rows[0] + rows[1]) ** 2 * share * (1.0 - share)


def _share(off: Floats, noise: Floats, most: Floats) -> float:
    """How much of ``most`` was strayed by, in [0, 1]: the likeliest of a normal law with variances of ``noise`` and so
    much of ``most``, by Fisher's scoring, and what noise may hide of it."""
    found, sd = 0.5, 0.0
    for _ in range(ROUNDS):
        whole = noise + found * most
        weights = most / whole**2
        known = max(float((weights * most).sum()), _TINY)
        found, sd = min(1.0, max(0.0, float((weights * (off**2 - noise)).sum()) / known)), sqrt(2.0 / known)
    return min(1.0, found + SURE * sd)


def _sides(cells: Floats, of: Halves) -> tuple[Floats, Floats]:
    """Sums of cells on both sides of each halving, shape (strings, halvings)."""
    summed = np.concatenate([np.zeros((len(cells), 1)), np.cumsum(cells, axis=1)], axis=1)
    return summed[:, of.middle] - summed[:, of.low], summed[:, of.high] - summed[:, of.middle]
