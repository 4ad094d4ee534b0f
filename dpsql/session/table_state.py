"""What the session keeps for one private table: its model, its test and the bounds they give. Public."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import ceil, inf, prod, sqrt

import numpy as np

from dpsql.accounting import Net, Plan
from dpsql.confidence import DEVIATIONS
from dpsql.domain import TableDomain
from dpsql.hypothesis import (
    Axis,
    MakeHypothesis,
    Measurement,
    Strategy,
    TableModel,
    error_bound,
    keyed_error,
    split_identity,
    strategy_named,
)
from dpsql.mechanism import ThresholdTest
from dpsql.policy import Policy
from dpsql.query import LinearQuery
from dpsql.session.error_bars import ErrorBars, Memory
from dpsql.session.first_touch import FirstTouch
from dpsql.session.payload import ANSWER, DISTINCT, KEYS, ONE_COUNT, TOTAL
from dpsql.session.planning import (
    FALSE_ALARMS,
    WARM_FALSE_ALARMS,
    contingency_l2_squared,
    has_warm_start,
    is_narrow,
    measures_differences,
    query_sensitivity,
    question_sigma,
    row_count_is_public,
    total_cost,
    warm_precision,
    warm_units,
)
from dpsql.session.predicting import NOMINAL_ROWS, Forecast, half_width
from dpsql.session.text_plan import text_starts
from dpsql.session.text_progress import TextProgress
from dpsql.session.total_progress import TotalProgress
from dpsql.session.warm_progress import WarmProgress

MEASURED_SHARE = 1 / 3
"""Without a warm start: a measurement whose exact bound is below this share of theta answers without a test."""
ACCURATE = 2.0
"""After a warm start: a measurement answers when its noise is at most twice that of one count for the whole budget."""
COVERED = 1.5
"""With noise for each question alone: a measurement answers when its noise is at most so many times a new release's."""
CERTIFIED_SHARE = 0.05
"""No certificate is shown when theta exceeds this share of the rows: it would say nothing."""
SURPRISE = 0.05
"""A hard round over three or more finite columns says that the model's form misses something: bars of such answers grow
by so much."""
TESTED_COLUMNS = 3
"""In wide tables queries over fewer columns are not tested: the measured pairs know them."""


