"""Measurements: released noisy contingencies, over the cells of a scope or over coarser parts of it. All public.

It is the only thing that models learn from and the only thing replayed from a ledger, so all of them agree on its
shape: axes with parts, integer values, one sigma.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, prod, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsql.query import Counts, Crosstab, Estimates, Factor, Interval, Key, LinearQuery, Weights, sums

Labels = npt.NDArray[np.int64]
ROUNDED = 0.25
"""The variance that rounding to whole counts adds at most."""
_FEW_PARTS = 32


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis of a measurement: a partition of the cells of ``columns``.

    ``labels`` has the columns' sizes as its shape and says which part a cell belongs to (0 .. size-1). With
    ``difference`` the axis is one number (size 1), the first of a column's two cells minus the second.
    """

    columns: tuple[str, ...]
    labels: Labels
    size: int
    difference: bool = False

    @classmethod
    def cells(cls, columns: tuple[str, ...], shape: tuple[int, ...]) -> "Axis":
        """Every cell is its own part."""
        n = prod(shape)
        return cls(columns, np.arange(n, dtype=np.int64).reshape(shape), n)

    @classmethod
    def level_sets(cls, columns: tuple[str, ...], weights: Sequence[Weights]) -> "Axis":
        """The coarsest partition on which every one of ``weights`` (all of the columns' shape) is constant.

        >>> Axis.level_sets(("a",), [np.array([0, 1, 1, 0])]).labels
        array([0, 1, 1, 0])
        """
        shape = weights[0].shape
        labels = _numbered(np.stack([w.reshape(-1) for w in weights], axis=1))
        return cls(columns, labels.reshape(shape), int(labels.max()) + 1)

    @classmethod
    def difference_of(cls, column: str) -> "Axis":
        """The two values of ``column`` as one number: half the noise of two counts, where their sum is known better.

        A row changes it by 1, as it does a contingency: the same L2 sensitivity where rows come or go. A row that is
        replaced may change it by 2: then it is no gain.
        """
        return cls((column,), np.arange(2, dtype=np.int64), 1, difference=True)

    @property
    def is_identity(self) -> bool:
        return self.size == self.labels.size and not self.difference

    @cached_property
    def is_cells(self) -> bool:
        """Whether part i is cell i."""
        return self.is_identity and bool((self.labels.reshape(-1) == np.arange(self.size)).all())

    def tells(self, *, asked: bool) -> bool:
        """Whether sums over the axis, or, where it is ``asked`` for, its cells are known."""
        if asked:
            return self.is_cells or self.difference
        return not self.difference

    def coarse_weights(self, weights: Weights) -> Weights | None:
        """Weights of the parts, or ``None`` when ``weights`` (the columns' shape) are not constant on a part."""
        if self.difference:
            return None
        if self.is_cells:
            return weights.reshape(-1)
        flat, labels = weights.reshape(-1), self.labels.reshape(-1)
        out = np.zeros(self.size, dtype=np.int64)
        out[labels] = flat
        return out if self.is_identity or bool((out[labels] == flat).all()) else None


