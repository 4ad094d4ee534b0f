"""The test of the net: sparse vector without threshold noise, sampled exactly from a public table of integers.

It keeps no secret state and works the same at every input: one subtraction, one clamp, one look-up, one comparison.
"""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from math import ceil, floor, log

from dpsql.accounting import TABLE_RANGE
from dpsql.decimals import exact
from dpsql.errors import InternalError
from dpsql.mechanism.entropy import Entropy
from dpsql.private import Private

BITS = 128
"""Of one draw: the table's entries count draws out of 2^128."""
_DIGITS = 50
_ERROR = Decimal("1e-30")
_MOST_EASY = (1 << BITS) - (1 << (BITS - 41))


@dataclass(frozen=True)
class Table:
    """``easy[j - first]``: of 2^128 equally likely draws, how many say easy at j. The table is the mechanism.

    With lambda_j = -ln(easy_j / 2^128), ``certified_step`` >= |ln lambda_{j+1} - ln lambda_j| for every j, so the law
    of one test moves by at most that when j moves by 1.
    """

    first: int
    easy: tuple[int, ...]
    certified_step: Fraction

    @property
    def last(self) -> int:
        """The largest j with an entry of its own."""
        return self.first + len(self.easy) - 1


@lru_cache(maxsize=32)
def build_table(step: Fraction) -> Table:
    """The table with lambda_j close to exp(step j), 2^-40 <= lambda <= 40; built once per public ``step``."""
    if not 0 < step < 4:
        raise InternalError("a test needs a slope between 0 and 4", hint="take the slope from the plan")
    context = exact(_DIGITS)
    slope = context.divide(Decimal(step.numerator), Decimal(step.denominator))
    first, last = ceil(Fraction(log(TABLE_RANGE[0])) / step), floor(Fraction(log(TABLE_RANGE[1])) / step)
    ratio, rate = context.exp(slope), context.exp(context.multiply(slope, Decimal(first)))
    whole, easy = Decimal(1 << BITS), []
    for _ in range(first, last + 1):
        easy.append(int(context.to_integral_value(context.multiply(whole, context.exp(context.minus(rate))))))
        rate = context.multiply(rate, ratio)
    return Table(first, tuple(easy), certified_step(tuple(easy)))


def certified_step(easy: tuple[int, ...]) -> Fraction:
    """A proven bound on |ln lambda_{j+1} - ln lambda_j| over the integers of a table.

    ``InternalError`` unless the easy_j are non-increasing and in (0, 2^128 - 2^87], so that lambda >= 2^-41. Each
    lambda has a relative error below 1e-37 (50 digits), far inside the 1e-30 that is added.
    """
    if any(not 0 < entry <= _MOST_EASY for entry in easy) or any(b > a for a, b in pairwise(easy)):
        raise InternalError("the table of the test is not a table of probabilities")
    context = exact(_DIGITS)
    whole = Decimal(1 << BITS)
    rates = [context.minus(context.ln(context.divide(Decimal(entry), whole))) for entry in easy]
    largest = max((context.divide(b, a) for a, b in pairwise(rates)), default=Decimal(1))
    return Fraction(context.add(context.ln(largest), _ERROR))


@dataclass(frozen=True)
class ThresholdTest:
    """Easy with probability exp(-lambda), lambda = exp(slope (g - theta)), else hard.

    ``slope``, ``certified_slope``: per count, from ``Plan.for_sensitivity``. ``sensitivity``: how much g can differ
    between neighbours, in counts; g - theta is divided by it, rounding down, which leaves sensitivity 1 and the plan's
    cost. An easy outcome is free; a hard one costs the plan's ``test_cost``. Proof: docs/privacy.md.

    The table is built at the first use, or by ``ready()``.
    """

    slope: Fraction
    certified_slope: Fraction
    sensitivity: int = 1

    def __post_init__(self) -> None:
        if self.slope <= 0 or self.certified_slope < self.slope or self.sensitivity < 1:
            raise InternalError("a test needs a slope and a sensitivity", hint="take both from the plan")

    @cached_property
    def table(self) -> Table:
        """The table, checked: ``InternalError`` when one of its steps is larger than what the plan charges for."""
        built = build_table(self.slope * self.sensitivity)
        if built.certified_step > self.certified_slope * self.sensitivity:
            raise InternalError("the test's table is steeper than the plan's charge covers")
        return built

    def ready(self) -> None:
        """Build the table now rather than at the first test."""
        _ = self.table

    def easy(self, g: Private[int], theta: int, entropy: Entropy) -> bool:
        """One test of the private integer ``g`` (counts) against the public ``theta``. The outcome is public."""
        chances = self._chances(int(g.reveal()), theta)
        return entropy.bits(BITS) < chances

    def easy_probability(self, g: int, theta: int) -> Fraction:
        """The exact probability of easy at a public ``g``: for predictions, error bounds and tests.

        >>> test = ThresholdTest(Fraction(1, 10), Fraction(1, 10) + Fraction(1, 2**72))
        >>> round(float(test.easy_probability(5, 5)), 6)  # exp(-1)
        0.367879
        """
        return Fraction(self._chances(g, theta), 1 << BITS)

    def _chances(self, g: int, theta: int) -> int:
        built = self.table
        j = (g - theta) // self.sensitivity
        return built.easy[min(max(j, built.first), built.last) - built.first]
