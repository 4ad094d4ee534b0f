"""Which contingencies a table's warm start measures before any question, with which shares. Public numbers only.

The choice looks at domains, the plan's precision and the released number of rows, never at the data.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import lru_cache
from itertools import combinations
from math import comb, inf, prod, sqrt
from statistics import mean, median

import numpy as np

from dpsql.domain import (
    DateDomain,
    DateUnit,
    FiniteDomain,
    IntegerDomain,
    NumberDomain,
    TableDomain,
    log_edges,
    truncate,
)
from dpsql.hypothesis import told
from dpsql.hypothesis.components import pure_variance
from dpsql.hypothesis.measurement import Labels
from dpsql.hypothesis.partition import compact

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
ALONE_SHARE = 0.02
"""For one vector of a single column beside its cells: positions inside its bins, or parts of its range."""
CALENDAR_SHARE = 0.05
"""For the longer units of a long range of dates in a table of one tensor, where single columns have most."""
LONGER_SHARE = 0.15
"""Of what such dates have with other columns, for the same in longer units."""
ALONE_SHARES = 0.1
"""For all of them together, at most."""
INSIDE, PARTS = "\0inside", "\0parts"
"""Stand for a second column in the name of such a vector; no column is called so."""
LONG_RANGE = 128
"""Whole numbers with more values are also measured in RANGE_PARTS parts."""
RANGE_PARTS = 32
LONGER: Mapping[DateUnit, DateUnit] = {
    "minute": "hour",
    "hour": "day",
    "day": "month",
    "week": "quarter",
    "month": "year",
    "quarter": "year",
}
"""Of the calendar: in what a long range of dates is measured beside its own cells; of years nothing is longer."""
EAGER_COLUMNS = 16
"""Up to so many columns all pairs are measured at once, above it when first touched."""
FIRST_TOUCH = 0.1
"""The delay P times this of first touches' shares, which fall as 1 / (j + .1 P), at least; P: the number of pairs."""
MOST_FIRST_TOUCH = 1.0
"""The same where many questions are planned for each pair."""
TOUCHED = 0.25
"""Of the columns of such a table: once pairs of so many are measured, all other pairs are, too."""
PAIR_ROWS = 1e8
"""Rows, each counted for each of them, that a question waits for at most while others than its own are measured."""
MOST_COLUMNS = 4
"""Queries over at most so many columns are foreseen."""
WHOLE_SHARE = 0.1
"""Of the releases' squared precision, for one contingency of all columns beside those of three and fewer."""
WHOLE_WORTH = 0.02
"""It is measured when its noise, over the whole table, stays below this share of the rows."""
TRIPLE_SHARE = 0.15
"""Of the releases' squared precision, for three columns at a time over few parts, in tables too wide for one tensor."""
TRIPLE_CELL = 6.0
"""Sds of its noise that an average cell of these holds."""
LEAST_TRIPLE_PARTS = 6
"""They are measured where that leaves so many parts of each column and more."""
_WHOLE_COLUMNS = 8
"""Tables with more columns are never worth one contingency of all of them."""


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


def planned_contingencies(
    table: TableDomain,
    row_count: float,
    precision: float,
    *,
    differences: bool = False,
    long_ranges: bool = True,
    calendar: bool = True,
    beside: bool = True,
    triples: bool = True,
    calendar_pairs: bool = True,
) -> tuple[PlannedContingency, ...]:
    """What is measured first: contingencies of few columns, or one of all columns where its noise is smaller.

    ``row_count``: released or public rows; ``precision``: the sum of 1/sigma^2 that the warm start may spend;
    ``differences``: as in ``warm_start``; ``long_ranges``, ``calendar``: as in ``planned_alone``. ``beside``: whether
    one of all columns may also stand beside the others. ``calendar_pairs``: whether ``planned_in_longer_units`` have
    their share of these.

    >>> from dpsql.domain import BooleanDomain
    >>> two = tuple(BooleanDomain(c, nullable=False) for c in "ab")
    >>> [p.columns for p in planned_contingencies(TableDomain("t", two), 1000.0, 0.05)]
    [('a', 'b')]
    """
    chosen = warm_start(table, row_count, precision, differences=differences)
    left = 1.0 - sum(p.share for p in planned_alone(table, long_ranges=long_ranges, calendar=calendar))
    names = tuple(c.name for c in table.varied)
    if len(names) <= _WHOLE_COLUMNS and is_narrow(table):
        whole = (PlannedContingency(names, 1.0),)
        pure = any(p.differences for p in chosen)
        if predicted_noise(table, whole, pure=pure) <= predicted_noise(table, chosen, pure=pure):
            chosen = whole
        elif beside:
            chosen = _with_whole(table, chosen, row_count, precision)
    elif triples:
        chosen = _with_triples(table, chosen, row_count, precision * left)
    if calendar_pairs:
        chosen = tuple(
            replace(p, share=p.share * (1.0 - LONGER_SHARE)) if _in_longer_units(table, p) else p for p in chosen
        )
    return chosen if left == 1.0 else tuple(replace(p, share=p.share * left) for p in chosen)


