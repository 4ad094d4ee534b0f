"""The test says easy as often as exp(-exp(slope (g - theta))); a slope or threshold that is off is noticed."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpsql.accounting import TABLE_MARGIN
from dpsql.mechanism import Outcome, SystemEntropy, ThresholdTest, all_two_sided, two_sided
from dpsql.private import Private
from tests.statistical.goodness_of_fit import DRAWS, frequency_fits
from tests.support.entropy import SeededEntropy

pytestmark = pytest.mark.statistical

SLOPE = Fraction(1, 24)
TEST = ThresholdTest(SLOPE, SLOPE + TABLE_MARGIN)
THETA = 130


def easy_probability(g: int, slope: float = 1 / 24) -> float:
    return math.exp(-math.exp(slope * (g - THETA)))


def easy_count(test: ThresholdTest, g: int, theta: int = THETA) -> int:
    entropy = SystemEntropy()
    return sum(test.easy(Private(g), theta, entropy) for _ in range(DRAWS))


@pytest.mark.parametrize("g", [-10_000, 0, 60, 120, 130, 150, 180, 10_000])
def test_frequencies(g: int) -> None:
    assert frequency_fits(easy_count(TEST, g), DRAWS, min(1.0, easy_probability(g) if g < 2000 else 0.0))


@pytest.mark.parametrize("factor", [Fraction(4, 5), Fraction(6, 5)])
def test_a_slope_twenty_percent_off_is_noticed(factor: Fraction) -> None:
    wrong = ThresholdTest(SLOPE * factor, SLOPE * factor + TABLE_MARGIN)
    assert not all(frequency_fits(easy_count(wrong, g), DRAWS, easy_probability(g)) for g in (60, 100, 150))


def test_a_threshold_that_is_off_is_noticed() -> None:
    assert not frequency_fits(easy_count(TEST, 130, THETA + 3), DRAWS, easy_probability(130))


def test_two_sided_outcomes_have_their_probabilities() -> None:
    value, estimate, entropy = Private(1040), 1000, SeededEntropy(21)
    outcomes = [two_sided(value, estimate, THETA, TEST, entropy) for _ in range(DRAWS)]
    above, below = easy_probability(40), easy_probability(-40)
    assert frequency_fits(outcomes.count(Outcome.ABOVE), DRAWS, 1 - above)
    assert frequency_fits(outcomes.count(Outcome.BELOW), DRAWS, above * (1 - below))
    assert frequency_fits(outcomes.count(Outcome.EASY), DRAWS, above * below)


@pytest.mark.parametrize(("furthest", "fits"), [(40, True), (65, False)])
def test_groups_are_tested_as_the_furthest_of_them(furthest: int, fits: bool) -> None:
    """A test of each group, or of another one than the furthest, would be noticed."""
    values, estimates, entropy = Private(np.array([1000, 1040, 985])), np.array([1000, 1000, 1000]), SeededEntropy(22)
    outcomes = [all_two_sided(values, estimates, THETA, TEST, entropy) for _ in range(DRAWS)]
    above, below = easy_probability(furthest), easy_probability(15)
    assert frequency_fits(outcomes.count(Outcome.ABOVE), DRAWS, 1 - above) is fits
    assert frequency_fits(outcomes.count(Outcome.EASY), DRAWS, above * below) is fits
