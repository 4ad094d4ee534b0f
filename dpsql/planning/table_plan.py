"""How each private table is going to be answered: one frozen value per table, worked out once from public numbers.

Everything that asks, measures or explains reads this value and nothing else of plan and policy. It imports no engine,
ledger or mechanism (an import contract): a plan that cannot look at data does not leak it.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, sqrt

from dpsql.accounting import SMOOTHING, Net, Plan
from dpsql.confidence import DEVIATIONS, deviations_at_once
from dpsql.domain import TableDomain
from dpsql.hypothesis import IterativeConstruction, MakeHypothesis, ModelRules, Strategy
from dpsql.planning.contingencies import FIRST_TOUCH, first_touch
from dpsql.planning.paper import PaperConstants, paper_constants
from dpsql.planning.plans import WARM_FALSE_ALARMS
from dpsql.planning.sensitivity import (
    contingency_l2_squared,
    measures_differences,
    query_sensitivity,
    row_count_is_public,
    weighted_l2_squared,
)
from dpsql.planning.shares import Shares
from dpsql.planning.strings import TextStart, text_starts
from dpsql.planning.ways import Basis, Way, strategy_of
from dpsql.policy import Neighbors, Policy
from dpsql.query import KeyedFactor, LinearQuery

FALSE_ALARMS = 0.5
"""Share of the hard rounds that a perfect hypothesis may lose where nothing is measured first: lower thresholds repair
the model sooner."""
UPDATED = 0.75
"""Of the threshold T: the alpha for which a construction's updates are made (Gupta-Roth-Ullman 2011, equation 3)."""
GROUP_SPARES = 2
"""Spare releases that one statement's groups are worth together: the largest error of hundreds is what they are judged
by."""
ACCURATE = 2.0
"""After a warm start: a measurement answers when its noise is at most twice that of one count for the whole budget."""


@dataclass(frozen=True)
class Share:
    """What a release may spend: ``units`` of the plan, and the noise ``sigma`` (counts) that they buy; 0 for none."""

    units: int = 0
    sigma: Fraction = Fraction(0)


