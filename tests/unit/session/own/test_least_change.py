"""What is left to measure of a conjunction, against its values worked out by divided differences."""

from itertools import combinations, product
from math import prod

import numpy as np
import pytest

from dpsql.query import Estimates
from dpsql.session.own.least_change import least_change
from dpsql.session.own.own_noise import LEAST_CHANGES

EXACT = 1e-9


def conjunction(columns: int, degree: int) -> tuple[Estimates, Estimates]:
    """AND over the cells, and the products of at most so many columns."""
    cells = list(product([0, 1], repeat=columns))
    products = [chosen for n in range(degree + 1) for chosen in combinations(range(columns), n)]
    known = [[float(all(cell[i] for i in chosen)) for chosen in products] for cell in cells]
    return np.array([float(all(cell)) for cell in cells]), np.array(known)


def minimax(columns: int, degree: int) -> float:
    """How far polynomials of the degree stay from AND as a function of how many columns are in (symmetrisation), by
    duality: the divided difference over degree + 2 points is 0 for all of them, so f's own over the sum of the sizes of
    its weights is a bound, and the largest of these is reached (de la Vallee Poussin).
    """
    found = []
    for points in combinations(range(columns + 1), degree + 2):
        shares = {x: 1.0 / prod(x - y for y in points if y != x) for x in points}
        found.append(abs(shares.get(columns, 0.0)) / sum(map(abs, shares.values())))
    return max(found)


@pytest.mark.parametrize(("columns", "degree"), [(c, d) for c in range(1, 7) for d in range(min(3, c))])
def test_the_rest_of_a_conjunction_is_as_small_as_can_be(columns: int, degree: int) -> None:
    asked, known = conjunction(columns, degree)
    found = least_change(asked, known, np.full(known.shape[1], EXACT), 1.0)
    assert np.abs(asked - known @ found).max() == pytest.approx(minimax(columns, degree), abs=1e-6)


@pytest.mark.parametrize(("columns", "value"), [(1, 1 / 2), (2, 1 / 4), (3, 1 / 8), (4, 1 / 6), (5, 2 / 9), (6, 1 / 4)])
def test_the_dial_of_least_changes_is_that_of_known_pairs(columns: int, value: float) -> None:
    assert minimax(columns, min(2, columns - 1)) == pytest.approx(value)
    assert LEAST_CHANGES[columns] == pytest.approx(value)


def test_single_columns_alone_leave_more() -> None:
    assert [minimax(c, 1) for c in (3, 4)] == pytest.approx([1 / 3, 3 / 8])
    assert [minimax(c, 0) for c in (2, 5)] == pytest.approx([1 / 2, 1 / 2])


@pytest.mark.parametrize("seed", range(20))
def test_never_worse_than_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells, functions = int(rng.integers(1, 20)), int(rng.integers(0, 30))
    asked = rng.integers(0, 2, cells).astype(float)
    known = rng.integers(0, 2, (cells, functions)).astype(float)
    variances, variance = 10.0 ** rng.uniform(-9, 9, functions), 10.0 ** rng.uniform(-3, 6)
    found = least_change(asked, known, variances, variance)
    assert found.shape == (functions,)
    cost = variance * np.abs(asked - known @ found).max() ** 2 + found**2 @ variances
    assert cost <= variance * np.abs(asked).max() ** 2


def test_counts_that_nobody_knows_are_left_alone() -> None:
    asked, known = conjunction(3, 2)
    assert np.abs(least_change(asked, known, np.full(known.shape[1], 1e12), 1.0)).max() < 1e-6


def test_a_count_that_is_not_known_costs_little_beside_those_that_are() -> None:
    asked, known = conjunction(3, 2)
    variances = np.full(known.shape[1], EXACT)
    variances[-1] = 1e12
    found = least_change(asked, known, variances, 1.0)
    assert abs(found[-1]) < 1e-6
    assert 1 / 8 < np.abs(asked - known @ found).max() <= minimax(3, 1) + 1e-3
