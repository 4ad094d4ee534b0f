"""The fit: multiplicative weights over all measurements, with empirical-Bayes shrinkage. Post-processing, public.

Every step multiplies the hypothesis by target/model on the parts of one measurement: iterative proportional fitting
(Deming-Stephan 1940), which is the multiplicative-weights update with an exact line search.
"""

from collections.abc import Sequence

import numpy as np

from dpsql.hypothesis.measurement import Axis, Measurement, coarsen
from dpsql.query import Estimates

FLOOR = 0.05
"""A step never takes a part below this fraction of the model: noise must not delete cells for good."""
GUARD = 6.0
"""Deviations with (y - m)^2 > 6 var are certain enough to be followed whatever the moment estimate says."""
_TINY = 1e-9


def shrunken_target(model: Estimates, values: Estimates, sigma: float) -> Estimates:
    """Where the fit moves one contingency: ``model`` pulled towards ``values`` (same shape, counts) as far as is sure.

    Prior: cells scatter around the model with variance v = m + phi m^2; phi is the moment estimate over the table
    (empirical Bayes), the weight of the data is v / (v + sigma^2). Rescaled to the model's total.

    >>> shrunken_target(np.array([50.0, 50.0]), np.array([90.0, 10.0]), 1.0).round()
    array([90., 10.])
    """
    gap = values - model
    var = sigma * sigma
    excess = float((gap * gap - var - model).sum())
    phi = max(0.0, excess) / max(float((model * model).sum()), _TINY)
    prior = model + phi * model * model
    weight = prior / (prior + var)
    weight = np.maximum(weight, 1.0 - GUARD * var / np.maximum(gap * gap, _TINY))
    target = np.maximum(model + weight * gap, FLOOR * model)
    total = float(target.sum())
    return target * (float(model.sum()) / total) if total > _TINY else model


def fit_tensor(
    start: Estimates, columns: tuple[str, ...], measurements: Sequence[Measurement], passes: int
) -> Estimates:
    """``start`` (one axis per column, in counts) fitted to measurements whose scopes lie within ``columns``."""
    tensor = start.copy()
    plans = [_Plan(m, columns, tensor.shape) for m in measurements]
    for _ in range(passes):
        for plan in plans:
            plan.step(tensor)
    return tensor


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
        marginal = tensor.sum(axis=self.summed).transpose(self.to_scope)
        scope_shape = marginal.shape
        model = coarsen(np.ascontiguousarray(marginal), self.axes)
        target = shrunken_target(model, self.values, self.sigma)
        ratio = target / np.maximum(model, _TINY)
        for i, axis in enumerate(self.axes):
            ratio = np.take(ratio, axis.labels.reshape(-1), axis=i)
        tensor *= ratio.reshape(scope_shape).transpose(self.from_scope).reshape(self.broadcast)
