"""A value for each row of a binned column, inside its bin: of the owner's step, whole where the database's type is.

Where a first look counted rows at round numbers and between them, rows stand there as it tells; a mark that is no
multiple of the step keeps rows that crowd on it, as those that are clipped to an end do.
"""

from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dpsql.domain import DateDomain, NumberDomain
from dpsql.domain.column import EXACT_BELOW
from dpsql.hypothesis.values.marked_cells import MarkedCells
from dpsql.hypothesis.values.places import bins_in, marks_in, summed
from dpsql.query import Estimates
from dpsql.synthesis.coins import Coins
from dpsql.synthesis.rows.target import Codes

WHOLE = Fraction(1)
_TINY = 1e-300
_Flags = npt.NDArray[np.bool_]


def numbers(
    domain: NumberDomain,
    codes: Codes,
    rng: Coins,
    mean: Estimates | None = None,
    cells: MarkedCells | None = None,
    *,
    whole: bool = False,
) -> pa.Array:
    """One value for each row of ``codes``, each in its bin. ``mean``: the mean position of each bin's rows in it, from
    0 to 1; ``cells``: where in their bins they are. ``whole``: the database's own type is one of whole numbers."""
    bins = len(domain.edges) - 1
    of = np.minimum(codes, bins - 1)
    step = domain.step
    whole = whole and has_whole_numbers(domain)
    if whole and (step is None or step.denominator != 1):
        step = WHOLE
    if step is None or not _is_exact(domain, step):
        return pa.array(_anywhere(domain, of, rng, mean), mask=codes >= bins)
    if cells is None:
        values = _stepped(domain, of, step, _Stretches.bins(domain, of, _shares(of, rng, mean, bins)), whole)
    else:
        values = _stepped(domain, of, step, _Stretches.cells(of, rng, cells), whole)
    values = values.astype(np.int64) if whole else values
    return pa.array(values, mask=codes >= bins)


def has_whole_numbers(domain: NumberDomain) -> bool:
    """Whether each bin has a whole number, so that rows of any bin can be one.

    >>> has_whole_numbers(NumberDomain("x", (0.0, 0.5, 2.0))), has_whole_numbers(NumberDomain("x", (0.0, 0.1, 0.2)))
    (True, False)
    """
    edges = np.array(domain.edges)
    first = np.ceil(edges[:-1])
    within = first < edges[1:]
    within[-1] = first[-1] <= edges[-1]
    return bool(within.all()) and _is_exact(domain, WHOLE)


def _is_exact(domain: NumberDomain, step: Fraction) -> bool:
    """Whether all multiples in the range are doubles that can be told apart."""
    most = max(abs(domain.edges[0]), abs(domain.edges[-1]))
    return Fraction(most) * step.denominator < EXACT_BELOW and max(step.as_integer_ratio()) < EXACT_BELOW


def _shares(of: Codes, rng: Coins, mean: Estimates | None, bins: int) -> Estimates:
    """A place in its bin for each row; u^((1 - p) / p) has mean p, and is even where p is one half."""
    p = np.full(bins, 0.5) if mean is None else np.clip(mean, 0.02, 0.98)
    return np.asarray(rng.random(len(of)) ** ((1.0 - p[of]) / p[of]))


def _anywhere(domain: NumberDomain, of: Codes, rng: Coins, mean: Estimates | None) -> Estimates:
    shares = _shares(of, rng, mean, len(domain.edges) - 1)
    low, high = np.array(domain.edges[:-1])[of], np.array(domain.edges[1:])[of]
    return np.asarray(np.clip(low * (1.0 - shares) + high * shares, low, high))


