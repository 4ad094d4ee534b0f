"""Bins that a condition cuts, beside other conditions: their rows are as those of the bins beside them. Public.

A model knows how many rows of a bin meet other conditions, and of all rows of the bin how many are where. If all places
met them alike, a bin in which a rule begins (who has 140 and more has hypertension) would have the same share of them
below and above. Its lower rows are as the bin below has them, its upper ones as the bin above, as far as these differ
by more than noise. And where many rows are at one place (who pays nothing is not as who pays little) the rest is as the
bins beside it are, and the crowd what that leaves.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import hypot, log, sqrt

import numpy as np

from dpsql.hypothesis.normal import CLEAR, garrote
from dpsql.hypothesis.values.inside import Inside
from dpsql.hypothesis.values.marked_cells import MarkedCells
from dpsql.hypothesis.values.places import bins_in
from dpsql.query import Estimates

CROWD = 0.25
"""Of a bin's rows: so many at one place may be others than the rest of the bin."""
RULE = 4.0
"""Inside a bin in which a rule begins shares change so many times as fast as from the middle of one neighbour to the
other's, and may elsewhere."""
TRACE = 0.002
"""No share that is followed is nearer to 0 or 1."""
OPEN = 0.5
"""Of how far the answer moves for it, and would where a rule begins, as a sd: neighbours are not the bin."""
REST = 0.3
"""Of a string's rows beside a crowd, as its neighbours have them, as a sd: where strings are wide or narrow these say
less."""
_HALVINGS = 50
_TINY = 1e-9
_LEAST = 1e-300


@dataclass(frozen=True)
class Met:
    """Of one column, what a model says of a question's other conditions: ``rows`` of each bin; ``met``: how many rows
    of a bin meet them; ``noise``: sd of such a number, in rows. ``listed``: whether they are about strings, whose
    crowd may be any."""

    rows: Estimates
    met: Callable[[int], float]
    noise: float
    listed: bool = False

    def share(self, bins: list[int]) -> float:
        """Of the rows of some bins, which have some."""
        return min(1.0, max(0.0, sum(self.met(i) for i in bins) / float(self.rows[bins].sum())))


@dataclass(frozen=True, eq=False)
class Beside:
    """What an interval takes of the rows of each bin that meet the other conditions, and the ``sd`` of that, both in
    shares of these; float64, (bins,). ``settled``: the bins whose crowd is known to be what their neighbours leave."""

    inside: Inside
    sd: Estimates
    settled: frozenset[int] = frozenset()


def beside_neighbours(inside: Inside, cells: MarkedCells, others: Met) -> Beside:
    """``inside`` with the ``share`` of the rows that meet other conditions."""
    share, sd, settled = inside.share.copy(), np.zeros(len(inside.share)), set[int]()
    for cut in inside.cut.tolist():
        near = [i for i in (cut - 1, cut + 1) if 0 <= i < len(share) and others.rows[i] >= 1.0]
        crowded = inside.crowd[cut] >= CROWD
        if not crowded:  # of a crowded neighbour nothing says how its rest is
            near = [i for i in near if inside.crowd[i] < CROWD]
        if not near or others.rows[cut] < 1.0 or inside.crowd[cut] == 1.0:
            continue
        found = _of_crowd(inside, cut, near, others) if crowded else _of_slope(inside, cells, cut, near, others)
        if found is not None:
            share[cut], sd[cut] = found
            settled |= {cut} if crowded else set()
    return Beside(replace(inside, share=share), sd, frozenset(settled))


def _clear(difference: float, noise: float) -> float:
    return float(garrote(np.asarray(difference), np.asarray(noise), CLEAR))


def _of_crowd(inside: Inside, cut: int, near: list[int], others: Met) -> tuple[float, float] | None:
    """Where the rest of the bin is as its neighbours are."""
    crowd, of_crowd, whole = float(inside.crowd[cut]), float(inside.of_crowd[cut]), float(others.rows[cut])
    taken = min(1.0, max(0.0, (float(inside.share[cut]) - crowd * of_crowd) / (1.0 - crowd)))
    rate, like, beside = others.share([cut]), others.share(near), float(others.rows[near].sum())
    noise = others.noise * hypot(sqrt(len(near)) / beside, 1.0 / whole)
    clear, rest, here = _clear(like - rate, noise), (1.0 - crowd) * whole, rate * whole
    if (clear == 0.0 and not others.listed) or here < _TINY or taken == of_crowd:
        return None
    of_rest = min(max(rest * (rate + clear * (like - rate)), here - crowd * whole, 0.0), rest, here)
    moved = (of_rest - (1.0 - crowd) * here) * (taken - of_crowd)
    unsure = hypot(rest * noise, like * float(inside.crowd_sd[cut]), REST * of_rest * others.listed)
    unsure *= abs(taken - of_crowd)
    return _moved(inside, cut, moved / here), hypot(unsure, OPEN * moved) / here


def _of_slope(inside: Inside, cells: MarkedCells, cut: int, near: list[int], others: Met) -> tuple[float, float] | None:
    """Where shares change from one neighbour's to the other's, or from the bin's own at an end of the column."""
    before, behind = (near[0], near[1]) if len(near) == 2 else (min(near[0], cut), max(near[0], cut))
    low, rate, high = (others.share([i]) for i in (before, cut, behind))
    if not min(low, high) <= rate <= max(low, high):  # it goes nowhere
        return None
    noise = others.noise * hypot(1.0 / float(others.rows[before]), 1.0 / float(others.rows[behind]))
    clear = _clear(high - low, noise)
    if clear == 0.0 or not _TINY < rate < 1.0:
        return None
    mine = bins_in(cells.domain) == cut
    rows, taken, even = cells.share[mine], inside.taken[mine], float(inside.share[cut])
    edges = np.array(cells.domain.edges) * 0.5
    middle, width = (edges[:-1] + edges[1:]) / 2.0, max(float(edges[cut + 1] - edges[cut]), _LEAST)
    slope = clear * (_logit(high) - _logit(low)) * (width / max(float(middle[behind] - middle[before]), _LEAST))
    moved, if_a_rule = (
        float((rows * _shares(times * slope * (cells.positions[mine] - 0.5), rows, rate) * taken).sum()) / rate - even
        for times in (1.0, RULE)
    )
    return _moved(inside, cut, moved), OPEN * max(abs(moved), abs(if_a_rule - moved))


def _moved(inside: Inside, cut: int, moved: float) -> float:
    return min(1.0, max(0.0, float(inside.share[cut]) + moved))


def _shares(logits: Estimates, rows: Estimates, rate: float) -> Estimates:
    """Shares of cells with so many of a bin's rows, whose mean is ``rate``: the nearest in relative entropy to those of
    these logits have them moved alike (Csiszar 1975)."""
    low, high = -60.0 - float(np.abs(logits).max()), 60.0 + float(np.abs(logits).max())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if float((rows / (1.0 + np.exp(-np.clip(logits + middle, -500.0, 500.0)))).sum()) < rate * float(rows.sum()):
            low = middle
        else:
            high = middle
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logits + high, -500.0, 500.0))))


def _logit(share: float) -> float:
    inside = min(max(share, TRACE), 1.0 - TRACE)
    return log(inside / (1.0 - inside))
