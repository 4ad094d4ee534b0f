"""Projections: what a measurement says of fewer columns. Post-processing, public.

Tensors and sparse weights both fit measurements whose scope is larger than what was asked for.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from dpsql.hypothesis.measurement import Axis, Measurement
from dpsql.query import Estimates


def projected(measurement: Measurement, columns: set[str]) -> Measurement | None:
    """The measurement summed over the axes that leave ``columns``; ``None`` when nothing is left. Noise adds up."""
    kept = [i for i, a in enumerate(measurement.axes) if set(a.columns) <= columns]
    if any(a.difference and not set(a.columns) <= columns for a in measurement.axes):
        return None
    if not kept:
        return None
    lead = 1 if measurement.keys else 0
    summed = [i for i in range(len(measurement.axes)) if i not in kept]
    return replace(
        measurement,
        axes=tuple(measurement.axes[i] for i in kept),
        values=measurement.values.sum(axis=tuple(i + lead for i in summed)),
        sigma=measurement.sigma * prod(measurement.axes[i].size for i in summed) ** 0.5,
    )


def split_identity(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """Identity axes over several columns as one axis per column, so that projections can drop any of them."""
    out: list[Axis] = []
    for a in axes:
        if a.is_identity and len(a.columns) > 1:
            out.extend(Axis.cells((c,), (n,)) for c, n in zip(a.columns, a.labels.shape, strict=True))
        else:
            out.append(a)
    return tuple(out)


def marginal(tensor: Estimates, names: tuple[str, ...], columns: tuple[str, ...]) -> Estimates:
    """Sums of ``tensor`` (one axis for each of ``names``) over the cells of ``columns``, in the order asked for.

    >>> marginal(np.arange(6.0).reshape(2, 3), ("a", "b"), ("b",))
    array([3., 5., 7.])
    """
    kept = [names.index(c) for c in columns]
    summed = tuple(i for i in range(len(names)) if i not in set(kept))
    turned = tensor.sum(axis=summed).transpose(np.argsort(np.argsort(kept)))
    return np.ascontiguousarray(turned).reshape(turned.shape)  # of no columns: a number, not a row of one
