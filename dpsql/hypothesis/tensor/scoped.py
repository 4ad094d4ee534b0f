"""A tensor for each scope: the dense hypothesis of a universe that fits in no memory. Public.

Why it stays beside the local models, which do more with less: strategy ``pmw`` makes no warm start, so there are no
clean pairs to build on, and its hard rounds measure parts of several columns at once, which local models cannot use.
Ledgers of such tables were answered by it, and answer as before.
"""

import numpy as np

from dpsql.hypothesis.projection import projected
from dpsql.hypothesis.tensor.dense import DenseHypothesis, fitted
from dpsql.query import Estimates


class ScopedHypothesis(DenseHypothesis):
    """As ``DenseHypothesis``, but scopes learn only from measurements that project on them, each for itself.

    Two scopes may disagree slightly about a column that they share.
    """

    def _cells(self, columns: tuple[str, ...]) -> Estimates:
        """A maximum-entropy model of these columns alone, fitted to what the measurements say about them."""
        order = sorted(range(len(columns)), key=lambda i: self._columns.index(columns[i]))
        if order != list(range(len(columns))):
            # steps go column by column: only one order of them may be fitted, or the same cells would differ
            return np.ascontiguousarray(self.contingency(tuple(columns[i] for i in order)).transpose(np.argsort(order)))
        within = [m for m in (projected(m, set(columns)) for m in self.measurements) if m is not None]
        return fitted(self.table, self.row_count, columns, within, self.rules)
