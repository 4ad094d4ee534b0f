"""Released tables many times over, each time with numbers that could as well have been released. Public.

A number computed from released ones can be off by what its computation makes of their errors. Corners put each number
at an end of its interval; draws add noise of the width of its bar to each. Both are functions of the released answers
and a seed made from the statement, so that equal questions have equal bars.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dpsql.confidence import DEVIATIONS
from dpsql.query import Form, LinearQuery, union
from dpsql.result import Answer

Floats = npt.NDArray[np.float64]
_LARGEST = 2.0**62
_ALL_CORNERS = 5


@dataclass(frozen=True, eq=False)
class ReleasedColumn:
    """One aggregate column of a released table: an answer per row, and what each asks; equal keys are one number.

    ``integer``: it holds whole numbers. ``queries``: for each row the query that it counts, ``None`` for what is more
    than a count. ``bounds``: whether its error is a bound, which many numbers may all reach together, rather than a
    spread. ``forms``: for each row the sum that it is, or the two of a quotient, to which its
    ``centers`` are added, if there are any; ``()`` for summaries.
    """

    answers: Sequence[Answer]
    keys: tuple[Hashable, ...]
    integer: bool
    queries: tuple[LinearQuery | None, ...]
    bounds: tuple[bool, ...]
    forms: tuple[tuple[Form, ...], ...] = ()
    centers: tuple[float, ...] = ()

    @cached_property
    def whole(self) -> LinearQuery | None:
        """What all rows that are not exact count together; ``None`` for one row, or where that is no query."""
        uncertain = [q for q, a in zip(self.queries, self.answers, strict=True) if a.error != 0]
        queries = [q for q in uncertain if q is not None]
        return union(queries) if 1 < len(queries) == len(uncertain) else None

    @cached_property
    def values(self) -> Floats:
        """NaN where SQL has NULL."""
        return np.array([np.nan if a.value is None else float(a.value) for a in self.answers], dtype=np.float64)

    @cached_property
    def ends(self) -> tuple[Floats, Floats]:
        """The ends of the intervals; the value itself where none is known."""
        ends = np.array([(a.value, a.value) if a.interval is None else a.interval for a in self.answers], np.float64)
        low, high = ends.reshape(-1, 2).T
        return (np.floor(low), np.ceil(high)) if self.integer else (low, high)

    @cached_property
    def sds(self) -> Floats:
        """What the 95 % bars are for a Gaussian; 0 where none is known."""
        return np.array([0.0 if a.error is None else a.error / DEVIATIONS for a in self.answers], dtype=np.float64)


def count_key(query: LinearQuery) -> Hashable:
    """The key of a number that is the count of a query."""
    return ((0.0, (1.0, query.digest)),)


def standard_draws(draws: int, numbers: int, seed: int) -> Floats:
    """Standard Gaussians, one row per draw, one column per number; ``draws`` is even.

    The second half mirrors the first, and columns have mean square 1 and, while there are at most ``draws / 2`` of
    them, are orthogonal: the spread of a linear function of the numbers then is its sd without sampling error.

    >>> z = standard_draws(8, 3, 1)
    >>> bool(np.allclose(z.T @ z / 8, np.eye(3)) and np.allclose(z.sum(axis=0), 0))
    True
    """
    half = np.random.default_rng(seed).standard_normal((draws // 2, numbers))
    if numbers <= draws // 2:
        half = np.linalg.qr(half)[0]
    half = half * np.sqrt(draws // 2 / np.maximum((half**2).sum(axis=0), np.finfo(float).tiny))
    return np.concatenate([half, -half])


def given_whole(noise: Floats, sds: Floats, whole: Floats, whole_sd: float) -> Floats:
    """Standard noise of the parts of a whole, given the noise of the whole: their errors add up to its error.

    ``noise``: independent, shape (draws, parts), with sds ``sds``; ``whole``: shape (draws,), with sd ``whole_sd``.
    Each part gets what is missing in proportion to its variance, which is the law of Gaussians given their sum, and
    then its own sd back.

    >>> z = standard_draws(8, 3, 1)
    >>> known = given_whole(z[:, :2], np.ones(2), z[:, 2], 0.0)
    >>> bool(np.allclose(known.sum(axis=1), 0) and np.allclose((known**2).mean(axis=0), 1))
    True
    """
    total = float((sds**2).sum())
    share = sds**2 / total
    off = noise * sds
    off = off + np.outer(whole_sd * whole - off.sum(axis=1), share)
    variances = sds**2 * (1 - share) + (share * whole_sd) ** 2
    out: Floats = off / np.sqrt(np.maximum(variances, np.finfo(float).tiny))
    return out


def at_corners(column: ReleasedColumn, sides: Sequence[int]) -> Floats:
    """One row per corner: the column at its low (-1) or high (1) ends, or as released (0)."""
    low, high = column.ends
    choice = (low, column.values, high)
    return np.array([choice[side + 1] for side in sides]).reshape(len(sides), len(column.values))


def between(column: ReleasedColumn, variants: int, seed: int) -> Floats:
    """One row per variant: the column inside its intervals, one point in each of ``variants`` equal parts of them.

    Their order is random, so that points of columns with other seeds are met in all combinations.
    """
    rng, (low, high) = np.random.default_rng(seed), column.ends
    part = (rng.permutation(variants) + rng.random(variants)) / max(variants, 1)
    out: Floats = low + np.outer(part, high - low)
    return out


def number_of_extremes(bounds: int) -> int:
    return int(2 ** min(bounds, _ALL_CORNERS))


def extreme_signs(bounds: npt.NDArray[np.bool_], seed: int) -> Floats:
    """Which ends bounds go to together, -1, 1 or, where there is none, 0: all corners of a few, all low and all high
    and 30 random ones of many.

    >>> extreme_signs(np.array([True, False, True]), 1).tolist()
    [[-1.0, 0.0, -1.0], [-1.0, 0.0, 1.0], [1.0, 0.0, -1.0], [1.0, 0.0, 1.0]]
    """
    number = int(bounds.sum())
    if number <= _ALL_CORNERS:
        chosen = np.array(list(product((-1.0, 1.0), repeat=number))).reshape(2**number, number)
    else:
        random = np.random.default_rng(seed).choice((-1.0, 1.0), (2**_ALL_CORNERS - 2, number))
        chosen = np.concatenate([-np.ones((1, number)), np.ones((1, number)), random])
    signs = np.zeros((len(chosen), len(bounds)))
    signs[:, bounds] = chosen
    return signs


def at_extremes(column: ReleasedColumn, signs: Floats) -> Floats:
    """One row per variant; ``signs``: one column per row of the table, as :func:`extreme_signs` gives them."""
    low, high = column.ends
    out: Floats = np.where(signs < 0, low, np.where(signs > 0, high, column.values))
    return out


def drawn(column: ReleasedColumn, noise: Floats, *, positive: bool) -> Floats:
    """One row per draw; ``noise`` is standard, one column per row of the table.

    ``positive``: what was released at or above 0 stays above 0, for expressions that fail elsewhere, such as LN.
    """
    out: Floats = column.values + column.sds * noise
    if positive:
        floor = np.where(column.values >= 0, np.minimum(column.values, 1.0), -np.inf)
        out = np.maximum(out, floor)
    return out


def variants_table(base: pa.Table, draw: str, replaced: Mapping[str, Floats]) -> pa.Table:
    """The released table ``base`` once per variant, whose number stands in front, in a column named ``draw``.

    ``replaced``: by column name the numbers of each variant, shape (variants, rows); NaN is NULL.
    """
    variants = next((len(v) for v in replaced.values()), 1)
    arrays: list[Any] = [pa.array(np.repeat(np.arange(variants), base.num_rows))]
    for name, kind in zip(base.schema.names, base.schema.types, strict=True):
        if name in replaced:
            arrays.append(_array(replaced[name].ravel(), kind))
        else:
            arrays.append(pa.chunked_array(base.column(name).chunks * variants, kind))
    return pa.table(arrays, names=[draw, *base.schema.names])


def _array(values: Floats, kind: pa.DataType) -> Any:
    missing = np.isnan(values)
    if pa.types.is_integer(kind):
        whole = np.rint(np.clip(np.where(missing, 0.0, values), -_LARGEST, _LARGEST)).astype(np.int64)
        return pa.array(whole, kind, mask=missing)
    return pa.array(values, kind, mask=missing)
