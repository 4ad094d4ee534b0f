"""From the values of a computed number over variants of its inputs to its error. Public."""

from collections.abc import Hashable, Mapping
from enum import IntEnum
from math import sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpsql.confidence import DEVIATIONS, OUTSIDE

Floats = npt.NDArray[np.float64]
DEPENDENT = 1.5
"""The variance of what three or more parts of an unknown whole make up, in variances for independent ones."""
PRESENT = 0.5
"""A row must be there in this share of the draws."""
_SAME = 1e-9


class Unknown(IntEnum):
    """Why an error is not known."""

    NO = 0
    NULL = 1
    DENOMINATOR = 2
    INPUT = 3
    ROW = 4
    KEY = 5
    WORK = 6
    LARGE = 7


class Cells(NamedTuple):
    """A computed column over variants, shape (variants, rows); ``present``: the variant has the row.

    Values are NaN where SQL has NULL or no number, infinite where a denominator was at or below 0.
    """

    values: Floats
    present: npt.NDArray[np.bool_]


class Spread(NamedTuple):
    """For each row: the error (meaningless where it is not known), why not, and whether no variant was below 0."""

    errors: Floats
    unknown: npt.NDArray[np.int8]
    nonnegative: npt.NDArray[np.bool_]


def spread(shown: Floats, variants: Cells, factor: float | None, nested: npt.NDArray[np.bool_] | None = None) -> Spread:
    """The errors of a column that the result shows as ``shown`` (NaN for NULL); variant 0 is without changes.

    ``factor`` is ``None`` for corners: the error is the distance of the farthest. For draws it is the factor on their
    spread: the error is that many times 1.96 root mean square distances from the value. Where variant 0 is not what is
    shown, nothing is known. ``nested``: in these rows the number is made of two counts, one of rows that the other
    counts too, and the corners are low and low, low and high, high and low, high and high.

    A part's error and its whole's are not opposed: they share noise, or are independent. So where the two pull in
    opposite directions, as in a quotient, the root sum of squares of what each does alone is enough: the root mean
    square of half the way between the corners where both help and between those where they hinder each other.

    >>> cells = Cells(np.array([[5.0], [4.0], [7.0]]), np.ones((3, 1), dtype=bool))
    >>> spread(np.array([5.0]), cells, None).errors
    array([2.])
    """
    values, present = variants.values[1:], variants.present[1:]
    usable = present & np.isfinite(values)
    known = np.where(np.isfinite(shown), shown, 0.0)
    released = np.where(variants.present[0], variants.values[0], np.nan)
    with np.errstate(over="ignore"):  # what is beyond the largest float is not known
        off = np.where(usable, values, known) - known
        apart = np.where(np.isfinite(released), np.abs(np.where(np.isfinite(released), released, 0.0) - known), np.inf)
        if factor is None:
            errors, most_missing, most_lost = _at_corners(off, nested), 0.0, 0.0
        else:
            errors = factor * DEVIATIONS * _root_mean_square(off, usable.sum(axis=0))
            most_missing, most_lost = 1 - PRESENT, OUTSIDE / 2
        large = ~np.isfinite(np.abs(known) + errors)
    there = present.sum(axis=0)
    unknown = np.zeros(len(shown), dtype=np.int8)
    unknown[large] = Unknown.LARGE
    unknown[there < (1 - most_missing) * len(values)] = Unknown.ROW
    unknown[there - usable.sum(axis=0) > most_lost * there] = Unknown.DENOMINATOR
    unknown[~(apart <= _SAME * np.maximum(np.abs(known), 1.0))] = Unknown.ROW
    unknown[(~np.isfinite(released) & variants.present[0]) | np.isinf(shown)] = Unknown.DENOMINATOR
    unknown[np.isnan(shown)] = Unknown.NULL
    return Spread(errors, unknown, np.all(~usable | (values >= 0), axis=0))


