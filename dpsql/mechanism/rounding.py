"""Sums of shares as whole numbers, rounded up by chance, so that many of them add up to what they were."""

import numpy as np

from dpsql.mechanism.entropy import Entropy
from dpsql.private import Private
from dpsql.query import Counts


def rounded_by_chance(shares: Private[Counts], size: int, bits: int, entropy: Entropy) -> Private[Counts]:
    """``floor(x + u)`` of ``size`` ``shares`` x, in whole ones of 2^``bits`` each, u uniform on [0, 1).

    Private, int64, of the shape of ``shares``. Its mean is x, and its variance 1/4 at most (randomized rounding;
    Raghavan and Thompson 1987). For every u that does not depend on the rows, floor(x + u) is monotone and takes whole
    steps to whole steps: who moves x by at most c, a whole number, moves it by at most c. Draws, and releases nothing.

    >>> from dpsql.mechanism import SystemEntropy
    >>> rounded_by_chance(Private(np.array([0, 8, 24])), 3, 3, SystemEntropy()).reveal()
    array([0, 1, 3])
    """
    whole = -(-bits // 8)
    drawn = np.frombuffer(entropy.bits(8 * whole * size).to_bytes(whole * size, "little"), dtype=np.uint8)
    places = np.int64(1) << (8 * np.arange(whole, dtype=np.int64))
    chances = (drawn.reshape(size, whole).astype(np.int64) @ places) & ((1 << bits) - 1)
    return shares.map(lambda parts: (parts.reshape(-1) + chances >> bits).reshape(parts.shape))
