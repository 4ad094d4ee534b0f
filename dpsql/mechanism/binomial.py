"""Exact binomial draws and exact uniform subsets from fair coins."""

from collections.abc import Callable

from dpsql.errors import InternalError
from dpsql.mechanism.entropy import Entropy

Bounds = Callable[[int], tuple[int, int]]
"""From a number of bits to integers low <= 2^bits p <= high, whose distance grows slower than 2^bits."""
_FIRST_BITS = 160


def binomial(trials: int, chance: Bounds, entropy: Entropy) -> int:
    """How many of ``trials`` independent uniform numbers in [0, 1) are below a probability, which ``chance`` bounds.

    p < 1. All numbers are read at once, bit by bit. At a bit where p has 1, those that have 0 are below p; where p has
    0, those that have 1 are above; the others are undecided and go on. About 2 ``trials`` coins are drawn, whatever p.

    >>> from dpsql.mechanism import SystemEntropy
    >>> binomial(10, lambda bits: (0, 0), SystemEntropy())
    0
    """
    if trials < 0:
        raise InternalError("a binomial draw of fewer than no trials")
    bits, place, below, undecided = _FIRST_BITS, 0, 0, trials
    low, high = chance(bits)
    while undecided:
        place += 1
        while place > bits or low >> (bits - place) != high >> (bits - place):
            bits *= 2
            low, high = chance(bits)
        ones = entropy.bits(undecided).bit_count()
        if low >> (bits - place) & 1:
            below, undecided = below + undecided - ones, ones
        else:
            undecided -= ones
    return below


def subset(total: int, size: int, entropy: Entropy) -> list[int]:
    """``size`` different numbers of 0 .. ``total - 1``, ascending; every set of so many is equally likely.

    Floyd (Bentley and Floyd 1987, "A sample of brilliance"). ``InternalError`` unless 0 <= size <= total.

    >>> from dpsql.mechanism import SystemEntropy
    >>> subset(3, 3, SystemEntropy())
    [0, 1, 2]
    """
    if not 0 <= size <= total:
        raise InternalError("a subset larger than its set")
    chosen: set[int] = set()
    for last in range(total - size, total):
        drawn = _below(last + 1, entropy)
        chosen.add(last if drawn in chosen else drawn)
    return sorted(chosen)


def _below(end: int, entropy: Entropy) -> int:
    """Uniform on 0 .. ``end - 1``."""
    while (drawn := entropy.bits((end - 1).bit_length())) >= end:
        pass
    return drawn
