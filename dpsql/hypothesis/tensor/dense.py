"""Dense hypotheses: a tensor over the whole universe, or a local model per scope when the universe is too large."""

from math import prod

import numpy as np

from dpsql.domain import TableDomain
from dpsql.hypothesis.measurement import Measurement
from dpsql.hypothesis.projection import projected
from dpsql.hypothesis.tensor.fit import fit_tensor
from dpsql.query import Estimates, LinearQuery

TENSOR_CELLS = 1 << 24
PASSES = 4
PASSES_LARGE = 2
LARGE_CELLS = 1 << 20
_CACHED_SCOPES = 512


class DenseHypothesis:
    """The public estimate of a table over its finite columns; a pure function of total and measurements.

    It starts uniform (Hardt-Rothblum 2010) with ``total`` rows; every change refits all measurements, so a state that
    was rebuilt from the ledger equals the live one bit by bit.
    """

    def __init__(self, table: TableDomain, total: float) -> None:
        self.table = table
        self.total = max(total, 1.0)
        self.measurements: list[Measurement] = []
        self._columns = tuple(c.name for c in table.finite)
        self._tensor: Estimates | None = None
        self._scopes: dict[tuple[str, ...], Estimates] = {}

    def absorb(self, measurement: Measurement) -> None:
        """Take a measurement without text columns into the model; the fit itself waits for the next question."""
        self.measurements.append(measurement)
        self._tensor = None
        self._scopes.clear()

    def answer(self, query: LinearQuery) -> float:
        """The estimate of a query without text columns, in counts."""
        return query.estimate(self.contingency(query.scope))

    def contingency(self, columns: tuple[str, ...]) -> Estimates:
        """Estimated counts over the cells of ``columns`` (any order), float64, shape = the columns' sizes. Public."""
        cached = self._scopes.get(columns)
        if cached is not None:
            return cached
        if len(self._scopes) >= _CACHED_SCOPES:
            self._scopes.pop(next(iter(self._scopes)))
        out = self._from_tensor(columns) if self.table.cells <= TENSOR_CELLS else self._local(columns)
        out.setflags(write=False)
        self._scopes[columns] = out
        return out

    def _from_tensor(self, columns: tuple[str, ...]) -> Estimates:
        if self._tensor is None:
            shape = self.table.shape(self._columns)
            start = np.full(shape, self.total / max(prod(shape), 1))
            self._tensor = fit_tensor(start, self._columns, self.measurements, _passes(start.size))
        kept = [self._columns.index(c) for c in columns]
        summed = tuple(i for i in range(len(self._columns)) if i not in set(kept))
        marginal = self._tensor.sum(axis=summed)
        return np.ascontiguousarray(marginal.transpose(np.argsort(np.argsort(kept))))

    def _local(self, columns: tuple[str, ...]) -> Estimates:
        """A maximum-entropy model of these columns alone, fitted to what the measurements say about them."""
        shape = self.table.shape(columns)
        start = np.full(shape, self.total / max(prod(shape), 1))
        within = [m for m in (projected(m, set(columns)) for m in self.measurements) if m is not None]
        return fit_tensor(start, columns, within, _passes(start.size))


def _passes(cells: int) -> int:
    return PASSES if cells <= LARGE_CELLS else PASSES_LARGE