@dataclass(frozen=True, eq=False)
class _Stretches:
    """For each row where it is: between ``low`` and ``high``, ``share`` of the way, or ``at`` the low one.

    ``starts``: whether the low one is in it, too; ``crowded``: whether rows crowd at it. One of each per row.
    """

    low: Estimates
    high: Estimates
    share: Estimates
    at: _Flags
    starts: _Flags
    crowded: _Flags

    @classmethod
    def bins(cls, domain: NumberDomain, of: Codes, share: Estimates) -> "_Stretches":
        """Each row's whole bin."""
        none, edges = np.zeros(len(of), dtype=bool), np.array(domain.edges)
        return cls(edges[of], edges[of + 1], share, none, ~none, none)

    @classmethod
    def cells(cls, of: Codes, rng: Coins, cells: MarkedCells) -> "_Stretches":
        """Each cell has its share of the rows of its bin, rounded down or up."""
        marks, bin_of = marks_in(cells.domain), bins_in(cells.domain)
        bins = len(cells.domain.edges) - 1
        total = np.maximum(summed(bin_of, cells.share, bins), _TINY)
        sums = np.cumsum(cells.share / total[bin_of])
        order = np.lexsort((rng.random(len(of)), of))  # which rows of a bin are where is left to chance
        number = np.bincount(of, minlength=bins)
        rank = np.arange(len(of)) - np.repeat(np.cumsum(number) - number, number)
        place = np.empty(len(of))
        place[order] = of[order] + (rank + rng.random(bins)[of[order]]) / number[of[order]]
        filled = np.flatnonzero(cells.share > 0.0)
        last = filled[np.searchsorted(bin_of[filled], of, side="right") - 1]  # the last point may round to the sum
        cell = np.minimum(np.searchsorted(sums, place, side="right"), last)
        mark, at = cell // 2, cell % 2 == 0
        crowded = (cells.smooth[cell] == 0.0) & at
        return cls(
            marks[mark],
            marks[np.minimum(mark + 1, len(marks) - 1)],
            rng.random(len(of)),
            at,
            np.zeros_like(at),
            crowded,
        )


def _stepped(domain: NumberDomain, of: Codes, step: Fraction, where: _Stretches, whole: bool) -> Estimates:
    """A multiple of ``step`` for each row, in its bin; where there is none a whole number, or the place itself."""
    edges = np.array(domain.edges)
    is_last = of == len(edges) - 2
    first, last = _multiples(step, edges[of], edges[of + 1], np.ones_like(is_last), is_last)
    near, far = _multiples(step, where.low, where.high, where.starts, np.zeros_like(is_last))
    inside = near + np.floor(where.share * np.maximum(far - near + 1, 1)).astype(np.int64)
    places = where.low * (1.0 - where.share) + where.high * where.share
    nearest = np.rint(np.where(where.at, where.low, places) * step.denominator / step.numerator).astype(np.int64)
    chosen = np.clip(np.where(where.at | (far < near), nearest, inside), first, np.maximum(first, last))
    found = _times(step, chosen)
    kept = last < first
    if whole and step != WHOLE:
        return np.where(kept, _stepped(domain, of, WHOLE, where, whole), found) if kept.any() else found
    if not whole:
        kept |= where.at & where.crowded & (_times(step, nearest) != where.low)
    return np.where(kept, np.clip(np.where(where.at, where.low, places), edges[of], edges[of + 1]), found)


def _multiples(
    step: Fraction, low: Estimates, high: Estimates, closed_low: _Flags, closed_high: _Flags
) -> tuple[Codes, Codes]:
    """The first and the last of the multiples from ``low`` to ``high``, the ends themselves where these are closed."""
    first = np.floor(low * step.denominator / step.numerator).astype(np.int64) - 1
    last = np.ceil(high * step.denominator / step.numerator).astype(np.int64) + 1
    for _ in range(3):  # quotients of doubles may be off by one
        below, above = _times(step, first), _times(step, last)
        first += (below < low) | ((below == low) & ~closed_low)
        last -= (above > high) | ((above == high) & ~closed_high)
    return first, last


def _times(step: Fraction, number: Codes) -> Estimates:
    return np.asarray((number * step.numerator) / step.denominator)


def days(domain: DateDomain, codes: Codes, rng: Coins) -> pa.Array:
    """A day of each row's cell, all of them equally likely."""
    starts = [d.toordinal() for d in domain.values if isinstance(d, date)]
    lengths = np.array([b - a for a, b in pairwise([*starts, max(domain.end.toordinal(), starts[-1] + 1)])])
    of = np.minimum(codes, len(starts) - 1)
    found = np.array(starts)[of] + (rng.random(len(codes)) * lengths[of]).astype(np.int64)
    epoch = date(1970, 1, 1).toordinal()
    return pa.array((found - epoch).astype(np.int32), mask=codes >= len(starts)).cast(pa.date32())
