"""What fewer columns leave open of a table that was measured whole, and how much of it stays unknown. Public.

Around a model of contingencies of three columns and fewer the cells of a table scatter with variance v = m + c m^1.7
for m rows, as shrinkage has it (``dpsql.hypothesis.shrinkage``). The noisy counts of all cells tell c. Once a cell was
moved as far as its noise allows, the variance that is left of it is v sigma^2 / (v + sigma^2) (Efron and Morris 1973),
and cells are independent.
"""

from itertools import chain

import numpy as np

from dpsql.hypothesis.bars.numbers import Numbers
from dpsql.hypothesis.measurement import Measurement
from dpsql.hypothesis.projection import marginal
from dpsql.hypothesis.shrinkage import SCATTER_POWER
from dpsql.memo import Memo
from dpsql.query import Choices, Estimates, Factor, matrix_of, row_of, sum_of_one

SURE = 2.0
"""Sds of its estimate by which the scatter is taken to be larger."""
_SCOPES = 64
_TINY = 1e-300


def scatter_of(whole: Measurement, cells: Estimates) -> float:
    """c of cells around a model without ``whole``, which has ``cells`` (its counts, of the same shape); at least 0.

    The moment estimate, and SURE of its sds under noise alone.
    """
    gap, variance = whole.values - cells, whole.sigma**2
    excess = float((gap * gap - variance - cells).sum()) + SURE * variance * (2.0 * cells.size) ** 0.5
    return float(max(0.0, excess) / max(float((np.maximum(cells, 0.0) ** SCATTER_POWER).sum()), _TINY))


class WholeTable:
    """The variance that is left of each cell. ``cells``: the counts of the model that knows ``whole``, of its shape."""

    def __init__(self, whole: Measurement, cells: Estimates, scatter: float) -> None:
        rows, noise = np.maximum(cells, 0.0), whole.sigma**2
        before = rows + scatter * rows**SCATTER_POWER
        self._columns = whole.scope
        self._left = before * noise / (before + noise)
        self._scopes: Memo[Estimates] = Memo(_SCOPES)

    def variance(self, asked: Choices) -> Numbers:
        """Of each product, over columns of the table, in squared counts."""
        columns = tuple(chain.from_iterable(asked.columns))
        known = self._scopes.get(columns)
        if known is None:
            known = self._scopes.put(columns, np.ascontiguousarray(marginal(self._left, self._columns, columns)))
        if asked.is_one:
            factors = [_squared(f) for f in asked.product(0)]
            by_place = known.reshape([f.weights.size for f in factors])
            return float(sum_of_one(by_place, [row_of(f) for f in factors]) / asked.units[0] ** 2)
        squared = Choices(
            tuple([tuple([_squared(f) for f in here]) for here in asked.factors]), asked.numbers, len(asked)
        )
        matrices = [matrix_of(here) for here in squared.factors]
        found = squared.summed(known.reshape([m.shape[1] for m in matrices]), matrices)
        if found is None:
            each = [self.variance(asked.among(np.array([k]))) for k in range(len(asked))]
            return np.concatenate([np.atleast_1d(one) for one in each])
        return np.asarray(found / asked.units**2)


def _squared(factor: Factor) -> Factor:
    return factor if factor.unit == 1 else Factor(factor.columns, factor.weights**2, factor.unit**2)
