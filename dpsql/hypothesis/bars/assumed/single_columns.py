"""What is known of each column alone, as often as assumptions ask for it: rows, noise and where values lie. Public."""

from collections.abc import Callable, Sequence

import numpy as np

from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.bars.numbers import Contingency, Numbers
from dpsql.memo import Memo
from dpsql.query import Choices, Estimates, Factor, one_cells, units_of

_TINY = 1e-9


class SingleColumns:
    """Of one model, whose rows of a column's cells ``contingency`` says.

    Of factors over one column each, one number: float64, shape (factors,).
    """

    def __init__(self, coverage: Coverage, contingency: Contingency) -> None:
        self.table = coverage.table
        self.row_count = coverage.row_count
        self.measurements = coverage.measurements
        self._coverage = coverage
        self._contingency = contingency
        self._sigmas: dict[str, float] = {}
        self._upto: dict[str, Estimates] = {}
        self._known: Memo[float] = Memo()

    def at(self, asked: Choices, place: int, of: Callable[[Sequence[Factor]], Estimates]) -> Numbers:
        """``of`` the factors at a place, for each product; of one product it is remembered, for analysts change a
        condition of a statement and keep the others."""
        here = asked.factors[place]
        if not asked.is_one:
            return np.asarray(of(here)[asked.numbers[place]])
        key = of.__qualname__, here[0].digest
        known = self._known.get(key)
        return self._known.put(key, float(of(here)[0])) if known is None else known

    def rows(self, column: str) -> Estimates:
        """Of each cell, float64, the last that of NULL where there is one."""
        return self._contingency((column,))

    def share(self, factors: Sequence[Factor]) -> Estimates:
        """The part of all rows that each takes in, at its weights; a constant's is its weight."""
        if not factors[0].columns:
            return np.array([float(f.weights.sum()) / f.unit for f in factors])
        return taken(factors, self.rows(factors[0].columns[0])) / self.row_count

    def hidden(self, factors: Sequence[Factor]) -> Estimates:
        """The 95 % half-width, in counts, of the noise of each factor's cells, measured one by one."""
        found = one_cells(factors)
        if found is None:
            norms = np.array([float(np.linalg.norm(f.weights[f.support])) / f.unit for f in factors])
        else:
            norms = found.weights / units_of(factors)
        return np.asarray(DEVIATIONS * self.sigma(factors[0].columns[0]) * norms)

    def sigma(self, column: str) -> float:
        """Sd of the noise of one cell, in rows, where all were measured one by one; else that of knowing nothing, the
        number of rows."""
        known = self._sigmas.get(column)
        if known is None:
            found = [m for m in self.measurements if column in m.columns]
            known = self.row_count
            if any(m.axes[m.axis_of(column)].is_cells for m in found):
                size = len(self.rows(column))
                some = sorted({0, size // 2, size - 1})  # one may be better known, as a part of its own
                cells = Choices((Factor.points(column, size, some),), (np.arange(len(some)),), len(some))
                known = float(np.max(self._coverage.noise(cells, 0.0, [])))
            self._sigmas[column] = known
        return known

    def upto(self, column: str) -> Estimates:
        """The share of the rows with a value that have each cell's or one before it; NULL has no cell here."""
        known = self._upto.get(column)
        if known is None:
            cells = np.maximum(self.rows(column), 0.0)
            values = cells[: len(cells) - self.table.finite_domain(column).nullable]
            known = self._upto[column] = np.asarray(np.cumsum(values) / max(float(values.sum()), _TINY))
        return known


def taken(factors: Sequence[Factor], cells: Estimates) -> Estimates:
    """What each factor over one column takes in of its ``cells``, at its weights.

    >>> taken([Factor(("a",), np.array([0, 1, 1]), 2)], np.array([5.0, 6.0, 8.0])).tolist()
    [7.0]
    """
    found = one_cells(factors)
    if found is None:
        return np.array([float(cells[f.support] @ f.weights[f.support]) / f.unit for f in factors])
    return np.asarray(cells[found.cells] * found.weights / units_of(factors))
