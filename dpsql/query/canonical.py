"""The normal form of linear queries: equal questions become equal keys.

A factor that does not depend on a column drops it; an indicator that is a product over columns is split; factors are
sorted by table order; keys are sorted, keys of weight 0 dropped.
"""

from collections.abc import Sequence
from math import gcd

import numpy as np

from dpsql.domain import TableDomain
from dpsql.query.crosstab import Crosstab
from dpsql.query.linear import Factor, Key, KeyedFactor, LinearQuery, Weights

SPLIT_CELLS = 1 << 16
"""Larger joint factors are not searched for a product form: the search would cost more than the query."""


def linear_query(table: TableDomain, factors: Sequence[Factor], keyed: KeyedFactor | None = None) -> LinearQuery | None:
    """The canonical query, or ``None`` when every weight is 0 (the answer is exactly 0 on every table).

    Factors must have disjoint columns in table order. Public.

    >>> from dpsql.domain import BooleanDomain
    >>> t = TableDomain("t", (BooleanDomain("a", nullable=False), BooleanDomain("b", nullable=False)))
    >>> both = Factor(("a", "b"), np.array([[0, 0], [0, 1]]))
    >>> q = linear_query(t, [both])
    >>> [f.columns for f in q.factors]
    [('a',), ('b',)]
    """
    out: list[Factor] = []
    if keyed is not None:
        keyed = _canonical_keyed(keyed)
        if not len(keyed.strings):
            return None
        if not keyed.text_columns:
            out.extend(_split(Factor(keyed.columns, keyed.weights.sum(axis=0), keyed.unit)))
            keyed = None
    for f in factors:
        if not f.weights.any():
            return None
        out.extend(_split(_reduced(f)))
    out = [f for f in out if f.columns or f.unit != 1]
    out.sort(key=lambda f: [table.order[c] for c in f.columns])
    return LinearQuery(table.name, tuple(out), keyed)


def canonical_products(table: TableDomain, products: Sequence[tuple[Factor, ...]]) -> list[tuple[list[int], Crosstab]]:
    """The canonical queries of products, those of one outline together, each with its place among ``products``.

    Products of which every weight is 0 are in none.
    """
    known: dict[bytes, tuple[Factor, ...] | None] = {}
    found: dict[tuple[tuple[str, ...], ...], tuple[list[int], list[LinearQuery]]] = {}
    for place, factors in enumerate(products):
        out: list[Factor] = []
        for f in factors:
            if f.digest not in known:
                query = linear_query(table, [f])
                known[f.digest] = None if query is None else query.factors
            own = known[f.digest]
            if own is None:
                break
            out += own
        else:
            out.sort(key=lambda f: [table.order[c] for c in f.columns])
            places, queries = found.setdefault(tuple([f.columns for f in out]), ([], []))
            places.append(place)
            queries.append(LinearQuery(table.name, tuple(out)))
    return [(places, Crosstab.of(queries)) for places, queries in found.values()]


def _lowest_terms(weights: Weights, unit: int) -> tuple[Weights, int]:
    if unit == 1:
        return weights, 1
    common = gcd(unit, int(np.gcd.reduce(weights, axis=None)))
    return weights // common, unit // common


def _reduced(f: Factor) -> Factor:
    """Lowest terms; axes along which the weights are constant are dropped."""
    weights, unit = _lowest_terms(f.weights, f.unit)
    columns = f.columns
    for axis in range(weights.ndim - 1, -1, -1):
        first = weights.take([0], axis=axis)
        if (weights == first).all():
            weights = first.squeeze(axis)
            columns = columns[:axis] + columns[axis + 1 :]
    return Factor(columns, np.ascontiguousarray(weights), unit)


def _split(f: Factor) -> list[Factor]:
    """Single-column factors of an indicator that is a product, the rest together."""
    if f.unit != 1 or f.weights.ndim < 2 or f.weights.size > SPLIT_CELLS:
        return [f]
    weights, columns = f.weights, f.columns
    out: list[Factor] = []
    axis = 0
    while axis < weights.ndim and weights.ndim > 1:
        others = tuple(i for i in range(weights.ndim) if i != axis)
        own = weights.max(axis=others)
        rest = weights.max(axis=axis)
        shape = [1] * weights.ndim
        shape[axis] = -1
        if (weights == own.reshape(shape) * np.expand_dims(rest, axis)).all():
            out.append(Factor((columns[axis],), np.ascontiguousarray(own)))
            weights, columns = rest, columns[:axis] + columns[axis + 1 :]
        else:
            axis += 1
    out.append(Factor(columns, np.ascontiguousarray(weights)))
    return out


def _canonical_keyed(k: KeyedFactor) -> KeyedFactor:
    weights, unit = _lowest_terms(k.weights, k.unit)
    used = weights.reshape(len(k.strings), -1).any(axis=1) if len(k.strings) else np.zeros(0, dtype=bool)
    order = sorted(np.flatnonzero(used).tolist(), key=lambda i: sort_key(k.strings[i]))
    weights = weights[order]
    columns = k.columns
    for axis in range(weights.ndim - 1, 0, -1):
        first = weights.take([0], axis=axis)
        if weights.size and (weights == first).all():
            weights = first.squeeze(axis)
            columns = columns[: axis - 1] + columns[axis:]
    keys = tuple(k.strings[i] for i in order)
    return KeyedFactor(k.text_columns, keys, columns, np.ascontiguousarray(weights), unit)


def sort_key(key: Key) -> tuple[tuple[bool, str], ...]:
    """Order of keys: by string, NULL last."""
    return tuple((part is None, part or "") for part in key)
