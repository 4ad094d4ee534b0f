"""The noise has the distribution it is charged for; samplers that are 20 % off, either way, are rejected."""

import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from dpsql.mechanism import SystemEntropy, measure
from dpsql.private import Private
from tests.statistical.goodness_of_fit import DRAWS, fits, gaussian_law
from tests.support.entropy import SeededEntropy, continuous_rounded

pytestmark = pytest.mark.statistical

SIGMAS = [Fraction(1, 2), Fraction(9, 2), Fraction(122713, 4096)]


@pytest.mark.parametrize("sigma", SIGMAS)
def test_system_noise_is_discrete_gaussian(sigma: Fraction) -> None:
    assert fits(SystemEntropy().discrete_gaussian(sigma, DRAWS), gaussian_law(float(sigma)))


@pytest.mark.parametrize("sigma", SIGMAS)
def test_the_seeded_twin_has_the_same_law(sigma: Fraction) -> None:
    assert fits(SeededEntropy(11).discrete_gaussian(sigma, DRAWS), gaussian_law(float(sigma)))


def test_measured_cells_have_the_noise_around_their_counts() -> None:
    counts = np.arange(DRAWS, dtype=np.int64).reshape(100, -1) * 7
    noise = (measure(Private(counts), Fraction(9, 2), SystemEntropy()) - counts).ravel().tolist()
    assert fits(noise, gaussian_law(4.5))
    even, odd = noise[::2], noise[1::2]
    products = [a * b for a, b in zip(even, odd, strict=True)]
    assert abs(float(np.mean(products))) < 6.2 * 4.5**2 / len(products) ** 0.5  # neighbours are uncorrelated


@pytest.mark.parametrize("factor", [Fraction(4, 5), Fraction(6, 5)])
@pytest.mark.parametrize("sigma", SIGMAS)
def test_a_scale_twenty_percent_off_is_rejected(sigma: Fraction, factor: Fraction) -> None:
    draws = SeededEntropy(12).discrete_gaussian(sigma * factor, DRAWS)
    assert not fits(draws, gaussian_law(float(sigma)))


def rounded_even(size: int) -> list[int]:
    return continuous_rounded(13, 4.5, size)


def biased(size: int) -> list[int]:
    return [x + (x >= 0) for x in SeededEntropy(14).discrete_gaussian(Fraction(9, 2), size)]


def truncated(size: int) -> list[int]:
    return [max(-9, min(9, x)) for x in SeededEntropy(15).discrete_gaussian(Fraction(9, 2), size)]


def laplace_of_equal_variance(size: int) -> list[int]:
    generator = random.Random(16)
    scale = 4.5 / 2**0.5
    return [round(generator.expovariate(1 / scale) - generator.expovariate(1 / scale)) for _ in range(size)]


def constant(size: int) -> list[int]:
    return [0] * size


@pytest.mark.parametrize("sampler", [rounded_even, biased, truncated, laplace_of_equal_variance, constant])
def test_wrong_samplers_are_rejected(sampler: Callable[[int], list[int]]) -> None:
    assert not fits(sampler(DRAWS), gaussian_law(4.5))
