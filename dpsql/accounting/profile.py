"""The privacy profile of a plan with two purses: delta at epsilon, from above. Public, deterministic, no randomness.

All steps together are dominated by the loss X_T + G_S (docs/privacy.md, theorem 2): G_S ~ N(S/2, S) for Gaussian
releases of precision S = sum of D2^2 / s^2, and X_T for T hard rounds whose tests have steps of at most v, a sum of T
independent J = (r - 1) E - (1 - 1/r) E' with r = exp(v) and standard exponential E, E'.
"""

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from dpsql.errors import InternalError

SMOOTHING = 4
"""Variance (counts^2) that rounds continuous Gaussian noise to discrete: a discrete release is charged without it."""
MARGIN = 1e-6
"""Relative margin on delta for rounding errors of the floats here: sums of fewer than 1e5 non-negative doubles."""
LEAST = 1e-14
"""Absolute margin on delta, for differences of doubles below 1."""
DISCRETE_MARGIN = 1e-12
"""Margin on epsilon, and relative on delta, for discrete noise: 2^64 changed cells at 1e-33 each (docs/privacy.md)."""
_TAIL = 80.0
LEAST_PURE = 1e-6
_LARGEST_PURE = 20.0
_FINEST = 8

Masses = NDArray[np.float64]


def delta_bound(epsilon: float, precision: float, hard_rounds: int = 0, step: float = 0.0) -> float:
    """An upper bound on delta at ``epsilon`` >= 0: E[(1 - exp(epsilon - X_T - G_S))_+], about 1e-3 of it more.

    ``precision``: S >= 0. ``hard_rounds``: T >= 0, with tests whose ``step`` is v > 0.

    >>> f"{delta_bound(1.0, 0.0488):.2e} {delta_bound(1.0, 0.0488, 10, 0.0137):.2e}"
    '2.20e-07 5.21e-07'
    """
    if not (epsilon >= 0 and precision >= 0 and hard_rounds >= 0 and (hard_rounds == 0 or step > 0)):
        raise InternalError(
            "a privacy profile needs numbers in range", hint="make plans with dpsql.accounting.calibrate"
        )
    if hard_rounds == 0:
        return (1 + MARGIN) * gaussian_profile(epsilon, precision) + LEAST
    losses, masses, above = hard_round_losses(hard_rounds, step)
    inside = math.fsum(
        mass * gaussian_profile(epsilon - loss, precision)
        for loss, mass in zip(losses.tolist(), masses.tolist(), strict=True)
    )
    return (1 + MARGIN) * (inside + above) + LEAST


def covers(
    epsilon: Fraction, delta: Fraction, delta_purse: Fraction, precision: Fraction, hard_rounds: int, step: Fraction
) -> bool:
    """Whether noise of ``precision`` and hard rounds of ``step`` keep (epsilon, delta).

    Theorem 2 with delta - delta_purse in place of delta, at epsilon + ln(1 - delta_purse) (docs/privacy.md, step 5).
    """
    target = float(epsilon) + math.log1p(-float(delta_purse)) - DISCRETE_MARGIN
    left = float(delta - delta_purse) * (1 - DISCRETE_MARGIN)
    if target < 0:
        return False
    above = [math.nextafter(float(x), math.inf) for x in (precision, step)]
    return delta_bound(target, above[0], hard_rounds, above[1]) <= left


def gaussian_profile(epsilon: float, precision: float) -> float:
    """E[(1 - exp(epsilon - G))_+] for G ~ N(precision / 2, precision); ``epsilon`` may be negative.

    Q(epsilon/m - m/2) - exp(epsilon) Q(epsilon/m + m/2) with m = sqrt(precision) (Balle and Wang 2018, Thm 8).

    >>> round(gaussian_profile(1.0, 1 / 4.2247**2), 9)
    1e-06
    """
    if precision == 0:
        return max(0.0, -math.expm1(epsilon))
    m = math.sqrt(precision)
    return max(0.0, _tail(epsilon / m - m / 2) - math.exp(min(epsilon, 700.0)) * _tail(epsilon / m + m / 2))


def pure_precision(epsilon: float) -> float:
    """The precision of Gaussian noise that loses at least what one pure ``epsilon``-DP release loses, from above.

    (2 z)^2 with z the normal quantile of e^eps / (1 + e^eps): the sign of N(+-z, 1) is randomised response, of which
    every eps-DP release is a post-processing (Kairouz, Oh and Viswanath 2015; docs/privacy.md, pure releases). Below
    1e-6 the rounding of e^eps would not be small beside the margin.

    >>> round(pure_precision(1.0), 4), round(pure_precision(0.01) / 0.01**2, 4)
    (1.5179, 1.5708)
    """
    if not LEAST_PURE <= epsilon <= _LARGEST_PURE:
        raise InternalError("a pure release needs an epsilon from 1e-6 to 20")
    return (1 + MARGIN) * (2 * NormalDist().inv_cdf(1 / (1 + math.exp(-epsilon)))) ** 2


