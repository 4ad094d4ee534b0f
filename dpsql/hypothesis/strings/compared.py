"""Counts of strings, and what their selection compared with its threshold: both together, without its bias. Public.

Of a string that was shown the noise that was compared is high, for what had less is hidden; of a hidden one low. The
mean of both counts would be too, and a sum over hundreds of strings by far more than its noise. Given which side of the
threshold a string is on, the best unbiased estimate is what the other count is expected to be where their mean is known
(Rao, Blackwell): it has the mean's noise far from the threshold, and the other count's where the comparison says all.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import erfc, exp, pi, sqrt

import numpy as np

from dpsql.hypothesis.measurement import ROUNDED, Measurement, averaged, mean_of
from dpsql.query import Estimates

_FAR = -25.0
"""Sds below which the tail of a normal distribution leaves the range of doubles."""
_AS_GOOD = 1e-3
"""Counts: the mean is rounded, to even numbers at the middle, where it is moved by less: all would go one way."""
_DIGITS = 6
"""After the point, of a mean that may be in the middle."""


def with_compared(
    portions: Sequence[Measurement], compared: Measurement, threshold: int, *, shown: bool
) -> Measurement:
    """Counts of the same strings with the noise that is left, rounded to whole counts.

    ``portions`` of counts have noise of their own; ``compared`` exceeded ``threshold`` (counts) where the strings were
    ``shown``, and did not where they were not; what was never compared is NULL's. ``sigmas``: roots of unbiased
    estimates, too, of each string's variance; never more than that of the portions. Where rounding would add more than
    the comparison tells, these stay as they are. Cohen and Sackrowitz 1989, "Two stage conditionally unbiased
    estimators of the selected mean"; for normal noise, which discrete noise of a few counts is.

    >>> one = Measurement("t", (), np.array([100, 300]), 10.0, ("w",), (("a",), ("b",)))
    >>> both = with_compared([one], replace(one, values=np.array([110, 320])), 105, shown=True)
    >>> both.values, both.sigmas.round(2)
    (array([ 99, 310]), array([9.1 , 7.09]))
    """
    counts, own = mean_of(portions)  # variances, as the other is
    other = compared.sigma**2
    apart = sqrt(own + other)
    told = own**2 / (own + other)  # of the variance, where a string is far from the threshold
    if told <= ROUNDED:
        return averaged(portions)
    mean = (counts * other + compared.values * own) / (own + other)
    above = apart / other * (mean - (threshold + 0.5))  # between the whole numbers on both sides
    sides = np.where([key == (None,) for key in compared.keys], np.inf, above if shown else -above)
    ratio = _inverse_mills(sides)
    moved = own / apart * ratio
    values = np.where(moved < _AS_GOOD, mean.round(_DIGITS), mean - moved if shown else mean + moved)
    kept = np.clip(1.0 - np.where(np.isinf(sides), 0.0, sides) * ratio - ratio**2, 0.0, 1.0)  # of a cut normal's
    variances = own - told * kept + ROUNDED
    out = replace(portions[0], values=np.rint(values).astype(np.int64), sigma=sqrt(float(variances.mean())))
    return replace(out, sigmas=np.sqrt(variances))


def _inverse_mills(x: Estimates) -> Estimates:
    """The density of the standard normal distribution over its cumulated one: 0 at infinity, about -x far below 0."""
    return np.array([_one(float(v)) for v in x])


def _one(x: float) -> float:
    if x < _FAR:  # the first terms of the tail's asymptotic series
        return -x - 1.0 / x + 2.0 / x**3
    return exp(-x * x / 2.0) / sqrt(2.0 * pi) / (erfc(-x / sqrt(2.0)) / 2.0)
