"""Which contingencies a table's warm start measures, from public and released numbers: the whole table, or parts."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import inf, prod, sqrt
from statistics import mean

from dpsql.domain import TableDomain
from dpsql.hypothesis import NARROW_CELLS, PlannedContingency, told, warm_start

MOST_COLUMNS = 4
"""Queries over at most so many columns are foreseen."""
_WHOLE_COLUMNS = 8
"""Tables with more columns are never worth one contingency of all of them."""


def planned_contingencies(
    table: TableDomain, total: float, precision: float, *, differences: bool = False
) -> tuple[PlannedContingency, ...]:
    """What is measured first: contingencies of few columns, or one of all columns where its noise is smaller.

    ``total``: released or public rows; ``precision``: the sum of 1/sigma^2 that the warm start may spend;
    ``differences``: as in ``warm_start``.

    >>> from dpsql.domain import BooleanDomain
    >>> two = tuple(BooleanDomain(c, nullable=False) for c in "ab")
    >>> [p.columns for p in planned_contingencies(TableDomain("t", two), 1000.0, 0.05)]
    [('a', 'b')]
    """
    parts = warm_start(table, total, precision, differences=differences)
    names = tuple(c.name for c in table.finite if c.size > 1)
    if len(names) > _WHOLE_COLUMNS or table.cells > NARROW_CELLS:
        return parts
    whole = (PlannedContingency(names, 1.0),)
    pure = any(p.differences for p in parts)
    return whole if predicted_noise(table, whole, pure=pure) <= predicted_noise(table, parts, pure=pure) else parts


def predicted_noise(table: TableDomain, planned: Sequence[PlannedContingency], *, pure: bool = False) -> float:
    """Mean sd of queries that take half of each of 1 to 4 columns, in units of a single count's; no bias of the model.

    A query over columns that no contingency holds together counts with the noise of the largest part that one holds;
    with ``pure`` with that of all the interactions of its columns that any holds, the number of rows being known.
    """
    sizes = {c.name: c.size for c in table.finite if c.size > 1}
    known = pure_precisions(planned, sizes) if pure else {}
    most = max(len(p.columns) for p in planned)

    def sd(asked: tuple[str, ...]) -> float:
        if pure:
            return sqrt(pure_variance({c: (sizes[c] / 2, 0.5) for c in asked}, known, sizes))
        return _noise(set(asked), planned, sizes)

    by_number = [
        mean(sd(asked) for asked in combinations(sizes, min(number, most)))
        for number in range(1, min(MOST_COLUMNS, len(sizes)) + 1)
    ]
    return mean(by_number)


def _noise(asked: set[str], planned: Sequence[PlannedContingency], sizes: Mapping[str, int]) -> float:
    """Independent contingencies that hold the columns, weighted by precision."""
    precision = 0.0
    for p in planned:
        if asked <= set(p.columns):
            cells = prod(sizes[c] / 2 if c in asked else sizes[c] for c in p.columns)
            precision += p.share / cells
    return inf if precision == 0.0 else 1.0 / sqrt(precision)


def pure_variance(
    asked: Mapping[str, tuple[float, float]],
    known: Mapping[frozenset[str], float],
    sizes: Mapping[str, int],
    most: int = MOST_COLUMNS,
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


def pure_precisions(planned: Sequence[PlannedContingency], sizes: Mapping[str, int]) -> dict[frozenset[str], float]:
    """1/variance of each cell of the pure interactions that the contingencies hold, in units of a single count's."""
    found: dict[frozenset[str], float] = {}
    for p in planned:
        for kept, precision in told({c: sizes[c] for c in p.columns}, p.differences, p.share):
            found[frozenset(kept)] = found.get(frozenset(kept), 0.0) + precision
    return found
