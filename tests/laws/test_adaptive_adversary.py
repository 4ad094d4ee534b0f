"""The exact optimal adaptive adversary of a stream of tests, by dynamic programming (docs/privacy.md).

The adversary picks lambda and the direction u of every test after seeing all outcomes. Its best log moment of order a
with at most T hard outcomes must stay below T s(slope, a), and comes close to it.
"""

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from dpsql.accounting import hard_round_curve

Floats = npt.NDArray[np.float64]


def moments(slope: float, a: float) -> tuple[Floats, Floats]:
    """E_P[exp(a L)] of easy and of hard, for every choice of lambda and u."""
    rate = np.geomspace(1e-9, 40, 700)
    choices = []
    for u in (-slope, slope / 2, slope):
        ratio = math.exp(u)
        easy = -(1 + a) * rate + a * ratio * rate
        hard = (1 + a) * np.log(-np.expm1(-rate)) - a * np.log(-np.expm1(-ratio * rate))
        choices.append((np.exp(easy), np.exp(hard)))
    return np.concatenate([easy for easy, _ in choices]), np.concatenate([hard for _, hard in choices])


def best_log_moment(slope: float, a: float, rounds: int, tests: int, *, charged: bool = True) -> float:
    """ln of the adversary's best E_P[exp(a L)]; ``charged=False``: a hard outcome is lost and not counted."""
    easy, hard = moments(slope, a)
    values = [1.0] * (rounds + 1)  # values[t]: best moment with t hard rounds left
    for _ in range(tests):
        if charged:
            values = [1.0] + [float(np.max(easy * values[t] + hard * values[t - 1])) for t in range(1, rounds + 1)]
        else:
            values = [value * float(np.max(easy + hard)) for value in values]
    return math.log(values[rounds])


@pytest.mark.parametrize("slope", [0.005, 0.0409, 0.3, 1.5])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("rounds", [1, 3])
def test_the_optimal_adversary_stays_below_the_charge_and_nearly_reaches_it(
    slope: float, share: float, rounds: int
) -> None:
    a = share / math.expm1(slope)
    bound = rounds * float(hard_round_curve(Fraction(slope), Fraction(a)))
    reached = best_log_moment(slope, a, rounds, tests=1500)
    assert reached - bound <= 1e-9
    assert reached >= 0.99 * bound


def test_a_smaller_charge_would_be_wrong() -> None:
    slope, a = 0.0409, 16.16
    charge = float(hard_round_curve(Fraction(slope), Fraction(a)))
    assert best_log_moment(slope, a, 2, tests=1500) > 2 * 0.98 * charge


def test_a_hard_outcome_that_is_lost_and_not_charged_breaks_the_bound() -> None:
    """A crash between the coin and its record, repeated: the loss grows with the tests, without bound."""
    slope, a = 0.1, 5.0
    bound = float(hard_round_curve(Fraction(1, 10), Fraction(5)))
    lost = [best_log_moment(slope, a, 1, tests, charged=False) for tests in (10, 100, 1000)]
    assert lost == pytest.approx([1.27, 12.7, 127], rel=0.01)
    assert lost[0] > 5 * bound
    assert best_log_moment(slope, a, 1, tests=1000) <= bound + 1e-9
    assert bound == pytest.approx(0.246, abs=0.001)
