"""Steps of multiplicative weights against their formulas over the whole universe, cell by cell."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from dpsql.errors import InternalError
from dpsql.synthesis.offline.weights import Weights
from tests.support.offline import counting
from tests.support.simulated import table_of

TABLE = table_of([3, 2, 4])
ASKED = [counting(TABLE, a=[1, 0, 1], b=[0, 1]), counting(TABLE, b=[1, 0]), counting(TABLE, c=[1, 1, 0, 0])]


def joint(weights: Weights) -> np.ndarray:
    ab, c = weights.tensors
    return ab[:, :, None] * c[None, None, :]


def mask(position: int) -> np.ndarray:
    a, b, c = np.meshgrid(range(3), range(2), range(4), indexing="ij")
    return [(a != 1) & (b == 1), b == 0, c < 2][position].astype(float)


def stepped(p: np.ndarray, loss: np.ndarray) -> np.ndarray:
    out = p * np.exp(-loss)
    return out / out.sum()


@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("answer", [0.05, 0.9])
def test_a_step_on_a_product_is_the_step_on_the_universe(position: int, answer: float) -> None:
    q = mask(position)

    def textbook(w: Weights) -> None:
        w.textbook_step(position, answer, 0.3)

    def half(w: Weights) -> None:
        w.half_error_step(position, answer)

    steps: list[tuple[Callable[[Weights], None], Callable[[np.ndarray], np.ndarray]]] = [
        (textbook, lambda p: stepped(p, 0.3 * (q if answer < (p * q).sum() else 1 - q))),
        (half, lambda p: stepped(p, -q * (answer - (p * q).sum()) / 2)),
        (lambda w: w.multiply(position, 1.7), lambda p: stepped(p, -1.7 * q)),
    ]
    for step, oracle in steps:
        weights = Weights(TABLE, ASKED)
        weights.multiply(0, 0.7)
        before = joint(weights)
        step(weights)
        assert np.allclose(joint(weights), oracle(before), rtol=1e-12)
        assert weights.answers() == pytest.approx([(joint(weights) * mask(i)).sum() for i in range(3)])
        assert weights.answer(position) == pytest.approx(weights.answers()[position])


def test_a_fit_is_exact_and_changes_nothing_inside_and_outside_of_the_query() -> None:
    weights = Weights(TABLE, ASKED)
    weights.multiply(1, 0.4)
    before = joint(weights)
    weights.fitting_step(0, 0.02, 1e-6)
    after, inside = joint(weights), mask(0) == 1
    assert weights.answer(0) == pytest.approx(0.02)
    assert np.allclose(after[inside] / after[inside].sum(), before[inside] / before[inside].sum())
    assert np.allclose(after[~inside] / after[~inside].sum(), before[~inside] / before[~inside].sum())


@pytest.mark.parametrize(("answer", "kept"), [(-0.3, 0.001), (1.4, 0.999)])
def test_a_fit_to_less_than_nothing_leaves_the_least_share(answer: float, kept: float) -> None:
    weights = Weights(TABLE, ASKED)
    weights.fitting_step(1, answer, 0.001)
    assert weights.answer(1) == pytest.approx(kept)
    with pytest.raises(InternalError, match="least share"):
        weights.fitting_step(1, answer, 0.5)


def test_no_weight_is_ever_lost() -> None:
    weights = Weights(TABLE, ASKED)
    for _ in range(200):
        weights.multiply(1, -30.0)
    assert all((t > 0).all() for t in weights.tensors)
    for _ in range(200):
        weights.multiply(1, 30.0)
    assert weights.answer(1) == pytest.approx(1.0)


def test_the_universe_is_the_product_of_its_parts() -> None:
    assert Weights(TABLE, ASKED).log_cells == pytest.approx(math.log(24))
