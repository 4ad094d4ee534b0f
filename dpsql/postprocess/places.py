"""Quantiles, extremes, modes and the number of values, from released counts of the values in order. Post-processing.

What is found is a place among the values, and the places between which the truth is. A single row more at a value is
never seen behind noise: so an extreme's interval goes on to the last value that a row can have, and the note beside it
says how many rows may be there.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, floor, inf, isfinite, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpsql.confidence import DEVIATIONS, OUTSIDE
from dpsql.postprocess.spread import DEPENDENT

Floats = npt.NDArray[np.float64]
_ALL = slice(None)


@dataclass(frozen=True, eq=False)
class Counts:
    """Released counts of the values of an expression in ascending order, with 95 % half-widths (infinite: unknown).

    ``joint(i, j)`` is the half-width of the count of the values ``i`` to ``j - 1`` together. ``tails``: how many times
    as wide as a Gaussian's the errors' tails are, where many bars are to hold at once. ``likely``: rows behind a value
    are, where they are more than this share of their bar; infinite: where they are sure.
    """

    values: Floats
    errors: Floats
    joint: Callable[[int, int], float]
    tails: float = 1.0
    likely: float = inf

    def at_once(self, number: int) -> float:
        """By how much bars grow so that so many one-sided ones hold together."""
        return self.tails * at_once(number)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def reversed(self) -> "Counts":
        """The values in descending order."""
        last = len(self)
        joint = self.joint
        return replace(
            self,
            values=self.values[::-1],
            errors=self.errors[::-1],
            joint=lambda i, j: joint(last - j, last - i),
        )

    @property
    def is_within(self) -> bool:
        """Whether all rows together are no more than their error."""
        return len(self) == 0 or float(self.values.sum()) <= self.joint(0, len(self))


class Place(NamedTuple):
    """The value ``at``, and the first and last one that the truth may be.

    ``share``: how far the truth is on the way to the value ``after``, or, where they are one, into its cell.
    """

    at: int
    low: int
    high: int
    share: float
    after: int


def middle(counts: Counts) -> int | None:
    """The value of the median, without its interval; nothing for a group within the bar of its count.

    >>> middle(Counts(np.full(10, 100.0), np.zeros(10), lambda i, j: 5.0))
    4
    """
    if counts.is_within:
        return None
    return _holds(_rising(counts), max(ceil(0.5 * float(counts.values.sum()) - 1e-9), 1))


def quantile(counts: Counts, level: float, *, between: bool = False) -> Place | None:
    """Where a share ``level`` of the rows is reached; nothing for a group within the bar of its count.

    ``between``: a place between two values where the share is reached between two rows, as ``QUANTILE_CONT`` has it.

    The rows up to a value, less their share of all, are (1 - level) times the rows below less level times those above:
    that number's bar is the bar of these two counts. A value is left out when its number is surely below 0, or that of
    the value before surely above (the inversion of a test at the true place: Neyman 1937). A place between two rows
    makes a difference of one row.

    >>> flat = Counts(np.full(10, 100.0), np.zeros(10), lambda i, j: 5.0)
    >>> quantile(flat, 0.5)
    Place(at=4, low=4, high=5, share=1.0, after=4)
    """
    if counts.is_within:
        return None
    number, total = len(counts), float(counts.values.sum())
    below = np.cumsum(counts.values)
    above = [counts.joint(i, number) for i in range(1, number)]
    bars = [(1 - level) * counts.joint(0, i) + level * bar + 1 for i, bar in enumerate(above, 1)]
    ahead, bar = below - level * total, np.array([*bars, np.inf])
    low, short = int(np.flatnonzero(ahead + bar >= 0)[0]), np.flatnonzero(ahead[:-1] - bar[:-1] < 0)
    high = 1 + int(short[-1]) if len(short) else 0
    rising = _rising(counts)
    if between and number and level * (total - 1) >= 0:
        row = level * (total - 1)
        at, after = (_holds(rising, floor(row) + more) for more in (1, 2))
        share = row - floor(row)
        after = at if share == 0 else after
    else:
        row = max(ceil(level * total - 1e-9) - 1, 0)
        at = after = _holds(rising, row + 1)
        share = 0.0
    if at == after:
        step = rising[at] - (rising[at - 1] if at else 0.0)
        share = 0.5 if step <= 0 else min(max((level * total - (rising[at] - step)) / step, 0.0), 1.0)
    return Place(at, min(low, at), max(high, after), float(share), after)


def _rising(counts: Counts) -> Floats:
    """The rows up to each value, pressed to rise."""
    below = np.cumsum(counts.values)
    return np.asarray((np.maximum.accumulate(below) + np.minimum.accumulate(below[::-1])[::-1]) / 2)


def _holds(rising: Floats, rows: float) -> int:
    """The first value with so many rows up to it; the last where there is none."""
    return min(int(np.searchsorted(rising, rows - 1e-6)), len(rising) - 1)


class Extreme(NamedTuple):
    """The last value that surely has rows at it or behind it, the last one ``at`` which, or behind which, they are
    likely, and how many rows at most are behind that."""

    sure: int
    at: int
    behind: float


def last(counts: Counts, *, least: int = 0) -> Extreme | None:
    """The last value whose count, or whose count with all behind it, is above its bar; nothing where none is.

    For what is sure the bars hold for all of these counts at once (Bonferroni): of a thousand empty values none is
    called the last. ``least``: where the likely one is at least, as the median is.

    >>> last(Counts(np.array([90.0, 30.0, 8.0]), np.full(3, 10.0), lambda i, j: 10.0 * (j - i) ** 0.5, likely=0.5))
    Extreme(sure=1, at=2, behind=0.0)
    """
    number = len(counts)
    if number == 0:
        return None
    factor = counts.at_once(2 * number)
    behind = np.cumsum(counts.values[::-1])[::-1]
    tails = np.array([counts.joint(i, number) for i in range(number)])
    sure = np.flatnonzero((counts.values > factor * counts.errors) | (behind > factor * tails))
    if len(sure) == 0:
        return None
    likely = np.flatnonzero(behind >= np.maximum(counts.likely * tails, 1.0)) if isfinite(counts.likely) else sure
    at = max(int(sure[-1]), *likely[-1:].tolist(), least)
    rest = 0.0 if at + 1 == number else float(behind[at + 1] + tails[at + 1])
    return Extreme(int(sure[-1]), at, max(rest, 0.0))


def most_frequent(counts: Counts, single: npt.NDArray[np.bool_]) -> Place | None:
    """The value with most rows, and the first and last that may be it; nothing for a group within its bar.

    ``single``: which counts are of one value. Any other, of several values together, is only the most that one of them
    has: it may be the place of the truth, and rules no other place out.

    >>> counts = Counts(np.array([50.0, 90.0, 88.0]), np.full(3, 4.0), lambda i, j: 4.0 * (j - i))
    >>> most_frequent(counts, np.array([True, True, True]))
    Place(at=1, low=1, high=2, share=0.5, after=1)
    >>> most_frequent(counts, np.array([True, False, False]))
    Place(at=1, low=0, high=2, share=0.5, after=1)
    """
    if counts.is_within:
        return None
    bars = counts.at_once(len(counts)) * counts.errors
    sure = float(np.max((counts.values - bars)[single])) if single.any() else 0.0
    may_be = np.flatnonzero(counts.values + bars >= sure)
    at = int(np.argmax(counts.values))
    return Place(at, min(int(may_be[0]), at), max(int(may_be[-1]), at), 0.5, at)


def number_of_values(counts: Counts, shown: slice = _ALL) -> tuple[int, int, int]:
    """How many values have rows: an estimate, at least so many, at most so many.

    Values whose count is above its bar, for all values at once, are sure: they are no more than there are. Each other
    value that has rows has one at least, so there are no more of them than the others' counts add up to and their bar.
    The estimate takes half a bar of rows for each, as if all sizes that cannot be seen were as likely, and none but
    those in ``shown``, as from MIN to MAX.

    >>> number_of_values(Counts(np.array([90.0, -3.0, 2.0, 80.0]), np.full(4, 10.0), lambda i, j: 10.0))
    (2, 2, 4)
    """
    sure, _, likely, most = _held(counts, shown)
    least = int(sure.sum())
    return least + likely, least, least + most


def sum_of_values(counts: Counts, numbers: Floats, shown: slice = _ALL) -> tuple[float, float, float]:
    """The sum of the values that have rows, each once: an estimate, at least so much, at most so much.

    Of the values that may have rows, as many as ``number_of_values`` allows are the greatest ones, or the least. The
    estimate takes for each that is likely to be there what they are on average, in ``shown``.

    >>> counts = Counts(np.array([90.0, -3.0, 2.0, 80.0]), np.full(4, 10.0), lambda i, j: 10.0)
    >>> sum_of_values(counts, np.array([10.0, 20.0, 30.0, 40.0]))
    (50.0, 50.0, 100.0)
    """
    sure, rest, likely, most = _held(counts, shown)
    inside = numbers[shown][rest[shown]]
    known, others = float(numbers[sure].sum()), np.sort(numbers[rest])
    low = known + float(np.minimum(others[:most], 0.0).sum())
    high = known + float(np.maximum(others[len(others) - most :], 0.0).sum())
    value = known + (likely * float(inside.mean()) if len(inside) else 0.0)
    return min(max(value, low), high), low, high


class _Held(NamedTuple):
    """Which values have rows for ``sure``, which may; of these, how many ``likely`` do and how many at ``most``."""

    sure: npt.NDArray[np.bool_]
    rest: npt.NDArray[np.bool_]
    likely: int
    most: int


def _held(counts: Counts, shown: slice) -> _Held:
    bars = counts.at_once(len(counts)) * counts.errors
    empty = (counts.errors == 0) & (counts.values <= 0)
    sure = ~empty & (counts.values > bars)
    rest = ~sure & ~empty
    others = int(rest.sum())
    if others == 0 or not np.isfinite(counts.errors[rest]).all():
        return _Held(sure, rest, 0, others)
    rows, bar = float(counts.values[rest].sum()), sqrt(float((counts.errors[rest] ** 2).sum()) * DEPENDENT)
    likely = min(max(round(rows / max(float(bars[rest].mean()) / 2, 1.0)), 0), others)
    most = min(max(floor(rows + bar), likely), others)
    return _Held(sure, rest, min(likely, int(rest[shown].sum())), most)


def at_once(number: int) -> float:
    """By how much 95 % bars grow so that one-sided bars of so many counts hold together (Bonferroni), for a Gaussian.

    >>> round(at_once(1), 3), round(at_once(100), 2)
    (0.839, 1.68)
    """
    return NormalDist().inv_cdf(1.0 - OUTSIDE / max(number, 1)) / DEVIATIONS
