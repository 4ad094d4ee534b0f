"""Dense hypotheses: a tensor over the whole universe, or a local model per scope when the universe is too large."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from dpsql.domain import TableDomain
from dpsql.hypothesis.fit import fit_tensor
from dpsql.hypothesis.measurement import Axis, Measurement
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


def projected(measurement: Measurement, columns: set[str]) -> Measurement | None:
    """The measurement summed over the axes that leave ``columns``; ``None`` when nothing is left. Noise adds up."""
    kept = [i for i, a in enumerate(measurement.axes) if set(a.columns) <= columns]
    if any(a.difference and not set(a.columns) <= columns for a in measurement.axes):
        return None
    if not kept:
        return None
    lead = 1 if measurement.keys else 0
    summed = [i for i in range(len(measurement.axes)) if i not in kept]
    return replace(
        measurement,
        axes=tuple(measurement.axes[i] for i in kept),
        values=measurement.values.sum(axis=tuple(i + lead for i in summed)),
        sigma=measurement.sigma * prod(measurement.axes[i].size for i in summed) ** 0.5,
    )


def split_identity(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """Identity axes over several columns as one axis per column, so that projections can drop any of them."""
    out: list[Axis] = []
    for a in axes:
        if a.is_identity and len(a.columns) > 1:
            out.extend(Axis.cells((c,), (n,)) for c, n in zip(a.columns, a.labels.shape, strict=True))
        else:
            out.append(a)
    return tuple(out)


def _passes(cells: int) -> int:
    return PASSES if cells <= LARGE_CELLS else PASSES_LARGE
