"""Targets: the counts that rows should have over parts of a few columns. Public.

Rows of a table stand for its finite columns and for its text columns alike: a text column is one whose cells are the
keys that were released, and one more for all others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
import numpy.typing as npt

from dpsql.query import Estimates
from dpsql.synthesis.coins import Coins

Labels = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int64]
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Target:
    """``counts`` over the parts of ``columns`` (positions), float64, one axis each, in rows to be made.

    ``labels``: for each column the part that a cell belongs to, int64, (cells,). ``weight``: of a square of its errors.
    """

    columns: tuple[int, ...]
    labels: tuple[Labels, ...]
    counts: Estimates
    weight: float = 1.0

    @classmethod
    def cells(cls, columns: tuple[int, ...], counts: Estimates, weight: float = 1.0) -> "Target":
        """Every cell is its own part."""
        return cls(columns, tuple(np.arange(n, dtype=np.int64) for n in counts.shape), counts, weight)

    def whole(self, rng: Coins) -> "Target":
        """The same in whole numbers, each rounded down or up by a systematic draw, so that sums stay what they are.

        Where most cells expect less than half a row, the nearest rows to the expectations would leave them all empty.
        """
        sums = np.floor(np.cumsum(self.counts.reshape(-1)) + rng.random())
        return replace(self, counts=np.diff(sums, prepend=0.0).reshape(self.counts.shape))

    def found(self, rows: Sequence[Codes]) -> Estimates:
        """What ``rows`` (one array of cells per column of the table) have: float64, shape of ``counts``.

        >>> Target.cells((1,), np.zeros(2)).found([np.array([5, 5]), np.array([1, 1])])
        array([0., 2.])
        """
        flat = np.zeros(len(rows[0]), dtype=np.int64)
        for column, labels, size in zip(self.columns, self.labels, self.counts.shape, strict=True):
            flat = flat * size + labels[rows[column]]
        shape = self.counts.shape
        return np.bincount(flat, minlength=prod(shape)).astype(np.float64).reshape(shape)


def dependence(counts: Estimates) -> float:
    """How much two columns tell of each other, in nats: the mutual information of a table of counts, at least 0.

    >>> round(dependence(np.eye(2)), 3), dependence(np.ones((2, 3)))
    (0.693, 0.0)
    """
    p = counts / max(float(counts.sum()), _TINY)
    alone = np.outer(p.sum(axis=1), p.sum(axis=0))
    both = p > _TINY
    return max(0.0, float((p[both] * np.log(p[both] / np.maximum(alone[both], _TINY))).sum()))
