"""The cells that some conditions tell apart, what a row of each counts, and products of known counts over them. Public.

All of it in whole numbers, so that what is known and what is measured make up a question exactly.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product
from math import prod

import numpy as np
import numpy.typing as npt

from dpsql.hypothesis import Axis
from dpsql.hypothesis.classes import Classes
from dpsql.query import Counts, Estimates, Factor
from dpsql.session.own.by_value.stretch import Stretch

MOST_TOLD_APART = 512
"""Of the cells that the conditions tell apart together; what tells more apart is released as it is."""
MOST_LEVELS = 1 << 14
"""The same where rows count by fractions, of which each column has many."""

Known = Callable[[Sequence[tuple[Factor, ...]], Stretch | None], list[tuple[float, float] | None]]
"""Of each product, estimate and sd (counts) of the rows in all of its factors, of one or two columns, or of all rows,
and in the stretch; ``None`` where nothing is known."""
Function = tuple[tuple[int, int], ...]
"""(column, class) pairs: the rows that are in all of these classes; of a column whose rows count by fractions, class 0
stands for what they count."""


@dataclass(frozen=True, eq=False)
class Cells:
    """``labels``: of each column the class of every value; ``weights``: what a row of such classes counts, int64 with
    one axis for each column, in 1 / ``unit``. ``fractions``: by column, factors by which rows count other than 0 or 1.
    With a ``stretch`` of values the last axis is whether a row is outside or inside of it.
    """

    columns: tuple[str, ...]
    labels: tuple[Counts, ...]
    weights: Counts
    unit: int
    fractions: Mapping[int, Factor]
    stretch: Stretch | None = None

    @classmethod
    def of(cls, factors: Sequence[Factor], known: Known, stretch: Stretch | None = None) -> "Cells | None":
        """The cells of a product of factors over disjoint columns, the class of most rows first in each column: counts
        of the others are known better. ``None`` where there are too many, or fractions over several columns.

        >>> half = Factor(("age",), np.array([0, 1, 2]), 2)
        >>> adult = Factor(("age2",), np.array([0, 1]))
        >>> cells = Cells.of([half, adult], lambda products, stretch: [None] * len(products))
        >>> cells.weights.tolist(), cells.unit
        ([[0, 0], [0, 1], [0, 2]], 2)
        """
        parts = [f for f in factors if f.unit > 1]
        if any(len(f.columns) > 1 for f in parts):
            return None
        classes = Classes.of(factors, MOST_LEVELS if parts else MOST_TOLD_APART)
        if classes is None:
            return None
        fractions = {classes.columns.index(f.columns[0]): f for f in parts}
        labels, weights = list(classes.labels), classes.weights
        for axis, column in enumerate(classes.columns):
            if axis not in fractions:
                order = _largest_first(column, labels[axis], known)
                labels[axis] = np.argsort(order)[labels[axis]]
                weights = weights.take(order, axis=axis)
        unit = prod(f.unit for f in parts)
        whole = np.rint(weights * unit).astype(np.int64)
        if stretch is not None:
            whole = np.stack([np.zeros_like(whole), whole], axis=-1)
        return cls(classes.columns, tuple(labels), whole, unit, fractions, stretch)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The classes as parts of their columns: the first axes."""
        return tuple(Axis((c,), a, int(a.max()) + 1) for c, a in zip(self.columns, self.labels, strict=True))

    def functions(self, degree: int) -> list[Function]:
        """Products of at most ``degree`` columns' classes, the first class of each left out, or of their fractions."""
        out: list[Function] = []
        for number in range(degree + 1):
            for chosen in combinations(range(self.weights.ndim), number):
                picks = product(*((0,) if c in self.fractions else range(1, self.weights.shape[c]) for c in chosen))
                out += [tuple(zip(chosen, picked, strict=True)) for picked in picks]
        return out

    def over(self, function: Function) -> Counts:
        """The function's values over the cells, flat: int64, in 1 / ``unit``."""
        out, chosen = np.ones(self.weights.shape, dtype=np.int64), dict(function)
        for axis, size in enumerate(self.weights.shape):
            along = [size if a == axis else 1 for a in range(out.ndim)]
            if axis in self.fractions:
                factor = self.fractions[axis]
                first = np.unique(self.labels[axis], return_index=True)[1]
                out *= factor.weights[first].reshape(along) if axis in chosen else factor.unit
            elif axis in chosen:
                out *= (np.arange(size) == chosen[axis]).reshape(along)
        return out.reshape(-1)

    @property
    def ends(self) -> npt.NDArray[np.bool_]:
        """The cells, flat, in which fractions are least or largest: a product of them is largest in one of these."""
        out = np.ones(self.weights.shape, dtype=bool)
        for axis, factor in self.fractions.items():
            levels = factor.weights[np.unique(self.labels[axis], return_index=True)[1]]
            kept = (levels == levels.min()) | (levels == levels.max())
            out &= kept.reshape([len(levels) if a == axis else 1 for a in range(out.ndim)])
        return out.reshape(-1)

    def factors(self, function: Function) -> tuple[Factor, ...]:
        """The function as factors of a query, or of one about ``values_of`` the stretch."""
        return tuple(chain.from_iterable(self._factors(column, number) for column, number in function))

    def values_of(self, function: Function) -> Stretch | None:
        """The stretch, if the function is of the rows in it."""
        return self.stretch if len(self.columns) in dict(function) else None

    def _factors(self, column: int, number: int) -> tuple[Factor, ...]:
        if column == len(self.columns):
            return () if self.stretch is None else self.stretch.factors
        if column in self.fractions:
            return (self.fractions[column],)
        return (Factor((self.columns[column],), (self.labels[column] == number).astype(np.int64)),)


def _largest_first(column: str, labels: Counts, known: Known) -> list[int]:
    number = int(labels.max()) + 1
    found = known([(Factor((column,), (labels == n).astype(np.int64)),) for n in range(number)], None)
    rows: Estimates = np.array([0.0 if f is None else f[0] for f in found])
    return sorted(range(number), key=lambda n: -rows[n])
