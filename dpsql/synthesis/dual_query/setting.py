"""The numbers of a run: rounds, draws for each, rate; what its draws cost and which rate a budget buys. Public.

Gong 2021 and Gaboardi et al. 2014 write T, s, eta, n and alpha, beta for them.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import cbrt, ceil, sqrt

from dpsql.accounting import Plan
from dpsql.errors import DataError, InternalError

SAMPLES = 50
"""Draws in a round."""
RATE = 1.0
"""The rate that the number of rounds is chosen for, where none is told."""
MOST_RATE = 2.0
"""A rate above it makes a table worse, whatever it costs: what it would cost is left."""
FEWEST_ROUNDS = 10
MOST_ROUNDS = 400
_LARGEST_RANGE = Fraction(1)
_LEAST_RANGE = Fraction(1, 10**6)
_HALVINGS = 30
_SMALL = Fraction(1, 1000)


@dataclass(frozen=True)
class Setting:
    """``rounds`` T >= 1 of ``samples`` s >= 1 draws at ``rate`` eta per round, in shares of the rows.

    ``rows``: n, the row count that is released or public; a constant of the run, and no private number. ``width``: all
    changes that one unit makes to the counts of queries and their complements lie in an interval of so many rows.
    """

    rounds: int
    samples: int
    rate: Fraction
    rows: int
    width: int

    def range_of(self, t: int) -> Fraction:
        """The bounded range of one draw of round ``t`` = 1, 2, ...: eta (t - 1) width / n.

        A draw is as private as a pure release of so much; under replace-one with rows as units (width 2) that is Gong's
        eps_t = 2 eta (t - 1) / n for one draw.
        """
        return self.rate * (t - 1) * self.width / self.rows

    @cached_property
    def scale(self) -> Fraction:
        """Scores are in rows times rounds; a draw weighs them by exp(score / scale)."""
        return self.rows / self.rate


CHARGES = ("range", "pure", "zcdp")
"""What a draw is charged by: its bounded range; as a pure release; its epsilon^2 / 2, in a plan with an order."""


def round_cost(plan: Plan, setting: Setting, t: int, charge: str) -> int:
    """Units of the draws of round ``t``; those of the first are even, and charged one unit, the least there is.

    docs/privacy.md, weighted draws. InternalError for a ``charge`` that is unsound in this plan.
    """
    if t == 1:
        return 1
    if charge == "range":
        return setting.samples * plan.range_cost(setting.range_of(t))
    if charge == "pure" or (charge == "zcdp" and plan.alpha is not None):
        return setting.samples * plan.pure_cost(max(setting.range_of(t), _LEAST_RANGE))
    raise InternalError("a draw has no charge of this kind in this plan")


def total_cost(plan: Plan, setting: Setting, charge: str) -> int:
    """Units of a whole run: its rounds, and one for the record of the last."""
    return 1 + sum(round_cost(plan, setting, t, charge) for t in range(1, setting.rounds + 1))


def bought(plan: Plan, units: int, shape: Setting, charge: str) -> Setting:
    """``shape`` at the largest rate, or hardly less, whose run ``units`` pay. DataError where they pay none."""
    high = 2 * _guess(plan, units, shape, charge)
    most = _LARGEST_RANGE * shape.rows / (shape.width * max(1, shape.rounds - 1))
    low, high = 0.0, min(high, float(most), MOST_RATE)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        fits = middle > 0 and total_cost(plan, replace(shape, rate=Fraction(middle)), charge) <= units
        low, high = (middle, high) if fits else (low, middle)
    if low == 0:
        raise DataError("so little budget draws nothing", hint="give the run a larger share of epsilon")
    return replace(shape, rate=Fraction(low))


def rounds_for(plan: Plan, units: int, shape: Setting, charge: str) -> int:
    """As many rounds as bring the rate that ``units`` buy down to ``RATE``, within bounds."""
    most = _guess(plan, units, replace(shape, rounds=2), charge)  # rate^2 times the sum of (t - 1)^2, about T^3 / 3
    return min(MOST_ROUNDS, max(FEWEST_ROUNDS, ceil(cbrt(3 * (most / RATE) ** 2))))


def _guess(plan: Plan, units: int, shape: Setting, charge: str) -> float:
    """The rate that ``units`` buy where a charge grows as the square of the rate, as small ones do."""
    if shape.rounds == 1:
        return float(shape.rows)
    unit = replace(shape, rate=_SMALL * shape.rows / shape.width)
    squares = sum((t - 1) ** 2 for t in range(2, shape.rounds + 1))
    return float(unit.rate) * sqrt(units / (round_cost(plan, unit, 2, charge) * squares))