@dataclass(frozen=True, eq=False)
class TablePlan:
    """The plan of one table. All of it is public.

    ``theta``: the test's threshold; ``bound``: an answer that passed the test is this close to the truth (all planned
    queries at once, 95 %); both in counts, 0 without hard rounds. ``row_count``: for its measurement if it is private.
    ``warm_units``, ``precision``: what the warm start's contingencies may spend, and the sum of 1/sigma^2 (counts) that
    it buys; ``differences``: whether columns of two values are measured as differences. ``texts``: first touches of
    text columns and declared prefixes by name. ``unshown``: the text columns without one because none of their strings
    could be shown, each with the rows from which a string could. ``most_rows``: the owner's word on the rows of a
    string, of text columns without a first touch. ``question``: noise for each question; ``spare``: of the ``spares``
    for questions whose answers from the model could be far off, ``group_spare``: where several numbers, as the cells of
    a GROUP BY, have one, which is paid as several. ``accurate``: counts; after a warm start a measurement with
    at most this sd answers without a test. ``rules``: by which the table is modelled, without those of local
    models where it has none. ``certain``: the certified bound
    of a measured number, in its sds. ``planned``: queries that accuracy is to hold for. ``smoothing``: variance of
    each release's noise that no budget buys. ``paper``: the papers' constants, where the policy takes them.
    """

    table: TableDomain
    strategy: Strategy
    rules: ModelRules
    way: Way
    net: Net
    l2_squared: int
    neighbors: Neighbors
    theta: int
    bound: int
    row_count: Share
    row_count_is_public: bool
    warm_units: int
    precision: float
    differences: bool
    texts: Mapping[str, TextStart]
    unshown: Mapping[str, int]
    most_rows: Mapping[str, int]
    question: Share
    spare: Share
    group_spare: Share
    spares: int
    accurate: float
    error_factor: float
    certain: float
    planned: int
    smoothing: int = 0
    paper: PaperConstants | None = None

    def certain_of(self, numbers: int) -> float:
        """``certain`` for each of so many numbers of one question: all of them are to hold at once, as all planned
        questions' are, each of one number."""
        return deviations_at_once(self.planned * numbers) if self.rules.all_groups and numbers > 1 else self.certain

    @property
    def name(self) -> str:
        """The table's name."""
        return self.table.name

    def weighted_l2_squared(self, low: int, high: int) -> int:
        """Squared L2 sensitivity of weighted counts, where each row changes one number by ``low`` to ``high``."""
        return weighted_l2_squared(self.neighbors, self.table, low, high)

    @cached_property
    def measured_columns(self) -> tuple[str, ...]:
        """The columns whose contingencies are measured before the first answer; none without a warm start."""
        match self.way:
            case Way.CONTINGENCIES | Way.LOCAL:
                return tuple(c.name for c in self.table.varied)
            case Way.OWN | Way.KEYS | Way.NET:
                return ()

    @cached_property
    def cuts_columns(self) -> bool:
        """Whether pairs are measured on parts of their columns; else all is counted once, cell by cell."""
        match self.way:
            case Way.LOCAL:
                return True
            case Way.OWN | Way.CONTINGENCIES | Way.KEYS | Way.NET:
                return False

    @cached_property
    def first_touch(self) -> float:
        """How slowly the shares of pairs that wait for a question fall, as ``first_touch_share`` has it."""
        columns = len(self.measured_columns)
        return first_touch(self.planned, columns) if self.rules.hidden_kinds and columns > 1 else FIRST_TOUCH

    @property
    def hypothesis(self) -> MakeHypothesis:
        """What makes the model of the finite columns."""
        match self.way:
            case Way.LOCAL:
                make = self.strategy.wide
            case Way.OWN | Way.CONTINGENCIES | Way.KEYS | Way.NET:
                make = self.strategy.narrow
        return lambda table, row_count: make(table, row_count, self.rules)

    @property
    def construct(self) -> Callable[[TableDomain, float], IterativeConstruction] | None:
        """What makes the table's iterative construction from its row count; ``None`` for other strategies."""
        construction = self.strategy.construction
        if construction is None:
            return None
        alpha = UPDATED * self.theta
        return lambda table, row_count: construction.make(table, row_count, alpha, self.planned)

    def basis(self, query: LinearQuery) -> Basis:
        """What an answer to the query rests on."""
        match self.way:
            case Way.OWN:
                return Basis.OWN
            case Way.CONTINGENCIES | Way.LOCAL if query.keyed is None:
                return Basis.START
            case Way.CONTINGENCIES | Way.LOCAL | Way.KEYS | Way.NET:
                return Basis.START if query.keyed is not None and self._starts(query.keyed) else Basis.NET

    def touched_first(self, text_columns: tuple[str, ...]) -> tuple[str, ...]:
        """The text columns whose first touches a question about all of these waits for: of several, by older rules and
        where one is a prefix of another, none."""
        each = self.rules.strings_beside and self.table.are_apart(text_columns)
        return text_columns if each or len(text_columns) == 1 else ()

    def _starts(self, keyed: KeyedFactor) -> bool:
        """Whether first touches say something of listed strings: of one column its own, of several those of any."""
        return bool(self.texts) and not self.unshown.keys() >= set(keyed.text_columns)


def plan_tables(plan: Plan, policy: Policy) -> dict[str, TablePlan]:
    """The plan of each private table by its name, in the policy's order.

    >>> from fractions import Fraction
    >>> from dpsql.domain import BooleanDomain
    >>> from dpsql.planning.plans import make_plan
    >>> from dpsql.policy import Privacy
    >>> policy = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (TableDomain("t", (BooleanDomain("b"),)),))
    >>> plan_tables(make_plan(policy), policy)["t"].way.value
    'contingencies + net'
    """
    shares = Shares(plan, policy)
    return {table.name: _table_plan(shares, table) for table in policy.tables}


