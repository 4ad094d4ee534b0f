"""A measurement: a private contingency with discrete Gaussian noise on every cell.

All noisy counts come from this one function, for whatever purpose they are measured, so that one audit covers them all.
"""

from fractions import Fraction

import numpy as np

from dpsql.errors import InternalError
from dpsql.mechanism.entropy import LARGEST_SIGMA, Entropy
from dpsql.private import Private
from dpsql.query import Counts

_LIMIT = 1 << 61


def measure(counts: Private[Counts], sigma: Fraction, entropy: Entropy) -> Counts:
    """``counts`` (int64, any shape, in rows) plus independent discrete Gaussian noise of scale ``sigma`` (counts).

    Public result, int64, same shape; every |value| < 2^62. Charge it before calling: alpha D2^2 / (2 sigma^2) for
    squared L2 sensitivity D2^2 (``Plan.measure_cost``, ``Plan.release_cost``). ``InternalError`` when sigma is not in
    (0, 2^50].
    """
    if not 0 < sigma <= LARGEST_SIGMA:
        raise InternalError("a measurement needs sigma in (0, 2^50]", hint="take sigma from the plan")
    cells = counts.reveal()
    if cells.dtype != np.int64:
        raise InternalError("a contingency must hold int64 counts")
    # clipping moves no two contingencies apart, so the sensitivity stays; no table has 2^61 rows
    values = np.clip(cells, 1 - _LIMIT, _LIMIT - 1)
    noise = np.array(entropy.discrete_gaussian(sigma, values.size), dtype=np.int64).reshape(values.shape)
    if np.any(noise >= _LIMIT) or np.any(noise <= -_LIMIT):
        raise InternalError("the noise saturates")  # independent of the data; probability below exp(-2^20)
    return np.asarray(values + noise, dtype=np.int64)