@dataclass(frozen=True, eq=False)
class Measurement:
    """Noisy counts: ``values`` int64 of shape ``([keys,] *axis sizes)``, in rows, each with noise of sd ``sigma``.

    Without text columns ``keys`` is empty and ``values`` has no key axis. With ``value``, a number column, each row
    counts by where it stands between that column's min and max; with ``intervals`` only the rows in all of them count.
    With ``query`` the one number is that query's answer, and says nothing of any other. ``sigmas``: the noise of each
    key where they differ; ``sigma`` is then the root of their mean square.
    """

    table: str
    axes: tuple[Axis, ...]
    values: Counts
    sigma: float
    text_columns: tuple[str, ...] = ()
    keys: tuple[Key, ...] = ()
    value: str | None = None
    query: LinearQuery | None = None
    intervals: tuple[Interval, ...] = ()
    sigmas: Estimates | None = None

    @property
    def is_by_value(self) -> bool:
        """Whether rows count by more than their cells, so that no model of cells is fitted to it."""
        return self.value is not None or bool(self.intervals)

    @cached_property
    def scope(self) -> tuple[str, ...]:
        return tuple(c for a in self.axes for c in a.columns)

    @cached_property
    def columns(self) -> frozenset[str]:
        return frozenset(self.scope)

    @cached_property
    def has_differences(self) -> bool:
        """Whether no number of rows can be read off it."""
        return any(a.difference for a in self.axes)

    def axis_of(self, column: str) -> int:
        """The place of the axis over this column alone."""
        return next(i for i, a in enumerate(self.axes) if a.columns == (column,))

    @cached_property
    def key_index(self) -> dict[Key, int]:
        return {k: i for i, k in enumerate(self.keys)}

    def of_keys(self, keys: Sequence[Key]) -> "Measurement":
        """The part of a keyed measurement that is about ``keys``, in their order."""
        rows = [self.key_index[k] for k in keys]
        sigmas = None if self.sigmas is None else self.sigmas[rows]
        return replace(self, values=self.values[rows], keys=tuple(keys), sigmas=sigmas)

    def answer(self, query: LinearQuery) -> tuple[int, float] | None:
        """``(floor of the measured q, its sd)`` in counts when this measurement determines the query, else ``None``."""
        asked = () if query.keyed is None else query.keyed.strings
        if len(asked) < len(self.keys):  # what is asked of few keys costs nothing for the others
            known = query.keyed is not None and all(k in self.key_index for k in asked)
            return self.of_keys(asked).answer(query) if known else None
        weights = self.weights_of(query)
        if weights is None:
            return None
        full = np.broadcast_to(weights, self.values.shape)
        total = int((full * self.values).sum())
        squares = full.astype(np.float64) ** 2
        if self.sigmas is None:
            spread = sqrt(float(squares.sum())) * self.sigma
        else:
            spread = sqrt(float(squares.reshape(len(self.keys), -1).sum(axis=1) @ self.sigmas**2))
        return total // query.unit, spread / query.unit

    def answers(self, asked: Crosstab) -> tuple[Counts, Estimates]:
        """``answer`` of each query: what was measured of it, and its sd, which is infinite where nothing was."""
        found = None if len(asked) == 1 else self._read_together(asked)
        if found is None:
            each = [self.answer(q) or (0, inf) for q in asked]
            found = np.array([value for value, _ in each], dtype=np.int64), np.array([sd for _, sd in each])
        return found

    def _read_together(self, asked: Crosstab) -> tuple[Counts, Estimates] | None:
        """The same where each factor is over the columns of an axis: what several queries share is summed once."""
        first, choices = asked[0], asked.choices
        of_axes = {a.columns: i for i, a in enumerate(self.axes)}
        if first.keyed is not None or self.weights_of(replace(first, factors=())) is None:
            return None
        if not all(columns in of_axes for columns in choices.columns):
            return None
        matrices: list[Weights] = [np.ones((1, a.size), dtype=np.int64) for a in self.axes]
        numbers = [np.zeros(len(asked), dtype=np.int64) for _ in self.axes]
        known = np.ones(len(asked), dtype=bool)
        for columns, factors, chosen in zip(choices.columns, choices.factors, choices.numbers, strict=True):
            at = of_axes[columns]
            coarse = [self.axes[at].coarse_weights(f.weights) for f in factors]
            matrices[at] = np.stack([np.zeros(self.axes[at].size, dtype=np.int64) if w is None else w for w in coarse])
            numbers[at], known = chosen, known & np.array([w is not None for w in coarse])[chosen]
        spread = np.ones(len(asked))
        for matrix, chosen in zip(matrices, numbers, strict=True):
            spread *= (matrix.astype(np.float64) ** 2).sum(axis=1)[chosen]
        totals = sums(self.values, matrices, numbers, len(asked))
        if totals is None:
            return None
        return totals // choices.units, np.where(known, np.sqrt(spread) * self.sigma / choices.units, inf)

    def least_sd(self, query: LinearQuery) -> float:
        """A lower bound on the sd (counts) of any indicator query on ``query``'s cells; 0 for weighted queries."""
        if not query.is_indicator:
            return 0.0
        least = self.sigma if self.sigmas is None else float(self.sigmas.min())
        if not self._all_cells:
            return least
        cells = self.values.size // max(len(self.keys), 1)
        return least * sqrt(max(1.0, cells / max(query.cells, 1)))

    @cached_property
    def _all_cells(self) -> bool:
        return all(a.is_cells for a in self.axes)

    def weights_of(self, query: LinearQuery) -> Weights | None:
        """Integer weights over ``values`` that give ``query.unit * q``, or ``None`` when the parts are too coarse.

        The result broadcasts against ``values``: axes that the query does not touch have length 1.
        """
        keyed = query.keyed
        if (query.table, query.value, query.intervals) != (self.table, self.value, self.intervals):
            return None
        if self.text_columns != (keyed.text_columns if keyed else ()):
            return None
        if self.has_differences or self.query is not None:
            return None
        lead = 0 if keyed is None else 1
        out: Weights = np.ones((1,) * (lead + len(self.axes)), dtype=np.int64)
        if keyed is not None:
            if any(k not in self.key_index for k in keyed.strings):
                return None
            touched, shape = self._axes_of(keyed.columns), keyed.weights.shape[1:]
            full = None
            for key, row in zip(keyed.strings, keyed.weights.reshape(len(keyed.strings), -1), strict=True):
                weights = self._spread(touched, Factor(keyed.columns, row.reshape(shape)))
                if weights is None:
                    return None
                if full is None:
                    full = np.zeros((len(self.keys), *weights.shape), dtype=np.int64)
                full[self.key_index[key]] = weights
            out = out if full is None else out * full
        for factor in query.factors:
            weights = self._over_axes(factor)
            if weights is None:
                return None
            out = out * weights.reshape((1,) * lead + weights.shape)
        return out

    def _over_axes(self, factor: Factor) -> Weights | None:
        """``_spread``, where a column that has an axis of its own needs no search."""
        found = self._own_axis.get(factor.columns)
        if found is None:
            return self._spread(self._axes_of(factor.columns), factor)
        position, shape = found
        coarse = self.axes[position].coarse_weights(factor.weights)
        return None if coarse is None else coarse.reshape(shape)

    @cached_property
    def _own_axis(self) -> dict[tuple[str, ...], tuple[int, tuple[int, ...]]]:
        """By the columns of each axis over one: its position, and the shape of its parts' weights beside the others."""
        return {
            a.columns: (i, tuple(a.size if j == i else 1 for j in range(len(self.axes))))
            for i, a in enumerate(self.axes)
            if len(a.columns) == 1
        }

    def _axes_of(self, columns: tuple[str, ...]) -> list[int]:
        return [i for i, a in enumerate(self.axes) if not set(columns).isdisjoint(a.columns)]

    def _spread(self, touched: list[int], factor: Factor) -> Weights | None:
        """A factor's weights over the parts of the axes it touches, with length 1 elsewhere; ``None`` if too coarse."""
        columns = tuple(c for i in touched for c in self.axes[i].columns)
        if not set(factor.columns) <= set(columns):
            return None
        sizes = dict(zip(columns, (n for i in touched for n in self.axes[i].labels.shape), strict=True))
        order = sorted(range(len(factor.columns)), key=lambda i: columns.index(factor.columns[i]))
        weights = factor.weights.transpose(order).reshape([sizes[c] if c in factor.columns else 1 for c in columns])
        full = np.broadcast_to(weights, tuple(sizes[c] for c in columns))
        shape = [1] * len(self.axes)
        for i in touched:
            shape[i] = self.axes[i].size
        if len(touched) == 1:
            coarse = self.axes[touched[0]].coarse_weights(full)
            return None if coarse is None else coarse.reshape(shape)
        return full.reshape(shape) if all(self.axes[i].is_cells for i in touched) else None


