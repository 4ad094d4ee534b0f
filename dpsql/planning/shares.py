"""How a plan's budget is shared out: units for row counts, first measurements, strings and questions. Public.

Everything that divides the budget stands here, so that the shares can be seen to add up to it.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, isqrt

from dpsql.accounting import Plan, Unshown
from dpsql.domain import TableDomain
from dpsql.hypothesis import MODEL_RULES, NEWEST, ModelRules
from dpsql.planning.sensitivity import contingency_l2_squared, row_count_is_public
from dpsql.planning.ways import Kind, Way, model_way, selected_texts
from dpsql.policy import Policy

ROW_COUNT_SHARE = Fraction(2, 100)
"""Share of the squared precision for the row counts that are private, split evenly between their tables."""
WARM_ROW_COUNT_SHARE = Fraction(5, 100)
"""The same with a warm start, out of its share: the model's answers carry the row count's error in proportion."""
TEXT_SHARE = Fraction(25, 100)
"""Of a table's start for each text column, MOST_SHARE of it at most; more where finite columns need less, and less
where fewer questions are planned than FEW_PLANNED."""
FEW_PLANNED = 1_000
"""Of fewer planned questions lists of strings get ever more from noise of their own, and less from counts of all."""
MOST_SHARE = Fraction(1, 2)
"""Of a start for its text columns, unless their owner weighs them, and of the releases for row counts, at most:
contingencies keep the other half."""
LONE_TEXT_SHARE = Fraction(90, 100)
"""The same where the table has one finite column beside its text."""
PREFIX_WEIGHT = Fraction(1, 2)
"""Units of a declared prefix length, relative to those of its column."""


@dataclass(frozen=True)
class Payment:
    """What buys an answer that no model gives: a hard round, or the release of a planned question. All public.

    ``units`` of the plan, ``noise_units`` of them for noise; ``tests``: 1 where the rest is for a test; ``number``: how
    many the plan foresees. ``purse``: what they are called together.
    """

    name: str
    purse: str
    units: int
    noise_units: int
    tests: int
    number: int


@dataclass(frozen=True)
class Shares:
    """The shares of one plan under one policy, in units of the plan."""

    plan: Plan
    policy: Policy

    @property
    def rules(self) -> ModelRules:
        """By which tables are modelled: those of the version that the plan names."""
        return MODEL_RULES[self.plan.models]

    @property
    def kind(self) -> Kind:
        """What the plan's budget is for: the one place that reads it off the plan."""
        return Kind.QUESTIONS if self.plan.questions else Kind.MODELS

    def way(self, table: TableDomain) -> Way:
        """How the table is answered under the plan: one without delta for selections of keys makes none."""
        match self.kind:
            case Kind.QUESTIONS:
                return Way.OWN
            case Kind.MODELS:
                keys, unshown = self.plan.delta_purse > 0, self.plan.unshown
                return model_way(self.policy, table, keys=keys, rules=self.rules, unshown=unshown)

    @cached_property
    def payment(self) -> Payment:
        """What the plan pays with where no model answers."""
        plan = self.plan
        match self.kind:
            case Kind.QUESTIONS:
                return Payment("planned question", "questions", self.question, self.question, 0, plan.questions)
            case Kind.MODELS:
                return Payment("hard round", "hard rounds", plan.hard_cost, plan.measure_cost, 1, plan.hard_rounds)

    # --- row counts --------------------------------------------------------------------------------------------

    @cached_property
    def row_counts(self) -> int:
        """Units for all private row counts together."""
        budget = self.plan.planned_releases
        if self._private_row_counts == 0:
            return 0
        match self.kind:
            case Kind.QUESTIONS:
                return int(budget * own_row_count_share(self.plan.questions, halved=self.rules.halved))
            case Kind.MODELS if self._weights == 0:
                return budget
            case Kind.MODELS:
                return int(budget * min(MOST_SHARE, WARM_ROW_COUNT_SHARE / self.policy.mechanism.warm_start))

    def row_count(self, table: TableDomain) -> int:
        """Units for measuring the table's row count; 0 where it is public."""
        return 0 if row_count_is_public(self.policy, table) else self.row_counts // self._private_row_counts

    @cached_property
    def _private_row_counts(self) -> int:
        return private_row_counts(self.policy)

    # --- what is measured before the first answer ----------------------------------------------------------------

    def contingencies(self, table: TableDomain) -> int:
        """Units for the contingencies of the table's warm start."""
        match self.way(table):
            case Way.CONTINGENCIES | Way.LOCAL as way:
                whole = self._start(table) - self.texts(table)
                spares = self.plan.spares * self.plan.spare_units if way is self.spared else 0
                return whole - ceil(Fraction(spares * whole, max(1, self.spared_starts)))  # in all at least ``spares``
            case Way.OWN | Way.KEYS | Way.NET:
                return 0

    @cached_property
    def spared(self) -> Way:
        """The tables that spare releases are for: those with local models, and where there are none those with one
        tensor.
        """
        ways = {self.way(table) for table in self.policy.tables}
        return Way.LOCAL if Way.LOCAL in ways or not self.rules.sparing else Way.CONTINGENCIES

    @cached_property
    def spared_starts(self) -> int:
        """Units for all starts of these tables, of which spare releases take their part."""
        found = [table for table in self.policy.tables if self.way(table) is self.spared]
        return sum(self._start(table) - self.texts(table) for table in found)

    def precision(self, table: TableDomain) -> float:
        """Sum of 1/sigma^2 (sigma in counts) over the contingencies of the table's warm start."""
        units = self.contingencies(table)
        l2_squared = contingency_l2_squared(self.policy, table)
        return float(self.plan.release_precision * units / self.plan.release_budget / l2_squared)

    def texts(self, table: TableDomain) -> int:
        """Units for the first touches of the table's text columns together; 0 in a plan with no delta for them."""
        weights = self.text_weights(table)
        if self.plan.delta_purse == 0 or not weights:
            return 0
        match self.way(table):
            case Way.CONTINGENCIES | Way.LOCAL:
                kept = sum(weights.values()) / sum(text_weights(table).values())  # contingencies have the others'
                return int(self._start(table) * self._strings_share(table) * kept)
            case Way.KEYS:
                return self._start(table)
            case Way.OWN | Way.NET:
                return 0

    def _strings_share(self, table: TableDomain) -> Fraction:
        """Of the table's start for its strings, beside the contingencies of finite columns; in (0, 1)."""
        some = TEXT_SHARE * len(table.text) * self.fewer_strings(table)
        share = LONE_TEXT_SHARE if len(table.varied) == 1 else min(MOST_SHARE, some)
        weighed = share * sum(column.weight for column in table.text) / len(table.text)
        return weighed / (weighed + 1 - share)

    def fewer_strings(self, table: TableDomain) -> Fraction:
        """What strings beside several finite columns have of TEXT_SHARE, in (0, 1]: less where few are planned.

        A question's own noise has a variance in proportion to how many are planned, a list's in the counts of all
        strings does not: the fewer are planned, the more lists are nearer by their own.
        """
        planned = self.policy.privacy.planned_queries
        if not self.rules.fewer_strings or planned >= FEW_PLANNED or len(table.varied) < 2:
            return Fraction(1)
        return Fraction(round((planned / FEW_PLANNED) ** (1 / 3) * 1_000), 1_000)

    def text_weights(self, table: TableDomain) -> dict[str, Fraction]:
        """The weights of the text columns and prefix lengths of which strings are selected."""
        weights = text_weights(table)
        return {name: weights[name] for name in selected_texts(table, self.plan.unshown)}

    def _start(self, table: TableDomain) -> int:
        """What a table that has a start may spend on it, by its weight."""
        return int((self.plan.planned_releases - self.row_counts) * table.weight / self._weights)

    @cached_property
    def _weights(self) -> Fraction:
        """Of all tables that have a start; 0 where none has."""
        found = tables_with_start(self.policy, self.rules, self.plan.unshown)
        return sum((table.weight for table in found), Fraction(0))

    # --- noise for each question -----------------------------------------------------------------------------------

    @cached_property
    def question(self) -> int:
        """Units for the release that answers one question; 0 where the plan foresees none."""
        match self.kind:
            case Kind.QUESTIONS:
                return (self.plan.planned_releases - self.row_counts) // self.plan.questions
            case Kind.MODELS:
                return 0


