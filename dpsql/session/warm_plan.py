"""Which contingencies a table's warm start measures, from public and released numbers: the whole table, or parts."""

from collections.abc import Sequence
from itertools import combinations
from math import inf, prod, sqrt
from statistics import mean

from dpsql.domain import TableDomain
from dpsql.hypothesis import NARROW_CELLS, PlannedContingency, warm_start

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
    return whole if predicted_noise(table, whole) <= predicted_noise(table, parts) else parts


def predicted_noise(table: TableDomain, planned: Sequence[PlannedContingency]) -> float:
    """Mean sd of queries that take half of each of 1 to 4 columns, in units of a single count's; no bias of the model.

    A query over columns that no contingency holds together counts with the noise of the largest part that one holds.
    """
    sizes = {c.name: c.size for c in table.finite}
    names = [name for name, size in sizes.items() if size > 1]
    most = max(len(p.columns) for p in planned)
    by_number = [
        mean(_noise(set(asked), planned, sizes) for asked in combinations(names, min(number, most)))
        for number in range(1, min(MOST_COLUMNS, len(names)) + 1)
    ]
    return mean(by_number)


def _noise(asked: set[str], planned: Sequence[PlannedContingency], sizes: dict[str, int]) -> float:
    """Independent contingencies that hold the columns, weighted by precision."""
    precision = 0.0
    for p in planned:
        if asked <= set(p.columns) and asked.issuperset(p.differences):
            cells = prod(sizes[c] / 2 if c in asked else sizes[c] for c in p.columns)
            precision += p.share / cells * 2 ** len(p.differences)
    return inf if precision == 0.0 else 1.0 / sqrt(precision)
