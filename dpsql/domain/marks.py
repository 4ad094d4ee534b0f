"""Numbers inside the bins of a number column, by which a first look tells where rows stand in them. Public.

People price, weigh and report in round numbers, and ask about them: `amount >= 25` cuts where rows crowd. Where the
owner says by which step values go, as whole numbers by 1, each multiple of it is one where there are not too many.
"""

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import ceil, floor, isfinite

from dpsql.decimals import exact

PER_BIN = 16
"""Steps in a bin at least, where its edges leave room for round numbers."""
MOST_BINS = 1024
"""A column of more has no marks but its edges: its bins are narrow as it is."""
MOST_STEPS = 4_096
"""Multiples of the owner's step in a bin, at most; a bin of more has round numbers."""
MOST_MARKS = 1 << 15
"""Of a column whose owner says a step: where there were more, bins of fewer and fewer steps have all of them."""
_ROUND = (Decimal(5), Decimal("2.5"), Decimal(1))
_KEPT = 64
_DIGITS = 28


@lru_cache(_KEPT)
def marks_of(edges: tuple[float, ...], step: Fraction | None = None) -> tuple[float, ...]:
    """The edges of the bins, and between two of them the multiples of a round step: 1, 2.5 or 5 times a power of ten.

    Increasing. The largest such step of which PER_BIN or more are in the bin; a bin of few doubles has none, and no
    column of more than MOST_BINS. ``step``: the owner's, whose multiples take their place in bins of up to MOST_STEPS,
    and where they are fewer.

    >>> marks_of((0.0, 4.0, 5.5))[:10]
    (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25)
    >>> marks_of((0.0, 4.0, 5.5), Fraction(1))
    (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 5.5)
    """
    if len(edges) - 1 > MOST_BINS:
        return edges
    most = MOST_STEPS
    while True:
        found = [edges[0]]
        with localcontext(exact(_DIGITS)):  # a ledger's cells are these, in every session that reads it
            for low, high in pairwise(edges):
                found += [*(_steps(low, high, step, most) or _inside(low, high)), high]
        if len(found) <= MOST_MARKS or step is None or most < PER_BIN:
            return tuple(found)
        most //= 2


def _steps(low: float, high: float, step: Fraction | None, most: int) -> list[float]:
    """The multiples of a step inside a bin; none where they are more than ``most``, or fewer than 1."""
    if step is None:
        return []
    first, last = ceil(Fraction(low) / step), floor(Fraction(high) / step)
    multiples = range(first, last + 1) if last - first < most else ()
    return sorted({x for k in multiples if low < (x := float(k * step)) < high})


def _inside(low: float, high: float) -> list[float]:
    width = high - low
    if not isfinite(width) or width <= max(abs(low), abs(high)) * 1e-9:
        return []
    most = Decimal(width) / PER_BIN
    power = Decimal(1).scaleb(most.adjusted() + 1)
    step = next(s for p in (power, power / 10, power / 100) for s in (r * p for r in _ROUND) if s <= most)
    first = int(Decimal(low) // step)
    multiples = {float(k * step) for k in range(first, int(Decimal(high) // step) + 1)}  # the smallest doubles are few
    return sorted(x for x in multiples if low < x < high)