def own_row_count_share(questions: int, *, halved: bool) -> Fraction:
    """Of a plan with noise for each question: where half the rows are part of each answer, (x/2)^2 + (y/2)^2 is least
    for precisions of row count and question as sqrt(questions) to questions.

    >>> own_row_count_share(100, halved=True), own_row_count_share(100, halved=False)
    (Fraction(1, 21), Fraction(1, 50))
    """
    return Fraction(1, 1 + 2 * isqrt(questions)) if halved else ROW_COUNT_SHARE


def private_row_counts(policy: Policy) -> int:
    """How many tables have a row count that is measured."""
    return sum(not row_count_is_public(policy, table) for table in policy.tables)


def text_weights(table: TableDomain) -> dict[str, Fraction]:
    """What each text column and declared prefix length has of what the table's strings have, by name."""
    weights = {column.name: column.weight for column in table.text}
    return weights | {name: PREFIX_WEIGHT * weights[prefix.column] for name, prefix in table.prefixes.items()}


def tables_with_start(
    policy: Policy, rules: ModelRules = NEWEST, unshown: Collection[Unshown] = ()
) -> tuple[TableDomain, ...]:
    """The tables that have something that is worth measuring before their first answer."""
    ways = ((table, model_way(policy, table, rules=rules, unshown=unshown)) for table in policy.tables)
    return tuple([table for table, way in ways if way is not Way.NET])


def release_share(share: float, policy: Policy) -> float:
    """``share`` of the squared precision for releases, when the owner's part for demands comes before all shares."""
    aside = float(policy.mechanism.on_demand)
    return share if aside == 0.0 else aside + share * (1.0 - aside)


def with_on_demand(plan: Plan, share: float, policy: Policy) -> Plan:
    """The plan with the owner's part of its releases kept for demands; ``share``: of releases beside that part."""
    aside = policy.mechanism.on_demand
    if aside == 0:
        return plan
    return replace(plan, on_demand_units=int(plan.release_budget * aside / Fraction(release_share(share, policy))))