def _with_whole(
    table: TableDomain, chosen: tuple[PlannedContingency, ...], row_count: float, precision: float
) -> tuple[PlannedContingency, ...]:
    """Beside contingencies of three columns and fewer one of all columns, where there are rows enough for its cells:
    what fewer columns leave open grows with the rows, noise does not."""
    names = tuple(c.name for c in table.varied)
    whole = PlannedContingency(names, WHOLE_SHARE)
    worth = whole.sigma(precision) * sqrt(table.cells) <= WHOLE_WORTH * row_count
    if len(names) <= max(len(p.columns) for p in chosen) or not worth:
        return chosen
    return (*(replace(p, share=p.share * (1.0 - WHOLE_SHARE)) for p in chosen), whole)


def _with_triples(
    table: TableDomain, chosen: tuple[PlannedContingency, ...], row_count: float, precision: float
) -> tuple[PlannedContingency, ...]:
    """Beside columns and pairs of a table too wide for one tensor its triples, where there are rows enough for them."""
    names = [c.name for c in table.varied]
    if is_narrow(table) or not 3 <= len(names) <= EAGER_COLUMNS:
        return chosen
    triples = _shared(table, names, 3, TRIPLE_SHARE)
    if triple_cells(row_count, triples[0].sigma(precision)) < LEAST_TRIPLE_PARTS**3:
        return chosen
    return (*(replace(p, share=p.share * (1.0 - TRIPLE_SHARE)) for p in chosen), *triples)


def triple_cells(row_count: float, sigma: float) -> float:
    """The cells of three columns together that are measured with noise of sd ``sigma`` (counts)."""
    return max(row_count, 0.0) / (TRIPLE_CELL * sigma)


def planned_alone(
    table: TableDomain, *, long_ranges: bool = True, calendar: bool = True
) -> tuple[PlannedContingency, ...]:
    """What is measured of single columns beside their cells, by names that no contingency has.

    (column, INSIDE): the positions of a number column's rows inside its bins. (column, PARTS): the rows in few parts of
    a long range of whole numbers, in tables too wide for one tensor: without them the noise of a thousand empty cells
    reads as rows far out; and of a long range of dates, in any table. They come after the columns' cells, and take
    their shares from all else.
    ``long_ranges``: whether there are any of the second kind; ledgers of earlier rules have none. ``calendar``: whether
    dates have them: people ask for months where days are declared, and the noise of thirty days is not that of one.
    """
    names = [(c.name, INSIDE) for c in table.varied if isinstance(c, NumberDomain) and c.is_binned]
    narrow = is_narrow(table)
    if long_ranges:
        kinds = [IntegerDomain] * (not narrow) + [DateDomain] * calendar
        names += [(c.name, PARTS) for c in table.varied if isinstance(c, tuple(kinds)) and _is_long(c)]
    most = ALONE_SHARES / max(len(names), 1)
    shares = [CALENDAR_SHARE if narrow and kind == PARTS else ALONE_SHARE for _, kind in names]
    return tuple(PlannedContingency(n, min(share, most)) for n, share in zip(names, shares, strict=True))


