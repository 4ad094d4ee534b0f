"""The two-sided test: order of the sides, one hard outcome at most, the right inputs."""

from fractions import Fraction

import numpy as np
import pytest

from dpsql.accounting import TABLE_MARGIN
from dpsql.mechanism import Outcome, ThresholdTest, all_two_sided, two_sided
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


@pytest.mark.parametrize(
    ("cell", "outcome", "draws"), [(1000, Outcome.EASY, 2), (2000, Outcome.ABOVE, 1), (0, Outcome.BELOW, 2)]
)
@pytest.mark.parametrize("place", [0, 1, 399])
def test_one_far_cell_of_many_is_hard_on_its_side_and_all_draw_the_coins_of_one(
    cell: int, outcome: Outcome, draws: int, place: int
) -> None:
    values, estimates, entropy = np.full(400, 1000), np.full(400, 1000), Counting(3)
    values[place] = cell
    assert all_two_sided(Private(values), estimates, 200, TEST, entropy) is outcome
    assert entropy.draws == draws


class Counting(SeededEntropy):
    draws = 0

    def bits(self, n: int) -> int:
        self.draws += 1
        return super().bits(n)


@pytest.mark.parametrize("change", [1, 3])
def test_the_furthest_of_many_moves_by_no_more_than_each_does(change: int) -> None:
    """Each cell's own change, as that of one row or of a unit's few, in all directions of four cells."""
    rng, worst = np.random.default_rng(1), 0
    for _ in range(200):
        values, estimates = rng.integers(0, 9, 4), rng.integers(0, 9, 4)
        for moved in np.ndindex(*[2 * change + 1] * 4) if change == 1 else rng.integers(0, 2 * change + 1, (50, 4)):
            other = values + np.array(moved) - change
            worst = max(worst, abs(int((other - estimates).max()) - int((values - estimates).max())))
    assert worst == change
