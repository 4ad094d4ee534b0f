"""Parts and wholes: which question counts some of the rows that another counts, and what several count together.

Errors of answers are not independent where questions share rows. What is shared is public and written in their weights.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from dpsql.query.linear import Factor, Key, LinearQuery

MOST_LOOKED_AT = 1 << 22
"""Cells of several factors by queries: of more the factors are looked at one by one."""


def is_part(part: LinearQuery, whole: LinearQuery) -> bool:
    """Whether every row counts at most as much for ``part`` as for ``whole``, as far as single factors tell.

    >>> old, young = Factor(("age",), np.array([0, 0, 1])), Factor(("age",), np.array([1, 0, 0]))
    >>> grown = LinearQuery("t", (Factor(("age",), np.array([0, 1, 1])),))
    >>> is_part(LinearQuery("t", (old, Factor(("sex",), np.array([1, 0])))), grown)
    True
    >>> is_part(LinearQuery("t", (young,)), grown)
    False
    """
    if part.table != whole.table or part.keyed is not None or whole.keyed is not None:
        return False
    if part.value != whole.value or not set(whole.intervals) <= set(part.intervals):
        return False
    own = {f.columns: f for f in part.factors}
    return all(f.columns in own and _below(own[f.columns], f) for f in whole.factors)


def _below(part: Factor, whole: Factor) -> bool:
    return bool((part.weights * whole.unit <= whole.weights * part.unit).all())


def most_counted(queries: Sequence[LinearQuery]) -> int:
    """In how many of these queries of one outline, which list strings, one row may count: at most so many.

    >>> from dpsql.query import KeyedFactor
    >>> def listing(word, sex):
    ...     keyed = KeyedFactor(("word",), ((word,),), (), np.array([1]))
    ...     return LinearQuery("t", (Factor(("sex",), np.array(sex)),), keyed)
    >>> most_counted([listing("a", [1, 0]), listing("b", [1, 0]), listing("b", [0, 1])])
    1
    >>> most_counted([listing("a", [1, 0]), listing("a", [1, 1])])
    2
    """
    by_key: dict[Key, list[LinearQuery]] = {}
    for query in queries:
        for key in dict.fromkeys(query.keyed.strings if query.keyed is not None else ()):
            by_key.setdefault(key, []).append(query)
    together = {tuple([q.digest for q in of]): of for of in by_key.values()}  # most keys are in the same queries
    return max((_most_in_a_cell(of) for of in together.values()), default=1)


def _most_in_a_cell(queries: Sequence[LinearQuery]) -> int:
    """The most of these queries that one cell of their factors counts for, or a number that is not below it."""
    counted = [
        np.stack([f.weights.reshape(-1) > 0 for f in fs]) for fs in zip(*[q.factors for q in queries], strict=True)
    ]
    counted = [np.unique(one, axis=1).astype(np.int64) for one in counted]
    if not counted:
        return len(queries)
    if prod(one.shape[1] for one in counted) * len(queries) > MOST_LOOKED_AT:
        return min(int(one.sum(axis=0).max()) for one in counted)
    cells = np.ones((len(queries), 1), dtype=np.int64)
    for one in counted:
        cells = (cells[:, :, None] * one[:, None, :]).reshape(len(queries), -1)
    return int(cells.sum(axis=0).max())


def union(queries: Sequence[LinearQuery]) -> LinearQuery | None:
    """What the queries count together, if that is a product as well and no row counts for two of them; else ``None``.

    The groups of a GROUP BY are such queries: each is what all have in common, times one cell of the groups' columns.

    >>> by_age = [LinearQuery("t", (Factor(("age",), np.array(w)),)) for w in ([1, 0, 0], [0, 0, 1])]
    >>> union(by_age).factors[0].weights
    array([1, 0, 1])
    >>> union([by_age[0], by_age[0]]) is None
    True
    """
    first = queries[0]
    if any(q.keyed is not None or q.outline != first.outline for q in queries) or not first.factors:
        return None
    sides = [{q.factors[i].digest: q.factors[i] for q in queries} for i in range(len(first.factors))]
    if prod(len(s) for s in sides) != len(queries) or len({q.digest for q in queries}) != len(queries):
        return None
    factors: list[Factor] = []
    for side in sides:
        whole = _sum(list(side.values()))
        if whole is None:
            return None
        if (whole.weights < whole.unit).any():  # a condition that all rows fulfil is none
            factors.append(whole)
    return LinearQuery(first.table, tuple(factors), None, first.value, first.intervals)


def _sum(factors: Sequence[Factor]) -> Factor | None:
    """The sum of factors over the same columns; ``None`` when a cell counts more than once."""
    unit = factors[0].unit
    if any(f.unit != unit for f in factors):
        return None
    weights = np.sum([f.weights for f in factors], axis=0)
    return None if (weights > unit).any() else Factor(factors[0].columns, weights, unit)
