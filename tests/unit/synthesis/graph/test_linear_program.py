"""The program in cutting planes: nearer than where it began, within the box, and refused where it cannot be."""

import sys
from fractions import Fraction

import numpy as np
import pytest

from dpsql.errors import NotSupportedError
from dpsql.mechanism.randomized_response import least_flips
from dpsql.private import Private
from dpsql.synthesis.graph.linear_program import MOST_LP_VERTICES, NOISE_CUT, check_solver, program_weights
from dpsql.synthesis.graph.noise import Noise, Noisy, read
from dpsql.synthesis.graph.pairs import Vertices
from tests.support.entropy import SeededEntropy
from tests.support.graphs import cut_norm, random_graph, worst_cut

VERTICES = Vertices("a", "b", 24)


def noisy_graph(vertices: Vertices, epsilon: float) -> tuple[np.ndarray, Noisy]:  # type: ignore[type-arg]
    bits = random_graph(vertices, np.random.default_rng(3))
    noise = Noise("randomised-response", 1, flips=least_flips(Fraction(epsilon)))
    return bits, read(noise.released(Private(bits), SeededEntropy(1)), bits.size)


def test_weights_are_as_near_as_the_private_graph_is() -> None:
    bits, noisy = noisy_graph(VERTICES, 2.0)
    weights = program_weights(VERTICES, noisy, float(bits.sum()), np.random.default_rng(1))
    assert weights.min() >= 0 and weights.max() <= 1
    assert weights.sum() == pytest.approx(float(bits.sum()), rel=1e-6)
    even = np.full(bits.size, bits.mean())
    reached = worst_cut(VERTICES, weights - noisy.values)
    assert reached <= max(NOISE_CUT * noisy.sd * 24**1.5, worst_cut(VERTICES, bits - noisy.values))
    assert reached < 0.8 * worst_cut(VERTICES, even - noisy.values)


def test_the_least_distance_against_the_program_with_every_constraint() -> None:
    """Six vertices, 4,096 cuts: solved whole by another interface to a solver."""
    from itertools import product

    from scipy.optimize import linprog

    vertices = Vertices("a", "b", 6)
    bits, noisy = noisy_graph(vertices, 2.0)
    values, edges = noisy.values * 20, float(bits.sum())  # far outside of the box: the distance is what cuts say
    rows = []
    for s, t in product(product((0, 1), repeat=6), repeat=2):
        rows.append(vertices.of_pairs(np.outer(s, t)).astype(float))
    cuts = np.unique(np.array(rows), axis=0)
    ones = np.ones((len(cuts), 1))
    whole = linprog(
        np.append(np.zeros(15), 1.0),
        A_ub=np.block([[cuts, -ones], [-cuts, -ones]]),
        b_ub=np.concatenate([cuts @ values, -cuts @ values]),
        A_eq=np.append(np.ones(15), 0.0)[None, :],
        b_eq=[edges],
        bounds=[(0, 1)] * 15 + [(0, None)],
    )
    found = program_weights(vertices, Noisy(values, noisy.evidence, 0.0), edges, np.random.default_rng(1))
    reached = cut_norm(np.triu(vertices.matrix(found - values)))
    assert whole.fun <= reached + 1e-6 <= 1.26 * whole.fun + 1e-6


def test_too_many_vertices_are_refused() -> None:
    with pytest.raises(NotSupportedError, match="at most 200") as refused:
        check_solver(Vertices("a", "b", MOST_LP_VERTICES + 1))
    assert "spectral" in (refused.value.hint or "")


def test_without_the_solver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(NotSupportedError, match="HiGHS") as refused:
        check_solver(VERTICES)
    assert "dpsql[synth]" in (refused.value.hint or "")
