"""Weighted draws have the law of the exponential mechanism; other scales and other noise are rejected."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpsql.errors import InternalError
from dpsql.mechanism import SystemEntropy, choose, draw_weighted
from dpsql.private import Private
from tests.statistical.goodness_of_fit import ALPHA, DRAWS, chi_square
from tests.support.entropy import SeededEntropy

pytestmark = pytest.mark.statistical

SCORES = [0, 40, 41, -90, 100, 100]
SCALE = Fraction(50)


def law(scores: list[int], scale: float) -> dict[int, float]:
    weights = [math.exp(s / scale) for s in scores]
    return {i: w / math.fsum(weights) for i, w in enumerate(weights)}


def private(scores: list[int]) -> Private[np.ndarray]:
    return Private(np.array(scores, dtype=np.int64))


def fits(draws: list[int]) -> bool:
    return chi_square(draws, law(SCORES, float(SCALE))) >= ALPHA


@pytest.mark.parametrize("entropy", [SystemEntropy(), SeededEntropy(3)])
def test_draws_are_weighted_by_the_exponential_of_their_scores(entropy: SystemEntropy | SeededEntropy) -> None:
    assert fits(draw_weighted(private(SCORES), SCALE, DRAWS, entropy))


@pytest.mark.parametrize("factor", [Fraction(4, 5), Fraction(6, 5)])
def test_a_scale_twenty_percent_off_is_rejected(factor: Fraction) -> None:
    assert not fits(draw_weighted(private(SCORES), SCALE * factor, DRAWS, SeededEntropy(4)))


def test_the_largest_after_exponential_noise_is_another_law() -> None:
    """Permute-and-flip has no bounded range; only a choice that is charged by its epsilon may use it."""
    entropy, scores = SystemEntropy(), [0, 50]
    found = [choose(private(scores), Fraction(2, 50), 1, entropy) for _ in range(DRAWS // 4)]
    assert chi_square(found, law(scores, 50.0)) < ALPHA
    assert chi_square(draw_weighted(private(scores), SCALE, DRAWS // 4, entropy), law(scores, 50.0)) >= ALPHA


def test_equal_scores_are_drawn_evenly() -> None:
    draws = draw_weighted(private([7, 7, 7, 7]), Fraction(1, 10**9), DRAWS, SystemEntropy())
    assert chi_square(draws, dict.fromkeys(range(4), 0.25)) >= ALPHA


@pytest.mark.parametrize(
    ("scores", "scale", "size"), [([1], Fraction(0), 1), ([1], Fraction(1), 0), ([], Fraction(1), 1)]
)
def test_what_is_no_draw_is_refused(scores: list[int], scale: Fraction, size: int) -> None:
    with pytest.raises(InternalError):
        draw_weighted(private(scores), scale, size, SeededEntropy(1))


def test_scores_of_another_type_are_refused() -> None:
    with pytest.raises(InternalError, match="int64"):
        draw_weighted(Private(np.array([1.0])), Fraction(1), 1, SeededEntropy(1))  # type: ignore[arg-type]


def test_scores_at_the_ends_of_their_type_are_kept_in_order_and_none_is_refused() -> None:
    """Their differences must not overflow, and a refusal would tell of them."""
    for scores in ([2**63 - 1, -(2**63), 0], [-(2**63), 2**63 - 1, 2**63 - 1]):
        best = {i for i, score in enumerate(scores) if score == max(scores)}
        assert choose(private(scores), Fraction(1), 1, SystemEntropy()) in best
        assert set(draw_weighted(private(scores), Fraction(1), 20, SystemEntropy())) <= best