@dataclass
class TableState:
    """One table of the session; ``model`` is ``None`` until the table's total is known.

    ``total`` is ``None`` where the row count is public, ``warm`` for tables without a warm start, ``bars`` until the
    row count is known as well, ``texts`` where text columns have no first touch.
    """

    table: TableDomain
    net: Net
    theta: int
    bound: int
    """Counts: an answer that passed the test is this close to the truth (all planned queries at once, 95 %)."""
    model: TableModel | None = None
    pending: list[tuple[str, Measurement]] = field(default_factory=list)
    total: TotalProgress | None = None
    warm: WarmProgress | None = None
    texts: TextProgress | None = None
    bars: ErrorBars | None = None
    accurate: float = 0.0
    """Counts: a measurement with at most this sd answers without a test (tables with a warm start)."""
    error_factor: float = 1.15
    strategy: Strategy = field(default_factory=lambda: strategy_named("auto"))
    memory: Memory | None = None
    surprises: int = 0
    """Hard rounds over three or more finite columns so far."""
    progress: Callable[[str, str, int, int], None] | None = None
    """Told (table, what, done, of) while error bars are learned."""
    _forecast: tuple[float, Forecast] | None = None
    own_sigma: Fraction = Fraction(0)
    """Counts: noise of each count where every question gets noise of its own; 0 elsewhere."""

    @classmethod
    def make(cls, table: TableDomain, plan: Plan, policy: Policy, memory: Memory | None = None) -> "TableState":
        l2_squared = contingency_l2_squared(policy, table)
        net = plan.for_sensitivity(query_sensitivity(table), l2_squared)
        planned = policy.privacy.planned_queries
        warm = plan.questions == 0 and has_warm_start(policy, table)
        starts = {} if plan.questions else text_starts(plan, policy, table)
        theta = net.threshold(planned, WARM_FALSE_ALARMS if warm or starts else FALSE_ALARMS) if net.hard_rounds else 0
        out = cls(table, net, theta, net.certified_bound(planned, theta=theta) if net.hard_rounds else 0)
        out.memory, out.strategy = memory, strategy_named(policy.mechanism.strategy)
        out.total = None if row_count_is_public(policy, table) else TotalProgress(total_cost(plan, policy, table))
        out.texts = TextProgress(starts) if starts else None
        if warm:
            units, precision = warm_units(plan, policy, table), warm_precision(plan, policy, table)
            out.warm = WarmProgress(table, units, precision, differences=measures_differences(policy))
            out.accurate = ACCURATE * float(plan.release_sigma(plan.total_units, l2_squared))
            out.error_factor = float(policy.mechanism.error_factor)
        if plan.questions:
            out.own_sigma = question_sigma(plan, policy, table)
        return out

    @cached_property
    def test(self) -> ThresholdTest:
        return ThresholdTest(self.net.slope, self.net.certified_slope, self.net.sensitivity)

    def know_total(self, total: Measurement) -> TableModel:
        """The model, started with the table's released (or, with sigma 0, public) number of rows.

        A ledger may hold two: the first one starts the model, a later one is one more measurement.
        """
        if self.model is not None:
            self.model.absorb(total)
            return self.model
        alpha = max(float(self.theta), float(self.own_sigma), 1.0)
        self.model = TableModel(self.table, total, alpha, self.hypothesis)
        if self.warm is not None:
            self.warm.know_total(self.model.total)
            growing = self.warm.touched_later
            self.bars = ErrorBars(
                self.table, total, self.error_factor, self.hypothesis, growing=growing, memory=self.memory
            )
            self.bars.on_step = self._learning
        pending, self.pending = self.pending, []
        for kind, measurement in pending:
            self.absorb(kind, measurement)
        return self.model

    def absorb(self, kind: str, measurement: Measurement) -> None:
        """Take in what the ledger released, in its order."""
        if kind == ONE_COUNT:
            return
        if kind == TOTAL:
            self.know_total(measurement)
        elif self.model is None:
            self.pending.append((kind, measurement))
        elif kind == DISTINCT and self.texts is not None:
            (column,) = measurement.text_columns
            self.model.know_distinct(measurement, self.texts.starts[column].most_hidden)
        elif kind != DISTINCT:
            self.model.absorb(measurement, fitted=kind != ANSWER, selected=kind == KEYS)

    def repaired(self, measurements: Sequence[Measurement]) -> None:
        """Note a hard round by what it measured: fewer than three finite columns say nothing of interactions."""
        self.surprises += any(len(m.scope) >= TESTED_COLUMNS for m in measurements)

    @property
    def first_touches(self) -> tuple[FirstTouch, ...]:
        """What is measured once for all sessions."""
        return tuple(t for t in (self.total, self.warm, self.texts) if t is not None)

    # --- what a query needs, from public numbers -----------------------------------------------------------------

    @property
    def hypothesis(self) -> MakeHypothesis:
        """What the table's finite columns are modelled by."""
        return self.strategy.hypothesis(wide=self.wide)

    @property
    def wide(self) -> bool:
        return self.warm is not None and not is_narrow(self.table)

    def warmed(self, query: LinearQuery) -> bool:
        """Whether the query is about finite columns that a warm start measures."""
        return self.warm is not None and query.keyed is None

    def asked_together(self, query: LinearQuery) -> bool:
        """Whether one statement's queries of the query's shape come all from one measurement or one model."""
        return self.own_sigma > 0 or self.has_start(query)

    def has_start(self, query: LinearQuery) -> bool:
        """Whether something is measured before the first answer to such a query."""
        return self.warmed(query) if query.keyed is None else self.texts is not None

    def measured(self, query: LinearQuery) -> tuple[int, float] | None:
        """``(value, sd)`` of a measurement that is accurate enough to answer without a test: by its noise alone."""
        if self.model is None:
            return None
        if self.own_sigma > 0:
            limit = COVERED * own_sd([query], float(self.own_sigma))
            found = self.model.measured(query, limit)
            return found if found is not None and found[1] <= limit else None
        if query.keyed is None and not query.factors:
            return self.model.measured(query)  # the row count is always its own measurement's
        if self.warmed(query):
            found = self.model.measured(query, self.accurate)
            return found if found is not None and found[1] <= self.accurate else None
        limit = MEASURED_SHARE * self.theta if self.net.hard_rounds else inf  # without tests, everything measured is
        found = self.model.measured(query, limit / DEVIATIONS)
        return found if found is not None and error_bound(found[1], not query.is_indicator) <= limit else None

    def is_tested(self, query: LinearQuery) -> bool:
        """Whether the net guards the query, as long as tests are left."""
        return not (self.wide and self.warmed(query) and len(query.scope) < TESTED_COLUMNS)

    def certificate(self, query: LinearQuery) -> int | None:
        """What a passed test guarantees for the query, in counts; ``None`` when that would say nothing."""
        bound = self.bound + (not query.is_indicator)
        if self.warm is None and self.texts is None:
            return bound
        return bound if self.model is not None and self.theta <= CERTIFIED_SHARE * self.model.total else None

    def _learning(self, done: int, of: int) -> None:
        if self.progress is not None:
            self.progress(self.table.name, "simulations for error bars", done, of)

    def error_bar(self, query: LinearQuery) -> int | None:
        """The calibrated half-width of the model's answer, in counts; ``None`` when nothing is known of it."""
        if self.model is None or (query.scope and (self.warm is None or self.warm.pending(query.scope))):
            return None
        if query.keyed is not None:
            return keyed_error(self.model, query, self._finite_limit(query))
        if self.warm is None or self.bars is None:
            return None
        found = self.bars.bound(self.model, list(self.warm.measured.values()), query)
        if found is None or len(query.scope) < TESTED_COLUMNS:
            return found
        return ceil(found * (1.0 + SURPRISE * self.surprises))

    def forecast(self) -> Forecast | None:
        """Errors foreseen from the warm start's plan; ``None`` for tables without one."""
        if self.warm is None:
            return None
        total = NOMINAL_ROWS if self.model is None else self.model.total
        if self._forecast is None or self._forecast[0] != total:
            warm = self.warm
            self._forecast = total, Forecast(self.table, warm.precision, total, differences=warm.differences)
        return self._forecast[1]

    def foreseen(self, query: LinearQuery) -> float | None:
        """The 95 % error (counts) foreseen for a query that waits for measurements; ``None`` for any other."""
        if query.keyed is not None:
            return self._foreseen_of_keys(query)
        if self.warm is None or not query.scope:
            return None
        forecast = self.forecast()
        if forecast is None or (self.model is not None and not self.warm.pending(query.scope)):
            return None
        found = half_width(forecast.query_sd(query)) + (not query.is_indicator)
        return float(found if self.model is None else min(found, self.model.total))

    def _foreseen_of_keys(self, query: LinearQuery) -> float | None:
        """The same for frequent strings, each with the noise that its count, or its counts by one column, will have."""
        keyed = query.keyed
        if self.texts is None or keyed is None or len(keyed.text_columns) != 1 or len(query.scope) > 1:
            return None
        start = self.texts.pending(keyed.text_columns[0])
        if start is None or (query.scope and not query.factors):
            return None
        sigma = start.pair_sigma if query.scope else start.count_sigma
        cells = sum(float(((f.weights / f.unit) ** 2).sum()) for f in query.factors) or 1.0
        return float(half_width(float(sigma) * sqrt(len(keyed.keys) * cells)))

    def _finite_limit(self, query: LinearQuery) -> float:
        """The most rows that the query's finite factors alone may have; infinite when nothing is known of them."""
        finite = LinearQuery(query.table, query.factors)
        bar = self.error_bar(finite) if query.factors else None
        return inf if bar is None or self.model is None else self.model.estimate(finite) + bar


