"""Cells of strings by what was counted of them over parts of columns: a step to each, as far as noise tells. Public."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpsql.hypothesis.measurement import Measurement, coarsen
from dpsql.hypothesis.projection import marginal, projected
from dpsql.hypothesis.strings.mixture import Floats, mixed_cells
from dpsql.query import Estimates, Key

GARROTE = 2.0
"""Shrinkage of an estimate y with variance v to y (1 - 2 v / y^2)+: the non-negative garrote (Breiman 1995)."""
MOST_TIMES = 1e12
"""One step may raise a cell."""
_TINY = 1e-9


def fit_cells(out: Estimates, keys: Sequence[Key], columns: tuple[str, ...], m: Measurement) -> None:
    """Move the estimated cells ``out`` of keys, shape ``(len(keys), *sizes of columns)``, to a measurement of some of
    them, as far as its noise lets it be told."""
    rows = [i for i, k in enumerate(keys) if k in m.key_index]
    if not rows:
        return
    within = projected(m.of_keys([keys[i] for i in rows]), set(columns))
    if within is None:
        return
    position = {c: i + 1 for i, c in enumerate(columns)}
    kept = [position[c] for c in within.scope]
    summed = tuple(i for i in position.values() if i not in set(kept))
    rank = np.argsort(np.argsort(kept))
    own = out[rows]
    marginal = own.sum(axis=summed).transpose(0, *(rank + 1))
    model = coarsen(np.ascontiguousarray(marginal), within.axes, keyed=True)
    y = np.maximum(within.values.astype(np.float64), 0.0)
    target = y * np.maximum(0.0, 1.0 - GARROTE * within.sigma**2 / np.maximum(y * y, _TINY))
    ratio = (target + _TINY) / (model + _TINY)
    for i, axis in enumerate(within.axes):
        ratio = np.take(ratio, axis.labels.reshape(-1), axis=i + 1)
    inverse = np.argsort(rank)
    shape = [len(rows)] + [n if i in kept else 1 for i, n in enumerate(out.shape) if i > 0]
    ratio = ratio.reshape(marginal.shape).transpose(0, *(inverse + 1)).reshape(shape)
    out[rows] = own * np.clip(ratio, 0.0, MOST_TIMES)


@dataclass(frozen=True, eq=False)
class PartsOfKeys:
    """What a measurement over parts of several columns says of its strings beside all others that are known: how many
    times each part is what the table's shares make of the string's rows, shape (strings, parts of the first axis, ..).
    """

    places: dict[Key, int]
    within: Measurement
    times: Floats

    @classmethod
    def of(
        cls, m: Measurement, columns: tuple[str, ...], cells: Estimates, rows: Floats, variances: Floats
    ) -> "PartsOfKeys | None":
        """``cells``: the table's estimated counts by ``columns``; ``rows`` of the measured strings with ``variances``.
        ``None`` where the measurement says nothing of these columns.

        Its noise is far larger than most cells: taken by itself, it would leave none of them.
        """
        within = projected(m, set(columns))
        if within is None:
            return None
        whole = coarsen(marginal(cells, columns, within.scope), within.axes)
        shares = whole.reshape(-1) / max(float(whole.sum()), _TINY)
        values = within.values.reshape(len(m.keys), -1).astype(np.float64)
        found = mixed_cells(values, np.full(len(m.keys), within.sigma**2), rows, variances, shares)
        expected = np.multiply.outer(np.maximum(rows, 0.0), shares)
        times = np.clip((np.maximum(found.counts, 0.0) + _TINY) / (expected + _TINY), 0.0, MOST_TIMES)
        return cls(m.key_index, within, times.reshape(within.values.shape))

    def move(self, out: Estimates, keys: Sequence[Key], columns: tuple[str, ...]) -> None:
        """Move the estimated cells ``out`` of keys, shape ``(len(keys), *sizes of columns)``."""
        rows = [i for i, key in enumerate(keys) if key in self.places]
        if not rows:
            return
        times = self.times[[self.places[keys[i]] for i in rows]]
        for i, axis in enumerate(self.within.axes):
            times = np.take(times, axis.labels.reshape(-1), axis=i + 1)
        scope = self.within.scope
        sizes = dict(zip(columns, out.shape[1:], strict=True))
        times = times.reshape(len(rows), *(sizes[c] for c in scope))
        order = [scope.index(c) for c in columns if c in scope]
        times = times.transpose(0, *(i + 1 for i in order))
        out[rows] *= times.reshape(len(rows), *(sizes[c] if c in scope else 1 for c in columns))


def move_cells(out: Estimates, places: Sequence[int], wanted: Floats, i: int, *, lean: bool) -> None:
    """Give the keys at ``places`` of ``out`` their ``wanted`` counts by the ``i``-th column; other columns keep their
    shares within. ``lean``: counts below 0 too."""
    own = out[places]
    others = tuple(a for a in range(1, out.ndim) if a != i + 1)
    if not others:
        out[places] = wanted
        return
    whole = own.sum(axis=others, keepdims=True)
    shape = [len(places) if a == 0 else n if a == i + 1 else 1 for a, n in enumerate(own.shape)]
    if lean:  # cut at 0, many small ones would be too many
        some = np.abs(whole) > _TINY
        ratio = np.where(some, wanted.reshape(shape), 0.0) / np.where(some, whole, 1.0)
        out[places] = own * np.clip(ratio, -MOST_TIMES, MOST_TIMES)
        return
    ratio = (np.maximum(wanted, 0.0).reshape(shape) + _TINY) / (whole + _TINY)
    out[places] = own * np.clip(ratio, 0.0, MOST_TIMES)
