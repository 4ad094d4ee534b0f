"""Textbook multiplicative weights: Gupta, Roth, Ullman 2011, Algorithm 5, after Hardt and Rothblum 2010. Public.

One step of fixed size per released answer. The tensor with refitted measurements (strategy ``pmw``) learns more from
each hard round; this is what the theorems speak of.
"""

from math import log

import numpy as np

from dpsql.domain import TableDomain
from dpsql.hypothesis.iterative.updated import Updated
from dpsql.hypothesis.measurement import Measurement
from dpsql.hypothesis.projection import marginal
from dpsql.hypothesis.protocol import check_finite
from dpsql.query import Estimates, LinearQuery


def update_bound(table: TableDomain, row_count: float, alpha: float, planned: int) -> float:
    """B(alpha) = 4 n^2 ln|X| / alpha^2 (Gupta-Roth-Ullman 2011, Theorem A.4); ``alpha`` in counts.

    >>> from dpsql.domain import BooleanDomain
    >>> round(update_bound(TableDomain("t", (BooleanDomain("b"),)), 1000.0, 100.0, 1))  # 4 100 ln 3
    439
    """
    return 4.0 * row_count**2 * log(table.cells) / alpha**2


def over_cells(query: LinearQuery, table: TableDomain) -> Estimates:
    """The query's weights in [0, 1], float64, broadcasting against one axis per finite column of ``table``."""
    names = [c.name for c in table.finite]
    sizes = dict(zip(names, table.shape(tuple(names)), strict=True))
    out = np.ones((1,) * len(names))
    for factor in query.factors:  # columns of a factor are in the table's order
        shape = [sizes[n] if n in factor.columns else 1 for n in names]
        out = out * (factor.weights / factor.unit).reshape(shape)
    return out


class MultiplicativeWeights(Updated):
    """A distribution over all cells of the finite columns, uniform at first; eta = alpha / (2 n)."""

    bound = staticmethod(update_bound)

    def __init__(self, table: TableDomain, row_count: float, alpha: float, planned: int) -> None:
        super().__init__(table, row_count, alpha, planned)
        self._columns = tuple(c.name for c in table.finite)
        self._weights = np.full(table.shape(self._columns), 1.0 / table.cells)
        self.eta = self.alpha / (2.0 * self.row_count)

    def absorb(self, measurement: Measurement) -> None:
        """As all constructions; InternalError for text columns, which have no cells."""
        check_finite(measurement)
        super().absorb(measurement)

    def answer(self, query: LinearQuery) -> float:
        """q(D^t) in counts, of a query without text columns."""
        return query.estimate(self.contingency(query.scope))

    def contingency(self, columns: tuple[str, ...]) -> Estimates:
        """Estimated counts over the cells of ``columns``; they add up to ``row_count``."""
        out = marginal(self._weights, self._columns, columns) * self.row_count
        out = np.asarray(out, dtype=np.float64)
        out.setflags(write=False)
        return out

    def update(self, query: LinearQuery, released: float) -> None:
        """Algorithm 5: cells that count are made lighter where the released answer is below, all others where not."""
        weights = over_cells(query, self.table)
        lost = weights if released < self.answer(query) else 1.0 - weights
        moved = self._weights * np.exp(-self.eta * lost)
        self._weights = moved / moved.sum()
