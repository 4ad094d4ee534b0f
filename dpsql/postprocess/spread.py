"""From the values of a computed number over variants of its inputs to its error. Public."""

from enum import IntEnum
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
    off = np.where(usable, values, known) - known
    if factor is None:
        errors, most_missing, most_lost = np.abs(off).max(axis=0, initial=0.0), 0.0, 0.0
        if nested is not None and len(off) == 4:
            low, low_high, high_low, high = np.abs(off)
            opposed, together = (low_high + high_low) / 2, (low + high) / 2
            both = np.sqrt((opposed**2 + together**2) / 2)
            errors = np.where(nested & (opposed >= together), both, errors)
    else:
        errors = factor * DEVIATIONS * np.sqrt((off**2).sum(axis=0) / np.maximum(usable.sum(axis=0), 1))
        most_missing, most_lost = 1 - PRESENT, OUTSIDE / 2
    released = np.where(variants.present[0], variants.values[0], np.nan)
    there = present.sum(axis=0)
    unknown = np.zeros(len(shown), dtype=np.int8)
    unknown[there < (1 - most_missing) * len(values)] = Unknown.ROW
    unknown[there - usable.sum(axis=0) > most_lost * there] = Unknown.DENOMINATOR
    unknown[~(np.abs(released - known) <= _SAME * np.maximum(np.abs(known), 1.0))] = Unknown.ROW
    unknown[(~np.isfinite(released) & variants.present[0]) | np.isinf(shown)] = Unknown.DENOMINATOR
    unknown[np.isnan(shown)] = Unknown.NULL
    return Spread(errors, unknown, np.all(~usable | (values >= 0), axis=0))
