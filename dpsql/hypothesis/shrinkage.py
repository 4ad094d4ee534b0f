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
        prior = np.where(light, beyond * power, prior)
    return moved(model, gap, prior, var, floor)


def moved(model: Estimates, gap: Estimates, prior: Estimates, var: float | Estimates, floor: float) -> Estimates:
    """``model`` (counts) moved along ``gap`` (the same shape, noise variance ``var``) by the weight that variances
    ``prior`` of its cells give the data, and by all but five sds of the noise at least; none below ``floor`` times it.
    """
    weight = prior / np.maximum(prior + var, _TINY)
    weight = np.maximum(weight, 1.0 - GUARD * var / np.maximum(gap * gap, _TINY))
    return np.maximum(model + weight * gap, floor * model)


def scatter_beyond_chance(gap: Estimates, chance: Estimates, power: Estimates, some: npt.NDArray[np.bool_]) -> float:
    """c where ``some`` cells show a variance c ``power`` beyond ``chance`` and one sd of that; 0 where they do not.

    ``gap``: counts off the model, one for each cell, whose squares are ``chance`` by noise alone. Moments of the cells
    chosen: what heavy cells do says nothing of those without rows.
    """
    excess = float((gap * gap - chance)[some].sum()) - sqrt(2.0 * float((chance * chance)[some].sum()))
    return max(0.0, excess) / max(float(power[some].sum()), _TINY)


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
