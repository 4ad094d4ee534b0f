"""How many times wider a model's error bars have to be, as residual releases have found it. Public.

A bar foresees what pairs of columns leave open; how much that is, only the rows know. Each residual release says how
far the model was off, but for its own noise, so the bars of questions over as many columns are widened until 95 % of
these distances are inside (split conformal prediction: Vovk, Gammerman and Shafer 2005; Lei et al. 2018).
"""

from dataclasses import dataclass, field
from math import ceil, isfinite, sqrt

from dpsql.confidence import CONFIDENCE, DEVIATIONS
from dpsql.errors import LedgerError
from dpsql.ledger.event import Payload
from dpsql.session.own.variance_function import ALIKE, VarianceFunction

FEWEST_LESSONS = 19
"""The fewest distances of which the largest is a 95 % bound: 1 / (19 + 1) = 5 %."""
MOST_TIMES = 20.0
"""However far off a model was found."""
FEWEST_COLUMNS = 3
"""Pairs of columns are measured: their bars need no such lesson."""


@dataclass
class Misfit:
    """A fold of residual releases: ``times`` and ``variance`` are functions of what was learned, and nothing else."""

    variance: VarianceFunction = field(default_factory=VarianceFunction)
    """Of models beside what they share with a measurement; releases of rules before 25 say nothing of it."""
    _by_columns: dict[int, list[float]] = field(default_factory=dict)
    _times: dict[int, float] = field(default_factory=dict, compare=False)

    def learn(self, columns: int, far: float, noise: float, bar: float, own: float | None = None) -> None:
        """A query over so many columns was ``far`` from the model, with noise of that sd, ``own`` of it drawn for this
        query; ``bar``: the sd that the model's error bar foresaw. All in counts.
        """
        beyond = max(0.0, (far / DEVIATIONS) ** 2 - noise**2)
        self._by_columns.setdefault(min(columns, ALIKE), []).append(sqrt(beyond) / bar)
        if own is not None:
            self.variance.learn(columns, far, own, bar)
        self._times.clear()

    def times(self, columns: int) -> float:
        """By how much to widen bars of queries over so many columns: 1 to MOST_TIMES.

        >>> misfit = Misfit()
        >>> for far in range(20):
        ...     misfit.learn(3, 196.0 * far, 1.0, 100.0)
        >>> round(misfit.times(3), 1), misfit.times(2)
        (19.0, 1.0)
        """
        if columns < FEWEST_COLUMNS or not self._by_columns:
            return 1.0
        alike = min(columns, ALIKE)
        if alike not in self._times:
            self._times[alike] = self._worked_out(alike)
        return self._times[alike]

    def _worked_out(self, columns: int) -> float:
        known = self._by_columns.get(min(columns, ALIKE), [])
        if len(known) < FEWEST_LESSONS:
            known = [x for number, found in self._by_columns.items() if number >= FEWEST_COLUMNS for x in found]
        if len(known) < FEWEST_LESSONS:
            return 1.0
        rank = min(len(known), ceil(CONFIDENCE * (len(known) + 1)))
        return min(MOST_TIMES, max(1.0, sorted(known)[rank - 1]))

    def take(self, payload: Payload) -> None:
        """Learn what a residual release in the ledger says; LedgerError when it cannot be read."""
        try:
            columns, lessons = int(payload["columns"]), [tuple(map(float, found)) for found in payload["lessons"]]
            if not all(isfinite(number) for lesson in lessons for number in lesson):
                raise ValueError("an infinite lesson would be part of every later answer")
            for lesson in lessons:
                self.learn(columns, *lesson)
        except (KeyError, TypeError, ValueError, ArithmeticError) as error:
            raise LedgerError("a residual release in the ledger cannot be read") from error
