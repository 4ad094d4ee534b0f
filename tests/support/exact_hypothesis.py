"""The hypothesis that believes every released number: the twin of those in the package, worked out another way.

Iterative proportional fitting cell by cell until nothing moves, from the noisiest measurement to the most precise one.
It shrinks nothing and is slow, so it is for tests only; where measurements are exact and agree, every hypothesis must
come to what it comes to.
"""

import numpy as np

from dpsql.domain import TableDomain
from dpsql.hypothesis import NEWEST, Axis, Measurement, ModelRules
from dpsql.hypothesis.protocol import check_finite, one_by_one
from dpsql.query import Choices, Estimates, LinearQuery
from tests.support.weights import weights_of

ROUNDS = 60
TRACE = 1e-6
"""Counts that every part keeps: what was measured as empty may be found to hold rows."""


class ExactHypothesis:
    """Keeps ``dpsql.hypothesis.protocol.Hypothesis``; each step of it is a method, for broken variants to override."""

    def __init__(self, table: TableDomain, total: float, rules: ModelRules = NEWEST) -> None:
        self.table = table
        self.row_count = max(float(total), 1.0)
        self.measurements: list[Measurement] = []
        self._columns = tuple(c.name for c in table.finite)
        self._cell = np.indices(table.shape(self._columns))
        self._kept: Estimates | None = None

    def absorb(self, measurement: Measurement) -> None:
        check_finite(measurement)
        self.measurements.append(measurement)
        self._kept = None

    def answer(self, query: LinearQuery) -> float:
        weights = (weights_of(query) / query.unit).reshape(self.table.shape(query.scope))
        return float((weights * self.contingency(query.scope)).sum())

    def answers(self, asked: Choices) -> Estimates:
        return one_by_one(self, asked)

    def contingency(self, columns: tuple[str, ...]) -> Estimates:
        shape = self.table.shape(columns)
        index = self.flat_index(tuple(columns), shape)
        if self._kept is None:
            self._kept = self.fitted().reshape(-1)
        out = np.bincount(index, weights=self._kept, minlength=int(np.prod(shape))).reshape(shape)
        out.setflags(write=False)
        return out

    def coarse_axes(self, columns: tuple[str, ...], sigma: float) -> tuple[Axis, ...] | None:
        return None

    def start(self) -> Estimates:
        return np.full(self._cell.shape[1:], self.row_count / max(self._cell[0].size, 1))

    def used(self) -> list[Measurement]:
        return sorted(self.measurements, key=lambda m: -m.sigma)

    def fitted(self) -> Estimates:
        model = self.start()
        for _ in range(ROUNDS):
            for m in self.used():
                model = self.step(model, m)
                model = model * (self.row_count / model.sum())
        return model

    def step(self, model: Estimates, m: Measurement) -> Estimates:
        """``model`` with the sums over the parts of ``m`` that ``m`` says."""
        part, size = np.zeros(model.size, dtype=np.int64), 1
        for axis in m.axes:
            labels = axis.labels[tuple(self.flat(c) for c in axis.columns)]
            parts = 2 if axis.difference else axis.size
            part, size = part * parts + labels, size * parts
        sums = np.bincount(part, weights=model.reshape(-1), minlength=size)
        wanted = np.maximum(of_both_values(m, sums), TRACE)
        return (model.reshape(-1) * (wanted / np.maximum(sums, TRACE))[part]).reshape(model.shape)

    def flat(self, column: str) -> np.ndarray:
        """The code of ``column`` in every cell."""
        return self._cell[self._columns.index(column)].reshape(-1)

    def flat_index(self, columns: tuple[str, ...], shape: tuple[int, ...]) -> np.ndarray:
        """The cell of ``columns`` in which every cell lies."""
        out = np.zeros(self._cell[0].size, dtype=np.int64)
        for column, size in zip(columns, shape, strict=True):
            out = out * size + self.flat(column)
        return out


def of_both_values(m: Measurement, sums: np.ndarray) -> np.ndarray:
    """The measured counts of parts; where an axis is a difference d, what the model has there, moved to that d."""
    values, shape = m.values.astype(np.float64), [2 if a.difference else a.size for a in m.axes]
    model = sums.reshape(shape)
    for i, axis in enumerate(m.axes):
        if axis.difference:
            others = tuple(j for j, a in enumerate(m.axes) if j != i and a.difference)
            assert not others, "one difference at a time"
            both = model.sum(axis=i, keepdims=True)
            values = np.concatenate([both + values, both - values], axis=i) / 2
    return values.reshape(-1)
