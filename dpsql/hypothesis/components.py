"""Pure interactions: what overlapping contingencies say together about each set of columns. Post-processing, public.

A contingency splits into orthogonal parts, one for each subset of its columns: the part of a subset is its marginal
with all means taken out (the residuals of analysis of variance). Parts of different subsets carry independent noise,
so generalised least squares over all contingencies is a weighted mean for each subset on its own.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod, sqrt

import numpy as np

from dpsql.hypothesis.measurement import Measurement
from dpsql.query import Estimates

Columns = tuple[str, ...]
PURE_COLUMNS = 5
"""A contingency of k columns has 2^k - 1 parts."""
PURE_CELLS = 1 << 17
"""Larger contingencies are not taken apart."""


@dataclass(frozen=True, eq=False)
class Interaction:
    """The interaction of ``columns`` alone: ``values`` in counts, every mean along an axis 0, noise sd ``sigma``."""

    columns: Columns
    values: Estimates
    sigma: float


def pure(table: Estimates) -> Estimates:
    """``table`` without its means along each axis: the interaction of all its columns, nothing of fewer columns.

    >>> pure(np.array([[3.0, 1.0], [1.0, 3.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    for axis, size in enumerate(table.shape):
        table = table - np.add.reduce(table, axis=axis, keepdims=True) / size  # as ``mean``, which takes twice as long
    return table


def pure_sigma(sigma: float, shape: Sequence[int]) -> float:
    """Sd of a cell of ``pure(noise)`` for independent cell noise of sd ``sigma``."""
    return sigma * sqrt(prod(1.0 - 1.0 / n for n in shape))


def pure_norms(columns: Columns, weights: Estimates) -> list[tuple[Columns, float]]:
    """Each subset of ``columns`` (one axis each) with the squared norm of its part of ``weights``; the empty one first.

    What a component of the subset with cells of variance 1 adds to the variance of the weighted sum of all cells.

    >>> pure_norms(("a",), np.array([1.0, 0.0]))
    [((), 0.25), (('a',), 0.5)]
    """
    found = []
    for size in range(len(columns) + 1):
        for kept in combinations(range(len(columns)), size):
            others = tuple(i for i in range(len(columns)) if i not in kept)
            found.append((tuple(columns[i] for i in kept), float((pure(weights.mean(axis=others)) ** 2).sum())))
    return found


def pure_variance(
    asked: Mapping[str, tuple[float, float]],
    known: Mapping[frozenset[str], float],
    sizes: Mapping[str, int],
    most: int,
) -> float:
    """Variance of a query, in units of a single count's, from the pure interactions of its columns.

    ``asked``: for each column the sum of its squared weights and their mean; ``known``: ``pure_precisions``. Least
    squares over all contingencies; interactions that none holds, or of more than ``most`` columns, add nothing.
    """
    squares = 0.0
    for number in range(1, min(len(asked), most) + 1):
        for kept in combinations(asked, number):
            precision = known.get(frozenset(kept), 0.0)
            if precision > 0.0:
                inside = prod(asked[c][0] - sizes[c] * asked[c][1] ** 2 for c in kept)
                squares += inside * prod(asked[c][1] ** 2 for c in asked if c not in kept) / precision
    return max(squares, 0.0)


def told(sizes: Mapping[str, int], differences: Collection[str], precision: float) -> Iterator[tuple[Columns, float]]:
    """What a contingency over the columns of ``sizes`` (cells of each) tells: each set of them with 1 / sigma^2 there.

    ``differences``: columns measured as the difference of their two values; ``precision``: 1 / sigma^2 of its numbers.

    >>> list(told({"a": 5, "b": 2}, ("b",), 1.0))
    [(('b',), 0.4), (('a', 'b'), 2.0)]
    """
    for number in range(1, len(sizes) + 1):
        for kept in combinations(sizes, number):
            if set(differences).issubset(kept):
                cells = prod(n for c, n in sizes.items() if c not in kept)
                yield kept, precision * 2.0 ** len(differences) / cells


def precisions(measurements: Sequence[Measurement]) -> dict[frozenset[str], float]:
    """1 / sigma^2 of each component that ``components`` finds, by its columns."""
    found: dict[frozenset[str], float] = {}
    for m in measurements:
        for kept, weight in told(*_shape(m), m.sigma**-2):
            found[frozenset(kept)] = found.get(frozenset(kept), 0.0) + weight
    return found


def _shape(m: Measurement) -> tuple[dict[str, int], set[str]]:
    """(cells of each column, columns that are differences)."""
    return {a.columns[0]: a.labels.size for a in m.axes}, {a.columns[0] for a in m.axes if a.difference}


def components(measurements: Sequence[Measurement], order: dict[str, int]) -> list[Interaction]:
    """The components of contingencies over single columns, every cell its own part, by size and then by ``order``.

    The mean over the contingencies that contain a set of columns is weighted by precision: the generalised least
    squares estimate, because their parts are orthogonal. Sets of one value only have no component.
    A difference of two values is about sets that contain its column only.
    """
    weighted: dict[Columns, Estimates] = {}
    precision: dict[Columns, float] = {}
    for m in measurements:
        table = _of_cells(m)
        for kept, weight in told(*_shape(m), m.sigma**-2):
            in_order = sorted(range(len(kept)), key=lambda i: order[kept[i]])
            columns = tuple(kept[i] for i in in_order)
            summed = tuple(i for i, c in enumerate(m.scope) if c not in kept)
            part = weight * pure(table.sum(axis=summed)).transpose(in_order)
            weighted[columns] = weighted[columns] + part if columns in weighted else part
            precision[columns] = precision.get(columns, 0.0) + weight
    found = [Interaction(c, weighted[c] / precision[c], precision[c] ** -0.5) for c in weighted]
    found = [c for c in found if min(c.values.shape) > 1]
    return sorted(found, key=lambda c: (len(c.columns), [order[n] for n in c.columns]))


def _of_cells(m: Measurement) -> Estimates:
    """Values over every cell, of a contingency that has the same pure parts.

    A difference d of two cells stands for d/2 and -d/2: the noise that two counts with half its variance leave there.
    """
    table = m.values.astype(np.float64)
    for i, axis in enumerate(m.axes):
        if axis.difference:
            table = np.concatenate([table, -table], axis=i) / 2
    return table


def separable(measurement: Measurement, most: int = PURE_COLUMNS) -> bool:
    """Whether ``components`` can split the measurement: at most so many single columns, cell by cell."""
    if len(measurement.axes) > most or measurement.values.size > PURE_CELLS:
        return False
    return all(len(a.columns) == 1 and (a.is_cells or a.difference) for a in measurement.axes)
