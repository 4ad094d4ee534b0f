"""Many queries over one contingency at once: each factor that several of them share is summed once.

The groups of one statement differ in the factors of the grouped columns alone; their counts are one array.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from dpsql.query.linear import Counts, Factor, LinearQuery

MOST_CHOICES = 1 << 20
"""Combinations of factors at most that are counted together; queries that would make more are counted one by one."""


def floors(queries: Sequence[LinearQuery], contingency: Counts) -> Counts:
    """``LinearQuery.floor`` of each query; int64, shape (queries,), in rows.

    ``queries``: counts of finite columns, at least one, all of one scope; those of several outlines are counted one by
    one. ``contingency``: int64 counts of their ``shape``. Sums of integers in another order: the same numbers.
    """
    if len({q.outline for q in queries}) > 1:
        return np.array([q.floor(contingency) for q in queries], dtype=np.int64)
    choices = [_distinct([q.factors[i] for q in queries]) for i in range(len(queries[0].factors))]
    if len(queries) == 1 or prod(len(factors) for factors, _ in choices) > MOST_CHOICES:
        return np.array([q.floor(contingency) for q in queries], dtype=np.int64)
    table = contingency.reshape([factors[0].weights.size for factors, _ in choices])
    most_summed_first = sorted(range(len(choices)), key=lambda i: len(choices[i][0]) / table.shape[i])
    for axis in most_summed_first:
        table = _contracted(table, axis, choices[axis][0])
    counted = table[tuple(numbers for _, numbers in choices)]
    return np.broadcast_to(counted, len(queries)) // np.array([q.unit for q in queries], dtype=np.int64)


def _distinct(factors: Sequence[Factor]) -> tuple[list[Factor], list[int]]:
    """The different factors among these, and for each of these its place among them."""
    places: dict[bytes, int] = {}
    found: list[Factor] = []
    numbers = []
    for factor in factors:
        number = places.setdefault(factor.digest, len(found))
        if number == len(found):
            found.append(factor)
        numbers.append(number)
    return found, numbers


def _contracted(table: Counts, axis: int, factors: Sequence[Factor]) -> Counts:
    """The axis, summed with the weights of each factor: as long as there are factors."""
    weights = np.stack([f.weights.reshape(-1) for f in factors])
    if (np.count_nonzero(weights, axis=1) == 1).all():  # a group of one value: nothing to sum
        cells = np.argmax(weights != 0, axis=1)
        shape = [1] * table.ndim
        shape[axis] = len(factors)
        taken: Counts = np.take(table, cells, axis=axis) * weights[np.arange(len(factors)), cells].reshape(shape)
        return taken
    return np.moveaxis(np.tensordot(weights, table, axes=([1], [axis])), 0, axis)