def factor(uncertain: Mapping[Hashable, bool], least: float, *, known: bool) -> float:
    """What the spread of draws is multiplied by, for numbers whose errors may depend on each other.

    The sd of a sum of m numbers is at most sqrt(m) times what it is for independent ones (Cauchy and Schwarz), which is
    the factor for two, and for errors that are bounds, which may all be off in the same direction. The parts of a whole
    that is known better than they are have errors that add up to nearly nothing: between m such parts a difference has
    up to m / (m - 1) times the variance. Where the whole is ``known``, draws have that already; else 3 / 2 is kept for
    three and more. ``least``: the variance of a whole whose parts are off in the same direction, in that of independent
    ones.
    """
    together = sum(uncertain.values())
    noisy = len(uncertain) - together
    variance = 1.0 if known else noisy if noisy <= 2 else DEPENDENT
    return sqrt(max(1.0, least, variance + together))


def widened(drawn: Spread, extreme: Spread) -> Spread:
    """A spread learned from draws that is at least what the ends of bounds give: they may all be reached together.

    A row that is not there at some end keeps what the draws say.
    """
    known = extreme.unknown == Unknown.NO
    errors = np.where(known, np.maximum(drawn.errors, extreme.errors), drawn.errors)
    infinite = (drawn.unknown == Unknown.NO) & (extreme.unknown == Unknown.DENOMINATOR)
    unknown = np.where(infinite, extreme.unknown, drawn.unknown)
    return Spread(errors, unknown, drawn.nonnegative & (extreme.nonnegative | ~known))


def turning(found: Spread, shown: Floats, corners: Cells, inside: Cells) -> Spread:
    """What corners gave, and no less than the distance of what lies beyond all corners inside: ``n % 7`` may be equal
    at both ends, and at the value, and take any value between them.

    Where arithmetic rises or falls all the way nothing lies beyond, and the error is that of the corners.
    """
    known = np.where(np.isfinite(shown), shown, 0.0)
    ends = np.where(corners.present & np.isfinite(corners.values), corners.values, known)
    low, high = np.minimum(ends.min(axis=0), known), np.maximum(ends.max(axis=0), known)
    usable = inside.present & np.isfinite(inside.values)
    values, same = np.where(usable, inside.values, known), _SAME * np.maximum(np.abs(low), np.abs(high))
    with np.errstate(over="ignore"):
        beyond = (values < low - same) | (values > high + same)
        errors = np.maximum(found.errors, np.where(beyond, np.abs(values - known), 0.0).max(axis=0, initial=0.0))
        large = ~np.isfinite(np.abs(known) + errors)
    lost, gone = (inside.present & ~usable).any(axis=0), ~inside.present.all(axis=0)
    why = np.select([lost, gone, large], [Unknown.DENOMINATOR, Unknown.ROW, Unknown.LARGE], Unknown.NO)
    unknown = np.where(found.unknown == Unknown.NO, why, found.unknown).astype(np.int8)
    return Spread(errors, unknown, found.nonnegative & np.all(~usable | (values >= 0), axis=0))


def _at_corners(off: Floats, nested: npt.NDArray[np.bool_] | None) -> Floats:
    errors: Floats = np.abs(off).max(axis=0, initial=0.0)
    if nested is None or len(off) != 4:
        return errors
    low, low_high, high_low, high = np.abs(off)
    opposed, together = low_high / 2 + high_low / 2, low / 2 + high / 2
    return np.where(nested & (opposed >= together), np.hypot(opposed, together) / np.sqrt(2.0), errors)


def _root_mean_square(off: Floats, usable: npt.NDArray[np.int_]) -> Floats:
    """Of each column, over the ``usable`` variants; scaled, as squares of large numbers are beyond all floats."""
    most = np.abs(off).max(axis=0, initial=0.0)
    scale = np.where((most > 0) & np.isfinite(most), most, 1.0)
    found: Floats = scale * np.sqrt(((off / scale) ** 2).sum(axis=0) / np.maximum(usable, 1))
    return found
