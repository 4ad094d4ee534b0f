"""Places in the bins of a number column: cells at and between round numbers, how round these are, and which bins' rows
rise or fall beside them. Public."""

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpsql.decimals import exact
from dpsql.domain import NumberDomain, marks_of
from dpsql.query import Estimates

EMPTY = 0.2
"""A stretch that is less dense than the next by this factor is empty beside it."""
THIN = 0.5
"""The first or the last bin of a column that is less dense than the next by this factor: rows begin or end in it."""
_KEPT = 64
_TINY = 1e-300
_CONTEXT = exact(28)
_ZERO = 400
"""The roundness of 0."""


def kinds_of(domain: NumberDomain) -> npt.NDArray[np.int64]:
    """Of each cell the step of its bin's marks, and how round the mark is, 0 between two marks; int64, (cells, 2), not
    to be written to."""
    return _kinds(domain.edges, domain.step)


@lru_cache(_KEPT)
def _kinds(edges: tuple[float, ...], step: Fraction | None) -> npt.NDArray[np.int64]:
    marks, of_cell = places_of(edges, step)
    bins = of_cell[::2]
    count = np.maximum(np.bincount(bins, minlength=len(edges) - 1), 1)
    steps = np.rint(2.0 * np.log2(np.diff(np.array(edges) * 0.5) / count)).astype(np.int64)[bins]
    round_ = np.array([roundness(m) for m in marks.tolist()], dtype=np.int64)
    both = np.stack([np.stack([steps, steps], axis=1), np.stack([round_, np.zeros_like(round_)], axis=1)], axis=-1)
    out = both.reshape(-1, 2)
    out.setflags(write=False)
    return out


def round_ones(domain: NumberDomain) -> npt.NDArray[np.intp]:
    """Of each cell how round the mark is that it is at or follows, as numbers from 0 on."""
    of_mark = np.unique(kinds_of(domain)[::2, 1], return_inverse=True)[1].reshape(-1)
    return np.repeat(of_mark, 2)


def roundness(mark: float) -> int:
    """Above 0: which power of ten it is a multiple of, those of 5 apart.

    >>> roundness(30.0) > roundness(25.0) > roundness(24.0) > roundness(24.5) > 0
    True
    """
    digits = Decimal(repr(mark)).normalize(_CONTEXT).as_tuple()
    if not isinstance(digits.exponent, int) or mark == 0.0:
        return _ZERO
    return max(1, min(_ZERO, _ZERO // 2 + 2 * digits.exponent + (digits.digits[-1] == 5)))


def summed(places: npt.NDArray[np.intp], values: Estimates, number: int) -> Estimates:
    """Of each place the sum of its values; float64, (number,)."""
    return np.asarray(np.bincount(places, values, minlength=number), dtype=np.float64)


def marks_in(domain: NumberDomain) -> Estimates:
    """The round numbers at which rows are counted, in order; float64, (marks,)."""
    return places_of(domain.edges, domain.step)[0]


def bins_in(domain: NumberDomain) -> npt.NDArray[np.intp]:
    """The bin of each cell, intp, (cells,); the last mark is the end of the last bin."""
    return places_of(domain.edges, domain.step)[1]


@lru_cache(_KEPT)
def places_of(edges: tuple[float, ...], step: Fraction | None = None) -> tuple[Estimates, npt.NDArray[np.intp]]:
    """Both of bins with these edges and the owner's ``step``, not to be written to."""
    marks = np.array(marks_of(edges, step), dtype=np.float64)
    bins = np.minimum(np.searchsorted(np.array(edges), marks, side="right") - 1, len(edges) - 2)
    found = marks, np.repeat(bins, 2)
    for array in found:
        array.setflags(write=False)
    return found


def lengths(marks: Estimates) -> Estimates:
    """Of each cell the half of how far it reaches, 0 of a mark, in the column's unit; float64, (cells,)."""
    length = np.append(np.diff(marks * 0.5), 0.0)
    return np.stack([np.zeros(len(marks)), length], axis=1).reshape(-1)


def slopes(edges: Estimates, rows: Estimates) -> Estimates:
    """By how much the logarithm of how dense rows are grows along each bin, as its neighbours tell, but those beside
    which it or which beside it are empty; float64, (bins,)."""
    width, middle = np.maximum(np.diff(edges * 0.5), _TINY), (edges[:-1] * 0.5 + edges[1:] * 0.5) / 2.0
    dense = np.log(rows) - np.log(width)
    step = np.diff(dense)
    with np.errstate(all="ignore"):
        slope = np.nan_to_num(step / np.diff(middle))
    told = np.abs(step) < -np.log(EMPTY)
    gap = np.diff(middle)
    # as numpy's gradient where both are told
    left, right = np.append(0.0, slope), np.append(slope, 0.0)
    by_left, by_right = np.append(0.0, told / np.maximum(gap, _TINY)), np.append(told / np.maximum(gap, _TINY), 0.0)
    return np.asarray((left * by_left + right * by_right) / np.maximum(by_left + by_right, _TINY) * width)


def beside_empty(edges: Estimates, rows: Estimates) -> npt.NDArray[np.bool_]:
    """The bins that are empty beside the one before or after them, and those beside which one is; bool, (bins,). Beside
    the first and the last nothing is on one side, so that these are counted where they are ``THIN``."""
    step = np.diff(np.log(rows) - np.log(np.maximum(np.diff(edges * 0.5), _TINY)))
    thin = -np.log(THIN)
    empty = np.concatenate([step[:1] >= thin, np.abs(step) >= -np.log(EMPTY), step[-1:] <= -thin])
    return np.asarray(empty[:-1] | empty[1:])


def fullest(share: Estimates, bins: npt.NDArray[np.intp], number: int) -> tuple[npt.NDArray[np.intp], Estimates]:
    """Of each bin its cell with the largest share, and in how many times the next largest one this is."""
    of_bin = by_bin(share, bins, number)
    largest = np.sort(of_bin, axis=1)[:, -2:]
    times = largest[:, -1] / np.maximum(largest[:, 0] if largest.shape[1] > 1 else 0.0, _TINY)
    return np.asarray(np.searchsorted(bins, np.arange(number)) + of_bin.argmax(axis=1)), np.asarray(times)


def by_bin(values: npt.NDArray[np.generic], bins: npt.NDArray[np.intp], number: int) -> Estimates:
    """Of each bin its cells, and as many without rows as make them a power of two; float64, (bins, cells)."""
    most = int(np.bincount(bins, minlength=number).max())
    out = np.zeros((number, 1 << (most - 1).bit_length()))
    out[bins, places_in(bins)] = values
    return out


def places_in(bins: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Of each cell which of its bin it is."""
    return np.asarray(np.arange(len(bins)) - np.searchsorted(bins, bins))


def as_less_round(bins: npt.NDArray[np.intp], round_: npt.NDArray[np.int64], shares: Estimates) -> Estimates:
    """What marks have at least, as those of their bin that are less round have: who tells whole numbers tells 45, too.
    Cells between marks are not ``round_``: 0."""
    order = np.lexsort((round_, bins))
    most = np.maximum.accumulate(shares[order] + 2.0 * bins[order]) - 2.0 * bins[order]
    out = np.zeros(len(shares))
    out[order] = most
    return np.where(round_ > 0, np.maximum(out, 0.0), 0.0)
