"""Shrinkage: how far one step of a fit follows a noisy table. Empirical Bayes, post-processing, public.

It stands below the rooms of the hypotheses because the tensor's fit, the clean pairs and the local models all take
their steps by it: what is noise in one of them is noise in all.
"""

import numpy as np

from dpsql.hypothesis.components import Interaction, pure, pure_sigma
from dpsql.query import Estimates

FLOOR = 0.05
"""A step never takes a part below this fraction of the model: noise must not delete cells for good."""
GUARD = 25.0
"""Deviations with (y - m)^2 > 25 var are certain enough to be followed whatever the moment estimate says."""
SCATTER_POWER = 1.7
"""Cells of m rows scatter with variance m + c m^1.7: between counting noise (m) and an equal share of each (m^2)."""
RAKE_ROUNDS = 1
_TINY = 1e-9


def shrunken(model: Estimates, gap: Estimates, sigma: float | Estimates, floor: float = FLOOR) -> Estimates:
    """``model`` (counts) moved along ``gap`` (the same shape, noise sd ``sigma``) as far as is sure.

    Prior: cells scatter around the model with variance v = m + c m^1.7; c is the moment estimate over the table
    (empirical Bayes), the weight of the data is v / (v + sigma^2). No part goes below ``floor`` times the model.
    """
    var = sigma * sigma
    excess = float((gap * gap - var - model).sum())
    power = model**SCATTER_POWER
    prior = model + max(0.0, excess) / max(float(power.sum()), _TINY) * power
    weight = prior / np.maximum(prior + var, _TINY)
    weight = np.maximum(weight, 1.0 - GUARD * var / np.maximum(gap * gap, _TINY))
    return np.maximum(model + weight * gap, floor * model)


def shrunken_target(model: Estimates, values: Estimates, sigma: float) -> Estimates:
    """Where the fit moves one contingency: ``model`` pulled towards ``values`` (same shape, counts), same total.

    >>> shrunken_target(np.array([50.0, 50.0]), np.array([90.0, 10.0]), 1.0).round()
    array([90., 10.])
    """
    target = shrunken(model, values - model, sigma, FLOOR)
    total = float(target.sum())
    return target * (float(model.sum()) / total) if total > _TINY else model


def interaction_target(model: Estimates, component: Interaction) -> Estimates:
    """Where the fit moves one pure interaction: ``model`` with its marginals over fewer columns kept.

    A single column is followed without shrinkage: it has few cells and the most precise measurement.
    """
    gap = component.values - pure(model)
    if model.ndim == 1:
        target = np.maximum(model + gap, FLOOR * model)
        return target * (float(model.sum()) / max(float(target.sum()), _TINY))
    target = shrunken(model, gap, pure_sigma(component.sigma, model.shape), FLOOR)
    for _ in range(RAKE_ROUNDS):
        for axis in range(model.ndim):
            margin = np.maximum(target.sum(axis=axis, keepdims=True), _TINY)
            target = target * (model.sum(axis=axis, keepdims=True) / margin)
    return target
