"""Randomised response and what is promised of cuts: frequencies, and all cuts of many graphs at once.

Gupta, Roth, Ullman 2011, Lemmas 6.1 and 6.2: error O(n^1.5 / epsilon) for every cut, with probability 1 - beta.
"""

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from dpsql.mechanism import SystemEntropy
from dpsql.mechanism.randomized_response import RESPONSE_BITS, least_flips, randomized_response
from dpsql.private import Private
from dpsql.synthesis.graph.bounds import noise_bound
from dpsql.synthesis.graph.noise import Noise, Noisy, read
from dpsql.synthesis.graph.pairs import Matrix, Vertices
from dpsql.synthesis.graph.simple import simple_graph
from dpsql.synthesis.graph.spectral import spectral_weights
from tests.statistical.goodness_of_fit import DRAWS, frequency_fits
from tests.support.entropy import SeededEntropy
from tests.support.graphs import cut_norm, random_graph, worst_cut

pytestmark = pytest.mark.statistical
BETA = 0.05
ENTROPY = SystemEntropy()


def response(epsilon: float) -> Noise:
    return Noise("randomised-response", 1, flips=least_flips(Fraction(epsilon)))


def told(bits: npt.NDArray[np.bool_], noise: Noise) -> Noisy:
    return read(noise.released(Private(bits), ENTROPY), bits.size)


@pytest.mark.parametrize("bit", [False, True])
def test_bits_flip_as_often_as_is_charged_for(bit: bool) -> None:
    flips = least_flips(Fraction(1, 2))
    bits = np.full(DRAWS, bit)
    flipped = int((randomized_response(Private(bits), flips, ENTROPY) ^ bits).sum())
    assert frequency_fits(flipped, DRAWS, flips / 2**RESPONSE_BITS)
    for wrong in (0.8, 1.2):  # too few flips tell too much, too many too little
        other = int((randomized_response(Private(bits), int(flips * wrong), ENTROPY) ^ bits).sum())
        assert not frequency_fits(other, DRAWS, flips / 2**RESPONSE_BITS)


def is_unbiased(noisy: Noisy, bits: npt.NDArray[np.bool_]) -> bool:
    error = noisy.values - bits
    return all(abs(error[b].mean()) < 6 * noisy.sd / math.sqrt(b.sum()) for b in (bits, ~bits))


def test_estimates_are_unbiased_and_bits_as_told_are_not() -> None:
    bits = np.arange(10 * DRAWS) % 3 == 0  # so many that one wrong by a fifth is far outside
    noisy = told(bits, response(0.5))
    assert is_unbiased(noisy, bits)
    assert not is_unbiased(Noisy((noisy.evidence > 0).astype(float), noisy.evidence, noisy.sd), bits)
    for wrong in (0.8, 1.2):
        assert not is_unbiased(Noisy(wrong * noisy.values, noisy.evidence, noisy.sd), bits)


def failures(noise: Noise, bound: float, runs: int = 150) -> float:
    """How often some cut of the noisy graph, of all 4^10 on 10 vertices, is off by more than the bound."""
    vertices, generator, failed = Vertices("a", "b", 10), np.random.default_rng(1), 0
    for _ in range(runs):
        bits = random_graph(vertices, generator)
        failed += cut_norm(np.triu(vertices.matrix(told(bits, noise).values - bits))) > bound
    return failed / runs


def test_all_cuts_are_within_the_bound_with_the_probability_that_it_states() -> None:
    noise = response(0.5)
    bound = noise_bound(noise, 45, 10 * math.log(4), BETA)
    assert failures(noise, bound) <= BETA
    assert failures(response(0.1), bound) > BETA  # a bound for less noise than there is
    assert failures(noise, bound / 4) > BETA  # nor is it vacuous


def off(vertices: Vertices, weights: Matrix, bits: npt.NDArray[np.bool_]) -> float:
    return worst_cut(vertices, weights - bits)


def test_worst_cuts_grow_with_vertices_to_the_power_of_one_and_a_half() -> None:
    worst = {}
    for number in (25, 100):
        vertices = Vertices("a", "b", number)
        bits = random_graph(vertices, np.random.default_rng(number))
        worst[number] = np.mean([off(vertices, told(bits, response(0.5)).values, bits) for _ in range(4)])
    assert 5.5 < worst[100] / worst[25] < 10.5  # 4^1.5 = 8


def test_worst_and_random_cuts_of_the_released_graph_are_within_twice_the_bound() -> None:
    """Lemma 6.2: both the private and the released graph are near the noisy one; random ones are far better."""
    vertices = Vertices("a", "b", 60)
    generator = np.random.default_rng(7)
    for epsilon in (0.3, 3.0):
        noise = response(epsilon)
        bits = random_graph(vertices, generator)
        noisy = told(bits, noise)
        weights = spectral_weights(vertices, noisy, float(bits.sum()), generator)
        drawn = np.zeros(vertices.pairs)
        drawn[simple_graph(weights, int(bits.sum()), generator)] = 1.0
        bound = noise_bound(noise, vertices.pairs, 60 * math.log(4), BETA)
        assert off(vertices, weights, bits) <= 2 * bound
        assert off(vertices, drawn, bits) <= 2 * bound
        sets = generator.random((60, 300)) < 0.5, generator.random((60, 300)) < 0.5
        difference = np.triu(vertices.matrix(drawn - bits))
        cuts = np.abs(np.einsum("ik,ik->k", sets[0], difference @ sets[1]))
        assert cuts.mean() < bound / 8
        assert off(vertices, np.ones(bits.size), bits) > 2 * bound or epsilon < 1  # another graph is not


def test_seeded_and_system_coins_tell_alike() -> None:
    bits = np.arange(DRAWS) % 2 == 0
    flips = least_flips(Fraction(1))
    both = [randomized_response(Private(bits), flips, e) ^ bits for e in (ENTROPY, SeededEntropy(4))]
    assert all(frequency_fits(int(flipped.sum()), DRAWS, flips / 2**RESPONSE_BITS) for flipped in both)
    assert not (both[0] == both[1]).all()
