"""The two-sided test of an estimate: is the private answer close to it? Sparse vector without threshold noise.

One hard outcome must be all that a query can cost, although two tests may be made. The order of the two, and that the
second is made only after an easy first, is the argument, and stands in one function.
"""

from enum import Enum

import numpy as np
import numpy.typing as npt

from dpsql.mechanism.entropy import Entropy
from dpsql.mechanism.threshold_test import ThresholdTest
from dpsql.private import Private

Answers = npt.NDArray[np.int64]


class Outcome(Enum):
    """Public result of a two-sided test."""

    EASY = "easy"
    ABOVE = "above"
    """Hard: the test says that the answer is above the estimate."""
    BELOW = "below"
    """Hard: the test says that the answer is below the estimate."""

    @property
    def hard(self) -> bool:
        """Whether the hard round must be paid."""
        return self is not Outcome.EASY


def two_sided(value: Private[int], estimate: int, theta: int, test: ThresholdTest, entropy: Entropy) -> Outcome:
    """Test value - estimate, then, only if that was easy, estimate - value, against ``theta`` (all in counts).

    ``value``: floor of the private answer, of sensitivity ``test.sensitivity``; ``estimate`` and ``theta``: public and
    chosen before the call. At most one outcome is hard, so one reservation of a hard round's cost covers the call; it
    must be durable before the call (docs/privacy.md). No number that was compared is ever printed: a hard round
    measures with noise of its own.
    """
    above, below = value.map(lambda answer: answer - estimate), value.map(lambda answer: estimate - answer)
    return _above_then_below(above, below, theta, test, entropy)


def all_two_sided(
    values: Private[Answers], estimates: Answers, theta: int, test: ThresholdTest, entropy: Entropy
) -> Outcome:
    """One test for the cells of a GROUP BY: is the answer that is furthest above its estimate close to it, and, only if
    it is, the one that is furthest below?

    ``values``: floors of at least one private answer, each of sensitivity ``test.sensitivity``, and so is the largest
    of what they are above public ``estimates`` (or below): no difference moves by more, so the largest does not
    (a maximum is 1-Lipschitz in the sup norm). All else is as for one.
    """
    above = values.map(lambda answers: int((answers - estimates).max()))
    below = values.map(lambda answers: int((estimates - answers).max()))
    return _above_then_below(above, below, theta, test, entropy)


def _above_then_below(
    above: Private[int], below: Private[int], theta: int, test: ThresholdTest, entropy: Entropy
) -> Outcome:
    if not test.easy(above, theta, entropy):
        return Outcome.ABOVE
    if not test.easy(below, theta, entropy):
        return Outcome.BELOW
    return Outcome.EASY
