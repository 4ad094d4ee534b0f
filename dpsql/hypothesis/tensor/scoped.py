"""A tensor for each scope: the dense hypothesis of a universe that fits in no memory. Public.

Why it stays beside the local models, which do more with less: strategy ``pmw`` makes no warm start, so there are no
clean pairs to build on, and its hard rounds measure parts of several columns at once, which local models cannot use.
Ledgers of such tables were answered by it, and answer as before.
"""

from math import prod

import numpy as np

from dpsql.hypothesis.projection import projected
from dpsql.hypothesis.protocol import one_by_one
from dpsql.hypothesis.tensor.dense import DenseHypothesis, fitted
from dpsql.query import Choices, Estimates, LinearQuery

TENSOR_CELLS = 1 << 24
"""Universes up to this size are one tensor: 128 MB of float64."""


class ScopedHypothesis(DenseHypothesis):
    """As ``DenseHypothesis``, but scopes learn only from measurements that project on them, each for itself.

    Two scopes may disagree slightly about a column that they share.
    """

    def answer(self, query: LinearQuery) -> float:
        """The estimate of a query in counts; conditions whose cells fit in no memory are taken as independent."""
        if query.cells <= TENSOR_CELLS:
            return super().answer(query)
        out = self.row_count
        for f in query.factors:
            out *= super().answer(LinearQuery(query.table, (f,))) / self.row_count
        return out

    def answers(self, asked: Choices) -> Estimates:
        """``answer`` of each product."""
        fits = prod(here[0].weights.size for here in asked.factors) <= TENSOR_CELLS
        return super().answers(asked) if fits else one_by_one(self, asked)

    def _cells(self, columns: tuple[str, ...]) -> Estimates:
        """A maximum-entropy model of these columns alone, fitted to what the measurements say about them."""
        order = sorted(range(len(columns)), key=lambda i: self._columns.index(columns[i]))
        if order != list(range(len(columns))):
            # steps go column by column: only one order of them may be fitted, or the same cells would differ
            return np.ascontiguousarray(self.contingency(tuple(columns[i] for i in order)).transpose(np.argsort(order)))
        within = [m for m in (projected(m, set(columns)) for m in self.measurements) if m is not None]
        return fitted(self.table, self.row_count, columns, within, self.rules)
