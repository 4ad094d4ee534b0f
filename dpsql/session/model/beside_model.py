"""What a hard round measured, beside what the model said of it. Public numbers.

The test found one answer to be wrong, or its noise said so: with a few rounds for thousands of questions mostly the
latter, and a round's noise is far larger than what a good model is off by. The cells of a GROUP BY are weighed with
their measurements by how far all of them are from the model; a single number, or a few, by the model's own bar where
both agree. Where they do not, the measurement is believed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, inf

import numpy as np

from dpsql.confidence import DEVIATIONS, error_bound
from dpsql.hypothesis.rules import ModelRules
from dpsql.query import LinearQuery
from dpsql.result import Answer
from dpsql.session.answers import moved_to
from dpsql.session.own.weighing import TOGETHER, weighed

FAR = 5.0
"""Sds of noise: a cell that is further from the model is believed; at 3, noise alone moves some in every crosstab."""


def is_weighed(hard: LinearQuery, queries: Sequence[LinearQuery], *, strings: bool = False) -> bool:
    """Whether these are enough counts of one outline to say how far off the model is; ``strings``: or any numbers
    about strings of one text column. Of several the model only guesses.
    """
    if len(queries) < TOGETHER:
        return False
    if hard.keyed is not None:
        return strings and len(hard.keyed.text_columns) == 1
    return not hard.is_by_value and hard.is_indicator


@dataclass(frozen=True, eq=False)
class Beside:
    """What was said of ``queries`` before the round, in counts: the model's ``estimates`` and its 95 % error ``bars``
    (``None``: not known). ``hard``: the query whose test failed; ``None`` where all were tested as one. ``weighs``:
    whether the ledger's rules weigh cells of a GROUP BY, ``mixed``: by a mixture of scales, ``agree``: within how many
    sds of both together they weigh any other number (0: never; one that is further from the model is believed),
    ``values``: also one that is about values; ``fine``: whether sums are told in parts of a range, as the model's are,
    and not as whole ones; ``strings``: whether all this is so of questions about strings of one column, too.
    """

    hard: LinearQuery | None
    queries: tuple[LinearQuery, ...]
    estimates: tuple[float, ...]
    bars: tuple[int | None, ...]
    weighs: bool
    mixed: bool = False
    agree: float = 0.0
    values: bool = False
    fine: bool = False
    strings: bool = False

    @classmethod
    def by(
        cls,
        rules: ModelRules,
        hard: LinearQuery | None,
        queries: Sequence[LinearQuery],
        estimates: Sequence[float],
        bars: Sequence[int | None],
    ) -> "Beside":
        """As a ledger's rules want it."""
        weighs = rules.rounds_beside, rules.mixed, rules.rounds_weighed, rules.values_beside, rules.fine_rounds
        return cls(hard, tuple(queries), tuple(estimates), tuple(bars), *weighs, rules.strings_beside)

    @property
    def one(self) -> LinearQuery:
        """The query whose test failed, or of those that were tested as one the first that counts whole rows, if any
        does: it is the same whichever is asked first."""
        if self.hard is not None:
            return self.hard
        return next((q for q in self.queries if q.is_indicator), self.queries[0])

    def answers(self, measured: Sequence[Answer], noise: Sequence[float]) -> list[Answer]:
        """The answers of the round; ``noise``: the sd (counts) of each that was measured."""
        if not (self.weighs and is_weighed(self.one, self.queries, strings=self.strings)):
            return [self._weighed(*one) for one in zip(range(len(measured)), measured, noise, strict=True)]
        values = np.array([a.value for a in measured], dtype=float)
        sds = np.array([inf if bar is None else bar / DEVIATIONS for bar in self.bars])
        estimates = np.array(self.estimates, dtype=float)
        both = weighed(values, np.array(noise), estimates, sds, believed=FAR, mixed=self.mixed)
        found = enumerate(zip(self.queries, measured, noise, *(a.tolist() for a in both), strict=True))
        return [
            self._weighed(i, a, own) if q is self.hard else self._moved(q, a, value, sd)
            for i, (q, a, own, value, sd) in found
        ]

    def _weighed(self, place: int, measured: Answer, noise: float) -> Answer:
        """One number by itself: the mean by precision of both where they agree, with its sd, times how far they are
        apart in sds where that is more than one (Birge 1932; the scale factor of the Particle Data Group)."""
        query, bar, estimate = self.queries[place], self.bars[place], self.estimates[place]
        lone = query.keyed is None or (self.strings and len(query.keyed.text_columns) == 1)
        known = lone and (query.keyed is not None or self.values or not query.is_by_value)
        if not self.agree or bar is None or not known:
            return measured
        sd, value = bar / DEVIATIONS, measured.value or 0
        together, apart = hypot(noise, sd), abs(value - estimate)
        if apart > self.agree * together:
            return measured
        mean = (value * sd**2 + estimate * noise**2) / together**2
        left = noise * sd / together * max(1.0, apart / together)
        return self._moved(query, measured, mean, left)

    def _moved(self, query: LinearQuery, measured: Answer, value: float, sd: float) -> Answer:
        if self.fine and not query.is_indicator:
            return moved_to(measured, value, DEVIATIONS * sd)
        return moved_to(measured, round(value), error_bound(sd, fractional=not query.is_indicator))
