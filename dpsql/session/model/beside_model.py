"""What a hard round measured of the cells of a GROUP BY, beside what the model said of them. Public numbers.

The test found one cell to be wrong, or its noise said so; the others were mostly less far off than a round's noise. So
each is weighed with its measurement, by how far the cells are from the model together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from dpsql.confidence import DEVIATIONS, error_bound
from dpsql.query import LinearQuery
from dpsql.result import Answer
from dpsql.session.answers import moved_to
from dpsql.session.own.weighing import TOGETHER, weighed

FAR = 5.0
"""Sds of noise: a cell that is further from the model is believed; at 3, noise alone moves some in every crosstab."""


def is_weighed(hard: LinearQuery, queries: Sequence[LinearQuery]) -> bool:
    """Whether these are enough counts of one outline to say how far off the model is."""
    return len(queries) >= TOGETHER and hard.keyed is None and hard.value is None and hard.is_indicator


@dataclass(frozen=True, eq=False)
class Beside:
    """What was said of ``queries`` before the round, in counts: the model's ``estimates`` and its 95 % error ``bars``
    (``None``: not known). ``hard``: the query whose test failed; ``weighs``: whether the ledger's rules weigh at all,
    ``mixed``: by a mixture of scales.
    """

    hard: LinearQuery
    queries: tuple[LinearQuery, ...]
    estimates: tuple[int, ...]
    bars: tuple[int | None, ...]
    weighs: bool
    mixed: bool = False

    def answers(self, measured: Sequence[Answer], noise: Sequence[float]) -> list[Answer]:
        """The answers of the round; ``noise``: the sd (counts) of each that was measured. ``hard`` is answered as it
        was measured, for its test says that the model was off.
        """
        if not (self.weighs and is_weighed(self.hard, self.queries)):
            return list(measured)
        values = np.array([a.value for a in measured], dtype=float)
        sds = np.array([inf if bar is None else bar / DEVIATIONS for bar in self.bars])
        estimates = np.array(self.estimates, dtype=float)
        both = weighed(values, np.array(noise), estimates, sds, believed=FAR, mixed=self.mixed)
        found = zip(self.queries, measured, *(a.tolist() for a in both), strict=True)
        return [a if q is self.hard else moved_to(a, round(value), error_bound(sd)) for q, a, value, sd in found]