def planned_in_longer_units(
    table: TableDomain, planned: Sequence[PlannedContingency]
) -> tuple[PlannedContingency, ...]:
    """Where one tensor holds a table, what is measured of long ranges of dates with other columns in longer units,
    beside each of ``planned`` that has their cells; named by its columns and PARTS.

    >>> from datetime import date
    >>> from dpsql.domain import BooleanDomain
    >>> day = DateDomain("day", date(2024, 1, 1), date(2024, 12, 31), nullable=False)
    >>> table = TableDomain("t", (day, BooleanDomain("paid", nullable=False)))
    >>> [p.columns[:-1] for p in planned_in_longer_units(table, planned_contingencies(table, 1e5, 0.05))]
    [('day', 'paid')]
    """
    times = LONGER_SHARE / (1.0 - LONGER_SHARE)
    return tuple(
        PlannedContingency((*p.columns, PARTS), p.share * times) for p in planned if _in_longer_units(table, p)
    )


def _in_longer_units(table: TableDomain, planned: PlannedContingency) -> bool:
    if len(planned.columns) < 2 or not is_narrow(table):
        return False
    return any(is_long_date(table.finite_domain(c)) for c in planned.columns)


def is_long_date(domain: FiniteDomain) -> bool:
    """Whether the column is also measured in the next longer unit of the calendar."""
    return isinstance(domain, DateDomain) and _is_long(domain)


def _is_long(domain: FiniteDomain) -> bool:
    return domain.size > LONG_RANGE and (not isinstance(domain, DateDomain) or domain.unit in LONGER)


def range_parts(domain: IntegerDomain | DateDomain) -> Labels:
    """The part of each cell of a long range: whole numbers in parts that grow with the number's size, dates in the
    next longer unit of the calendar; NULL is one of its own.

    >>> bool(range_parts(IntegerDomain("delay", 0, 1000)).max() <= RANGE_PARTS)
    True
    """
    if isinstance(domain, DateDomain):
        longer = LONGER[domain.unit]
        starts = [truncate(v, longer) for v in domain.values if isinstance(v, date)]
        days = [s.date() if longer == "day" and isinstance(s, datetime) else s for s in starts]
        labels = np.unique([s.isoformat() for s in days], return_inverse=True)[1].reshape(-1)
    else:
        edges = log_edges(float(domain.low), float(domain.high) + 1.0, RANGE_PARTS, through_zero=False)
        values = np.arange(domain.low, domain.high + 1, dtype=np.float64)
        labels = compact(np.searchsorted(np.array(edges), values, side="right"))
    return np.append(labels, labels.max() + 1) if domain.nullable else labels


def is_narrow(table: TableDomain) -> bool:
    """Whether the universe is small enough for one tensor."""
    return table.cells <= NARROW_CELLS


def warm_start(
    table: TableDomain, row_count: float, precision: float, *, differences: bool = False
) -> tuple[PlannedContingency, ...]:
    """The contingencies over a table's finite columns to measure first; their shares sum to 1, or to the 1-ways' alone.

    ``row_count``: a released or public number of rows; ``precision``: what releases may spend, the sum of 1 / sigma^2.
    ``differences``: whether columns of two values are measured as differences, which needs neighbours that add or
    remove rows. In tables with more than 16 columns the pairs come later, each with ``first_touch_share``.

    >>> from dpsql.domain import BooleanDomain
    >>> t = TableDomain("t", tuple(BooleanDomain(c, nullable=False) for c in "abc"))
    >>> [(p.columns, round(p.share, 2)) for p in warm_start(t, 1000.0, 0.05)]
    [(('a',), 0.1), (('b',), 0.1), (('c',), 0.1), (('a', 'b'), 0.17), (('a', 'c'), 0.17), (('b', 'c'), 0.17), \
(('a', 'b', 'c'), 0.2)]
    """
    names = [c.name for c in table.varied]
    if len(names) < 2:
        return _shared(table, names, 1, 1.0)
    if is_narrow(table):
        worth = len(names) > 2 and _worth(table, names, row_count, precision)
        orders = THREE_ORDERS if worth else TWO_ORDERS
        chosen = [p for number, share, power in orders for p in _shared(table, names, number, share, power)]
        two = {n for n in names if differences and table.finite_domain(n).size == 2}
        return tuple(replace(p, differences=tuple(c for c in p.columns if c in two)) for p in chosen)
    ones = _shared(table, names, 1, ONE_WAY_SHARE)
    return ones if len(names) > EAGER_COLUMNS else (*ones, *_shared(table, names, 2, 1.0 - ONE_WAY_SHARE))


