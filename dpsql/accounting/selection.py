"""The threshold of a key selection: how large a noisy count must be for its key to be shown. Public, exact.

Showing a string is the one step whose privacy rests on delta and not on noise alone, so its threshold is computed here
exactly, apart from the sampler that uses it.
"""

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from dpsql.accounting.curve import ROUNDING, exact_context, to_decimal
from dpsql.errors import InternalError

_PI = Decimal("3.14159265358979323846264338327950288419716939937510")


@lru_cache(maxsize=1024)
def selection_threshold(sigma: Fraction, delta: Fraction, rows: int) -> int:
    """A threshold tau (counts) that hides all keys of one unit alone with probability 1 - ``delta`` at least.

    Hardly larger than it must be. A key is shown when its count plus discrete Gaussian noise of scale ``sigma`` exceeds
    tau. A unit of c = ``rows`` rows has at most c keys to itself, each on at most c rows; each of them is shown with
    probability at most P[Z > tau - c] <= Q((tau - c) / sigma) (Canonne, Kamath, Steinke 2020, Prop. 25), which Mills'
    bound Q(x) <= exp(-x^2 / 2) / (x sqrt(2 pi)) replaces by a little more. ``InternalError`` when out of range.

    >>> selection_threshold(Fraction(10), Fraction(1, 10**7), 1)
    54
    """
    if sigma <= 0 or not 0 < delta < 1 or rows < 1:
        raise InternalError("a key selection needs sigma > 0, 0 < delta < 1 and a row per unit")
    low, high = 0, 1
    while not _hides(high, sigma, delta, rows):
        low, high = high, 2 * high
    while low + 1 < high:
        middle = (low + high) // 2
        if _hides(middle, sigma, delta, rows):
            high = middle
        else:
            low = middle
    return rows + high


def _hides(gap: int, sigma: Fraction, delta: Fraction, rows: int) -> bool:
    """Whether ``rows`` keys, each ``gap`` >= 1 counts below the threshold, are shown with probability <= delta."""
    with exact_context():
        x = to_decimal(gap / sigma)
        # in logarithms, for the tail itself leaves the range of decimals
        tail = -x * x / 2 - x.ln() - (2 * _PI).ln() / 2
        return tail + Decimal(rows).ln() + ROUNDING <= to_decimal(delta).ln()
