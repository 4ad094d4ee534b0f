"""How a plan's budget is shared out: units for row counts, first measurements, strings and questions. Public.

Everything that divides the budget stands here, so that the shares can be seen to add up to it.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from dpsql.accounting import Plan
from dpsql.domain import TableDomain
from dpsql.hypothesis import strategy_named
from dpsql.planning.sensitivity import contingency_l2_squared, row_count_is_public
from dpsql.policy import Policy

ROW_COUNT_SHARE = Fraction(2, 100)
"""Share of the squared precision for the row counts that are private, split evenly between their tables."""
WARM_ROW_COUNT_SHARE = Fraction(5, 100)
"""The same with a warm start, out of its share: the model's answers carry the row count's error in proportion."""
TEXT_SHARE = Fraction(25, 100)
"""Of a table's start for each text column, half of it at most; more where finite columns need less."""
LONE_TEXT_SHARE = Fraction(90, 100)
"""The same where the table has one finite column beside its text."""


@dataclass(frozen=True)
class Shares:
    """The shares of one plan under one policy, in units of the plan."""

    plan: Plan
    policy: Policy

    @cached_property
    def row_counts(self) -> int:
        """Units for all private row counts together."""
        plan = self.plan
        if self._private_row_counts == 0:
            return 0
        if plan.questions:
            return int(plan.release_budget * ROW_COUNT_SHARE)
        if not self._tables_with_start:
            return plan.release_budget
        return int(plan.release_budget * min(Fraction(1, 2), WARM_ROW_COUNT_SHARE / self.policy.mechanism.warm_start))

    def row_count(self, table: TableDomain) -> int:
        """Units for measuring the table's row count; 0 where it is public."""
        return 0 if row_count_is_public(self.policy, table) else self.row_counts // self._private_row_counts

    @cached_property
    def question(self) -> int:
        """Units for the release that answers one question; 0 where the plan foresees none."""
        return (self.plan.release_budget - self.row_counts) // self.plan.questions if self.plan.questions else 0

    def texts(self, table: TableDomain) -> int:
        """Units for the first touches of the table's text columns together; 0 in a plan with no delta for them."""
        if self.plan.delta_purse == 0 or not has_text_start(self.policy, table):
            return 0
        number = len(table.varied)
        share = {0: Fraction(1), 1: LONE_TEXT_SHARE}.get(number, min(Fraction(1, 2), TEXT_SHARE * len(table.text)))
        return int(self._start * share)

    def contingencies(self, table: TableDomain) -> int:
        """Units for the contingencies of the table's warm start; 0 where questions are paid alone."""
        if self.plan.questions or not has_warm_start(self.policy, table):
            return 0
        return self._start - self.texts(table)

    def precision(self, table: TableDomain) -> float:
        """Sum of 1/sigma^2 (sigma in counts) over the contingencies of the table's warm start."""
        units = self.contingencies(table)
        l2_squared = contingency_l2_squared(self.policy, table)
        return float(self.plan.release_precision * units / self.plan.release_budget / l2_squared)

    @cached_property
    def _start(self) -> int:
        """What each table that has a start may spend on it."""
        return (self.plan.release_budget - self.row_counts) // self._tables_with_start

    @cached_property
    def _tables_with_start(self) -> int:
        return sum(has_start(self.policy, table) for table in self.policy.tables)

    @cached_property
    def _private_row_counts(self) -> int:
        return private_row_counts(self.policy)


def private_row_counts(policy: Policy) -> int:
    """How many tables have a row count that is measured."""
    return sum(not row_count_is_public(policy, table) for table in policy.tables)


def has_start(policy: Policy, table: TableDomain) -> bool:
    """Whether contingencies of the table, or keys of its text columns, are measured before its first answer."""
    return has_warm_start(policy, table) or has_text_start(policy, table)


def has_warm_start(policy: Policy, table: TableDomain) -> bool:
    """Whether contingencies are: with two finite columns, or one beside text."""
    number = len(table.varied)
    return strategy_named(policy.mechanism.strategy).starts and (number >= 2 or (number == 1 and bool(table.text)))


def has_text_start(policy: Policy, table: TableDomain) -> bool:
    """Whether frequent keys of the table's text columns are, each at its first touch."""
    return strategy_named(policy.mechanism.strategy).starts and bool(table.text)
