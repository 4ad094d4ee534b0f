"""Cells of strings by what was counted of them over parts of columns: a step to each, as far as noise tells. Public."""

from collections.abc import Sequence

import numpy as np

from dpsql.hypothesis.measurement import Measurement, coarsen
from dpsql.hypothesis.projection import projected
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
