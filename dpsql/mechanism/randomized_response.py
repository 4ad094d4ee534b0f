"""Randomised response (Warner 1965): each private bit is told as it is, or flipped, by a coin of its own.

The coin is an integer: a bit is flipped if and only if 32 random bits are below ``flips``, so that flipping has
probability flips / 2^32 exactly, and the loss that is charged for is computed from that integer.
"""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpsql.decimals import exact
from dpsql.errors import InternalError
from dpsql.mechanism.entropy import Entropy
from dpsql.private import Private

Bits = npt.NDArray[np.bool_]

RESPONSE_BITS = 32
EVEN = 1 << (RESPONSE_BITS - 1)
"""So many flips are a fair coin: nothing is told."""
_WHOLE = 1 << RESPONSE_BITS
_DIGITS = 50
_ERROR = Decimal("1e-40")
_AT_ONCE = 1 << 20


def response_epsilon(flips: int) -> Fraction:
    """What one bit loses, from above by less than 2e-40: ln((2^32 - flips) / flips), for 0 < flips <= 2^31.

    >>> round(float(response_epsilon(1155094610)), 6)
    1.0
    """
    if not 0 < flips <= EVEN:
        raise InternalError("a response flips more often than never, and at most as often as not")
    with localcontext(exact(_DIGITS)):
        return Fraction((Decimal(_WHOLE - flips) / Decimal(flips)).ln() + _ERROR)


def least_flips(epsilon: Fraction) -> int:
    """The fewest flips with which a bit loses at most ``epsilon``; fewer than a fair coin's.

    >>> least_flips(Fraction(1))
    1155094610
    """
    low, high = 0, EVEN - 1  # the answer is in (low, high]
    if response_epsilon(high) > epsilon:
        raise InternalError("so small an epsilon is no response")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if response_epsilon(middle) <= epsilon else (middle, high)
    return high


def randomized_response(bits: Private[Bits], flips: int, entropy: Entropy) -> Bits:
    """``bits`` (any number of them, one dimension), each flipped with probability ``flips`` / 2^32. Public.

    ``response_epsilon(flips)``-DP where one bit changes. Where one unit changes k of them it is k such releases: charge
    k times ``Plan.pure_cost`` before. InternalError for other types or flips out of range.
    """
    if not 0 < flips <= EVEN:
        raise InternalError("a response flips more often than never, and at most as often as not")
    told = bits.reveal()
    if told.dtype != np.bool_ or told.ndim != 1:
        raise InternalError("a response needs a vector of bits")
    out = np.empty(len(told), dtype=np.bool_)
    for begin in range(0, len(told), _AT_ONCE):
        here = told[begin : begin + _AT_ONCE]
        drawn = entropy.bits(RESPONSE_BITS * len(here)).to_bytes(RESPONSE_BITS // 8 * len(here), "little")
        out[begin : begin + _AT_ONCE] = here ^ (np.frombuffer(drawn, dtype="<u4") < flips)
    return out
