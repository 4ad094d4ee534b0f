"""How sure error bars are: one confidence for all of them, and what it is in standard deviations of a Gaussian. Public.

It stands at the bottom because bars are made in many rooms (releases, models, forecasts), and an analyst who compares
two of them must not compare two confidences.
"""

from math import ceil, isfinite, log, sqrt

CONFIDENCE = 0.95
"""The share of error bars that hold the truth, at least."""
OUTSIDE = 0.05
"""The share of those that do not, at most; written out because 1 - .95 is another float than .05."""
DEVIATIONS = 1.96
"""The half-width of a Gaussian's 95 % interval, in its standard deviations."""
LEAST_END = 0.32
"""Where an interval ends at least that is cut at 0, and whose value noise took below, in parts of its half-width: what
Feldman and Cousins (1998) give for a value of -1.96 sds, whose cut interval would be 0 alone, as if it were sure."""


def deviations_at_once(number: int) -> float:
    """Sds that none of ``number`` sums of released cells exceeds, with 95 % for all of them together.

    Discrete Gaussians, and sums of them, have P(|X| >= t sd) <= 2 exp(-t^2 / 2) (Canonne, Kamath and Steinke 2020: they
    are sub-Gaussian), and number times that is .05.

    >>> round(deviations_at_once(100_000), 2)
    5.51
    """
    return sqrt(2.0 * log(2.0 * number / OUTSIDE))


def error_bound(sd: float, fractional: bool = False) -> int:
    """95 % half-width for a sum of released cells: ceil(1.96 sd), one more for a floored weighted query.

    Rounding up keeps the coverage of a discrete Gaussian at .9503 or more; rounding down can fall to .79.

    >>> error_bound(30.0), error_bound(30.0, fractional=True)
    (59, 60)
    """
    return ceil(DEVIATIONS * sd) + fractional


def least_end(error: float, *, whole: bool) -> float:
    """Where the interval of what is at least 0, and was released below, ends at least; of ``whole`` numbers at one.

    >>> least_end(57.0, whole=True), round(least_end(57.0, whole=False), 2)
    (19.0, 18.24)
    """
    least = LEAST_END * error
    return float(ceil(least)) if whole and isfinite(least) else least
