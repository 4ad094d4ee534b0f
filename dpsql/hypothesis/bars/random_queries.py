"""Random public queries, from whose simulated errors bars are learned. Public."""

from collections import Counter
from collections.abc import Sequence
from math import prod

import numpy as np

from dpsql.domain import TableDomain
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.bars.numbers import Contingency
from dpsql.query import Factor, LinearQuery, Weights, linear_query

_RANGES, _POINTS = 0.5, 0.2  # shares of random conditions; the rest are lists
_MOST_CELLS = 1 << 18
"""Columns with more combinations of values are not drawn rows of."""


def random_queries(
    coverage: Coverage, number: int, count: int, rng: np.random.Generator, most_scopes: int = 0
) -> list[LinearQuery]:
    """Up to ``count`` conjunctions over ``number`` columns that were all measured with each other; distinct.

    ``most_scopes``: different sets of columns at most, each a model that every simulation fits; 0 for any number.
    """
    names = [c.name for c in coverage.table.finite]
    found: dict[str, LinearQuery] = {}
    taken: dict[tuple[str, ...], None] = {}
    for _ in range(3 * count if number <= len(names) else 0):
        chosen = sorted(rng.choice(len(names), size=number, replace=False).tolist())
        columns = tuple(names[i] for i in chosen)
        if len(found) >= count:
            break
        if 0 < most_scopes <= len(taken) and columns not in taken:
            columns = list(taken)[int(rng.integers(len(taken)))]
        if coverage.covers(columns):
            taken[columns] = None
            factors = [Factor((c,), _random_weights(coverage.table, c, rng)) for c in columns]
            query = linear_query(coverage.table, factors)
            if query is not None and len(query.scope) == number:
                found[query.digest] = query
    return list(found.values())


def queries_of_rows(
    coverage: Coverage,
    scopes: Sequence[tuple[str, ...]],
    count: int,
    rng: np.random.Generator,
    contingency: Contingency,
) -> list[LinearQuery]:
    """Up to ``count`` conjunctions that a row of the model meets, each over one of ``scopes``; distinct.

    Conditions at random mostly meet no row at all where columns follow from one another, and noise is cut away there.
    Analysts ask about what exists: a carrier and where it flies to.
    """
    table = coverage.table
    found: dict[str, LinearQuery] = {}
    drawn = Counter(rng.integers(len(scopes), size=count).tolist()) if scopes else Counter[int]()
    for place, number in sorted(drawn.items()):
        columns = scopes[place]
        shape = table.shape(columns)
        if prod(shape) > _MOST_CELLS:
            continue
        rows = np.maximum(np.asarray(contingency(columns), dtype=np.float64).reshape(-1), 0.0)
        if not rows.any():
            continue
        for cell in rng.choice(len(rows), size=number, p=rows / rows.sum()).tolist():
            places = [int(i) for i in np.unravel_index(cell, shape)]
            factors = [Factor((c,), _met(table, c, i, rng)) for c, i in zip(columns, places, strict=True)]
            query = linear_query(table, factors)
            if query is not None and query.scope == columns:
                found[query.digest] = query
    return list(found.values())


def _met(table: TableDomain, column: str, place: int, rng: np.random.Generator) -> Weights:
    """One value alone, or of an ordered column half of the time a range that ends at it."""
    domain = table.finite_domain(column)
    out = np.zeros(domain.size, dtype=np.int64)
    out[place] = 1
    if domain.ordered and rng.random() < _RANGES:
        low, high = sorted((place, int(rng.integers(domain.size))))
        out[low : high + 1] = 1
    return out


def _random_weights(table: TableDomain, column: str, rng: np.random.Generator) -> Weights:
    domain = table.finite_domain(column)
    size, kind = domain.size, rng.random()
    out = np.zeros(size, dtype=np.int64)
    if domain.ordered and kind < _RANGES:
        low, high = sorted(rng.integers(0, size, 2).tolist())
        out[low : high + 1] = 1
    elif kind < _RANGES + _POINTS or size <= 2:
        out[int(rng.integers(size))] = 1
    else:
        out[rng.choice(size, size=int(rng.integers(2, max(3, size // 2 + 1))), replace=False)] = 1
    return out
