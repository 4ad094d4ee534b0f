"""All groups of a block at once: which combinations of values there are, and the counts of all as one crosstab. Public.

Most statements of many groups count the rows of each. Their queries differ in the factors of grouped columns alone,
which are found once for each value; a query for each group is made where one is looked at by itself.
"""

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from dpsql.domain import TableDomain
from dpsql.query import Choices, Counts, Crosstab, Factor, numbered
from dpsql.sql.counting.groups import Pieces, PointGroups, Ranks, check_number

Component = tuple[tuple[int, ...], Mapping[Ranks, Pieces]]
"""Which group expressions share columns, and for each present combination of their values the pieces of its weights."""


def combinations(components: Sequence[Component], width: int) -> Counts:
    """Every combination of what is present in each component, in domain order: int64, shape (groups, ``width``).

    UnsupportedQuery for more than fit in memory.
    """
    present = [(groups, _ranks_of(answer)) for groups, answer in components]
    total = prod(len(ranks) for _, ranks in present)
    check_number(total)
    table = np.zeros((total, width), dtype=np.int64)
    for (groups, ranks), places in zip(present, np.indices([len(r) for _, r in present]), strict=True):
        if groups and total:
            table[:, groups] = ranks[places.reshape(-1)]
    return table[np.lexsort(table.T[::-1])] if width else table


def _ranks_of(answer: Mapping[Ranks, Pieces]) -> Counts:
    if isinstance(answer, PointGroups):
        return answer.ranks
    return np.array([*answer], dtype=np.int64)


def counted(table: TableDomain, components: Sequence[Component], ranks: Counts, most_cells: int) -> Crosstab | None:
    """The rows of each group as one crosstab; ``None`` where a group's is no single count of whole rows.

    ``ranks``: the groups, as ``combinations`` has them, at least one. Queries that touch more than ``most_cells`` cells
    are left to who counts them one by one.
    """
    places: list[tuple[tuple[str, ...], Sequence[Factor], Counts]] = []
    for groups, answer in components:
        found = _counted(groups, answer, ranks)
        if found is None:
            return None
        places += found
    places.sort(key=lambda place: table.order[place[0][0]])
    if prod(here[0].weights.size for _, here, _ in places) > most_cells:
        return None
    choices = Choices(tuple([f for _, f, _ in places]), tuple([n for _, _, n in places]), len(ranks))
    return Crosstab.of_counts(table.name, choices)


def _counted(
    groups: tuple[int, ...], answer: Mapping[Ranks, Pieces], ranks: Counts
) -> list[tuple[tuple[str, ...], Sequence[Factor], Counts]] | None:
    """For each place of a component's queries: its columns, the different factors, and which each group has."""
    if isinstance(answer, PointGroups) and np.array_equal(answer.ranks, ranks[:, groups]):  # the only groups
        return [(answer.factors.columns, answer.factors, np.arange(len(ranks)))]
    numbers = np.zeros(len(ranks), dtype=np.int64)
    if groups:
        place = {key: at for at, key in enumerate(answer)}
        numbers = np.array([place.get(key, -1) for key in map(tuple, ranks[:, groups].tolist())], dtype=np.int64)
    used, numbers = np.unique(numbers, return_inverse=True)
    if not answer or used[0] < 0:
        return None
    if isinstance(answer, PointGroups):
        points = answer.factors.among(used)
        return [(points.columns, points, numbers.reshape(-1))]
    pieces, queries = list(answer.values()), []
    for here in map(pieces.__getitem__, used.tolist()):
        if len(here) != 1 or here[0].coefficient != 1.0 or here[0].low is not None or here[0].query.is_by_value:
            return None
        queries.append(here[0].query)
    if any(q.keyed is not None or not q.is_indicator or len(q.factors) != len(queries[0].factors) for q in queries):
        return None
    out: list[tuple[tuple[str, ...], Sequence[Factor], Counts]] = []
    for factors in zip(*[q.factors for q in queries], strict=True):
        columns = factors[0].columns
        if not columns or any(f.columns != columns for f in factors):
            return None
        different, which = numbered(factors)
        out.append((columns, different, which[numbers.reshape(-1)]))
    return out