def measurement_axes(
    query: LinearQuery, siblings: Sequence[LinearQuery], total: float, sigma: float, bound: float
) -> tuple[Axis, ...]:
    """The parts that a hard round on ``query`` measures: public, chosen before any noise is drawn.

    Every cell of the scope while their noise stays below the table (cells * sigma <= total) and the paid answer's own
    error below what a passed test would have certified (``bound``); else the coarsest parts on which the query and its
    ``siblings`` (the same statement's queries on the same factor columns) are constant.
    """
    keyed, keys = query.keyed, len(query.keyed.keys) if query.keyed else 1
    axes: list[Axis] = []
    used = prod(int(np.count_nonzero(f.weights)) for f in query.factors)
    fine = query.cells * keys * sigma <= total and error_bound(sigma * used**0.5) <= bound
    if keyed is not None and keyed.columns:
        shape = keyed.weights.shape[1:]
        axes.append(Axis.cells(keyed.columns, shape) if fine else Axis.level_sets(keyed.columns, [*keyed.weights]))
    for i, factor in enumerate(query.factors):
        if fine:
            axes.append(Axis.cells(factor.columns, factor.weights.shape))
        else:
            same = [s.factors[i].weights for s in siblings if s.factors[i].columns == factor.columns]
            axes.append(Axis.level_sets(factor.columns, [factor.weights, *same]))
    return split_identity(axes) if keyed is None or not keyed.columns else tuple(axes)


def own_axes(queries: Sequence[LinearQuery]) -> tuple[Axis, ...]:
    """The coarsest parts on which queries of one shape are constant: what a release for them alone measures.

    Without text columns, which this plan does not know.
    """
    return split_identity(
        [
            Axis.level_sets(factor.columns, [q.factors[i].weights for q in queries])
            for i, factor in enumerate(queries[0].factors)
        ]
    )


def own_sd(queries: Sequence[LinearQuery], sigma: float) -> float:
    """The largest sd (counts) among queries of one shape that one release with noise ``sigma`` answers."""
    axes = own_axes(queries)
    silent = Measurement(queries[0].table, axes, np.zeros([a.size for a in axes], dtype=np.int64), sigma)
    return max(found[1] for q in queries if (found := silent.answer(q)) is not None)


def same_shape(a: LinearQuery, b: LinearQuery) -> bool:
    """Whether two queries ask about the same factor columns and text columns of one table."""
    if a.table != b.table or [f.columns for f in a.factors] != [f.columns for f in b.factors]:
        return False
    if a.keyed is None or b.keyed is None:
        return a.keyed is b.keyed
    return (a.keyed.text_columns, a.keyed.columns) == (b.keyed.text_columns, b.keyed.columns)
