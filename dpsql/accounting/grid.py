"""Rounding of noise scales and slopes to fractions of few bits, always to the private side. Public.

A plan must be the same numbers in floats, in fractions and in a ledger's text. So what the search finds is moved to
numbers that a double holds exactly, always towards more noise and a flatter test.
"""

import math
from fractions import Fraction

SLOPE_BITS = 32


def _step(value: Fraction) -> Fraction:
    """A power of two, at most 1/4096 and at most value/4096: rounding up a root loses less than 2.5e-4 of it."""
    excess = 12 + max(0, value.denominator.bit_length() - value.numerator.bit_length() + 1)
    return Fraction(1, 1 << excess)


def sigma_from_variance(variance: Fraction) -> Fraction:
    """The smallest sigma on the grid with sigma^2 >= ``variance`` > 0; exactly representable as a double.

    >>> sigma_from_variance(Fraction(9)), float(sigma_from_variance(Fraction(2)))
    (Fraction(3, 1), 1.414306640625)
    """
    step = _step(variance)
    ratio = variance / (step * step)
    root = math.isqrt(math.ceil(ratio))
    while root * root < ratio:
        root += 1
    return root * step


def slope_below(value: float) -> Fraction:
    """The largest multiple of 2^-32 that is not above ``value``."""
    return Fraction(math.floor(Fraction(value) * (1 << SLOPE_BITS)), 1 << SLOPE_BITS)
