"""Text columns: a finite list of candidate strings, and the exact split of weights into total and sparse parts.

On a text axis the weights W take one value per candidate, one for NULL and one, W(other), for every other string.
With D(k) = W(k) - W(other), W is the sum over subsets S of the text axes of the products "D on S, W(other) elsewhere"
(Moebius inversion over the subset lattice), so each part is a dense query or has a finite list of keys.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod

import numpy as np
import numpy.typing as npt

from dpsql.domain import TableDomain
from dpsql.query import FIXED_POINT, Factor, Key, KeyedFactor, LinearQuery, Weights, linear_query

Signed = npt.NDArray[np.int64] | npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class Axis:
    """One column of a grid. ``strings`` is set for a text column: its candidates in order (NULL and *other* follow)."""

    name: str
    size: int
    strings: tuple[str, ...] | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Piece:
    """``coefficient`` times a query that concerns one connected set of columns."""

    coefficient: float
    query: LinearQuery


def text_axis(name: str, strings: Sequence[str]) -> Axis:
    """The axis of a text column: sorted candidates, NULL, other."""
    listed = tuple(sorted(set(strings)))
    return Axis(name, len(listed) + 2, listed)


def other_string(strings: Sequence[str]) -> str:
    """A string that is none of ``strings``.

    >>> other_string(["other", "x"])
    'other_'
    """
    taken = set(strings)
    out = "other"
    while out in taken:
        out += "_"
    return out


def pieces(table: TableDomain, axes: Sequence[Axis], weights: Signed) -> tuple[Piece, ...]:
    """Linear queries whose sum, with coefficients, has the given signed weights. Shape = the axes' sizes.

    Integer weights up to 2^24 stay exact; others are rounded to multiples of max / 2^24.
    """
    text = [i for i, a in enumerate(axes) if a.strings is not None]
    finite = [i for i, a in enumerate(axes) if a.strings is None]
    out: list[Piece] = []
    for size in range(len(text) + 1):
        for chosen in combinations(text, size):
            part = _moebius(weights, text, chosen)
            if part.any():
                out.extend(_signed_pieces(table, axes, part, chosen, finite))
    return tuple(out)


def _moebius(weights: Signed, text: Sequence[int], chosen: Sequence[int]) -> Signed:
    """Axes in ``text`` become: difference to *other* (size - 1) when chosen, *other* alone (size 1) when not."""
    part = weights
    for axis in text:
        last = part.shape[axis] - 1
        other = part.take([last], axis=axis)
        part = part.take(range(last), axis=axis) - other if axis in chosen else other
    return part


def _signed_pieces(
    table: TableDomain, axes: Sequence[Axis], part: Signed, chosen: Sequence[int], finite: Sequence[int]
) -> list[Piece]:
    columns = tuple(axes[i].name for i in finite)
    shape = tuple(axes[i].size for i in finite)
    rest = [i for i in range(part.ndim) if i not in chosen and i not in finite]
    moved = part.transpose(*chosen, *rest, *finite)
    keys: list[Key] = [()]
    if chosen:
        keys = list(product(*[(*(axes[i].strings or ()), None) for i in chosen]))
    flat = moved.reshape(len(keys), prod(shape))
    out = []
    for sign in (1, -1):
        positive = np.maximum(flat * sign, 0)
        used = np.flatnonzero(positive.any(axis=1))
        if not len(used):
            continue
        kept = [keys[i] for i in used]
        numerators, unit, coefficient = _fixed(positive[used])
        array = numerators.reshape(len(kept), *shape)
        query = _query(table, tuple(axes[i].name for i in chosen), kept, columns, array, unit)
        if query is not None:
            out.append(Piece(sign * coefficient, query))
    return out


def _fixed(positive: Signed) -> tuple[Weights, int, float]:
    """Numerators, unit and the coefficient that scales weights in [0, 1] back."""
    top = positive.max()
    if positive.dtype == np.int64 and top <= FIXED_POINT:
        return np.ascontiguousarray(positive, dtype=np.int64), int(top), float(top)
    scaled = np.rint(positive / top * FIXED_POINT).astype(np.int64)
    return np.ascontiguousarray(scaled), FIXED_POINT, float(top)


def _query(
    table: TableDomain, text: tuple[str, ...], keys: list[Key], columns: tuple[str, ...], array: Weights, unit: int
) -> LinearQuery | None:
    if not text:
        return linear_query(table, [Factor(columns, array[0], unit)])
    order = sorted(range(len(text)), key=lambda i: table.order[text[i]])
    if order != list(range(len(text))):
        text = tuple(text[i] for i in order)
        keys = [tuple(k[i] for i in order) for k in keys]
    array, columns, factors = _separate(array, columns, unit)
    return linear_query(table, factors, KeyedFactor(text, tuple(keys), columns, array, unit))


def _separate(array: Weights, columns: tuple[str, ...], unit: int) -> tuple[Weights, tuple[str, ...], list[Factor]]:
    """Takes what does not depend on the key out of an indicator over keys and cells: equal questions look equal."""
    factors: list[Factor] = []
    axis = 1
    while unit == 1 and axis < array.ndim:
        own = array.max(axis=tuple(i for i in range(array.ndim) if i != axis))
        rest = array.max(axis=axis)
        shape = [1] * array.ndim
        shape[axis] = -1
        if (array == own.reshape(shape) * np.expand_dims(rest, axis)).all():
            factors.append(Factor((columns[axis - 1],), np.ascontiguousarray(own)))
            array, columns = np.ascontiguousarray(rest), columns[: axis - 1] + columns[axis:]
        else:
            axis += 1
    if unit == 1 and columns:
        own = array.max(axis=tuple(range(1, array.ndim)))
        rest = array.max(axis=0)
        if (array == np.multiply.outer(own, rest)).all():
            factors.append(Factor(columns, np.ascontiguousarray(rest)))
            array, columns = np.ascontiguousarray(own), ()
    return array, columns, factors
