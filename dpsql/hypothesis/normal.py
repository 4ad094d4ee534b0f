"""The standard normal law on arrays: its density, shares below a number, numbers below which a share is, and what is
kept of numbers with such noise. Public."""

from math import pi, sqrt

import numpy as np

from dpsql.query import Estimates

CLEAR = 4.0
"""Times the variance of noise that the square of a difference of neighbours has to be, to say how rows are between."""
_TINY = 1e-9


def normal_density(z: Estimates) -> Estimates:
    """The density at ``z``.

    >>> normal_density(np.array([-1.0, 0.0])).round(4)
    array([0.242 , 0.3989])
    """
    return np.asarray(np.exp(-(z**2) / 2.0) / sqrt(2.0 * pi))


def normal_cdf(z: Estimates) -> Estimates:
    """Share below ``z``, in [0, 1], to 1.5e-7 (Abramowitz and Stegun 1964, 7.1.26).

    >>> normal_cdf(np.array([-1.96, 0.0, 1.0])).round(4)
    array([0.025 , 0.5   , 0.8413])
    """
    x = np.abs(z) / sqrt(2.0)
    t = 1.0 / (1.0 + 0.3275911 * x)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    tail = 0.5 * series * np.exp(-x * x)
    return np.asarray(np.where(z < 0.0, tail, 1.0 - tail))


def normal_quantile(p: Estimates) -> Estimates:
    """Its inverse, to 4.5e-4 (the same, 26.2.23); at 0 and 1 that of 1e-12.

    >>> normal_quantile(np.array([0.025, 0.5])).round(2) + 0.0
    array([-1.96,  0.  ])
    """
    t = np.sqrt(-2.0 * np.log(np.clip(np.minimum(p, 1.0 - p), 1e-12, 0.5)))
    above = 2.515517 + t * (0.802853 + t * 0.010328)
    z = t - above / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)))
    return np.asarray(np.where(p < 0.5, -z, z))


def garrote(difference: Estimates, sigma: Estimates, times: float = 1.0) -> Estimates:
    """What share of each difference, with noise of sd ``sigma``, is kept: none below ``times ** .5`` sds, nearly all of
    a large one (the non-negative garrote; Breiman 1995, Better subset regression using the nonnegative garrote).

    >>> garrote(np.array([0.5, -2.0, 10.0]), np.ones(3)).tolist()
    [0.0, 0.75, 0.99]
    """
    return np.maximum(0.0, 1.0 - times * (sigma / np.maximum(np.abs(difference), _TINY)) ** 2)
