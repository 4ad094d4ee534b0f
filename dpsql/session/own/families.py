"""Queries of one outline in families: of each of these a row is in one query at most, as in a GROUP BY's cells. Public.

An average of a column with NULLs asks how many values there are and for their sum, a sum of numbers of both signs for
those above 0 and those below: a row is in two of them, or counts by fractions. What all of them tell apart is as many
parts as the column has values, and every one of them would have noise.
"""

from collections.abc import Sequence

from dpsql.query import LinearQuery
from dpsql.session.own.residual import groups_of, split

MOST_FAMILIES = 8
"""Of one release; queries of more are measured as they are told apart."""

Family = tuple[LinearQuery, ...]


def families(queries: Sequence[LinearQuery]) -> list[Family]:
    """The queries, which are counts of finite columns, in their order; all in one where they make too many families."""
    alike: dict[object, list[LinearQuery]] = {}
    for query in queries:
        fractions = tuple([f.digest if f.unit > 1 or len(f.columns) != 1 else None for f in query.factors])
        alike.setdefault(fractions, []).append(query)
    found: list[Family] = []
    for same in alike.values():
        apart = groups_of(same, split(same)[0]) is not None
        found += [tuple(same)] if apart else [(query,) for query in same]
        if len(found) > MOST_FAMILIES:
            return [tuple(queries)]
    return found
