"""Exact draws of a discrete Gaussian of which it is known that they are above a place: noise that was compared before.

Where the first number above the place is less than one sigma above 0, every tenth draw or more passes it, and rejection
does. Further out one draw in millions would, so the tail is drawn by itself: Z = a + j with the first a above, and

    exp(-(a + j)^2 / (2 sigma^2))  is proportional to  exp(-a j / sigma^2) exp(-j^2 / (2 sigma^2)),

a geometric draw that is kept with the second factor's probability (rejection; as Canonne, Kamath and Steinke 2020 draw
the whole of it from a discrete Laplace).
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpsql.errors import InternalError
from dpsql.mechanism.entropy import Entropy
from dpsql.mechanism.single_gaussian import Bits, exponential, geometric


def gaussian_above(sigma: Fraction, places: Sequence[int], entropy: Entropy) -> list[int]:
    """Independent integers, each with probability proportional to exp(-x^2 / (2 sigma^2)) on those above its place.

    The number of coins is random, and depends on the places. ``InternalError`` for sigma <= 0.

    >>> from dpsql.mechanism import SystemEntropy
    >>> near, far = gaussian_above(Fraction(10), [-3, 90], SystemEntropy())
    >>> near > -3, 90 < far < 400
    (True, True)
    """
    if sigma <= 0:
        raise InternalError("noise needs sigma > 0", hint="take sigma from the plan")
    above = np.array(places, dtype=np.int64)
    out = np.zeros(len(above), dtype=np.int64)
    far = np.array([place + 1 >= sigma for place in places], dtype=bool)
    waiting = np.flatnonzero(~far)
    while waiting.size:
        drawn = np.array(entropy.discrete_gaussian(sigma, waiting.size), dtype=np.int64)
        kept = drawn > above[waiting]
        out[waiting[kept]] = drawn[kept]
        waiting = waiting[~kept]
    for i in np.flatnonzero(far).tolist():
        out[i] = _tail(sigma, int(above[i]) + 1, entropy.bits)
    drawn_all: list[int] = out.tolist()
    return drawn_all


def _tail(sigma: Fraction, least: int, bits: Bits) -> int:
    """The same on the integers from ``least`` >= sigma on."""
    n, d = sigma.numerator**2, sigma.denominator**2
    while True:
        j = geometric(least * d, n, bits)
        if exponential(j * j * d, 2 * n, bits):
            return least + j