def _worth(table: TableDomain, names: Sequence[str], row_count: float, precision: float) -> bool:
    """Whether the noise of a middling 3-way contingency, over the whole table, is small enough against its rows."""
    number, share, power = THREE_ORDERS[-1]
    spreads = [
        p.sigma(precision) * sqrt(prod(table.shape(p.columns))) for p in _shared(table, names, number, share, power)
    ]
    return median(spreads) <= WORTH * row_count


def _shared(
    table: TableDomain, names: Sequence[str], number: int, share: float, power: float = 0.0
) -> tuple[PlannedContingency, ...]:
    chosen = list(combinations(names, number))
    weights = [prod(table.shape(c)) ** power for c in chosen]
    whole = sum(weights)
    return tuple(PlannedContingency(c, share * w / whole) for c, w in zip(chosen, weights, strict=True))


def first_touch(planned: int, columns: int) -> float:
    """The delay of ``first_touch_share`` for so many planned questions: the more of them for each pair, the surer that
    late pairs are asked about as often as early ones.

    >>> first_touch(500, 40), round(first_touch(2_000, 40), 2), first_touch(100_000, 40)
    (0.1, 0.26, 1.0)
    """
    return min(MOST_FIRST_TOUCH, max(FIRST_TOUCH, FIRST_TOUCH * planned / comb(columns, 2)))


def first_touch_share(j: int, columns: int, delay: float = FIRST_TOUCH, together: int | None = None) -> float:
    """Share of the releases' squared precision for the ``j``-th pair (1, 2, ..) of a table with ``columns`` columns.

    Proportional to 1 / (j + delay P) with P the number of pairs: pairs touched early get more, and the last is still
    paid. ``together``: after so many all others are measured at once, and share what is left evenly.

    >>> pairs = 17 * 16 // 2
    >>> round(sum(first_touch_share(j, 17) for j in range(1, pairs + 1)), 6)
    0.88
    >>> round(sum(first_touch_share(j, 17, together=10) for j in range(1, pairs + 1)), 6)
    0.88
    """
    if together is not None and j > together:
        return later_shares(together, columns, delay) / max(1, comb(columns, 2) - together)
    return (1.0 - ONE_WAY_SHARE) / (j + delay * comb(columns, 2)) / _harmonic(0, columns, delay)


def later_shares(j: int, columns: int, delay: float = FIRST_TOUCH, together: int | None = None) -> float:
    """The shares of all pairs after the ``j``-th.

    >>> round(later_shares(0, 17), 6), later_shares(136, 17)
    (0.88, 0.0)
    >>> later_shares(73, 17, together=10) == later_shares(10, 17) / 2
    True
    """
    if together is not None and j > together:
        return max(0, comb(columns, 2) - j) * first_touch_share(j, columns, delay, together)
    return (1.0 - ONE_WAY_SHARE) * _harmonic(j, columns, delay) / _harmonic(0, columns, delay)


@lru_cache(maxsize=1 << 16)
def _harmonic(j: int, columns: int, delay: float) -> float:
    pairs = comb(columns, 2)
    return sum((1.0 / (i + delay * pairs) for i in range(j + 1, pairs + 1)), 0.0)


def predicted_noise(table: TableDomain, planned: Sequence[PlannedContingency], *, pure: bool = False) -> float:
    """Mean sd of queries that take half of each of 1 to 4 columns, in units of a single count's; no bias of the model.

    A query over columns that no contingency holds together counts with the noise of the largest part that one holds;
    with ``pure`` with that of all the interactions of its columns that any holds, the number of rows being known.
    """
    sizes = {c.name: c.size for c in table.varied}
    known = pure_precisions(planned, sizes) if pure else {}
    most = max(len(p.columns) for p in planned)

    def sd(asked: tuple[str, ...]) -> float:
        if pure:
            return sqrt(pure_variance({c: (sizes[c] / 2, 0.5) for c in asked}, known, sizes, MOST_COLUMNS))
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


def pure_precisions(planned: Sequence[PlannedContingency], sizes: Mapping[str, int]) -> dict[frozenset[str], float]:
    """1/variance of each cell of the pure interactions that the contingencies hold, in units of a single count's."""
    found: dict[frozenset[str], float] = {}
    for p in planned:
        for kept, precision in told({c: sizes[c] for c in p.columns}, p.differences, p.share):
            found[frozenset(kept)] = found.get(frozenset(kept), 0.0) + precision
    return found
