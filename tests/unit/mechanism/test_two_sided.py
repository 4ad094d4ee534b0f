"""The two-sided test: order of the sides, one hard outcome at most, the right inputs."""

from fractions import Fraction

import pytest

from dpsql.accounting import TABLE_MARGIN
from dpsql.mechanism import Outcome, ThresholdTest, two_sided
from dpsql.private import Private
from tests.support.entropy import ScriptedEntropy, SeededEntropy

TEST = ThresholdTest(Fraction(1, 5), Fraction(1, 5) + TABLE_MARGIN)


@pytest.mark.parametrize(
    ("script", "outcome", "draws"),
    [
        ([True, True], Outcome.EASY, 2),
        ([False], Outcome.ABOVE, 1),
        ([True, False], Outcome.BELOW, 2),
    ],
)
def test_the_second_side_is_tested_only_if_the_first_is_easy(script: list[bool], outcome: Outcome, draws: int) -> None:
    entropy = ScriptedEntropy(script)
    assert two_sided(Private(100), 100, 50, TEST, entropy) is outcome
    assert len(entropy.calls) == draws
    assert outcome.hard is (outcome is not Outcome.EASY)


@pytest.mark.parametrize(("value", "outcome"), [(1000, Outcome.EASY), (2000, Outcome.ABOVE), (0, Outcome.BELOW)])
def test_far_estimates_are_hard_on_the_right_side(value: int, outcome: Outcome) -> None:
    assert two_sided(Private(value), 1000, 200, TEST, SeededEntropy(3)) is outcome
