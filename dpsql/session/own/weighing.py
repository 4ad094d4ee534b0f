"""One estimate of two: what was measured, whose noise is known, and the model's answer, whose error is guessed. Public.

The model's error bars are estimates: far too wide for most small cells of a large table, and sometimes far too narrow.
Where many cells are measured together, their distances from the model say how far off it is (empirical Bayes; Efron and
Morris 1973), for cells of similar bars alike; a distance that noise does not explain is believed. By the newest rules
all cells say together how many of them are how far off, in their bars (a mixture of scales; Stephens 2017): most are
hardly off at all, a few by much, and neither kind is mistaken for the other. What is left to a cell is what the mixture
leaves to it, and what no distance tells of: that of which both are wrong alike, and that cells are not all alike.
"""

import numpy as np

from dpsql.query import Estimates

TOGETHER = 32
"""Cells of similar bars that are looked at together; fewer say too little to take their bars for too wide."""
BELIEVED = 3.0
"""Sds of noise: at a larger distance from the model the cell itself is believed."""
SURELY = 5.0
"""The same by the newest rules, which know how rare such distances are."""
SCALES = (0.0, 0.1, 0.2, 0.4, 0.75, 1.4, 2.7, 5.2, 10.0, 20.0)
"""Sds of a typical cell's noise that a model may be off by."""
KEPT_BAR = 0.6
"""Of a model's bar: so much stays in the bar of a cell, whatever the distances of all cells say."""
WIDEST = 10.0
"""Sds of a cell's noise that its bar counts for at most beside those of all others: wider ones say nothing, and a few
of them would make all others look narrow."""
SCALE_ROUNDS = 50
"""In which the shares of these scales are fitted; they settle slowly where noise is all there is."""
_LEAST, _MOST = 0.01, 1e9
"""Sds of a model, in counts, that are taken for none and for any."""


def weighed(
    measured: Estimates,
    noise: Estimates,
    modelled: Estimates,
    bars: Estimates,
    *,
    shared: Estimates | float = 0.0,
    believed: float = BELIEVED,
    mixed: bool = False,
) -> tuple[Estimates, Estimates]:
    """Estimates and their sds: float64, shape (cells,), in counts like all arguments.

    ``noise``: sds of ``measured``, > 0; ``bars``: what error bars say of the sds of ``modelled``, perhaps infinite. A
    few cells widen their bars together where they are further from the model than these say. Both share the noise of
    pairs, so an sd is that of the better one, not less. ``mixed``: many cells are weighed by a mixture of scales.

    >>> one = np.ones(1)
    >>> [a.tolist() for a in weighed(100 * one, 10 * one, 110 * one, 10 * one)]
    [[105.0], [10.0]]
    """
    squares, far = noise**2, (measured - modelled) ** 2
    wide = np.clip(bars, _LEAST, _MOST) ** 2
    spread, sure = _spread(squares, far, wide, SURELY if mixed else believed)
    weight = spread / (spread + squares)
    if mixed and len(bars) >= TOGETHER:
        own = np.maximum(squares - np.square(shared), _LEAST**2)
        weight, left = _mixed(own, far, wide)
        sure = left + np.maximum(np.square(shared), KEPT_BAR**2 * wide)
    return weight * measured + (1.0 - weight) * modelled, np.sqrt(np.minimum(squares, sure))


def _spread(squares: Estimates, far: Estimates, bars: Estimates, believed: float) -> tuple[Estimates, Estimates]:
    """Squares of what the model is off by: most likely, and at most."""
    if len(bars) < TOGETHER:
        found = np.maximum(_wider(squares, far, bars) * bars, far - squares)
        return found, found
    order = np.argsort(bars, kind="stable")
    spread, sure = np.empty(len(bars)), np.empty(len(bars))
    for block in np.array_split(order, len(bars) // TOGETHER):
        shape = bars[block] / bars[block].mean()
        off = max(0.0, float((far[block] - squares[block]).mean()))
        error = float(squares[block].mean()) * np.sqrt(2.0 / len(block))
        spread[block] = off * shape
        sure[block] = max(off, min(off + error, float(bars[block].mean()))) * shape
    apart = far > believed**2 * squares
    return np.where(apart, np.maximum(spread, far - squares), spread), np.where(apart, squares, sure)


def _mixed(squares: Estimates, far: Estimates, bars: Estimates) -> tuple[Estimates, Estimates]:
    """What measurements count for, between 0 and 1, and the variance that is left: a cell's distance is of one of
    ``SCALES`` times its bar's share, as often as the distances of all cells together make most likely (expectation and
    maximization). The variance is that of a mixture: within its scales and between them.
    """
    bars = np.minimum(bars, WIDEST**2 * squares)
    off = np.square(SCALES) * float(squares.mean()) * (bars / bars.mean())[:, None]
    total = off + squares[:, None]
    log = -0.5 * (far[:, None] / total + np.log(total))
    likely = np.exp(log - log.max(axis=1, keepdims=True))
    shares = np.full(len(SCALES), 1.0 / len(SCALES))
    for _ in range(SCALE_ROUNDS):
        each = likely * shares
        shares = (each / each.sum(axis=1, keepdims=True)).mean(axis=0)
    each = likely * shares
    each = each / each.sum(axis=1, keepdims=True)
    weights = off / total
    weight = (each * weights).sum(axis=1)
    left = (each * (weights * squares[:, None] + (weights - weight[:, None]) ** 2 * far[:, None])).sum(axis=1)
    sure = np.maximum(1.0 - squares / np.maximum(far, _LEAST**2), weight)
    return np.asarray(np.where(far > SURELY**2 * squares, sure, weight)), np.asarray(left)


def _wider(squares: Estimates, far: Estimates, bars: Estimates) -> float:
    """By how much the squares of a few bars are too small together, at least 1: least squares by precision."""
    precision = bars / (squares + bars) ** 2
    return max(1.0, float((precision * (far - squares)).sum() / (precision * bars).sum())) if len(bars) > 1 else 1.0
