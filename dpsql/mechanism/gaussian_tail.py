"""Tails of a discrete Gaussian, to as many bits as a draw asks for: between two integers, never a float."""

from decimal import ROUND_HALF_EVEN, Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import isqrt

from dpsql.errors import InternalError

WIDEST = 1 << 11
"""Counts: the largest sigma whose tails are summed; there are about 15 sigma terms."""


def tail_bounds(sigma: Fraction, above: int, bits: int) -> tuple[int, int]:
    """Integers low <= 2^bits P[Z > above] <= high for a discrete Gaussian Z of scale ``sigma``; ``above`` >= 0.

    Their distance is below 2^20 for 128 bits or more, whatever the tail. ``InternalError`` when out of range.

    >>> low, high = tail_bounds(Fraction(1), 0, 128)
    >>> round(low / 2**128, 6), high - low < 2**20
    (0.300529, True)
    """
    if not 0 < sigma <= WIDEST or above < 0 or bits < 1:
        raise InternalError("a tail needs 0 < sigma <= 2^11, a place that is not negative, and a bit")
    low, high = _sums(sigma, bits)
    least, most = (low[above + 1], high[above + 1]) if above + 1 < len(low) else (0, 1)
    zero = 1 << bits  # the weight of 0, which is counted once; all others are on both sides
    return (least << bits) // (2 * high[0] - zero), -((-most << bits) // (2 * low[0] - zero))


@lru_cache(maxsize=8)
def _sums(sigma: Fraction, bits: int) -> tuple[list[int], list[int]]:
    """Bounds on 2^bits times the sum of exp(-k^2 / (2 sigma^2)) over k >= x, for x = 0, 1, ..

    Arguments and exponentials have relative errors of 10^(1 - digits), and y exp(-y) < 1, so a weight is off by less
    than 10^(3 - digits), and its product with 2^bits by less than one unit: it lies between its floor less 1 and its
    floor and 2. Those left out sum to at most sigma^2 / last exp(-last^2 / (2 sigma^2)) <= 1 unit, for last >= sigma
    and last^2 >= 2 sigma^2 (bits + 12).
    """
    digits = bits * 302 // 1000 + 8
    traps = [InvalidOperation, DivisionByZero, Overflow]
    context = Context(digits, ROUND_HALF_EVEN, Emin=-999999, Emax=999999, traps=traps)
    square, whole = 2 * sigma * sigma, Decimal(1 << bits)
    last = isqrt(int(square * (bits + 12)) + 1) + 1
    floors = [1 << bits]
    for k in range(1, last + 1):
        exponent = context.divide(Decimal(-k * k * square.denominator), Decimal(square.numerator))
        scaled = context.multiply(whole, context.exp(exponent))
        floors.append(int(scaled))  # towards 0
    lows = [floors[0], *(max(0, f - 1) for f in floors[1:])]
    highs = [floors[0], *(f + 2 for f in floors[1:])]
    return _from_the_end(lows, 0), _from_the_end(highs, 1)


def _from_the_end(weights: list[int], beyond: int) -> list[int]:
    return list(accumulate(reversed(weights), initial=beyond))[:0:-1]
