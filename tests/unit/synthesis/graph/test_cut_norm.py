"""Heavy cuts against all cuts of small matrices, and against planted ones of large."""

import numpy as np
import pytest

from dpsql.synthesis.graph.cut_norm import heavy_cuts
from tests.support.graphs import cut_norm


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("triangular", [False, True])
def test_the_heaviest_cut_of_small_matrices(seed: int, triangular: bool) -> None:
    generator = np.random.default_rng(seed)
    matrix = generator.normal(0, 1, (10, 10))
    matrix = np.triu(matrix, 1) if triangular else matrix
    found = heavy_cuts(matrix, generator)
    assert abs(found[0].value) <= cut_norm(matrix) + 1e-9
    assert abs(found[0].value) >= 0.97 * cut_norm(matrix)


def test_values_are_the_sums_of_their_sets_heaviest_first() -> None:
    matrix = np.random.default_rng(1).normal(0, 1, (30, 30))
    found = heavy_cuts(matrix, np.random.default_rng(2))
    for cut in found:
        assert cut.value == pytest.approx(matrix[np.ix_(cut.rows, cut.columns)].sum())
    sizes = [abs(cut.value) for cut in found]
    assert sizes == sorted(sizes, reverse=True)
    assert {cut.value > 0 for cut in found} == {True, False}


def test_a_planted_cut_is_found() -> None:
    generator = np.random.default_rng(3)
    rows, columns = generator.random(120) < 0.2, generator.random(120) < 0.3
    matrix = generator.normal(0, 1, (120, 120)) - 1.5 * np.outer(rows, columns)
    cut = heavy_cuts(matrix, generator)[0]
    assert cut.value <= matrix[np.ix_(rows, columns)].sum() < 0


def test_a_matrix_of_zeros_has_cuts_of_zero() -> None:
    assert heavy_cuts(np.zeros((5, 5)), np.random.default_rng(1))[0].value == 0
