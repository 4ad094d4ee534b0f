"""The size of the data structure of sparse multiplicative weights. Public.

Both kinds of sparse weights share it: those that are set from measurements, and the textbook's.
"""

from functools import lru_cache
from math import log


@lru_cache(maxsize=64)
def structure_size(sparsity: int, alpha: float) -> int:
    """The smallest s with s / (ln s + 1) >= 4 m / alpha^2 (Blum-Roth, lecture 13, Alg. 1).

    ``sparsity`` m: keys in one query; ``alpha``: accuracy as a fraction of n.

    >>> s = structure_size(10, 0.1)
    >>> s / (log(s) + 1) >= 4000 > (s - 1) / (log(s - 1) + 1)
    True
    """
    need = 4 * sparsity / alpha**2
    low, high = 1, 2
    while high / (log(high) + 1) < need:
        low, high = high, high * 2
    while low + 1 < high:
        middle = (low + high) // 2
        if middle / (log(middle) + 1) < need:
            low = middle
        else:
            high = middle
    return high
