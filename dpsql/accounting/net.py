"""The net: the test and the measurement of a hard round, scaled to a table's sensitivity. Public numbers.

The plan is made once, for changes of one count; tables differ in how much one unit can change them. This is the one
place that scales the test, its threshold and its certified bound, so that no table is scaled twice or not at all.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from dpsql.confidence import OUTSIDE
from dpsql.errors import InternalError

TABLE_RANGE = (2.0**-40, 40.0)
"""The rates x that the test's integer table covers: an easy outcome has probability exp(-x)."""

TABLE_MARGIN = Fraction(1, 1 << 72)
"""How far the integer table's largest step may exceed its slope.

The entries K with |K - 2^128 exp(-x)| <= 1 for x in TABLE_RANGE have |ln lambda - ln x| <= 1 / (K x) (1 + 2^-80), and
K x >= 2^128 min(2^-40 exp(-2^-40), 40 exp(-40)) > 2^75.5; two neighbours thus differ from the slope by < 2^-74.4.
"""

DEFAULT_FALSE_ALARMS = 0.1
"""Share of the hard rounds that a perfect hypothesis may lose to false alarms over the planned queries, unless the
caller says otherwise."""


@dataclass(frozen=True)
class Net:
    """Parameters of a hard round for tested values that change by at most ``sensitivity`` between neighbours.

    ``slope``: per count. ``certified_slope``: per count, at least every step of the integer table (slope included).
    ``sigma``: noise of each measured cell, in counts. The cost is the plan's ``hard_cost``, whatever the sensitivity.
    """

    slope: Fraction
    certified_slope: Fraction
    sensitivity: int
    sigma: Fraction
    hard_rounds: int

    def threshold(self, planned_queries: int, false_alarms: float = DEFAULT_FALSE_ALARMS) -> int:
        """theta = ceil(ln(2 K / (false_alarms T)) / slope) counts, >= 0.

        A perfect hypothesis loses about ``false_alarms`` * T hard rounds over K queries that are all tested.
        """
        self._need_test()
        tests = 2 * max(1, planned_queries)
        return max(0, math.ceil(math.log(tests / (false_alarms * self.hard_rounds)) / float(self.slope)))

    def certified_bound(self, planned_queries: int, beta: float = OUTSIDE, *, theta: int | None = None) -> int:
        """Counts: all easy answers among ``planned_queries`` are this close to the truth with probability 1 - beta.

        theta + ln(ln(k / beta)) / slope (docs/privacy.md), valid while k <= beta e^40, where the table ends;
        sensitivity - 1 more, because the test divides by the sensitivity and rounds down. ``theta`` defaults to
        ``threshold(planned_queries)``.
        """
        self._need_test()
        queries = max(1, planned_queries)
        if not 0 < beta < 1 or queries > beta * math.exp(TABLE_RANGE[1]):
            raise InternalError("no certified bound for so many queries", hint="plan at most 1e16 queries")
        line = self.threshold(queries) if theta is None else theta
        return math.ceil(line + math.log(math.log(queries / beta)) / float(self.slope)) + self.sensitivity - 1

    def _need_test(self) -> None:
        if self.hard_rounds == 0:
            raise InternalError("a plan without hard rounds has no test", hint="plan at least one hard round")
