"""Weights within the noise of the noisy graph: their range, sum and distance, and eigenvectors against all of them."""

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from dpsql.mechanism.randomized_response import least_flips
from dpsql.private import Private
from dpsql.synthesis.graph.noise import Noise, Noisy, read
from dpsql.synthesis.graph.pairs import Vertices
from dpsql.synthesis.graph.spectral import (
    NORM_MARGIN,
    eigenpairs_beyond,
    logits,
    noise_norm,
    spectral_weights,
    with_total,
)
from tests.support.entropy import SeededEntropy
from tests.support.graphs import random_graph, worst_cut

VERTICES = Vertices("a", "b", 60)


def noisy_graph(bits: npt.NDArray[np.bool_], epsilon: float, seed: int = 1) -> Noisy:
    noise = Noise("randomised-response", 1, flips=least_flips(Fraction(epsilon)))
    return read(noise.released(Private(bits), SeededEntropy(seed)), bits.size)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_weights_keep_range_sum_and_distance(epsilon: float) -> None:
    bits = random_graph(VERTICES, np.random.default_rng(3))
    noisy, edges = noisy_graph(bits, epsilon), float(bits.sum())
    weights = spectral_weights(VERTICES, noisy, edges, np.random.default_rng(1))
    assert weights.min() >= 0 and weights.max() <= 1
    assert weights.sum() == pytest.approx(edges, rel=1e-6)
    distance = np.linalg.norm(VERTICES.matrix(weights - noisy.values), 2)
    assert distance <= noise_norm(noisy.sd, VERTICES.number)


def test_weights_are_nearer_in_the_worst_cut_than_noise_and_than_no_look() -> None:
    bits = random_graph(VERTICES, np.random.default_rng(3))
    noisy, edges = noisy_graph(bits, 1.0), float(bits.sum())
    weights = spectral_weights(VERTICES, noisy, edges, np.random.default_rng(1))
    even = np.full(bits.size, edges / bits.size)
    reached = [worst_cut(VERTICES, x - bits) for x in (weights, noisy.values, even)]
    assert reached[0] < 0.9 * reached[1] and reached[0] < 0.9 * reached[2]


def test_without_noise_the_graph_itself_comes_back() -> None:
    bits = random_graph(VERTICES, np.random.default_rng(3))
    weights = spectral_weights(VERTICES, noisy_graph(bits, 20.0), float(bits.sum()), np.random.default_rng(1))
    assert np.abs(weights - bits).max() < 1e-3


@pytest.mark.parametrize("edges", [0.0, float(VERTICES.pairs)])
def test_no_edges_and_all_edges(edges: float) -> None:
    bits = np.zeros(VERTICES.pairs, dtype=np.bool_)
    weights = spectral_weights(VERTICES, noisy_graph(bits, 0.5), edges, np.random.default_rng(1))
    assert set(weights.tolist()) == {edges / VERTICES.pairs}


def test_weights_too_far_away_are_brought_nearer() -> None:
    """A wrong number of edges begins far outside; the rounds are what brings it within reach of the box."""
    bits = np.ones(VERTICES.pairs, dtype=np.bool_)
    noisy = noisy_graph(bits, 1.0)
    heard: list[int] = []
    spectral_weights(VERTICES, noisy, 0.3 * bits.size, np.random.default_rng(1), lambda done, of: heard.append(done))
    assert len(heard) > 1
    heard.clear()
    spectral_weights(VERTICES, noisy, 1.0 * bits.size, np.random.default_rng(1), lambda done, of: heard.append(done))
    assert heard == [0]


def test_a_shift_of_all_logits_reaches_any_total() -> None:
    generator = np.random.default_rng(1)
    start = generator.normal(0, 4, 500)
    for total in (0.5, 100.0, 499.5):
        weights = with_total(start, total)
        assert weights.sum() == pytest.approx(total, rel=1e-9)
        assert np.ptp(np.log(weights / (1 - weights)) - start) < 1e-4
    assert logits(np.array([0.0, 0.5, 1.0])).tolist() == pytest.approx([np.log(0.2), 0.0, np.log(5.0)])


@pytest.mark.parametrize("size", [50, 450])
def test_eigenpairs_against_all_of_them(size: int) -> None:
    generator = np.random.default_rng(4)
    noise = np.triu(generator.normal(0, 1, (size, size)), 1)
    few = generator.standard_normal((size, 3)) * [1.0, 0.7, 0.5]
    matrix = noise + noise.T + few @ np.diag([1.0, -1.0, 1.0]) @ few.T
    limit = NORM_MARGIN * 2 * np.sqrt(size)
    values, vectors = eigenpairs_beyond(matrix, limit, generator)
    whole = np.linalg.eigvalsh(matrix)
    expected = whole[np.abs(whole) > limit]
    assert len(expected) >= 2
    assert np.sort(values) == pytest.approx(expected, rel=1e-6)
    assert np.abs(matrix @ vectors - vectors * values).max() < 1e-3 * size


def test_many_eigenvalues_are_all_found_where_all_are_wanted() -> None:
    matrix = np.diag(np.linspace(1.0, 2.0, 450))
    values, _ = eigenpairs_beyond(matrix, 1.5, np.random.default_rng(1))
    assert len(values) == 225
    some, _ = eigenpairs_beyond(matrix, 1.5, np.random.default_rng(1), all_of=False)
    assert 0 < len(some) < 225