def _table_plan(shares: Shares, table: TableDomain) -> TablePlan:
    plan, policy = shares.plan, shares.policy
    l2_squared, planned = contingency_l2_squared(policy, table), policy.privacy.planned_queries
    way = shares.way(table)
    paper = paper_constants(policy.privacy, plan.hard_rounds) if policy.mechanism.calibration == "paper" else None
    net, theta = _net(plan, policy, table, way, paper)
    texts = text_starts(shares, table)
    public, spared = row_count_is_public(policy, table), plan.spares > 0 and way is shares.spared
    return TablePlan(
        table,
        strategy_of(policy),
        _rules_of(shares.rules, way),
        way,
        net,
        l2_squared,
        policy.privacy.neighbors,
        theta,
        bound=net.certified_bound(planned, theta=theta) if net.hard_rounds else 0,
        row_count=Share() if public else _share(plan, shares.row_count(table), l2_squared),
        row_count_is_public=public,
        warm_units=shares.contingencies(table),
        precision=shares.precision(table),
        differences=measures_differences(policy),
        texts=texts,
        unshown={found.column: found.rows for found in plan.unshown if found.table == table.name},
        most_rows=_most_rows(policy, table, texts),
        question=_share(plan, shares.question, l2_squared) if shares.question else Share(),
        spares=plan.spares,
        spare=_share(plan, plan.spare_units, l2_squared) if spared else Share(),
        group_spare=_share(plan, plan.spare_units * _group_spares(shares), l2_squared) if spared else Share(),
        accurate=ACCURATE * float(plan.release_sigma(plan.total_units, l2_squared)),
        error_factor=float(policy.mechanism.error_factor),
        certain=deviations_at_once(planned) if shares.rules.at_once else DEVIATIONS,
        planned=planned,
        smoothing=SMOOTHING if plan.alpha is None else 0,
        paper=paper,
    )


def _rules_of(rules: ModelRules, way: Way) -> ModelRules:
    """Bars of one tensor know nothing of what local models follow."""
    local = rules.coarse_triples or rules.by_threes
    return replace(rules, coarse_triples=False, by_threes=False) if local and way is not Way.LOCAL else rules


def _most_rows(policy: Policy, table: TableDomain, texts: Collection[str]) -> dict[str, int]:
    """The owner's word where it says more than what is measured; constructions of the papers are as in their source."""
    if strategy_of(policy).construction is not None:
        return {}
    return {name: most for name, most in table.most_rows.items() if name not in texts}


def _net(plan: Plan, policy: Policy, table: TableDomain, way: Way, paper: PaperConstants | None) -> tuple[Net, int]:
    """The table's hard round and its threshold: the plan's, or one with as much noise as the papers take.

    A test of scale sigma is the plan's own test for values that change by slope * sigma or more: it costs what the plan
    charges, and a value that changes by less loses less (docs/privacy.md, theorems 1 and 2, e Delta <= v). Noise with
    the variance of Lap(sigma) is charged as the plan's, which is never more.
    """
    changes, l2_squared = query_sensitivity(table), contingency_l2_squared(policy, table)
    net = plan.for_sensitivity(changes, l2_squared)
    if paper is None:
        theta = net.threshold(policy.privacy.planned_queries, _false_alarms(way)) if net.hard_rounds else 0
        return net, theta
    scale = Fraction(paper.noise) * changes
    blurred = plan.for_sensitivity(max(changes, ceil(plan.slope * scale)), l2_squared)
    sigma = max(net.sigma, Fraction(sqrt(2.0) * float(scale)))
    return replace(blurred, sigma=sigma), ceil(paper.threshold * changes)


def _false_alarms(way: Way) -> float:
    match way:
        case Way.NET | Way.OWN:
            return FALSE_ALARMS
        case Way.CONTINGENCIES | Way.LOCAL | Way.KEYS:
            return WARM_FALSE_ALARMS


def _group_spares(shares: Shares) -> int:
    return min(GROUP_SPARES, shares.plan.spares) if shares.rules.residuals else 1


def _share(plan: Plan, units: int, l2_squared: int) -> Share:
    return Share(units, plan.release_sigma(units, l2_squared))
