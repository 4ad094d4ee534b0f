"""The values at which expressions over a binned column are looked at, and what they tell of its cells. Public.

Between two places where an expression may change it is looked at once, and at each such place once more: with the share
of the cell that a stretch covers this settles what holds for all of a cell, for none of it, or for a part.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from math import inf, nextafter

import numpy as np
import numpy.typing as npt

from dpsql.domain import DateDomain, FiniteDomain, NumberDomain, Value
from dpsql.errors import UnsupportedQuery
from dpsql.memo import Memo
from dpsql.sql.expressions.changes.steps import ANYWHERE, MOST_STEPS, Anywhere, Breaks, Lattice

WITHIN = 8
"""Stretches of a bin along which an expression may change anywhere: there its value is a guess from so many places."""
MOST_DAYS = 40_000
KEPT_POINTS = 1 << 18
"""Of number columns, by what cuts them: the same conditions stand in many statements."""
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Points:
    """Values of one column, by cell: ``values[i]`` is in ``cells[i]``, of which it covers the share ``shares[i]``.

    A value of share 0 is a single point. Between ``low[i]`` and ``high[i]`` lie all values that it stands for. NULL is
    its own cell, the last one. ``unplaced``: where expressions may change at other places, or at too many.
    """

    values: tuple[Value, ...]
    cells: npt.NDArray[np.int64]
    shares: _Floats
    low: _Floats
    high: _Floats
    unplaced: Breaks = frozenset()

    @cached_property
    def key(self) -> bytes:
        """Equal for equal points."""
        return sha256(repr((self.values, bool(self.unplaced))).encode()).digest()

    @cached_property
    def stretches(self) -> npt.NDArray[np.bool_]:
        """Which of them stand for more than one number. Where expressions change at places that are not known a point
        stands on either side of each."""
        return np.asarray(self.low < self.high)

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """The first point of each cell."""
        return np.searchsorted(self.cells, np.arange(int(self.cells[-1]) + 1))


_known: Memo[Points] = Memo(KEPT_POINTS)


def points_of(domain: FiniteDomain, breaks: Breaks, *, passed: bool = True) -> Points | None:
    """The points of a binned column for expressions that change at ``breaks``; ``None`` where its cells are enough.
    ``passed``: whether lattices of too many places are looked at where a constant is passed."""
    match domain:
        case NumberDomain() if domain.is_binned:
            key = domain, breaks, passed
            known = _known.get(key)
            if known is None:
                made = _numbers(domain, breaks, passed=passed)
                known = _known.put(key, made, len(made.values))
            return known
        case DateDomain() if domain.is_binned and ANYWHERE in breaks:  # else nothing changes inside of a unit
            return _days(domain)
        case _:
            return None


def is_unknown(points: Points | None, breaks: Breaks) -> bool:
    """Whether an expression that changes at ``breaks`` may change between the points, too."""
    return points is not None and not points.unplaced.isdisjoint(breaks)


def _numbers(domain: NumberDomain, breaks: Breaks, *, passed: bool) -> Points:
    found: list[tuple[float, int, float, float, float]] = []
    last = len(domain.edges) - 2
    inner: dict[int, list[float]] = {}
    places, unplaced = _places(domain, breaks, passed=passed)
    for x in places:
        inner.setdefault(min(bisect_right(domain.edges, x) - 1, last), []).append(x)
    for cell, (low, high) in enumerate(pairwise(domain.edges)):
        end = high if cell == last else nextafter(high, -inf)
        cuts = set(inner.get(cell, ()))
        if unplaced:
            cuts |= {low, end, *[low + (high - low) * i / WITHIN for i in range(1, WITHIN)]}
        number = len(found)
        for a, b in pairwise(sorted({low, *cuts, high})):
            middle = a + (b - a) / 2
            if a < middle < b:
                found.append((middle, cell, (b - a) / (high - low), a, min(b, end)))
        found += [(x, cell, 0.0, x, x) for x in cuts]
        if len(found) == number:
            found.append((low, cell, 1.0, low, end))  # a bin of two neighbouring doubles
    found.sort(key=lambda f: (f[1], f[0]))
    return replace(_points(domain, found), unplaced=unplaced)


def _places(domain: NumberDomain, breaks: Breaks, *, passed: bool) -> tuple[list[float], Breaks]:
    """Breaks inside the column's range, each with the doubles beside it; and those that are anywhere, or too many."""
    low, high = domain.edges[0], domain.edges[-1]
    unplaced, found = set[float | Lattice | Anywhere](), set[float]()
    lattices = {b[:2]: b.inside(low, high) for b in breaks if isinstance(b, Lattice)}
    many = sum(len(inside) for inside in lattices.values() if inside) > MOST_STEPS
    for b in breaks:
        here: Sequence[float] | None = None if isinstance(b, Anywhere | Lattice) else [b]
        if isinstance(b, Lattice):
            here = None if many else lattices[b[:2]]
            here = b.passed if here is None and passed else here
        if here is None:
            unplaced.add(b)
            continue
        for x in here:  # where an expression was solved for x, rounding may move its step to a neighbour
            found |= {y for y in (nextafter(x, -inf), x, nextafter(x, inf)) if low <= y <= high}
    return sorted(found), frozenset(unplaced)


def _days(domain: DateDomain) -> Points:
    starts = [d for d in domain.values if isinstance(d, date)]
    ends = [*starts[1:], domain.end]
    number = (ends[-1] - starts[0]).days
    if number > MOST_DAYS:
        raise UnsupportedQuery(
            f"{domain.name} has {number:,} days, too many to look at one by one",
            hint=f"group or compare it in its own unit, the {domain.unit}, or declare fewer years",
        )
    found = [
        (start + timedelta(days=i), cell, 1.0 / (end - start).days, 0.0, 0.0)
        for cell, (start, end) in enumerate(zip(starts, ends, strict=True))
        for i in range((end - start).days)
    ]
    return _points(domain, found)


def _points(domain: NumberDomain | DateDomain, found: Sequence[tuple[Value, int, float, float, float]]) -> Points:
    rows = [*found, (None, len(domain.values), 1.0, 0.0, 0.0)] if domain.nullable else list(found)
    values, cells, shares, low, high = zip(*rows, strict=True)
    return Points(tuple(values), np.array(cells), np.array(shares), np.array(low), np.array(high))
