"""A private choice: its exact law, its divergence between neighbours, and that a wrong scale is seen."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpsql.errors import InternalError
from dpsql.mechanism import SystemEntropy
from dpsql.mechanism.choice import choose
from dpsql.private import Private
from tests.statistical.goodness_of_fit import ALPHA, DRAWS, chi_square
from tests.support.entropy import SeededEntropy

SCORES = [40, 37, 33, 25, 40]


def law(scores: list[int], scale: float) -> dict[int, float]:
    """P(i) = integral over t in [0, 1] of q_i prod over j != i of (1 - q_j t), with q_j = exp((s_j - max) / scale).

    The density of the i-th noisy score at x, times the chance that no other exceeds it; t = exp((max - x) / scale).
    """
    q = np.exp((np.array(scores) - max(scores)) / scale)
    out = {}
    for i in range(len(scores)):
        polynomial = np.poly1d([q[i]])
        for j in range(len(scores)):
            if j != i:
                polynomial *= np.poly1d([-q[j], 1.0])
        out[i] = float(polynomial.integ()(1.0))
    return out


def draws(scale: Fraction, entropy: SystemEntropy | SeededEntropy) -> list[int]:
    number = DRAWS if isinstance(entropy, SeededEntropy) else DRAWS // 4
    return [entropy.noisy_max(SCORES, scale) for _ in range(number)]


def test_the_oracle_is_a_law() -> None:
    assert math.fsum(law(SCORES, 7.0).values()) == pytest.approx(1.0)
    assert law([5, 5], 3.0)[0] == pytest.approx(0.5)
    assert law([0, 9], 3.0)[0] == pytest.approx(math.exp(-3) / 2)  # q / 2


@pytest.mark.statistical
@pytest.mark.parametrize("entropy", [SystemEntropy(), SeededEntropy(3)])
def test_choices_have_their_law(entropy: SystemEntropy | SeededEntropy) -> None:
    assert chi_square(draws(Fraction(7), entropy), law(SCORES, 7.0)) >= ALPHA


@pytest.mark.statistical
@pytest.mark.parametrize("factor", [Fraction(5, 6), Fraction(6, 5)])
def test_a_scale_that_is_a_fifth_off_is_seen(factor: Fraction) -> None:
    found = draws(7 * factor, SeededEntropy(4))
    assert chi_square(found, law(SCORES, 7.0)) < ALPHA


@pytest.mark.statistical
def test_a_choice_draws_at_twice_the_sensitivity_over_epsilon() -> None:
    scores = Private(np.array(SCORES, dtype=np.int64))
    found = [choose(scores, Fraction(2, 7), 1, SeededEntropy(5 + i)) for i in range(4000)]
    assert chi_square(found, law(SCORES, 7.0)) >= ALPHA
    halved = [choose(scores, Fraction(2, 7), 2, SeededEntropy(5 + i)) for i in range(4000)]
    assert chi_square(halved, law(SCORES, 7.0)) < ALPHA <= chi_square(halved, law(SCORES, 14.0))


@pytest.mark.parametrize("sensitivity", [1, 2])
def test_no_neighbour_is_further_than_epsilon(sensitivity: int) -> None:
    """Scores that move by up to the sensitivity each, in any direction; the worst is close to epsilon."""
    epsilon, worst = 0.5, 0.0
    scale = 2 * sensitivity / epsilon
    for scores in ([0, 0, 0], [4, 0, -3], [50, 0, 0]):
        p = law(scores, scale)
        for moves in product((-sensitivity, 0, sensitivity), repeat=3):
            q = law([s + m for s, m in zip(scores, moves, strict=True)], scale)
            worst = max(worst, *(abs(math.log(p[i] / q[i])) for i in p))
    assert worst <= epsilon + 1e-12
    assert worst > 0.9 * epsilon
    # noise of one sensitivity over epsilon would be too little: scores need not be monotone
    p, q = (law(scores, scale / 2) for scores in ([50, 0, 0], [50 - sensitivity, sensitivity, 0]))
    assert max(abs(math.log(p[i] / q[i])) for i in p) > epsilon + 0.1


@pytest.mark.parametrize(
    ("scores", "epsilon", "sensitivity"),
    [
        (np.zeros(0, dtype=np.int64), Fraction(1), 1),
        (np.zeros((2, 2), dtype=np.int64), Fraction(1), 1),
        (np.zeros(3), Fraction(1), 1),
        (np.zeros(3, dtype=np.int64), Fraction(0), 1),
        (np.zeros(3, dtype=np.int64), Fraction(1), 0),
    ],
)
def test_what_is_no_choice_is_refused(scores: np.ndarray, epsilon: Fraction, sensitivity: int) -> None:
    with pytest.raises(InternalError):
        choose(Private(scores), epsilon, sensitivity, SeededEntropy(1))
