"""A local model: counts over parts of a few columns, and queries against it. Public.

Most questions meet columns that were asked about before; the model of a set of columns is made once and queried often.
"""

from collections.abc import Sequence
from operator import itemgetter

import numpy as np
import numpy.typing as npt

from dpsql.hypothesis.measurement import Labels
from dpsql.hypothesis.partition import part_sums, summed_parts
from dpsql.memo import Memo
from dpsql.query import COLUMNS, Choices, Estimates, Factor, Matrix, OneCells, Row, one_cells, sum_of_one

_TINY = 1e-9
_LARGE = 1 << 12
_FIRST = itemgetter(0)
Columns = tuple[str, ...]


class Sides:
    """One ``Side`` for each column and partition, shared by all models over them; remembers weights of factors."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bytes], Side] = {}
        self._weights: Memo[Estimates] = Memo()

    def side(self, column: str, labels: Labels, one: Estimates) -> "Side":
        """The side of ``column`` cut by ``labels``; ``one``: the column's clean counts, always the same."""
        key = (column, labels.tobytes())
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = Side(len(self._known), labels, one, self._weights)
        return known

    def clear(self) -> None:
        self._known.clear()
        self._weights.clear()


class Side:
    """The parts of one column; within a part, cells share as in the 1-way table."""

    def __init__(self, number: int, labels: Labels, one: Estimates, weights: Memo[Estimates]) -> None:
        self.labels = labels
        self.size = int(labels.max()) + 1
        self.within = one / np.maximum(part_sums(labels, one), _TINY)[labels]
        self._number = number
        self._weights = weights

    def weights(self, factor: Factor) -> Estimates:
        """Each part's mean weight of a factor over this column, in units of the factor: float64, (parts,)."""
        key = (self._number, factor.digest)
        known = self._weights.get(key)
        if known is None:
            cells = factor.stretch
            mean = factor.weights[cells] * self.within[cells]
            known = np.bincount(self.labels[cells], weights=mean, minlength=self.size).astype(np.float64)
            if known.size <= _LARGE:
                self._weights.put(key, known)
        return known

    def row_of(self, factor: Factor) -> Row:
        """``weights`` of a factor, which may be of one cell alone."""
        if factor.point is None:
            return self.weights(factor)
        return int(self.labels[factor.point]), float(factor.point_weight * self.within[factor.point])

    def weights_of_all(self, factors: Sequence[Factor]) -> Matrix:
        """``weights`` of each factor, (factors, parts); those of one cell together, which is less work than to ask."""
        found = one_cells(factors)
        if found is None:
            return np.stack([self.weights(f) for f in factors])
        return OneCells(self.labels[found.cells], found.weights * self.within[found.cells], self.size)


class LocalTable:
    """Counts over parts of a few columns: ``tensor`` has one axis for each of ``sides``.

    ``blurred`` says of each axis whether its parts are coarser than those of the measured pairs.
    """

    def __init__(self, sides: Sequence[Side], tensor: Estimates, blurred: Sequence[bool] = ()) -> None:
        self.sides = sides
        self.tensor = tensor
        self.blurred = blurred

    def cuts(self, columns: Columns, factors: Sequence[Factor]) -> bool:
        """Whether a part that is coarser than the measured ones is neither wholly in nor wholly out."""
        return any(self._cuts(columns.index(f.columns[0]), f) for f in factors)

    def cut_by(self, asked: Choices) -> npt.NDArray[np.bool_]:
        """``cuts`` of each product; place i of ``asked`` is over the column of axis i."""
        out = np.zeros(len(asked), dtype=bool)
        for axis, numbers in enumerate(asked.numbers):
            if self.blurred[axis]:
                out |= np.array([self._cuts(axis, f) for f in asked.factors[axis]])[numbers]
        return out

    def _cuts(self, axis: int, factor: Factor) -> bool:
        if not self.blurred[axis]:
            return False
        labels = self.sides[axis].labels
        of_part = np.zeros(self.tensor.shape[axis], dtype=np.int64)
        of_part[labels] = factor.weights
        return bool((of_part[labels] != factor.weights).any())

    def contracted(self, asked: Choices) -> Estimates | None:
        """``contract`` of each product; place i of ``asked`` is over the column of axis i. ``None``: too many."""
        if asked.is_one:
            rows = [side.row_of(f) for side, f in zip(self.sides, asked.product(0), strict=True)]
            return np.array([sum_of_one(self.tensor, rows)])
        weights = [side.weights_of_all(here) for side, here in zip(self.sides, asked.factors, strict=True)]
        return asked.summed(self.tensor, weights)

    def in_and_out_of(self, asked: Choices) -> Estimates | None:
        """``in_and_out`` of each product, shape (products, 2, .., 2); ``None`` where there are too many."""
        inside = [
            self._weights(axis, here) / np.array([[f.unit] for f in here]) for axis, here in enumerate(asked.factors)
        ]
        return asked.summed(self.tensor, [np.stack([1.0 - w, w], axis=1) for w in inside])

    def _weights(self, axis: int, factors: Sequence[Factor]) -> Estimates:
        """Each part's mean weight of each factor, (factors, parts)."""
        return np.stack([self.sides[axis].weights(f) for f in factors])

    def in_and_out(self, factors: Sequence[Factor]) -> Estimates:
        """Counts of rows out (0) and in (1) of each axis' factor, shape (2,) * axes."""
        out = self.tensor
        for side, f in zip(self.sides, factors, strict=True):
            inside = side.weights(f) / f.unit
            out = np.tensordot(out, np.stack([1.0 - inside, inside]), axes=([0], [1]))
        return out

    def by_classes(self, labels: Sequence[Labels]) -> Estimates:
        """Counts of rows of each combination of classes; ``labels``: the class of every cell of each axis."""
        out = self.tensor
        for side, found in zip(self.sides, labels, strict=True):
            shares = np.zeros((int(found.max()) + 1, side.size))
            np.add.at(shares, (found, side.labels), side.within)
            out = np.tensordot(out, shares, axes=([0], [1]))
        return out

    def contract(self, columns: Columns, factors: Sequence[Factor]) -> float:
        """Sum of the product of integer weights over the model's cells; each factor has a column of it, or more."""
        if len(factors) == len(columns):  # one column each
            out, by_column = self.tensor, dict(zip(map(_FIRST, map(COLUMNS, factors)), factors, strict=True))
            for axis in range(len(columns) - 1, -1, -1):
                out = out @ self.sides[axis].weights(by_column[columns[axis]])
            return float(out)
        order: list[int] = []
        full = np.ones(())
        for f in factors:
            axes = [columns.index(c) for c in f.columns]
            part = f.weights.astype(np.float64)
            for i, axis in enumerate(axes):
                shape = [1] * len(axes)
                shape[i] = -1
                part = part * self.sides[axis].within.reshape(shape)
            for i, axis in enumerate(axes):
                part = summed_parts(part, self.sides[axis].labels, i)
            full = np.multiply.outer(full, part)
            order += axes
        return float((full.transpose(np.argsort(order)) * self.tensor).sum())
