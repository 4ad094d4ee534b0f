"""What is known of a string that was not shown: its count follows a power law with a released mean. Public.

Strings that occur have counts c = 1, 2, .. with weights c^-a (Zipf); those that were not shown have at most ``most``
rows, and the mean of their counts gives a. A string that somebody lists is one of them drawn evenly, or as it occurs in
a row, which prefers frequent ones.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import hypot, sqrt

import numpy as np
import numpy.typing as npt

from dpsql.confidence import OUTSIDE

Floats = npt.NDArray[np.float64]
_STEEPEST = 12.0
_STEPS = 50
_POINTS = 2048


@dataclass(frozen=True)
class HiddenKey:
    """``estimate``: expected rows. ``variance``: of the rows around it. ``bias``: sd of their mean when a whole list is
    drawn in one of the two ways."""

    estimate: float
    variance: float
    bias: float


@dataclass
class Listed:
    """Strings that were not shown but listed by somebody and measured: their number, rows, and the noise's variance."""

    strings: int = 0
    rows: float = 0.0
    noise: float = 0.0


@lru_cache(maxsize=256)
def hidden_key(mean: float, most: float, by_row: float) -> HiddenKey:
    """A string of a kind that has ``mean`` rows on average and at most ``most``; both in counts.

    ``by_row``: the probability, in [0, 1], that it was drawn as it occurs in a row.

    >>> round(hidden_key(3.0, 100.0, 0.0).estimate, 3), hidden_key(3.0, 100.0, 1.0).estimate > 10
    (3.0, True)
    """
    if mean <= 0.0:
        return HiddenKey(0.0, 0.0, 0.0)
    counts, widths, power = _fitted(mean, most)
    scale = min(mean, 1.0)  # below one row on average, most strings that were listed do not occur
    first, second, third = (_moment(counts, widths, power, n) for n in (1, 2, 3))
    even = scale * first
    estimate = even + by_row * (second / first - even)
    square = scale * second + by_row * (third / first - scale * second)
    spread = abs(second / first - even) * sqrt(by_row * (1.0 - by_row))
    return HiddenKey(estimate, max(0.0, square - estimate * estimate), spread)


@lru_cache(maxsize=64)
def power_law(mean: float, most: float) -> tuple[Floats, Floats]:
    """Counts 1, 2, .. and how likely each is, shape (points,) both, for strings that occur: as ``hidden_key`` has it,
    with a mean of ``mean`` or 1.

    >>> counts, likely = power_law(3.0, 100.0)
    >>> round(float(counts @ likely), 3), round(float(likely.sum()), 3)
    (3.0, 1.0)
    """
    counts, widths, power = _fitted(mean, most)
    weights = widths * counts**-power
    return counts, weights / weights.sum()


def _fitted(mean: float, most: float) -> tuple[Floats, Floats, float]:
    """Counts, how many whole numbers each of them stands for, and the power of the law with this mean."""
    top = max(round(most), 2)
    counts = np.arange(1.0, top + 1) if top <= _POINTS else np.unique(np.rint(np.geomspace(1.0, top, _POINTS)))
    # each point stands for the whole numbers around it
    widths = np.diff(np.concatenate([[0.5], (counts[1:] + counts[:-1]) / 2, [counts[-1] + 0.5]]))
    low, high = 0.0, _STEEPEST
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _moment(counts, widths, middle, 1) > max(mean, 1.0):
            low = middle
        else:
            high = middle
    return counts, widths, high


def drawn_by_row(mean: float, most: float, by_row: float, seen: float, sd: float) -> tuple[float, float]:
    """``by_row`` and its sd once strings that were listed had ``seen`` rows on average, measured up to ``sd``.

    Before that all or none are drawn by row, so the sd is sqrt(by_row (1 - by_row)); the best linear estimate from a
    noisy mean (Hartigan 1969).

    >>> drawn_by_row(3.0, 100.0, 0.5, 3.0, 0.1)[0] < 0.05, drawn_by_row(3.0, 100.0, 0.5, 3.0, 1e9)
    (True, (0.5, 0.5))
    """
    even, row = (hidden_key(mean, most, share).estimate for share in (0.0, 1.0))
    spread = sqrt(by_row * (1.0 - by_row))
    signal = (row - even) * spread
    if signal <= 0.0:
        return by_row, spread
    kept = sd / hypot(signal, sd)
    expected = even + by_row * (row - even)
    shift = (1.0 - kept * kept) * (seen - expected) / (row - even)
    return round(min(1.0, max(0.0, by_row + shift)), 6), spread * kept


def furthest_way(by_row: float) -> float:
    """How far a list's way of drawing may be from ``by_row``, the share of lists drawn by row; of their distance.

    Lists that were measured tell the share of lists, not how the next one is drawn: it is wholly by row (1) or even
    (0). Both must be covered unless one of them is rarer than what bars leave out; then its sd is enough.

    >>> furthest_way(0.3), round(furthest_way(0.01), 3)
    (0.7, 0.099)
    """
    if OUTSIDE <= by_row <= 1.0 - OUTSIDE:
        return max(by_row, 1.0 - by_row)
    return sqrt(by_row * (1.0 - by_row))


def _moment(counts: Floats, widths: Floats, power: float, order: int) -> float:
    weights = widths * counts**-power
    return float((weights * counts**order).sum() / weights.sum())
