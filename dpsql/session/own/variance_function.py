"""How far a model is off where its error bar says so much, as the releases beside it have found it. Public.

A bar knows what pairs of columns leave open at most; what models are off by grows slower than that. So the variance of
an answer is taken as a power of its bar's (variance functions; Davidian and Carroll 1987), and scattered about it.
Level and power are those that the distances between releases and models make likely (empirical Bayes; Efron and Morris
1973), beside a prior that bars are right. Distances of questions over other numbers of columns count a little (power
priors; Ibrahim and Chen 2000).
"""

from dataclasses import dataclass, field

import numpy as np

from dpsql.query import Estimates

_LEVELS = np.linspace(-4.0, 2.0, 25)[:, None]
"""Of a model where its bar's sd is the unit: logarithms of sds in units."""
_POWERS = np.array([0.3, 0.5, 0.7, 0.85, 1.0])
"""Of a bar's sd in units: what a model's sd grows by."""
LEVEL_SCATTER, POWER_SCATTER = 0.5, 0.35
"""Of the prior, whose mean is that bars are right: level 0, power 1."""
SCATTER = 0.4
"""Of the logarithm of one answer's sd about the power."""
ELSEWHERE = 0.1
"""So much of a lesson counts for questions over another number of columns."""
ALIKE = 6
"""Questions over so many columns and more are looked at together."""
SURELY = 5.0
"""Sds of noise: at a larger distance from the model the measurement is believed, whatever others were."""
_OFF = np.array([-4.0, -2.0, 0.0, 2.0, 4.0]) * SCATTER
_HOW_OFTEN = np.exp(-0.5 * (_OFF / SCATTER) ** 2) / np.exp(-0.5 * (_OFF / SCATTER) ** 2).sum()
_LEAST = 1e-6
"""Of a variance in units."""


def _prior() -> Estimates:
    level, power = _LEVELS / LEVEL_SCATTER, (_POWERS - 1.0) / POWER_SCATTER
    return np.asarray(-0.5 * (level**2 + power**2), dtype=np.float64)


@dataclass(eq=False)
class VarianceFunction:
    """Of one table's models: a function of what was learned. ``unit``: of sds, in counts, > 0.

    >>> found = VarianceFunction(100.0)
    >>> round(found.weighed(3, far=110.0, own=100.0, bar=400.0)[0], 2)
    0.78
    >>> for _ in range(100):
    ...     found.learn(3, far=110.0, own=100.0, bar=400.0)
    >>> round(found.weighed(3, far=110.0, own=100.0, bar=400.0)[0], 2)
    0.25
    """

    unit: float = 1.0
    _log: list[Estimates] = field(default_factory=lambda: [_prior() for _ in range(ALIKE + 1)])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VarianceFunction):
            return NotImplemented
        return self.unit == other.unit and np.array_equal(self._log, other._log)

    def learn(self, columns: int, far: float, own: float, bar: float) -> None:
        """A question over so many columns was ``far`` from the model, with noise of its own of that sd; ``bar``: the sd
        that the model's error bar foresaw. All in counts."""
        likely = np.log((self._likely(far, own, bar) * _HOW_OFTEN).sum(axis=-1))
        for alike, log in enumerate(self._log):
            log += likely if alike == min(columns, ALIKE) else ELSEWHERE * likely
            log -= log.max()

    def weighed(self, columns: int, far: float, own: float, bar: float) -> tuple[float, float]:
        """What a measurement with noise of its own of that sd counts for beside the model, between 0 and 1, and the
        variance (counts) that is left of both; arguments as of ``learn``."""
        each = self._shares(columns)[..., None] * _HOW_OFTEN * self._likely(far, own, bar)
        each /= each.sum()
        noise = own**2
        weights = self._variances(bar) / (self._variances(bar) + noise / self.unit**2)
        weight = float((each * weights).sum())
        left = float((each * (weights * noise + (weights - weight) ** 2 * far**2)).sum())
        return (max(weight, 1.0 - noise / far**2), max(left, noise)) if far > SURELY * own else (weight, left)

    def _shares(self, columns: int) -> Estimates:
        """How likely each level and power is; they add up to 1."""
        found = np.exp(self._log[min(columns, ALIKE)])
        return np.asarray(found / found.sum())

    def _variances(self, bar: float) -> Estimates:
        """By level, power and scatter, in squares of the unit."""
        sds = np.exp(_LEVELS) * (bar / self.unit) ** _POWERS
        return np.asarray(sds[..., None] ** 2 * np.exp(2.0 * _OFF))

    def _likely(self, far: float, own: float, bar: float) -> Estimates:
        """The density of a distance, by level, power and scatter; up to a factor, and never 0."""
        total = np.maximum(self._variances(bar) + (own / self.unit) ** 2, _LEAST)
        log = -0.5 * ((far / self.unit) ** 2 / total + np.log(total))
        return np.asarray(np.exp(np.maximum(log - log.max(), -500.0)))