def hard_round_losses(hard_rounds: int, step: float) -> tuple[Masses, Masses, float]:
    """(losses, their masses, mass above all of them) of a law on a grid that dominates X_T; shapes (N,).

    The mass of J between two grid points goes to both, so that its masses under P and under Q (weighted by exp(-loss))
    stay: the grid's law can be merged back into J (connecting the dots; Doroshenko et al. 2022).
    """
    wide = math.sqrt(hard_rounds)
    grid = step * max(1.0, wide / 10) / _FINEST
    reach = math.ceil(step * (_TAIL + 12 * wide) / grid)
    whole = np.array([1.0])
    above, power, of_power, above_power = 0.0, hard_rounds, *_one_hard_round(step, grid, reach)
    while True:
        if power % 2:
            whole, above = _sum(whole, above, of_power, above_power, reach)
        power //= 2
        if power == 0:
            break
        of_power, above_power = _sum(of_power, above_power, of_power, above_power, reach)
    losses: Masses = np.arange(-reach, reach + 1, dtype=np.float64) * grid
    return losses, whole, above


def _one_hard_round(step: float, grid: float, reach: int) -> tuple[Masses, float]:
    """J on the grid, from -reach to reach, and its mass above. Below, its mass moves up to the lowest point."""
    r = math.exp(step)
    up, down = 1 / math.expm1(step), 1 / -math.expm1(-step)  # J's density is up/(1 + 1/r) exp(-up x), x > 0, ..
    i = np.arange(reach)
    # of the interval from i to i + 1 grid steps, as shares of P's mass beyond i, Q multiplied by exp(i grid)
    one = -math.expm1(-up * grid)
    right = _dots(one, (one + up * math.exp(-up * grid) * math.expm1(-grid)) / (up + 1), grid)
    beyond = r / (r + 1) * np.exp(-up * grid * i)
    # of the interval from -i - 1 to -i, as shares of P's mass below -i, Q multiplied by exp(-i grid)
    one = -math.expm1(-down * grid)
    far, near = _dots_below(one, (one - down * math.exp(-down * grid) * math.expm1(grid)) * math.expm1(step), grid)
    below = 1 / (r + 1) * np.exp(-down * grid * i)
    masses = np.zeros(2 * reach + 1)
    masses[reach:-1] += right[0] * beyond
    masses[reach + 1 :] += right[1] * beyond
    masses[reach:0:-1] += near * below
    masses[reach - 1 :: -1] += far * below
    masses[0] += 1 / (r + 1) * math.exp(-down * grid * reach)
    return masses, r / (r + 1) * math.exp(-up * grid * reach)


def _dots(p: float, gap: float, grid: float) -> tuple[float, float]:
    """Masses at both ends of an interval [0, grid] of losses with P-mass p and Q-mass p - gap: (at 0, at grid).

    In closed form the gap keeps its digits where the step is small: p and q would differ in their last ones only.
    """
    high = gap / -math.expm1(-grid)
    return p - high, high


def _dots_below(p: float, gap: float, grid: float) -> tuple[float, float]:
    """The same of [-grid, 0], with Q-mass p + gap: (at -grid, at 0)."""
    low = gap / math.expm1(grid)
    return low, p - low


def _sum(a: Masses, above_a: float, b: Masses, above_b: float, reach: int) -> tuple[Masses, float]:
    """The law of the sum of two independent losses, cut to [-reach, reach]: mass above is set apart, below moves up."""
    both = np.convolve(a, b)
    middle = len(both) // 2
    cut = max(0, middle - reach)
    out = both[cut : len(both) - cut].copy()
    out[0] += both[:cut].sum()
    return out, above_a + above_b + float(both[len(both) - cut :].sum())


def _tail(x: float) -> float:
    """Q(x) = P[N(0, 1) > x]."""
    return math.erfc(x / math.sqrt(2)) / 2


def noise_cost(l2_squared: Fraction, sigma: Fraction) -> Fraction:
    """D2^2 / (2 (sigma^2 - 4)), exact: a discrete Gaussian release, as half the precision of a continuous one.

    ``InternalError`` unless sigma > 2.

    >>> noise_cost(Fraction(1), Fraction(10))
    Fraction(1, 192)
    """
    if sigma * sigma <= SMOOTHING:
        raise InternalError("so little noise has no charge in this plan", hint="take sigma from the plan")
    return l2_squared / (2 * (sigma * sigma - SMOOTHING))
