"""The warm start: which contingencies are measured before any question, with which shares. Public numbers only."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod, sqrt
from statistics import median

from dpsql.domain import TableDomain

ONE_WAY_SHARE = 0.12
"""Of the releases' squared precision, when pairs are all that is measured besides."""
THREE_WAY_SHARE = 0.35
"""Of the releases' squared precision, when 3-way contingencies are worth measuring; the pairs get the rest."""
NARROW_CELLS = 1 << 18
"""Universes up to this size are fitted as one tensor, which 3-way contingencies improve."""
WORTH = 0.06
"""3-way contingencies are measured when their noise, over a whole table, stays below this share of the rows."""
EAGER_COLUMNS = 16
"""Up to so many columns all pairs are measured at once, above it when first touched."""
FIRST_TOUCH = 0.1


@dataclass(frozen=True)
class PlannedContingency:
    """A contingency over every cell or the atoms of ``columns``; ``share`` of the releases' squared precision."""

    columns: tuple[str, ...]
    share: float

    def sigma(self, precision: float) -> float:
        """Noise sd of each of its cells (counts), for releases with ``precision`` = sum of 1 / sigma^2."""
        return 1.0 / sqrt(precision * self.share)


def warm_start(table: TableDomain, total: float, precision: float) -> tuple[PlannedContingency, ...]:
    """The contingencies over a table's finite columns to measure first; their shares sum to 1, or to the 1-ways' alone.

    ``total``: a released or public number of rows; ``precision``: what releases may spend, the sum of 1 / sigma^2.
    In tables with more than 16 columns the pairs come later, each with ``first_touch_share``.

    >>> from dpsql.domain import BooleanDomain
    >>> t = TableDomain("t", tuple(BooleanDomain(c, nullable=False) for c in "abc"))
    >>> [(p.columns, round(p.share, 2)) for p in warm_start(t, 1000.0, 0.05)]
    [(('a', 'b'), 0.22), (('a', 'c'), 0.22), (('b', 'c'), 0.22), (('a', 'b', 'c'), 0.35)]
    """
    names = [c.name for c in table.finite if c.size > 1]
    if len(names) < 2:
        return _shared(names, 1, 1.0)
    if table.cells <= NARROW_CELLS and len(names) > 2 and _worth(table, names, total, precision):
        return (*_shared(names, 2, 1.0 - THREE_WAY_SHARE), *_shared(names, 3, THREE_WAY_SHARE))
    ones = _shared(names, 1, ONE_WAY_SHARE)
    return ones if len(names) > EAGER_COLUMNS else (*ones, *_shared(names, 2, 1.0 - ONE_WAY_SHARE))


def _worth(table: TableDomain, names: Sequence[str], total: float, precision: float) -> bool:
    planned = _shared(names, 3, THREE_WAY_SHARE)
    sizes = [prod(table.shape(p.columns)) for p in planned]
    return planned[0].sigma(precision) * sqrt(median(sizes)) <= WORTH * total


def _shared(names: Sequence[str], number: int, share: float) -> tuple[PlannedContingency, ...]:
    chosen = list(combinations(names, number))
    return tuple(PlannedContingency(c, share / len(chosen)) for c in chosen)


def first_touch_share(j: int, columns: int) -> float:
    """Share of the releases' squared precision for the ``j``-th pair (1, 2, ..) of a table with ``columns`` columns.

    Proportional to 1 / (j + .1 P) with P the number of pairs: pairs touched early get more, and the last is still paid.

    >>> pairs = 17 * 16 // 2
    >>> round(sum(first_touch_share(j, 17) for j in range(1, pairs + 1)), 6)
    0.88
    """
    pairs = columns * (columns - 1) // 2
    whole = sum(1.0 / (i + FIRST_TOUCH * pairs) for i in range(1, pairs + 1))
    return (1.0 - ONE_WAY_SHARE) / (j + FIRST_TOUCH * pairs) / whole
