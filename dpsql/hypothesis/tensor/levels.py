"""Pairs of columns from coarse parts to fine ones: where no cell tells more than noise, many together do. Public.

What the rows of one column's neighbours have in common beside another's is lost where each cell is shrunken for itself:
its noise is more than its rows. Summed over parts of both columns it is seen. Each level is shrunken by what it shows
itself, as the levels of a wavelet transform are (Donoho and Johnstone 1995). So it is with parts that have no rows: in
each of their cells noise may be taken for some, in all together it is not.
"""

from dataclasses import dataclass

import numpy as np

from dpsql.hypothesis.components import Interaction, pure
from dpsql.hypothesis.measurement import Labels
from dpsql.hypothesis.partition import indicator, nested
from dpsql.hypothesis.shrinkage import LIGHT, SCATTER_POWER, moved, scatter_beyond_chance
from dpsql.query import Estimates

SIZES = (4, 8, 16, 32, 64)
"""Parts of a column at each level, of about equal rows."""
LEAST = 0.01
"""A step never takes a part below this fraction of the model: so few rows of a coarse part are none in its cells."""
RAKES = 2
"""Sweeps after each level that bring back the columns."""
_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Level:
    """Parts of both columns: labels of their cells, the matrices that add these up, and the sd of the noise of a part
    of both for a noise of 1 in each cell."""

    left: Labels
    right: Labels
    rows: Estimates
    columns: Estimates
    noise: Estimates


def levels_of(masses: tuple[Estimates, Estimates], ordered: tuple[bool, bool]) -> list[Level]:
    """From coarse to fine, each of fewer parts than there are cells. ``masses``: rows of the cells of both columns;
    those of ``ordered`` ones are parted into ranges."""
    both = list(zip(masses, ordered, strict=True))
    found = [nested(np.maximum(m, 0.0), [s for s in SIZES if s < len(m)], ranges) for m, ranges in both]
    out = []
    for size in SIZES:
        left, right = (by.get(size, np.arange(len(m))) for by, m in zip(found, masses, strict=True))
        if size in found[0] or size in found[1]:
            noise = np.sqrt(np.outer(_spread(left), _spread(right)))
            out.append(Level(left, right, indicator(left), indicator(right), noise))
    return out


def _spread(labels: Labels) -> Estimates:
    """Variance of a part's sum of independent unit noise after its mean over all cells is taken out."""
    width = np.bincount(labels).astype(np.float64)
    return np.asarray(width * (1.0 - width / float(len(labels))))


def followed(model: Estimates, part: Interaction, levels: list[Level]) -> Estimates:
    """``model`` of a pair, moved towards its measured interaction level by level; its columns are kept."""
    across, down, out = model.sum(axis=1, keepdims=True), model.sum(axis=0, keepdims=True), model
    for level in levels:
        coarse = level.rows @ out @ level.columns.T
        gap = level.rows @ (part.values - pure(out)) @ level.columns.T
        times = _moved(coarse, gap, (part.sigma * level.noise) ** 2) / np.maximum(coarse, _TINY)
        out = out * times.take(level.left, axis=0).take(level.right, axis=1)
        for _ in range(RAKES):
            out = out * (across / np.maximum(out.sum(axis=1, keepdims=True), _TINY))
            out = out * (down / np.maximum(out.sum(axis=0, keepdims=True), _TINY))
    return out


def _moved(model: Estimates, gap: Estimates, variance: Estimates) -> Estimates:
    """As ``shrunken``, but that cells scatter only by what they do beyond chance: of what this level does not show a
    finer one may tell more."""
    light, chance, power = model < LIGHT * np.sqrt(variance), variance + model, model**SCATTER_POWER
    of_light, of_others = (scatter_beyond_chance(gap, chance, power, some) for some in (light, ~light))
    return moved(model, gap, np.where(light, of_light, of_others) * power, variance, LEAST)
