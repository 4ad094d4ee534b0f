"""Queries of one outline in families: of each of these a row is in one query at most, as in a GROUP BY's cells. Public.

An average of a column with NULLs asks how many values there are and for their sum, a sum of numbers of both signs for
those above 0 and those below: a row is in two of them, or counts by fractions. What all of them tell apart is as many
parts as the column has values, and every one of them would have noise.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from dpsql.query import LinearQuery
from dpsql.session.own.residual import groups_of, split

MOST_FAMILIES = 8
"""Of one release; queries of more are measured as they are told apart."""

Family = tuple[LinearQuery, ...]


def families(queries: Sequence[LinearQuery], *, broad_apart: bool = False) -> list[Family]:
    """The queries, which are counts of finite columns, in their order; all in one where they make too many families.

    ``broad_apart``: whether those of most cells are families of their own where the others are one then, as a count of
    all values is beside the counts of each.
    """
    alike: dict[object, list[LinearQuery]] = {}
    for query in queries:
        fractions = tuple([f.digest if f.unit > 1 or len(f.columns) != 1 else None for f in query.factors])
        alike.setdefault(fractions, []).append(query)
    found: list[Family] = []
    for same in alike.values():
        found += _apart(same, MOST_FAMILIES - 1 if broad_apart else 0)
        if len(found) > MOST_FAMILIES:
            return [tuple(queries)]
    return found


def _apart(queries: Sequence[LinearQuery], most: int) -> list[Family]:
    """All in one, or up to ``most`` of most cells each in one of its own, or every query by itself."""
    cells = [prod([int(np.count_nonzero(f.weights)) for f in query.factors]) for query in queries]
    broadest = sorted(range(len(queries)), key=lambda i: -cells[i])
    for number in range(min(most, len(queries) - 2) + 1):
        alone = set(broadest[:number])
        others = [query for i, query in enumerate(queries) if i not in alone]
        if groups_of(others, split(others)[0]) is not None:
            return [*((queries[i],) for i in sorted(alone)), tuple(others)]
    return [(query,) for query in queries]
