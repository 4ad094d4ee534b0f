"""The fit: multiplicative weights over all measurements, with empirical-Bayes shrinkage. Post-processing, public.

Every step multiplies the hypothesis by target/model on the parts of one measurement: iterative proportional fitting
(Deming-Stephan 1940), which is the multiplicative-weights update with an exact line search. Overlapping contingencies
of a few columns are combined first, and each step moves one pure interaction only (``components``): noise of a
3-way table must not spoil the 1- and 2-way ones, which other tables know better.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from dpsql.hypothesis.components import Component, components, pure, pure_sigma, separable
from dpsql.hypothesis.measurement import Axis, Measurement, coarsen
from dpsql.query import Estimates

FLOOR = 0.05
"""A step never takes a part below this fraction of the model: noise must not delete cells for good."""
GUARD = 25.0
"""Deviations with (y - m)^2 > 25 var are certain enough to be followed whatever the moment estimate says."""
SCATTER_POWER = 1.7
"""Cells of m rows scatter with variance m + c m^1.7: between counting noise (m) and an equal share of each (m^2)."""
RAKE_ROUNDS = 1
LEAD = (1, 2, 1, 2, 1)
"""Sizes of the interactions that are fitted before those of three columns are looked at: these must not explain what
fewer columns explain as well."""
CLOSE = (2, 1, 1, 2, 1, 1, 1)
"""Sizes at the end: single columns and pairs are known best, and steps on larger interactions disturb them."""
_TINY = 1e-9


def shrunken(model: Estimates, gap: Estimates, sigma: float | Estimates) -> Estimates:
    """``model`` (counts) moved along ``gap`` (the same shape, noise sd ``sigma``) as far as is sure.

    Prior: cells scatter around the model with variance v = m + c m^1.7; c is the moment estimate over the table
    (empirical Bayes), the weight of the data is v / (v + sigma^2).
    """
    var = sigma * sigma
    excess = float((gap * gap - var - model).sum())
    power = model**SCATTER_POWER
    prior = model + max(0.0, excess) / max(float(power.sum()), _TINY) * power
    weight = prior / np.maximum(prior + var, _TINY)
    weight = np.maximum(weight, 1.0 - GUARD * var / np.maximum(gap * gap, _TINY))
    return np.maximum(model + weight * gap, FLOOR * model)


def shrunken_target(model: Estimates, values: Estimates, sigma: float) -> Estimates:
    """Where the fit moves one contingency: ``model`` pulled towards ``values`` (same shape, counts), same total.

    >>> shrunken_target(np.array([50.0, 50.0]), np.array([90.0, 10.0]), 1.0).round()
    array([90., 10.])
    """
    target = shrunken(model, values - model, sigma)
    total = float(target.sum())
    return target * (float(model.sum()) / total) if total > _TINY else model


def interaction_target(model: Estimates, component: Component) -> Estimates:
    """Where the fit moves one pure interaction: ``model`` with its marginals over fewer columns kept.

    A single column is followed without shrinkage: it has few cells and the most precise measurement.
    """
    gap = component.values - pure(model)
    if model.ndim == 1:
        target = np.maximum(model + gap, FLOOR * model)
        return target * (float(model.sum()) / max(float(target.sum()), _TINY))
    target = shrunken(model, gap, pure_sigma(component.sigma, model.shape))
    for _ in range(RAKE_ROUNDS):
        for axis in range(model.ndim):
            margin = np.maximum(target.sum(axis=axis, keepdims=True), _TINY)
            target = target * (model.sum(axis=axis, keepdims=True) / margin)
    return target


def fit_tensor(
    start: Estimates, columns: tuple[str, ...], measurements: Sequence[Measurement], passes: int
) -> Estimates:
    """``start`` (one axis per column, in counts) fitted to measurements whose scopes lie within ``columns``."""
    tensor = start.copy()
    position = {c: i for i, c in enumerate(columns)}
    parts = components([m for m in measurements if separable(m)], position)
    plans = [_Plan(m, columns, tensor.shape) for m in measurements if not separable(m)]
    # after interactions of more columns, those of fewer again: 1, 2 1, 3 2 1, ..
    sweep = [n for most in sorted({len(p.columns) for p in parts}) for n in range(most, 0, -1)]
    _sweep(tensor, parts, LEAD, position)
    for _ in range(passes if parts or plans else 0):
        _sweep(tensor, parts, sweep, position)
        for plan in plans:
            plan.step(tensor)
    _sweep(tensor, parts, CLOSE, position)
    return tensor


def _sweep(tensor: Estimates, parts: Sequence[Component], sizes: Sequence[int], position: dict[str, int]) -> None:
    for size in sizes:
        for part in parts:
            if len(part.columns) == size:
                _step(tensor, part, position)


def _step(tensor: Estimates, part: Component, position: dict[str, int]) -> None:
    kept = [position[c] for c in part.columns]
    summed = tuple(i for i in range(tensor.ndim) if i not in kept)
    model = summed_out(tensor, summed)
    tensor *= np.expand_dims(interaction_target(model, part) / np.maximum(model, _TINY), summed)


def summed_out(tensor: Estimates, axes: Sequence[int]) -> Estimates:
    """``tensor.sum(axis=axes)``, one axis after another as matrix products: twice as fast where axes are short.

    >>> summed_out(np.ones((2, 3, 4)), (0, 2))
    array([8., 8., 8.])
    """
    out = tensor
    for axis in sorted(axes, reverse=True):
        before, size, after = out.shape[:axis], out.shape[axis], out.shape[axis + 1 :]
        if after:
            out = np.ones((1, size)) @ out.reshape(-1, size, prod(after))
        else:
            out = out.reshape(-1, size) @ np.ones(size)
        out = out.reshape(before + after)
    return out


class _Plan:
    """How one measurement's parts lie in the tensor, worked out once."""

    def __init__(self, measurement: Measurement, columns: tuple[str, ...], shape: tuple[int, ...]) -> None:
        position = {c: i for i, c in enumerate(columns)}
        self.axes: tuple[Axis, ...] = measurement.axes
        self.kept = [position[c] for c in measurement.scope]
        self.summed = tuple(i for i in range(len(columns)) if i not in set(self.kept))
        order = np.argsort(self.kept)
        self.to_scope = np.argsort(order)
        self.broadcast = tuple(1 if i in self.summed else n for i, n in enumerate(shape))
        self.from_scope = order
        self.values = measurement.values.astype(np.float64)
        self.sigma = measurement.sigma

    def step(self, tensor: Estimates) -> None:
        marginal = summed_out(tensor, self.summed).transpose(self.to_scope)
        scope_shape = marginal.shape
        model = coarsen(np.ascontiguousarray(marginal), self.axes)
        target = shrunken_target(model, self.values, self.sigma)
        ratio = target / np.maximum(model, _TINY)
        for i, axis in enumerate(self.axes):
            ratio = np.take(ratio, axis.labels.reshape(-1), axis=i)
        tensor *= ratio.reshape(scope_shape).transpose(self.from_scope).reshape(self.broadcast)
