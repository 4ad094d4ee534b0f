"""The accountant: the privacy filter of a frozen plan, as a value. It refuses before data are touched. Public."""

from dataclasses import dataclass, field, replace
from fractions import Fraction

from dpsql.accounting.plan import Plan
from dpsql.errors import BudgetExhausted, InternalError

TESTS, MEASUREMENTS, RELEASES = "tests", "measurements", "releases"


@dataclass(frozen=True)
class Purse:
    """A named share of the budget, in units. Purses may be overdrawn by nobody: each refuses on its own."""

    name: str
    planned: int
    spent: int = 0

    @property
    def left(self) -> int:
        """Units not yet spent."""
        return self.planned - self.spent


@dataclass(frozen=True)
class Accountant:
    """Checks charges against ``total_units``; ``epsilon`` only scales what errors show.

    ``hard_rounds`` of ``test_cost`` units each are for tests alone and the rest is for noise alone: neither can pay for
    the other (docs/privacy.md, theorem 2). Charges are integers that add. A filter that goes on while *some* order
    still fits is unsound for adaptive steps, so an accountant knows no orders at all.

    >>> accountant = Accountant(10, purses=(Purse("tests", 6), Purse("releases", 4)))
    >>> accountant.charge("tests", 5).purse("tests").left
    1
    >>> accountant.charge("tests", 5).charge("tests", 5)
    Traceback (most recent call last):
        ...
    dpsql.errors.BudgetExhausted: the privacy budget for tests does not cover this
    """

    total_units: int
    epsilon: Fraction = Fraction(1)
    purses: tuple[Purse, ...] = field(default=())
    hard_rounds: int = 0
    test_cost: int = 0

    def __post_init__(self) -> None:
        if self.total_units < 0 or any(purse.planned < 0 or purse.spent < 0 for purse in self.purses):
            raise InternalError("a budget is never negative")
        if len({purse.name for purse in self.purses}) < len(self.purses):
            raise InternalError("two purses have the same name")
        if max(self.hard_rounds * self.test_cost, sum(purse.planned for purse in self.purses)) > self.total_units:
            raise InternalError("the purses hold more than the budget")

    @classmethod
    def of(cls, plan: Plan) -> "Accountant":
        """The plan's budget with its three purses, nothing spent."""
        purses = (
            Purse(TESTS, plan.hard_rounds * plan.test_cost),
            Purse(MEASUREMENTS, plan.hard_rounds * plan.measure_cost),
            Purse(RELEASES, plan.release_budget),
        )
        return cls(plan.total_units, plan.epsilon, purses, plan.hard_rounds, plan.test_cost)

    def check(self, spent: int, reserved: int, cost: int, *, tested: int = 0, tests: int = 0) -> None:
        """The filter: spent + open reservations + cost within both budgets, or ``BudgetExhausted``. Changes nothing.

        ``tested``: how many charges in ``spent`` and ``reserved`` are for a test; ``tests``: 1 where ``cost`` is.
        Feldman, Zrnic 2021, Thm 3.1 for one Renyi order; docs/privacy.md for tests, reservations and theorem 2.
        """
        self._whole(spent, reserved, cost, tested, tests)
        left = self.noise_left(spent + reserved, tested)
        if cost - tests * self.test_cost > left:
            raise self._exhausted("the privacy budget does not cover this", cost, left + tests * self.test_cost)
        if tests > 0 and tested + tests > self.hard_rounds:
            raise self._exhausted("the privacy budget does not cover another test", cost, left)

    def noise_left(self, units: int, tested: int) -> int:
        """Units left for noise where ``units`` are gone, ``tested`` tests among them; never below 0."""
        noise = self.total_units - self.hard_rounds * self.test_cost
        return max(0, noise - max(0, units - tested * self.test_cost))

    def check_purse(self, name: str, cost: int) -> None:
        """Whether the purse alone covers ``cost`` units, or ``BudgetExhausted``. Changes nothing."""
        self._whole(cost)
        left = self.purse(name).left
        if cost > left:
            raise self._exhausted(f"the privacy budget for {name} does not cover this", cost, left)

    def charge(self, name: str, cost: int) -> "Accountant":
        """The accountant after ``cost`` units of the purse; checked in the purse and in the whole first."""
        self.check_purse(name, cost)
        self.check(self.spent, 0, cost)
        purses = (replace(p, spent=p.spent + cost) if p.name == name else p for p in self.purses)
        return replace(self, purses=tuple(purses))

    @property
    def spent(self) -> int:
        """Units spent over all purses."""
        return sum(purse.spent for purse in self.purses)

    def purse(self, name: str) -> Purse:
        """The purse of this name; ``InternalError`` when there is none."""
        for purse in self.purses:
            if purse.name == name:
                return purse
        raise InternalError(f"no purse is named {name}")

    def _whole(self, *amounts: int) -> None:
        if any(type(amount) is not int or amount < 0 for amount in amounts):
            raise InternalError("charges are whole units, never negative")

    def _exhausted(self, message: str, cost: int, left: int) -> BudgetExhausted:
        scale = self.epsilon / max(1, self.total_units)
        return BudgetExhausted(message, requested=float(scale * cost), remaining=float(scale * max(0, left)))
