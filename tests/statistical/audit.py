"""How audits tell neighbouring tables apart, and how surely: shared by all audits, so that equal draws are made once.

An event with probability at least p on one table and at most q on the other proves ln((p - delta) / q) <= epsilon.
Both are Clopper-Pearson bounds at 99.9 %, so a system that keeps its claim is flagged with probability 0.2 % at most;
draws are seeded, so a result stays what it is.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from scipy import stats

EPSILON, DELTA = 1.0, 0.01
CONFIDENCE = 0.999

Run = Callable[[bool, int], float]
"""A number released on the table with one more unit or without, for a seed."""


@cache
def drawn(run: Run, more: bool, number: int) -> float:
    """What ``run`` gives the ``number``-th time, drawn once for all events that are read from it."""
    return run(more, 2 * number + more)


def audit(run: Run, runs: int, above: float, delta: float = DELTA) -> float:
    """The loss that the event "``run`` gives more than ``above``" proves, in either direction."""
    more, less = ([drawn(run, unit, number) > above for number in range(runs)] for unit in (True, False))
    return max(loss(more, less, delta), loss([not x for x in less], [not x for x in more], delta))


def loss(events: Sequence[bool], neighbours: Sequence[bool], delta: float = DELTA) -> float:
    """The epsilon that the frequencies of an event on two neighbours prove, at least."""
    low, _ = _bounds(sum(events), len(events))
    _, high = _bounds(sum(neighbours), len(neighbours))
    return math.log(max(low - delta, 1e-12) / high)


def missed(shift: float, runs: int, above: float = 0.0) -> float:
    """The probability that ``audit`` does not flag a release N(+-shift / 2, 1) by the event "more than ``above``".

    Exact for normal numbers, by the sum over both tables' frequencies; of the two directions only the one that shows
    the unit's presence is counted, so a little too high.
    """
    often, seldom = stats.norm.sf(above - shift / 2), stats.norm.sf(above + shift / 2)
    seen = np.arange(runs + 1)
    low = np.array([_bounds(k, runs)[0] for k in seen])
    high = np.array([_bounds(k, runs)[1] for k in seen])
    unflagged = np.log(np.maximum(low - DELTA, 1e-12))[:, None] - np.log(high)[None, :] <= EPSILON
    return float(stats.binom.pmf(seen, runs, often) @ unflagged @ stats.binom.pmf(seen, runs, seldom))


@cache
def _bounds(times: int, runs: int) -> tuple[float, float]:
    """Of the probability of an event that was seen so often."""
    low = stats.beta.ppf(1 - CONFIDENCE, max(times, 1e-9), runs - times + 1)
    high = stats.beta.ppf(CONFIDENCE, times + 1, max(runs - times, 1e-9))
    return float(low), float(high)
