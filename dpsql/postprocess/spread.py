"""From the values of a computed number over variants of its inputs to its error. Public."""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpsql.confidence import DEVIATIONS, OUTSIDE

Floats = npt.NDArray[np.float64]
DEPENDENT = 1.5
"""The variance of what is computed from three or more numbers, in variances for independent ones."""
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


def spread(shown: Floats, variants: Cells, factor: float | None) -> Spread:
    """The errors of a column that the result shows as ``shown`` (NaN for NULL); variant 0 is without changes.

    ``factor`` is ``None`` for corners: the error is the distance of the farthest. For draws it is the factor on their
    spread: the error is that many times 1.96 root mean square distances from the value. Where variant 0 is not what is
    shown, nothing is known.

    >>> cells = Cells(np.array([[5.0], [4.0], [7.0]]), np.ones((3, 1), dtype=bool))
    >>> spread(np.array([5.0]), cells, None).errors
    array([2.])
    """
    values, present = variants.values[1:], variants.present[1:]
    usable = present & np.isfinite(values)
    off = np.where(usable, values, shown) - shown
    if factor is None:
        errors, most_missing, most_lost = np.abs(off).max(axis=0, initial=0.0), 0.0, 0.0
    else:
        errors = factor * DEVIATIONS * np.sqrt((off**2).sum(axis=0) / np.maximum(usable.sum(axis=0), 1))
        most_missing, most_lost = 1 - PRESENT, OUTSIDE / 2
    released = np.where(variants.present[0], variants.values[0], np.nan)
    there = present.sum(axis=0)
    unknown = np.zeros(len(shown), dtype=np.int8)
    unknown[there < (1 - most_missing) * len(values)] = Unknown.ROW
    unknown[there - usable.sum(axis=0) > most_lost * there] = Unknown.DENOMINATOR
    unknown[~(np.abs(released - shown) <= _SAME * np.maximum(np.abs(shown), 1.0))] = Unknown.ROW
    unknown[~np.isfinite(released) & variants.present[0]] = Unknown.DENOMINATOR
    unknown[np.isnan(shown)] = Unknown.NULL
    return Spread(errors, unknown, np.all(~usable | (values >= 0), axis=0))
