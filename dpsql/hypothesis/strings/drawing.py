"""How strings of a list may have been drawn, and what their rows are then. Public.

Where most strings that were not shown have a row or two and a few have as many as may stay hidden, their mean and
variance say next to nothing of one that somebody lists. The law of their counts does, once for each way in which people
list strings: as they stand in a register, as they occur in rows, or from elsewhere, so that none of them occurs.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpsql.hypothesis.strings.hidden_keys import Floats, power_law

ABSENT = 0.05
"""Of the strings of a list, whichever way it was drawn: so many do not occur."""
ELSEWHERE = 0.05
"""The probability that none of a list's strings occurs."""
LEAST_WAY = 0.1
"""Each of the two other ways has at least this probability of what is left, whatever lists were measured before."""
MISFIT = 0.15
"""Sd of what all strings of a list are off by together, in parts of what is expected of them: no table has that law."""
MOST_MOVED = 1.0
"""A list is moved by so many sds of its noise at most: limited translation (Efron and Morris 1972), for people list
strings in more ways than these."""
_AT_ONCE = 1 << 10
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Drawing:
    """``counts``: float64 of shape (points,), in rows, from 0; ``ways``: how likely each is, shape (ways, points), of
    which each sums to 1; ``before``: how likely each way is before anything was measured, shape (ways,); ``misfit``:
    as ``MISFIT``, with what is not known of the law's mean.
    """

    counts: Floats
    ways: Floats
    before: Floats
    misfit: float

    def rows(self, values: Floats, variances: Floats) -> Floats:
        """Estimated rows of the strings of one list, float64 of shape (strings,); may be below 0, as sums need.

        ``values``: measured counts; ``variances`` of their noise, > 0; both of shape (strings,). All strings tell which
        way the list was drawn (a mixture's posterior; Gelman et al. 2013, 22.1), and each has its posterior mean. Their
        sum is the best linear estimate from that, which may be off by ``misfit``, and from the measured sum: with D
        the variance of the difference without it, it is moved D / (D + (misfit sum)^2) of the way (Hartigan 1969).

        >>> few = drawing(3.0, 100.0, 0.4)
        >>> few.rows(np.array([14.0, -9.0, 22.0, 2.0]), np.full(4, 144.0)).sum().round()
        np.float64(15.0)
        """
        likely, means, squares = self._by_way(values, variances)
        log = np.log(self.before) + likely.sum(axis=0)
        way = np.exp(log - log.max())
        way /= way.sum()
        found = means @ way
        left = float((np.maximum(squares - means**2, 0.0) @ way).sum())
        noise = float(variances.sum())
        apart = max(noise - left, 0.0)
        misfit = (self.misfit * float(found.sum())) ** 2
        step = (found - values) * (apart / (apart + misfit) if apart > 0.0 else 0.0)
        most, moved = MOST_MOVED * noise**0.5, abs(float(step.sum()))
        return np.asarray(values + step * (most / moved if moved > most else 1.0))

    def _by_way(self, values: Floats, variances: Floats) -> tuple[Floats, Floats, Floats]:
        """By way: the logarithm of how likely each value is, up to one number a string, and the posterior mean of its
        rows and of their square; all of shape (strings, ways)."""
        weights = np.concatenate([self.ways, self.ways * self.counts, self.ways * self.counts**2]).T
        found = []
        for start in range(0, len(values), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            log = -0.5 * (values[some, None] - self.counts) ** 2 / variances[some, None]
            found.append(np.exp(log - log.max(axis=1, keepdims=True)) @ weights)
        likely, first, second = np.split(np.concatenate(found) + _TINY, 3, axis=1)
        return np.log(likely), first / likely, second / likely


@lru_cache(maxsize=64)
def drawing(mean: float, most: float, by_row: float, unsure: float = 0.0) -> Drawing:
    """Of strings that were not shown, which have ``mean`` rows on average and at most ``most``, by a power law.

    ``by_row``: the probability, in [0, 1], that a list is drawn as its strings occur; ``unsure``: sd of the mean, in
    parts of it.

    >>> found = drawing(3.0, 100.0, 0.0)
    >>> (found.ways @ found.counts).round(1).tolist(), found.before.round(3).tolist()
    ([0.0, 2.8, 17.2], [0.05, 0.855, 0.095])
    """
    occurring, even = power_law(mean, most)
    row = even * occurring
    counts = np.concatenate([[0.0], occurring])
    ways = np.zeros((3, len(counts)))
    ways[0, 0] = 1.0
    for way, likely in ((1, even * min(mean, 1.0)), (2, row / row.sum())):
        ways[way, 1:] = (1.0 - ABSENT) * likely
        ways[way, 0] = 1.0 - ways[way].sum()
    share = min(max(by_row, LEAST_WAY), 1.0 - LEAST_WAY)
    before = np.array([ELSEWHERE, (1.0 - ELSEWHERE) * (1.0 - share), (1.0 - ELSEWHERE) * share])
    return Drawing(counts, ways, before, float(np.hypot(MISFIT, unsure)))
