"""The sparse vector that prints the noise it compared is not private; a paid answer here has noise of its own.

Lyu, Su, Li 2017, Alg. 3: after m "below" answers with value 0 on D and 1 on D', one printed value bounds the secret
threshold from above, and the likelihood ratio grows like exp((m - 1) eps / 2).
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpsql.accounting import TABLE_MARGIN
from dpsql.mechanism import Entropy, ThresholdTest, measure, two_sided
from dpsql.private import Private
from tests.statistical.goodness_of_fit import ALPHA, fits, gaussian_law
from tests.support.entropy import SeededEntropy

NOISE = 0.5  # epsilon of each Laplace draw; the claim for one printed answer is a few of these
GRID = np.arange(-400, 401)
LAPLACE = np.exp(-NOISE * np.abs(GRID)) * math.tanh(NOISE / 2)


def probability(below: int, value: int, printed: int, *, same_noise: bool) -> float:
    """P(below x below, then "above, printed") of sparse vector with a noisy threshold, over the integers, exactly."""
    upper = np.cumsum(LAPLACE)  # P(noise <= x)
    threshold = np.arange(-150, 151)
    weight = np.exp(-NOISE * np.abs(threshold)) * math.tanh(NOISE / 2)
    stays_below = upper[threshold - 1 - value + 400] ** below  # value + noise < threshold
    if same_noise:
        last = np.where(printed >= threshold, LAPLACE[printed + 400], 0.0)
    else:
        last = (1 - upper[threshold - 1 + 400]) * LAPLACE[printed + 400]
    return float(np.sum(weight * stays_below * last))


def loss(below: int, *, same_noise: bool) -> float:
    return abs(
        math.log(probability(below, 0, -8, same_noise=same_noise) / probability(below, 1, -8, same_noise=same_noise))
    )


def test_printing_the_compared_noise_loses_without_bound() -> None:
    losses = [loss(below, same_noise=True) for below in (1, 10, 40)]
    assert losses[2] > 39 * NOISE / 2
    assert losses[2] - losses[1] == pytest.approx(30 * (losses[1] - losses[0]) / 9, rel=0.1)


def test_fresh_noise_loses_no_more_than_the_threshold_does() -> None:
    assert all(loss(below, same_noise=False) <= 2 * NOISE + 1e-9 for below in (1, 10, 40))


SLOPE = Fraction(1, 10)
TEST = ThresholdTest(SLOPE, SLOPE + TABLE_MARGIN)
SIGMA = Fraction(20)
Answers = list[int]


def paid_errors(entropy: Entropy, rounds: int) -> Answers:
    """Errors of the answers paid after a hard outcome, with a private value well below the threshold."""
    errors: Answers = []
    while len(errors) < rounds:
        if two_sided(Private(0), 0, 20, TEST, entropy).hard:
            errors.append(int(measure(Private(np.zeros(1, dtype=np.int64)), SIGMA, entropy)[0]))
    return errors


def paid_errors_with_compared_noise(entropy: Entropy, rounds: int) -> Answers:
    """The lecture's version: the printed noise is the one that made the comparison hard."""
    errors: Answers = []
    while len(errors) < rounds:
        noise = entropy.discrete_gaussian(SIGMA, 1)[0]
        if noise >= 20:
            errors.append(noise)
    return errors


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("mechanism", "sound"), [(paid_errors, True), (paid_errors_with_compared_noise, False)], ids=["fresh", "compared"]
)
def test_paid_answers_have_fresh_noise(mechanism: Callable[[Entropy, int], Answers], sound: bool) -> None:
    errors = mechanism(SeededEntropy(31), 3000)
    unbiased = stats.norm.sf(abs(sum(errors)) / (20 * math.sqrt(len(errors)))) * 2 >= ALPHA
    assert bool(unbiased and fits(errors, gaussian_law(20.0))) is sound
