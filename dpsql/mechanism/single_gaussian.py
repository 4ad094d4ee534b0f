"""One exact draw of a discrete Gaussian of any scale, from fair coins and whole numbers alone.

Canonne, Kamath and Steinke 2020, "The discrete Gaussian for differential privacy": Algorithms 1 to 3.
"""

from collections.abc import Callable
from fractions import Fraction

from dpsql.errors import InternalError

Bits = Callable[[int], int]
"""Coins: uniform on the integers 0 <= k < 2^n, independent at every call."""


def single_gaussian(sigma: Fraction, bits: Bits) -> int:
    """A draw with probability proportional to exp(-x^2 / (2 sigma^2)) on the integers: Algorithm 3.

    A discrete Laplace draw y of scale t = floor(sigma) + 1 is kept with probability exp(-(abs(y) - sigma^2 / t)^2 / (2
    sigma^2)). The number of coins is random. ``InternalError`` for sigma <= 0.

    >>> from secrets import randbits
    >>> abs(single_gaussian(Fraction(10**6), randbits)) < 10**8
    True
    """
    if sigma <= 0:
        raise InternalError("noise needs sigma > 0", hint="take sigma from the plan")
    n, d = sigma.numerator, sigma.denominator
    t = n // d + 1
    while True:
        y = _laplace(t, bits)
        gap = abs(y) * t * d * d - n * n  # the exponent's root times t d^2, a whole number
        if exponential(gap * gap, 2 * (n * d * t) ** 2, bits):
            return y


def _laplace(t: int, bits: Bits) -> int:
    """Probability proportional to exp(-abs(x) / t): Algorithm 2 with s = 1."""
    while True:
        magnitude, negative = geometric(1, t, bits), bits(1)
        if magnitude or not negative:  # 0 is drawn with one sign
            return -magnitude if negative else magnitude


def geometric(s: int, t: int, bits: Bits) -> int:
    """Probability proportional to exp(-x s / t) on the integers from 0 on, s and t above 0: Algorithm 2, its sign left.

    >>> from secrets import randbits
    >>> geometric(10**6, 1, randbits)
    0
    """
    while True:
        rest = _below(t, bits)
        if not _fraction(rest, t, bits):
            continue
        whole = 0
        while _fraction(1, 1, bits):
            whole += 1
        return (rest + t * whole) // s


def exponential(numerator: int, denominator: int, bits: Bits) -> bool:
    """True with probability exp(-numerator / denominator), for a numerator that is not negative: Algorithm 1."""
    while numerator > denominator:
        if not _fraction(1, 1, bits):
            return False
        numerator -= denominator
    return _fraction(numerator, denominator, bits)


def _fraction(numerator: int, denominator: int, bits: Bits) -> bool:
    """The same for 0 <= numerator <= denominator: the first k at which a coin of chance x / k fails is odd."""
    k = 1
    while _below(denominator * k, bits) < numerator:
        k += 1
    return k % 2 == 1


def _below(end: int, bits: Bits) -> int:
    """Uniform on 0 .. ``end - 1``, by rejection."""
    while (drawn := bits((end - 1).bit_length())) >= end:
        pass
    return drawn
