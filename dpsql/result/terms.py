"""What an analyst asks of one statement beside its text: how exact, and how dear at most. Public.

Neither is a part of the question: an equal question on other terms has the same truth, and may have the same answer.
"""

from dataclasses import dataclass
from math import isfinite
from numbers import Real

from dpsql.errors import ProgrammingError

LEAST_WITHIN = 1.0
"""Counts are whole numbers: no released count has a bound between 0 and 1."""


@dataclass(frozen=True)
class Terms:
    """``within``: every count of the statement is to have a 95 % bound of at most so many counts that holds on any
    data, paid from what the owner set aside (``on_demand``) where no release has one. ``max_charge``: the statement
    charges at most this much epsilon, or nothing. ``None``: as the plan has it.

    ProgrammingError for a bound below 1, a charge below 0, and what is no number.

    >>> Terms(within=25), Terms(max_charge=0)
    (Terms(within=25, max_charge=None), Terms(within=None, max_charge=0))
    """

    within: float | None = None
    max_charge: float | None = None

    def __post_init__(self) -> None:
        if self.within is not None and not (_is_number(self.within) and self.within >= LEAST_WITHIN):
            raise ProgrammingError(
                "within is a bound in counts, 1 or more", hint="25, for one, is a 95 % bound of 25 counts"
            )
        if self.max_charge is not None and not (_is_number(self.max_charge) and self.max_charge >= 0):
            raise ProgrammingError("max_charge is a share of epsilon, 0 or more", hint="0 asks for what is free alone")


NO_TERMS = Terms()
"""As the plan has it: the analyst asked for nothing in particular."""


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)
    except OverflowError:  # whole numbers have no end
        return False
