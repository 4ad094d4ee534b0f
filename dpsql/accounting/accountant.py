"""The accountant: the privacy filter of a frozen plan, as a value. It refuses before data are touched. Public.

It stands apart from the ledger so that the decision is arithmetic on values: the ledger asks it under its write lock, a
dry run asks it before any work, and both get the same answer.
"""

from dataclasses import dataclass
from fractions import Fraction

from dpsql.accounting.plan import Plan
from dpsql.errors import BudgetExhausted, InternalError


@dataclass(frozen=True)
class Accountant:
    """Checks charges, in units, against two purses that never lend to each other; ``epsilon`` scales what errors show.

    ``total_units`` in all, of them ``hard_rounds`` times ``test_cost`` for tests alone and the rest for noise alone
    (docs/privacy.md, theorem 2). Charges are integers that add. A filter that goes on while *some* order still fits is
    unsound for adaptive steps, so an accountant knows no orders at all.

    >>> accountant = Accountant(10, hard_rounds=2, test_cost=3)
    >>> accountant.check(0, 0, 5, tests=1)
    >>> accountant.check(0, 0, 5)
    Traceback (most recent call last):
        ...
    dpsql.errors.BudgetExhausted: the privacy budget does not cover this
    """

    total_units: int
    epsilon: Fraction = Fraction(1)
    hard_rounds: int = 0
    test_cost: int = 0

    def __post_init__(self) -> None:
        if min(self.total_units, self.hard_rounds, self.test_cost, self.noise_budget) < 0:
            raise InternalError("a budget is never negative")

    @classmethod
    def of(cls, plan: Plan) -> "Accountant":
        """The plan's budget, nothing spent."""
        return cls(plan.total_units, plan.epsilon, plan.hard_rounds, plan.test_cost)

    def check(self, spent: int, reserved: int, cost: int, *, tested: int = 0, tests: int = 0) -> None:
        """The filter: spent + open reservations + cost within both purses, or ``BudgetExhausted``. Changes nothing.

        ``tested``: how many charges in ``spent`` and ``reserved`` are for a test; ``tests``: 1 where ``cost`` is.
        Feldman, Zrnic 2021, Thm 3.1 for one Renyi order; docs/privacy.md for tests, reservations and theorem 2.
        """
        self._whole(spent, reserved, cost, tested, tests)
        noise, left = cost - tests * self.test_cost, self.noise_budget - self._noise(spent + reserved, tested)
        if noise < 0:
            raise InternalError("a test is charged too little")
        if noise > left:
            raise self._exhausted("the privacy budget does not cover this", cost, left + tests * self.test_cost)
        if tests > 0 and tested + tests > self.hard_rounds:
            raise self._exhausted("the privacy budget does not cover another test", cost, left)

    @property
    def noise_budget(self) -> int:
        """Units for noise of every kind."""
        return self.total_units - self.hard_rounds * self.test_cost

    def noise_left(self, units: int, tested: int) -> int:
        """Units left for noise where ``units`` are gone, ``tested`` tests among them; at least 0."""
        return max(0, self.noise_budget - self._noise(units, tested))

    def _noise(self, units: int, tested: int) -> int:
        """What of ``units`` was for noise; a ledger whose tests cost less than the plan's is not this plan's."""
        if units < tested * self.test_cost:
            raise InternalError("tests were charged too little")
        return units - tested * self.test_cost

    def _whole(self, *amounts: int) -> None:
        if any(type(amount) is not int or amount < 0 for amount in amounts):
            raise InternalError("charges are whole units, never negative")

    def _exhausted(self, message: str, cost: int, left: int) -> BudgetExhausted:
        scale = self.epsilon / max(1, self.total_units)
        return BudgetExhausted(message, requested=float(scale * cost), remaining=float(scale * max(0, left)))
