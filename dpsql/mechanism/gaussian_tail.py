"""Tails of a discrete Gaussian, to as many bits as a draw asks for: between two integers, never a float."""

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import isqrt

from dpsql.decimals import exact
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
    _check(sigma, above, bits)
    low, high = _sums(sigma, bits)
    return _over_all(low, high, above + 1, bits)


def all_tail_bounds(sigma: Fraction, bits: int) -> list[tuple[int, int]]:
    """``tail_bounds`` above 0, 1, .., neither side increasing; the last low is 0, and its high bounds all beyond it.

    >>> all_tail_bounds(Fraction(1), 128)[0] == tail_bounds(Fraction(1), 0, 128)
    True
    """
    _check(sigma, 0, bits)
    low, high = _sums(sigma, bits)
    return [_over_all(low, high, k, bits) for k in range(1, len(low) + 1)]


def _check(sigma: Fraction, above: int, bits: int) -> None:
    if not 0 < sigma <= WIDEST or above < 0 or bits < 1:
        raise InternalError("a tail needs 0 < sigma <= 2^11, a place that is not negative, and a bit")


def _over_all(low: list[int], high: list[int], k: int, bits: int) -> tuple[int, int]:
    """2^bits P[Z >= k] for k >= 1; 1 bounds the sum of the weights beyond the last."""
    least, most = (low[k], high[k]) if k < len(low) else (0, 1)
    zero = 1 << bits  # the weight of 0, which is counted once; all others are on both sides
    return (least << bits) // (2 * high[0] - zero), -((-most << bits) // (2 * low[0] - zero))


@lru_cache(maxsize=8)
def _sums(sigma: Fraction, bits: int) -> tuple[list[int], list[int]]:
    """Bounds on 2^bits times the sum of exp(-k^2 / (2 sigma^2)) over k >= x, for x = 0, 1, ..

    Weight k is the product of r, r q, .., r q^(k - 1), for r = exp(-y), y = 1 / (2 sigma^2) and q = r^2. With e =
    10^(1 - digits), which bounds the relative error of every operation, r is off by less than (y + 1) e of itself, and
    weight k by less than k^2 (y + 1) e + 4 k^2 e, all roundings included; as k^2 y exp(-k^2 y) < 1, by less than (1 +
    5 k^2) e in all, twice as much with products of errors; digits are 8 more than 2^bits and 10 last^2 have together.
    So a weight's product with 2^bits is off by less than one unit: it lies between its
    floor less 1 and its floor and 2. Those left out sum to at most sigma^2 / last exp(-last^2 / (2 sigma^2)) <= 1 unit,
    for last >= sigma and last^2 >= 2 sigma^2 (bits + 12).
    """
    square = 2 * sigma * sigma
    last = isqrt(int(square * (bits + 12)) + 1) + 1
    digits = bits * 302 // 1000 + 8 + len(str(10 * last * last))
    context = exact(digits)
    ratio = context.exp(context.divide(Decimal(-square.denominator), Decimal(square.numerator)))
    faster, scaled = context.multiply(ratio, ratio), Decimal(1 << bits)
    floors = [1 << bits]
    for _ in range(last):
        scaled, ratio = context.multiply(scaled, ratio), context.multiply(ratio, faster)
        floors.append(int(scaled))  # towards 0
    lows = [floors[0], *(max(0, f - 1) for f in floors[1:])]
    highs = [floors[0], *(f + 2 for f in floors[1:])]
    return _from_the_end(lows, 0), _from_the_end(highs, 1)


def _from_the_end(weights: list[int], beyond: int) -> list[int]:
    return list(accumulate(reversed(weights), initial=beyond))[:0:-1]
