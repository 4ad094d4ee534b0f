"""Possible counts near to noisy ones: what they are, and what the noise of empty cells adds up to."""

from collections.abc import Callable

import numpy as np
import pytest

from dpsql.domain import IntegerDomain, TableDomain
from dpsql.hypothesis import MODEL_RULES, DenseHypothesis, WideHypothesis
from dpsql.hypothesis.columns.possible_counts import nearest, top_down
from dpsql.query import Estimates
from tests.support.simulated import measured

Possible = Callable[[Estimates, float], Estimates]
SIGMA = 20.0


@pytest.mark.parametrize("possible", [nearest, top_down])
@pytest.mark.parametrize("size", [1, 2, 3, 8, 13, 200])
def test_counts_are_possible_ones(possible: Possible, size: int) -> None:
    rng = np.random.default_rng(size)
    for total in (1.0, 40.0, 5000.0):
        found = possible(rng.normal(total / size, SIGMA, size), total)
        assert found.shape == (size,) and (found > 0.0).all()
        assert found.sum() == pytest.approx(total)


@pytest.mark.parametrize("possible", [nearest, top_down])
def test_what_is_possible_stays(possible: Possible) -> None:
    cells = np.array([5.0, 900.0, 30.0, 2.0, 63.0])
    assert possible(cells, 1000.0) == pytest.approx(cells)


def test_no_possible_counts_are_nearer() -> None:
    """The projection on a convex set: it makes an obtuse angle with every corner (all rows in one cell)."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        cells = rng.normal(0.0, 30.0, 12)
        found = nearest(cells, 100.0)
        for corner in np.eye(12) * 100.0:
            assert (cells - found) @ (corner - found) <= 1e-2


def by_recursion(cells: list[float], total: float, width: int) -> list[float]:
    """The same tree, one range after the other: ``width`` is a power of two, of which cells fill the beginning."""
    if len(cells) <= 1:
        return [total] * len(cells)
    half = width // 2
    left, right = cells[:half], cells[half:]
    if not right:
        return by_recursion(left, total, half)
    missing = total - sum(left) - sum(right)
    rows = min(max(sum(left) + missing * len(left) / len(cells), 0.0), total)
    return by_recursion(left, rows, half) + by_recursion(right, total - rows, half)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 9, 31, 50, 64, 65])
def test_halves_share_the_rows_of_their_range(size: int) -> None:
    cells = np.random.default_rng(size).normal(10.0, SIGMA, size)
    width = 1 << max(size - 1, 0).bit_length()
    expected = np.maximum(by_recursion(cells.tolist(), 700.0, width), 1e-6 * 700.0 / size)
    assert top_down(cells, 700.0) == pytest.approx(expected * 700.0 / expected.sum())


def test_null_is_in_no_range() -> None:
    """Seven empty cells and NULL: as the eighth of a range it would be noise of a half, and not a cell of its own."""
    cells = np.array([-5.0, 3.0, -8.0, 6.0, 400.0, 300.0, 250.0, 50.0])
    found = top_down(cells, 1000.0, apart=True)
    missing = (1000.0 - cells.sum()) / 8
    assert found[-1] == pytest.approx(50.0 + missing, rel=1e-6)
    assert found[:-1] == pytest.approx(top_down(cells[:-1], 950.0 - missing), abs=1e-3)


# --- models --------------------------------------------------------------------------------------------------------


CELLS = np.concatenate([np.zeros(40), np.full(10, 500.0), [0.0]])
TABLE = TableDomain("t", (IntegerDomain("a", 0, 49), IntegerDomain("b", 0, 1, nullable=False)))


def prefix(model: Callable[..., DenseHypothesis | WideHypothesis], rules: int) -> float:
    """Rows that a model finds among forty empty values, on average over draws of noise."""
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        both = np.stack([CELLS, CELLS], axis=1) / 2.0
        made = model(TABLE, CELLS.sum(), MODEL_RULES[rules])
        for scope in (("a",), ("a", "b")):
            made.absorb(measured(both, scope, SIGMA, rng))
        found.append(float(made.contingency(("a",))[:40].sum()))
    return float(np.mean(found))


@pytest.mark.parametrize(("model", "least"), [(DenseHypothesis, 140.0), (WideHypothesis, 85.0)])
def test_noise_of_empty_values_does_not_add_up_to_rows(model: type[DenseHypothesis], least: float) -> None:
    """.4 sds of each of forty, or what the nearest counts leave of it; one noise of all is .4 * 20 sqrt(40) = 50."""
    now, before = prefix(model, 14), prefix(model, 13)
    assert now < 60.0 < least < before
