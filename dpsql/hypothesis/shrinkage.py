"""Shrinkage: how far one step of a fit follows a noisy table. Empirical Bayes, post-processing, public.

It stands below the rooms of the hypotheses because the tensor's fit, the clean pairs and the local models all take
their steps by it: what is noise in one of them is noise in all.
"""

from math import sqrt

import numpy as np
import numpy.typing as npt

from dpsql.hypothesis.components import Interaction, pure, pure_sigma
from dpsql.query import Estimates

FLOOR = 0.05
"""A step never takes a part below this fraction of the model: noise must not delete cells for good."""
GUARD = 25.0
"""Deviations with (y - m)^2 > 25 var are certain enough to be followed whatever the moment estimate says."""
SCATTER_POWER = 1.7
"""Cells of m rows scatter with variance m + c m^1.7: between counting noise (m) and an equal share of each (m^2)."""
LIGHT = 2.0
"""Cells of fewer rows than so many sds of their noise are moved once by what is random in them, and later by what they
show beyond noise: step by step those without rows would have what noise adds, and none what it takes away."""
RAKE_ROUNDS = 1
_TINY = 1e-9


def shrunken(
    model: Estimates, gap: Estimates, sigma: float | Estimates, floor: float = FLOOR, *, again: bool = False
) -> Estimates:
    """``model`` (counts) moved along ``gap`` (the same shape, noise sd ``sigma``) as far as is sure.

    Prior: cells scatter around the model with variance v = m + c m^1.7; c is the moment estimate over the table
    (empirical Bayes), the weight of the data is v / (v + sigma^2). No part goes below ``floor`` times the model.
    ``again``: the model was moved so before, and light cells are moved by what they show beyond noise alone.
    """
    var = sigma * sigma
    excess = float((gap * gap - var - model).sum())
    power = model**SCATTER_POWER
    prior = model + max(0.0, excess) / max(float(power.sum()), _TINY) * power
    if again:
        light = model < LIGHT * sigma
        beyond = scatter_beyond_chance(gap, np.broadcast_to(var, gap.shape), power, light)
        prior = np.where(light, beyond, prior)
    weight = prior / np.maximum(prior + var, _TINY)
    weight = np.maximum(weight, 1.0 - GUARD * var / np.maximum(gap * gap, _TINY))
    return np.maximum(model + weight * gap, floor * model)


def scatter_beyond_chance(
    gap: Estimates, chance: Estimates, power: Estimates, light: npt.NDArray[np.bool_]
) -> Estimates:
    """The variance c ``power`` that cells show beyond what chance makes of the squares of ``gap`` and one sd of that.

    c is learned from ``light`` cells and from the others apart: what heavy cells do says nothing of those without rows.
    """
    out = np.zeros_like(power)
    for some in (light, ~light):
        excess = float((gap * gap - chance)[some].sum()) - sqrt(2.0 * float((chance * chance)[some].sum()))
        out[some] = max(0.0, excess) / max(float(power[some].sum()), _TINY) * power[some]
    return out


def shrunken_target(model: Estimates, values: Estimates, sigma: float) -> Estimates:
    """Where the fit moves one contingency: ``model`` pulled towards ``values`` (same shape, counts), same total.

    >>> shrunken_target(np.array([50.0, 50.0]), np.array([90.0, 10.0]), 1.0).round()
    array([90., 10.])
    """
    target = shrunken(model, values - model, sigma, FLOOR)
    total = float(target.sum())
    return target * (float(model.sum()) / total) if total > _TINY else model


def interaction_target(model: Estimates, component: Interaction, *, again: bool = False) -> Estimates:
    """Where the fit moves one pure interaction: ``model`` with its marginals over fewer columns kept.

    A single column is followed without shrinkage: it has few cells and the most precise measurement. ``again``: of a
    pair that the model has followed before, see ``LIGHT``.
    """
    gap = component.values - pure(model)
    if model.ndim == 1:
        target = np.maximum(model + gap, FLOOR * model)
        return target * (float(model.sum()) / max(float(target.sum()), _TINY))
    target = shrunken(model, gap, pure_sigma(component.sigma, model.shape), FLOOR, again=again)
    for _ in range(RAKE_ROUNDS):
        for axis in range(model.ndim):
            margin = np.maximum(target.sum(axis=axis, keepdims=True), _TINY)
            target = target * (model.sum(axis=axis, keepdims=True) / margin)
    return target
