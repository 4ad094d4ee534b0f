"""The warm start: which contingencies are measured before any question, with which shares. Public numbers only.

Which contingencies are worth their noise can be told from domain sizes alone. It stands with the models because they
decide what is worth knowing; the session decides when it is paid.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod, sqrt
from statistics import median

from dpsql.domain import TableDomain

ONE_WAY_SHARE = 0.12
"""Of the releases' squared precision, in tables too wide for one tensor; the pairs get the rest."""
TWO_ORDERS = ((1, 0.4, 0.4), (2, 0.6, 0.2))
"""One tensor, pairs at most: (columns, share of the releases' squared precision, power of a contingency's cells that
its share of that is proportional to)."""
THREE_ORDERS = ((1, 0.3, 0.5), (2, 0.5, 0.4), (3, 0.2, 0.0))
"""The same where 3-way contingencies are worth measuring."""
NARROW_CELLS = 1 << 18
"""Universes up to this size are fitted as one tensor, which 3-way contingencies improve."""
WORTH = 0.03
"""3-way contingencies are measured when their noise, over a whole table, stays below this share of the rows."""
EAGER_COLUMNS = 16
"""Up to so many columns all pairs are measured at once, above it when first touched."""
FIRST_TOUCH = 0.1


@dataclass(frozen=True)
class PlannedContingency:
    """A contingency over every cell or the atoms of ``columns``; ``share`` of the releases' squared precision.

    ``differences``: columns of two values, measured as the difference of these.
    """

    columns: tuple[str, ...]
    share: float
    differences: tuple[str, ...] = ()

    def sigma(self, precision: float) -> float:
        """Noise sd of each of its cells (counts), for releases with ``precision`` = sum of 1 / sigma^2."""
        return 1.0 / sqrt(precision * self.share)


def warm_start(
    table: TableDomain, total: float, precision: float, *, differences: bool = False
) -> tuple[PlannedContingency, ...]:
    """The contingencies over a table's finite columns to measure first; their shares sum to 1, or to the 1-ways' alone.

    ``total``: a released or public number of rows; ``precision``: what releases may spend, the sum of 1 / sigma^2.
    ``differences``: whether columns of two values are measured as differences, which needs neighbours that add or
    remove rows. In tables with more than 16 columns the pairs come later, each with ``first_touch_share``.

    >>> from dpsql.domain import BooleanDomain
    >>> t = TableDomain("t", tuple(BooleanDomain(c, nullable=False) for c in "abc"))
    >>> [(p.columns, round(p.share, 2)) for p in warm_start(t, 1000.0, 0.05)]
    [(('a',), 0.1), (('b',), 0.1), (('c',), 0.1), (('a', 'b'), 0.17), (('a', 'c'), 0.17), (('b', 'c'), 0.17), \
(('a', 'b', 'c'), 0.2)]
    """
    names = [c.name for c in table.finite if c.size > 1]
    if len(names) < 2:
        return _shared(table, names, 1, 1.0)
    if table.cells <= NARROW_CELLS:
        worth = len(names) > 2 and _worth(table, names, total, precision)
        orders = THREE_ORDERS if worth else TWO_ORDERS
        chosen = [p for number, share, power in orders for p in _shared(table, names, number, share, power)]
        two = {n for n in names if differences and table.finite_domain(n).size == 2}
        return tuple(replace(p, differences=tuple(c for c in p.columns if c in two)) for p in chosen)
    ones = _shared(table, names, 1, ONE_WAY_SHARE)
    return ones if len(names) > EAGER_COLUMNS else (*ones, *_shared(table, names, 2, 1.0 - ONE_WAY_SHARE))


def _worth(table: TableDomain, names: Sequence[str], total: float, precision: float) -> bool:
    """Whether the noise of a middling 3-way contingency, over the whole table, is small enough against its rows."""
    number, share, power = THREE_ORDERS[-1]
    spreads = [
        p.sigma(precision) * sqrt(prod(table.shape(p.columns))) for p in _shared(table, names, number, share, power)
    ]
    return median(spreads) <= WORTH * total


def _shared(
    table: TableDomain, names: Sequence[str], number: int, share: float, power: float = 0.0
) -> tuple[PlannedContingency, ...]:
    chosen = list(combinations(names, number))
    weights = [prod(table.shape(c)) ** power for c in chosen]
    whole = sum(weights)
    return tuple(PlannedContingency(c, share * w / whole) for c, w in zip(chosen, weights, strict=True))


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