def _numbered(rows: Weights) -> Labels:
    """The number of each row among the different ones, in ascending order; rows hold no number below 0."""
    if rows.shape[1] == 1:
        found = np.unique(rows, return_inverse=True)[1]
        return np.asarray(found, dtype=np.int64).reshape(-1)
    packed = rows.astype(">i8")  # most significant byte first: bytes are ordered as the numbers are
    keys = [row.tobytes() for row in packed]
    places = {key: number for number, key in enumerate(sorted(set(keys)))}
    return np.array([places[key] for key in keys], dtype=np.int64)


def coarsen(counts: npt.NDArray[Any], axes: Sequence[Axis], keyed: bool = False) -> npt.NDArray[Any]:
    """Sums (or differences) of ``counts`` (shape: ``[keys,]`` then every axis' cells) over the parts of each axis."""
    lead = counts.shape[:1] if keyed else ()
    out = counts
    done: tuple[int, ...] = lead
    for axis in axes:
        tail = out.size // max(prod(done) * axis.labels.size, 1)
        out = out.reshape(prod(done), axis.labels.size, tail)
        if not axis.is_cells:
            out = _sum_parts(out, axis)
        done = (*done, axis.size)
    return out.reshape(done)


def _sum_parts(array: npt.NDArray[Any], axis: Axis) -> npt.NDArray[Any]:
    """Sums over the parts of the middle axis of a (lead, cells, tail) array."""
    if axis.difference:
        gap: npt.NDArray[Any] = array[:, :1] - array[:, 1:]
        return gap
    labels = axis.labels.reshape(-1)
    if axis.size <= _FEW_PARTS:
        return np.stack([array[:, labels == part].sum(axis=1) for part in range(axis.size)], axis=1)
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(axis.size))
    return np.add.reduceat(array[:, order], starts, axis=1)


def averaged(portions: Sequence[Measurement]) -> Measurement:
    """One measurement from several of the same parts, weighted by their precision and rounded to whole counts.

    Its variance is 1 over the sum of their precisions 1 / sigma^2, and at most 1/4 more where there was anything to
    round. One portion is returned as it is.

    >>> axis = Axis.cells(("a",), (2,))
    >>> two = [Measurement("t", (axis,), np.array(v), 6.0) for v in ([10, 3], [20, 6])]
    >>> averaged(two).values, round(averaged(two).sigma, 3)
    (array([15,  4]), 4.272)
    """
    if len(portions) == 1:
        return portions[0]
    mean, variance = mean_of(portions)
    return replace(portions[0], values=np.rint(mean).astype(np.int64), sigma=sqrt(variance + ROUNDED))


def mean_of(portions: Sequence[Measurement]) -> tuple[Estimates, float]:
    """The mean of several measurements of the same parts by their precision, not rounded, and the variance of each."""
    precisions = [p.sigma**-2 for p in portions]
    whole = sum(precisions)
    weighed = [p.values * (w / whole) for p, w in zip(portions, precisions, strict=True)]
    return np.asarray(sum(weighed)), 1.0 / whole
