"""Many exact draws of one discrete Gaussian: coins are compared with its tails, all of them at once.

Of each draw 63 coins are looked at with numpy, as whole numbers. Where they do not decide it, more coins are drawn for
it and compared with more bits of the tails: no float, and no rounded probability, decides a draw.
"""

from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpsql.errors import InternalError
from dpsql.mechanism.gaussian_tail import WIDEST, all_tail_bounds
from dpsql.mechanism.single_gaussian import Bits

Words = npt.NDArray[np.uint64]
_WORD = 64
_FIRST = _WORD - 1


def pays(sigma: Fraction, size: int) -> bool:
    """Whether a table of tails is made sooner than ``size`` single draws. Public numbers alone.

    >>> pays(Fraction(10), 10_000), pays(Fraction(10), 10), pays(Fraction(10**9), 10**6)
    (True, False, False)
    """
    return sigma <= WIDEST and size >= 2 * sigma + 32


def gaussian_noise(sigma: Fraction, size: int, bits: Bits) -> list[int]:
    """``size`` independent draws with probability proportional to exp(-x^2 / (2 sigma^2)) on the integers, exactly.

    With T_a = P[abs(Z) > a] and U uniform in [0, 1), the number of a >= 0 with U < T_a has the law of abs(Z)
    (inversion); a fair coin of its own is the sign. U is known by its first coins: it lies in [w, w + 1) / 2^n.
    ``InternalError`` when sigma is not in (0, 2^11], or the size is negative.

    >>> from secrets import randbits
    >>> len(gaussian_noise(Fraction(3), 5, randbits))
    5
    """
    if size < 0:
        raise InternalError("fewer than no draws")
    coins = bits(_WORD * size).to_bytes(_WORD // 8 * size, "little")
    words: Words = np.frombuffer(coins, dtype="<u8").astype(np.uint64)
    lows, highs = first_tails(sigma)
    first = words >> np.uint64(1)
    drawn = len(highs) - np.searchsorted(highs, first, side="right")  # of ascending bounds, those above
    open_ones = np.flatnonzero((drawn > 0) & (first >= lows[len(lows) - np.maximum(drawn, 1)]))
    for i in open_ones.tolist():
        drawn[i] = _with_more(sigma, int(first[i]), bits)
    negative = (words & np.uint64(1)).astype(bool)
    signed: list[int] = np.where(negative, -drawn, drawn).tolist()
    return signed


@lru_cache(maxsize=16)
def first_tails(sigma: Fraction) -> tuple[Words, Words]:
    """Ascending bounds of 2^63 T_a, on both sides: for a = last, .., 0, and the lower bound of the last is 0."""
    beyond = 128 - _WORD  # 2^128 P[Z > a] / 2^64 = 2^63 T_a
    found = all_tail_bounds(sigma, 128)[::-1]
    lows, highs = [low >> beyond for low, _ in found], [-(-high >> beyond) for _, high in found]
    return np.array(lows, dtype=np.uint64), np.array(highs, dtype=np.uint64)


def _with_more(sigma: Fraction, first: int, bits: Bits) -> int:
    """abs(Z) of a draw that its first 63 coins leave open: the same comparison with 64 more, until it is decided."""
    known, places = first, _FIRST
    while True:
        known, places = known << _WORD | bits(_WORD), places + _WORD
        tails = all_tail_bounds(sigma, places + 1)  # 2^(places + 1) P[Z > a] = 2^places T_a
        surely = len([1 for low, _ in tails if known < low])
        if surely == len([1 for _, high in tails if known < high]):
            return surely
