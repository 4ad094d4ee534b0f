"""The noise has the distribution it is charged for; samplers that are 20 % off, either way, are rejected."""

import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from dpsql.mechanism import SystemEntropy, measure
from dpsql.mechanism.gaussian_noise import gaussian_noise
from dpsql.mechanism.single_gaussian import single_gaussian
from dpsql.private import Private
from tests.statistical.goodness_of_fit import DRAWS, fits, gaussian_law
from tests.support.entropy import SeededEntropy, continuous_rounded

pytestmark = pytest.mark.statistical

SIGMAS = [Fraction(1, 2), Fraction(9, 2), Fraction(122713, 4096)]


@pytest.mark.parametrize("sigma", SIGMAS)
def test_system_noise_is_discrete_gaussian(sigma: Fraction) -> None:
    assert fits(SystemEntropy().discrete_gaussian(sigma, DRAWS), gaussian_law(float(sigma)))


@pytest.mark.parametrize("sigma", [*SIGMAS, Fraction(5, 2), Fraction(1000)])
def test_draws_one_by_one_have_the_same_law(sigma: Fraction) -> None:
    """Few draws, and wide ones, have no table of tails."""
    bits = SystemEntropy().bits
    draws = [single_gaussian(sigma, bits) for _ in range(DRAWS)]
    assert fits([x // 20 for x in draws], pooled(sigma, 20)) if sigma > 100 else fits(draws, gaussian_law(float(sigma)))
    for factor in (Fraction(4, 5), Fraction(6, 5)):
        other = [single_gaussian(sigma * factor, bits) for _ in range(DRAWS)]
        assert not fits([x // 20 for x in other] if sigma > 100 else other, pooled(sigma, 20 if sigma > 100 else 1))


def pooled(sigma: Fraction, width: int) -> dict[int, float]:
    law: dict[int, float] = {}
    for x, probability in gaussian_law(float(sigma)).items():
        law[x // width] = law.get(x // width, 0.0) + probability
    return law


@pytest.mark.parametrize("above", [0, 4])
def test_one_residue_that_is_too_likely_is_rejected(above: int) -> None:
    """A uniform draw below 5 with one number 15 % too often: so was the noise of OpenDP 0.14."""
    generator = random.Random(23)
    draws = gaussian_noise(Fraction(9, 2), 7 * DRAWS, SeededEntropy(22).bits)
    kept = [x for x in draws if abs(x) % 5 == above or generator.random() < 0.87][: 5 * DRAWS]
    assert len(kept) == 5 * DRAWS
    assert not fits(kept, gaussian_law(4.5))
    assert fits(draws[: 5 * DRAWS], gaussian_law(4.5))


@pytest.mark.parametrize("sigma", [Fraction(5, 2), Fraction(9, 2)])
def test_no_residue_of_draws_one_by_one_is_too_likely(sigma: Fraction) -> None:
    bits = SystemEntropy().bits
    assert fits([single_gaussian(sigma, bits) for _ in range(5 * DRAWS)], gaussian_law(float(sigma)))


@pytest.mark.parametrize("sigma", SIGMAS)
def test_draws_together_have_the_law_of_their_scale_alone(sigma: Fraction) -> None:
    assert fits(gaussian_noise(sigma, DRAWS, SeededEntropy(17).bits), gaussian_law(float(sigma)))
    for factor in (Fraction(4, 5), Fraction(6, 5)):
        assert not fits(gaussian_noise(sigma * factor, DRAWS, SeededEntropy(18).bits), gaussian_law(float(sigma)))


def test_draws_together_are_of_both_signs_and_independent() -> None:
    draws = np.array(gaussian_noise(Fraction(9, 2), DRAWS, SeededEntropy(19).bits), dtype=np.float64)
    limit = 6.2 / DRAWS**0.5
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < limit
    assert abs(np.corrcoef(np.abs(draws), np.sign(draws))[0, 1]) < limit


@pytest.mark.parametrize("shift", [0, 2])
def test_coins_that_are_used_twice_are_rejected(shift: int) -> None:
    """A sign that is the first coin of the magnitude, or halves of one tail: both are seen."""
    coins = SeededEntropy(20)

    def twice(n: int) -> int:
        drawn = np.array([coins.bits(64) for _ in range(n // 64)], dtype=np.uint64)
        first = drawn >> np.uint64(63)
        again = drawn | np.uint64(1) if shift else drawn & ~np.uint64(1) | first
        return int.from_bytes(again.astype("<u8").tobytes(), "little")

    assert not fits(gaussian_noise(Fraction(9, 2), DRAWS, twice), gaussian_law(4.5))


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
