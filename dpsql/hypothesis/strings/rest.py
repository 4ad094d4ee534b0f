"""How the rows of strings that were not counted by a finite column are spread over its values. Public.

The table's counts by the column hold its heavy strings, which were counted by it one by one: what these leave is of the
others. A table of which three strings are half says little of the rest as a whole.
"""

from dataclasses import dataclass

import numpy as np

from dpsql.hypothesis.strings.cells import strayed
from dpsql.hypothesis.strings.mixture import CellEstimates, Floats

_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Rest:
    """``shares``: of the column's values among these rows, >= 0, which sum to 1. ``variances``: of what noise leaves
    unknown of each."""

    shares: Floats
    variances: Floats


def rest_of(whole: Floats, cells: Floats, variances: Floats) -> Rest:
    """What measured strings leave of all rows.

    ``whole``: counts of all rows by value; ``cells``: of measured strings, one row each; ``variances``: of their noise,
    one a string. The rest has the shares of the whole, as far as strings are alike (``strayed``), or what is left when
    strings are taken off: the best linear estimate (Hartigan 1969). A string is taken off where its noise is less than
    it may stray by, for else it tells less than it hides.

    >>> heavy = np.array([[900.0, 0.0]])
    >>> rest_of(np.array([1000.0, 100.0]), heavy, np.array([1.0])).shares.round(2).tolist()
    [0.5, 0.5]
    """
    shares = _shares(whole)
    even, rows = shares * (1.0 - shares), cells.sum(axis=1)
    share = strayed(cells, variances, np.multiply.outer(rows, shares), np.multiply.outer(rows**2, even))
    off = (rows > 0.0) & (share * rows**2 * even.mean() > variances)
    return _left(whole, whole - cells[off].sum(axis=0), float(variances[off].sum()), share)


def rest_beside(whole: Floats, cells: CellEstimates, strayed: float) -> Rest:
    """The same where each cell has a variance of its own, so that every string can be taken off. ``strayed``: how far
    strings are from the shares of the whole, in [0, 1].

    >>> heavy = CellEstimates(np.array([[900.0, 0.0]]), np.array([[1.0, 1.0]]))
    >>> rest_beside(np.array([1000.0, 100.0]), heavy, 0.9).shares.round(2).tolist()
    [0.5, 0.5]
    """
    return _left(whole, whole - cells.counts.sum(axis=0), cells.variances.sum(axis=0), strayed)


def _left(whole: Floats, left: Floats, noise: Floats | float, strayed: float) -> Rest:
    shares = _shares(whole)
    total = max(float(left.sum()), 0.0)
    spread = strayed * total**2 * shares * (1.0 - shares)
    kept = spread / (spread + noise + _TINY)
    found = np.maximum(total * shares + kept * (left - total * shares), 0.0)
    if found.sum() <= _TINY:
        return Rest(shares, np.zeros_like(shares))
    return Rest(found / found.sum(), kept * noise / total**2)


def _shares(whole: Floats) -> Floats:
    return np.asarray(whole / max(float(whole.sum()), _TINY))
