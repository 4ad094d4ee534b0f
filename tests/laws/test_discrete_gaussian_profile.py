"""Discrete Gaussian noise is worth continuous noise of variance sigma^2 - 4 (docs/privacy.md, theorem 2)."""

import math
from collections.abc import Sequence
from fractions import Fraction

import mpmath
import numpy as np
import numpy.typing as npt
import pytest

from dpsql.accounting.profile import DISCRETE_MARGIN, SMOOTHING, delta_bound, noise_cost

Floats = npt.NDArray[np.float64]
Releases = Sequence[tuple[float, int]]  # (sigma, how far a neighbour shifts it)


def loss(sigma: float, shift: int) -> tuple[Floats, Floats]:
    """ln(P/Q) of N_Z(0, sigma^2) against N_Z(shift, sigma^2), at every integer, and P's masses."""
    reach = math.ceil(12 * sigma) + abs(shift)
    x = np.arange(-reach, reach + 1, dtype=np.float64)
    masses = np.exp(-(x**2) / (2 * sigma**2))
    return shift * (shift - 2 * x) / (2 * sigma**2), masses / masses.sum()


def together(releases: Releases) -> tuple[Floats, Floats]:
    """Loss and mass of independent releases: every combination, equal ones as the distribution of their sum."""
    losses, masses = np.zeros(1), np.ones(1)
    for release in sorted(set(releases)):
        times = list(releases).count(release)
        one, law = loss(*release)
        gap, whole = one[1] - one[0], law
        for _ in range(times - 1):
            whole = np.convolve(whole, law)
        sums = times * one[0] + gap * np.arange(len(whole))
        losses, masses = np.add.outer(losses, sums).ravel(), np.multiply.outer(masses, whole).ravel()
    return losses, masses


def exact_deltas(releases: Releases, epsilons: Floats) -> Floats:
    """sum of (P - exp(epsilon) Q)_+ over all outcomes."""
    losses, masses = together(releases)
    return np.array([float(masses @ np.maximum(0.0, -np.expm1(np.minimum(0.0, e - losses)))) for e in epsilons])


def precision(releases: Releases, smoothing: float = SMOOTHING) -> float:
    return math.fsum(shift**2 / (sigma**2 - smoothing) for sigma, shift in releases)


def epsilons(releases: Releases) -> Floats:
    """Up to five sds of the loss; the first ones also where and between where delta has its kinks."""
    sd = math.sqrt(precision(releases, 0.0))
    fine = min(shift / (2 * sigma**2) for sigma, shift in releases)
    return np.concatenate([np.linspace(0.0, 5 * sd, 60), fine * np.arange(24) / 2])


RELEASES: list[Releases] = [
    *([(sigma, 1)] * n for sigma in (2.1, 2.5, 3.0, 4.53, 10.0, 30.0) for n in (1, 2, 5, 40)),
    [(3.0, 3)],
    [(10.0, 7)] * 2,
    [(3.0, 1), (4.1, 1)],
    [(3.0, 1), (5.3, 2), (5.3, 2)],
]


@pytest.mark.parametrize("releases", RELEASES, ids=lambda r: f"{len(r)} of {r[0]} to {r[-1]}")
def test_discrete_noise_keeps_the_profile_that_is_charged(releases: Releases) -> None:
    at = epsilons(releases)
    charged = precision(releases)
    for epsilon, delta in zip(at.tolist(), exact_deltas(releases, at).tolist(), strict=True):
        assert delta <= delta_bound(epsilon, charged)


@pytest.mark.parametrize("sigma", [2.1, 3.0, 4.53])
@pytest.mark.parametrize("number", [1, 2, 5])
def test_discrete_noise_charged_like_continuous_would_break_it(sigma: float, number: int) -> None:
    releases = [(sigma, 1)] * number
    at = epsilons(releases)
    charged = [delta_bound(e, precision(releases, 0.0)) for e in at.tolist()]
    assert np.max(exact_deltas(releases, at) / charged) > 1.01


def test_the_charge_is_half_the_precision() -> None:
    for sigma, shift in ((Fraction(3), 1), (Fraction(53, 10), 2)):
        assert float(2 * noise_cost(Fraction(shift**2), sigma)) == pytest.approx(precision([(float(sigma), shift)]))


def bell(x: mpmath.mpf, variance: float) -> mpmath.mpf:
    return mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * mpmath.mpf(variance)))


def whole(center: mpmath.mpf, variance: float) -> mpmath.mpf:
    """The sum of the bell around ``center`` over the integers."""
    reach = math.ceil(13 * math.sqrt(variance)) + 1
    middle = math.floor(center)
    return mpmath.fsum(bell(x - center, variance) for x in range(middle - reach, middle + reach + 1))


def relative_error(z: int, variance: float, smoothing: float) -> float:
    """How far P(Z = z) is from N_Z(0, variance), relatively; Z ~ N_Z(Y, smoothing), Y ~ N(0, variance - smoothing).

    By the trapezoid rule, which is exact to 1e-70 for Gaussians at this gap.
    """
    rest = variance - smoothing
    gap = mpmath.sqrt(smoothing * rest / variance) / 3
    reach = math.ceil(13 * math.sqrt(variance) / gap)
    law = mpmath.fsum(
        bell(i * gap, rest) * bell(z - i * gap, smoothing) / whole(i * gap, smoothing) for i in range(-reach, reach + 1)
    )
    exact = bell(mpmath.mpf(z), variance) / whole(mpmath.mpf(0), variance)
    return float(abs(law * gap / mpmath.sqrt(2 * mpmath.pi * rest) / exact - 1))


def test_smoothed_continuous_noise_is_discrete_noise_to_1e_33() -> None:
    with mpmath.workdps(60):
        for z in (0, 1, 7):
            assert relative_error(z, 9.0, SMOOTHING) < 1e-33
        assert relative_error(0, 9.0, 0.25) > 1e-6
        unit = mpmath.sqrt(2 * mpmath.pi * SMOOTHING)
        worst = max(abs(whole(mpmath.mpf(i) / 8, SMOOTHING) / unit - 1) for i in range(9))
        assert worst == pytest.approx(2 * math.exp(-2 * math.pi**2 * SMOOTHING), rel=1e-6)  # Poisson summation
        assert worst * 2.1 < 1e-33


def test_all_changed_cells_together_are_within_the_margin() -> None:
    """2^64 of them, each on both sides, in epsilon; and once more in delta."""
    cells, each = 2**64, 1e-33
    assert 2 * cells * each < DISCRETE_MARGIN / 10
