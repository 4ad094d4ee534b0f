"""nearest_counts: possible counts, and no other possible counts are nearer."""

from itertools import combinations

import numpy as np
import pytest

from dpsql.hypothesis.local.nearest_counts import nearest_counts
from dpsql.query import Estimates


def noisy(shape: tuple[int, int], seed: int) -> tuple[Estimates, Estimates, Estimates]:
    """Noisy counts of which most are 0, and sums that are known better."""
    rng = np.random.default_rng(seed)
    true = rng.lognormal(3.0, 1.5, shape) * (rng.random(shape) < 0.3) + 0.01
    return true + rng.normal(0, 20.0, shape), true.sum(axis=1), true.sum(axis=0)


@pytest.mark.parametrize("shape", [(2, 2), (2, 7), (5, 4), (12, 30)])
@pytest.mark.parametrize("seed", range(4))
def test_they_are_possible_and_no_exchange_brings_them_nearer(shape: tuple[int, int], seed: int) -> None:
    """By the condition of a minimum: rows moved from two cells to the other two of their rows and columns."""
    values, rows, columns = noisy(shape, seed)
    found = nearest_counts(values, rows, columns, rounds=4_000)
    assert found.min() >= 0.0
    assert np.allclose(found.sum(axis=1), rows, atol=1e-2) and np.allclose(found.sum(axis=0), columns, atol=1e-2)
    slope = found - values  # half the gradient of the squared distance
    for i, k in combinations(range(shape[0]), 2):
        for j, m in combinations(range(shape[1]), 2):
            more = slope[i, j] + slope[k, m] - slope[i, m] - slope[k, j]
            if min(found[i, m], found[k, j]) > 1e-3:
                assert more >= -1e-2
            if min(found[i, j], found[k, m]) > 1e-3:
                assert more <= 1e-2


@pytest.mark.parametrize("seed", range(6))
def test_two_by_two_has_one_number_to_choose(seed: int) -> None:
    values, rows, columns = noisy((2, 2), seed)
    least, most = max(0.0, rows[0] - columns[1]), min(rows[0], columns[0])

    def table(x: float) -> Estimates:
        return np.array([[x, rows[0] - x], [columns[0] - x, rows[1] - columns[0] + x]])

    tried = np.linspace(least, most, 20_001)
    best = tried[int(np.argmin([((table(x) - values) ** 2).sum() for x in tried]))]
    assert nearest_counts(values, rows, columns, rounds=4_000)[0, 0] == pytest.approx(best, abs=(most - least) / 9_000)


def test_the_rounds_that_are_made_are_enough() -> None:
    """Within a fifth of the noise everywhere, and on average a hundredth."""
    for seed in range(5):
        values, rows, columns = noisy((20, 60), seed)
        gap = np.abs(nearest_counts(values, rows, columns) - nearest_counts(values, rows, columns, rounds=5_000))
        assert gap.max() < 0.2 * 20.0 and gap.mean() < 0.01 * 20.0


def test_possible_counts_stay_as_they_are() -> None:
    values, _, _ = noisy((6, 9), 1)
    possible = np.maximum(values, 0.0)
    assert np.allclose(nearest_counts(possible, possible.sum(axis=1), possible.sum(axis=0)), possible)
