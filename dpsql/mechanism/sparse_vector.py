"""The two-sided test of an estimate: is the private answer close to it? Sparse vector without threshold noise.

One hard outcome must be all that a query can cost, although two tests may be made. The order of the two, and that the
second is made only after an easy first, is the argument, and stands in one function.
"""

from enum import Enum

from dpsql.mechanism.entropy import Entropy
from dpsql.mechanism.threshold_test import ThresholdTest
from dpsql.private import Private


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
    if not test.easy(value.map(lambda answer: answer - estimate), theta, entropy):
        return Outcome.ABOVE
    if not test.easy(value.map(lambda answer: estimate - answer), theta, entropy):
        return Outcome.BELOW
    return Outcome.EASY
