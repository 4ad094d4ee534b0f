"""What the session keeps for one private table: its model, its first touches and the bounds they give. Public.

A fold of the ledger's events under a frozen plan: nothing here was drawn, and replay rebuilds it bit by bit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import ceil, hypot, inf, sqrt

import numpy as np

from dpsql.confidence import DEVIATIONS, error_bound
from dpsql.first import Progress, Touches
from dpsql.first.payload import ANSWER, DISTINCT, KEYS, ONE_COUNT, POSITIONS, RESIDUAL, ROW_COUNT, VALUES
from dpsql.hypothesis import Measurement, TableModel, keyed_error
from dpsql.hypothesis.values.by_value import by_cells_unmeasured
from dpsql.hypothesis.values.joined import joined
from dpsql.mechanism import ThresholdTest
from dpsql.planning import Basis, Forecast, TablePlan, Way, forecast
from dpsql.planning.forecast import half_width
from dpsql.planning.measured_axes import own_sd
from dpsql.postprocess import added
from dpsql.query import Crosstab, Estimates, Factor, Form, Key, LinearQuery
from dpsql.session.model.error_bars import ErrorBars, Memory
from dpsql.session.own.by_value.measured_beside import MeasuredBeside
from dpsql.session.own.misfit import Misfit
from dpsql.session.own.own_noise import OwnNoise
from dpsql.session.own.pace import Pace
from dpsql.session.own.variance_function import VarianceFunction

MEASURED_SHARE = 1 / 3
"""Without a warm start: a measurement whose exact bound is below this share of theta answers without a test."""
COVERED = 1.5
"""With noise for each question alone: a measurement answers when its noise is at most so many times a new release's."""
CERTIFIED_SHARE = 0.05
"""No certificate is shown when theta exceeds this share of the rows: it would say nothing."""
WIDENED = 0.05
"""A hard round over three or more finite columns says that the model's form misses something: bars of such answers grow
by so much."""
TESTED_COLUMNS = 3
"""In wide tables queries over fewer columns are not tested: the measured pairs know them."""


class TableState:
    """One table of the session; ``model`` is ``None`` until the table's row count is known.

    ``bars``: ``None`` until then, and for tables without a warm start. ``wide_hard_rounds``: hard rounds over three or
    more finite columns so far. ``on_progress`` is told (table, what, done, of) while error bars are learned.
    """

    def __init__(self, plan: TablePlan, memory: Memory | None = None, pace: Pace | None = None) -> None:
        self.plan = plan
        self.touches = Touches.of(plan)
        self.model: TableModel | None = None
        self.bars: ErrorBars | None = None
        self.wide_hard_rounds = 0
        self.misfit = Misfit(VarianceFunction(float(plan.spare.sigma) or 1.0))
        self.beside = MeasuredBeside()
        self.unabsorbed: list[tuple[str, Measurement]] = []
        self.on_progress: Progress | None = None
        self._memory = memory
        self.own = OwnNoise(self, Pace(plan.spares, plan.planned) if pace is None else pace)
        self._forecast: tuple[float | None, Forecast | None] | None = None

    @cached_property
    def test(self) -> ThresholdTest:
        """The net's test, scaled to the table's sensitivity."""
        net = self.plan.net
        return ThresholdTest(net.slope, net.certified_slope, net.sensitivity)

    # --- the fold ----------------------------------------------------------------------------------------------

    def know_row_count(self, row_count: Measurement) -> TableModel:
        """The model, started with the table's released (or, with sigma 0, public) number of rows.

        A ledger may hold two: the first one starts the model, a later one is one more measurement.
        """
        if self.model is not None:
            self.model.absorb(row_count)
            return self.model
        plan, warm = self.plan, self.touches.warm
        alpha = max(float(plan.theta), float(plan.question.sigma), 1.0)
        self.model = TableModel(plan.table, row_count, alpha, plan.hypothesis, plan.construct, plan.rules)
        if plan.measured_columns:
            warm.know_row_count(self.model.row_count)
            self.bars = ErrorBars(plan, row_count, growing=warm.touched_later, memory=self._memory)
            self.bars.on_step = self._learning
        waiting, self.unabsorbed = self.unabsorbed, []
        for kind, measurement in [*waiting, *warm.completed()]:
            self.absorb(kind, measurement)
        return self.model

    def absorb(self, kind: str, measurement: Measurement) -> None:
        """Take in what the ledger released, in its order."""
        if kind in (ONE_COUNT, RESIDUAL):
            return
        if kind == ROW_COUNT:
            self.know_row_count(measurement)
        elif self.model is None:
            self.unabsorbed.append((kind, measurement))
        elif kind == POSITIONS:
            self.model.know_positions(measurement)
        elif kind == VALUES:
            self.model.know_values(measurement.scope[0], measurement)
        elif kind == DISTINCT:
            (column,) = measurement.text_columns
            if column in self.plan.texts:
                self.model.know_distinct(measurement, self.touches.texts.most_hidden(column))
        else:
            self.model.absorb(measurement, fitted=kind != ANSWER, selected=kind == KEYS)

    def note_hard_round(self, measurements: Sequence[Measurement]) -> None:
        """Note a hard round by what it measured: fewer than three finite columns say nothing of interactions."""
        self.wide_hard_rounds += any(len(m.scope) >= TESTED_COLUMNS for m in measurements)

    def _learning(self, done: int, of: int) -> None:
        if self.on_progress is not None:
            self.on_progress(self.plan.name, "simulations for error bars", done, of)

    # --- what a query needs, from public numbers -----------------------------------------------------------------

    def measured(self, query: LinearQuery) -> tuple[int, float] | None:
        """``readings`` of one query."""
        return self.readings([query])[0]

    def readings(self, queries: Sequence[LinearQuery]) -> list[tuple[int, float] | None]:
        """(value, sd) in counts of each query of one outline for which a measurement has little enough noise."""
        model, plan, asked = self.model, self.plan, Crosstab.of(queries)
        first = asked[0]
        if model is None:
            return [None] * len(asked)
        match plan.basis(first):
            case Basis.OWN:
                sds = [COVERED * own_sd([query], float(plan.question.sigma)) for query in asked]
                return [_within(model.measured(q, sd), sd) for q, sd in zip(asked, sds, strict=True)]
            case _ if first.keyed is None and not first.factors and not first.is_by_value:
                return model.readings(asked)  # the row count is always its own measurement's
            case Basis.START if first.keyed is None:
                read = model.readings(asked, plan.accurate)
                return [_within(found, plan.accurate) for found in read] if any(read) else read
            case Basis.START | Basis.NET:  # without tests, everything measured is
                limit = MEASURED_SHARE * plan.theta if plan.net.hard_rounds else inf
                read = model.readings(asked, limit / DEVIATIONS)
                return [
                    found if found is not None and error_bound(found[1], not q.is_indicator) <= limit else None
                    for q, found in zip(asked, read, strict=True)
                ]

    def as_released(self, queries: Sequence[LinearQuery], errors: Sequence[float]) -> list[int] | None:
        """The released count of each of these queries of one outline, whose answer has this 95 % half-width: that of
        the first measurement with that noise, whatever is measured later. ``None`` unless all are told."""
        asked, bars = Crosstab.of(queries), np.array(errors)
        values, told = np.zeros(len(asked), dtype=np.int64), np.zeros(len(asked), dtype=np.bool_)
        scope = frozenset(asked[0].scope)
        for m in () if self.model is None else self.model.contingencies:
            if scope <= m.columns and not told.all():
                found, sds = m.answers(asked)
                bounds = np.array([inf if sd == inf else error_bound(sd) for sd in sds.tolist()])
                values, told = np.where(~told & (bounds == bars), found, values), told | (bounds == bars)
        return values.tolist() if told.all() else None

    def is_tested(self, query: LinearQuery) -> bool:
        """Whether the net guards the query, as long as tests are left. Strings beside stretches of values have bars for
        whatever is unknown inside bins, where a hard round would teach nothing of the next stretch."""
        if self.plan.rules.listed_by_value and query.keyed is not None and query.is_by_value:
            return self.error_bar(query) is None
        match self.plan.way:
            case Way.LOCAL:
                inside = self.plan.rules.by_value and query.is_by_value and len(query.touched) > 1
                return query.keyed is not None or inside or len(query.touched) >= TESTED_COLUMNS
            case Way.OWN | Way.CONTINGENCIES | Way.KEYS | Way.NET:
                return True

    def rows_known(self) -> tuple[float, float] | None:
        """The table's rows as they were released, and the sd of that; ``None`` before."""
        return None if self.model is None else (self.model.row_count, self.model.contingencies[0].sigma)

    def certificate(self, query: LinearQuery) -> int | None:
        """What a passed test guarantees for the query, in counts; ``None`` when that would say nothing."""
        bound = self.plan.bound + (not query.is_indicator)
        match self.plan.way:
            case Way.OWN | Way.NET:
                return bound
            case Way.CONTINGENCIES | Way.LOCAL | Way.KEYS:
                small = self.model is not None and self.plan.theta <= CERTIFIED_SHARE * self.model.row_count
                return bound if small else None

    def error_bar(self, query: LinearQuery) -> int | None:
        """``error_bars`` of one query."""
        return self.error_bars([query])[0]

    def error_bars(self, queries: Sequence[LinearQuery]) -> list[int | None]:
        """The calibrated half-width of the model's answer to each of these queries of one outline, in counts; ``None``
        when nothing is known of it."""
        asked = Crosstab.of(queries)
        first, model = asked[0], self.model
        waits = first.touched and (self.bars is None or self.touches.warm.keeps_waiting(first.touched))
        if model is None or waits:
            return [None] * len(asked)
        if first.is_by_value and (first.keyed is not None or self.bars is not None):
            return [self._bar_by_value(model, query) for query in asked]
        if first.keyed is not None:
            return [self._keyed_bar(model, query) for query in asked]
        if self.bars is None:
            return [None] * len(asked)
        found = self.bars.bounds(model, list(self.touches.warm.measured.values()), asked)
        if len(first.scope) < TESTED_COLUMNS:
            return found
        times = (1.0 + WIDENED * self.wide_hard_rounds) * self.misfit.times(len(first.scope))
        return [None if bar is None else ceil(bar * times) for bar in found]

    def _keyed_bar(self, model: TableModel, query: LinearQuery, inside: Estimates | None = None) -> int | None:
        """Of listed strings, where a first touch measured what is known of them."""
        keyed, listed = query.keyed, self.touches.listed
        if keyed is None or self.plan.basis(query) is not Basis.START:
            return None
        foreseen = listed.foreseen(keyed.text_columns[0], keyed.strings) if len(keyed.text_columns) == 1 else {}
        bar = keyed_error(model, query, self._finite_limit(query), foreseen, inside)
        if bar is None or inside is not None or len(query.factors) < 2 or not self.plan.rules.strings_beside:
            return bar
        return self._without_broad(model, query, bar, foreseen)

    def _without_broad(self, model: TableModel, query: LinearQuery, bar: int, foreseen: Mapping[Key, float]) -> int:
        """The bar of listed strings without the conditions that hardly any row fails, as that an amount is known, and
        how many rows these may leave out, where that is less than ``bar``."""
        left = [self._finite_limit(replace(query, factors=(_failing(factor),))) for factor in query.factors]
        kept = tuple([f for f, rows in zip(query.factors, left, strict=True) if rows >= bar])
        if len(kept) == len(query.factors) or not query.is_indicator:
            return bar
        rest = replace(query, factors=kept)
        whole = keyed_error(model, rest, self._finite_limit(rest), foreseen)
        if whole is None:
            return bar
        out = sum(rows for rows in left if rows < bar)
        return min(bar, whole + ceil(max(out, abs(model.estimate(rest) - model.estimate(query)))))

    def _bar_by_value(self, model: TableModel, query: LinearQuery) -> int | None:
        """Of a question about values: that of the weighted count it is read from, and what is unknown in the bins."""
        cells = model.by_cells(query)
        listed = query.keyed is not None
        counted = self._keyed_bar(model, cells, model.inside(query)) if listed else self.error_bar(cells)
        if counted is None:
            return None
        sd, added = model.unknown_inside(query)
        bar = hypot(counted, DEVIATIONS * sd) + added
        if query.keyed is not None:  # they have no more rows there than in the whole bins
            whole, said = replace(query, intervals=()), model.estimate(query)
            bar = min(bar, max(said, model.estimate(whole) + float(self._keyed_bar(model, whole) or inf) - said))
        return ceil(bar)

    def line_of(self, query: LinearQuery, origin: float) -> tuple[float, float] | None:
        """The model's sum of distances from ``origin``, in shares of the range, over the rows of a sum of values, and
        its 95 % half-width; ``None`` when nothing is known of it.

        What rows count on both sides is off in opposite directions where it is the same rows: their bars add up.
        """
        if self.model is None or not self.plan.rules.confined or query.keyed is not None:
            return None
        parts, (sd, added) = self.model.line(query, origin)
        bars = [(times, self.model.estimate(part), self.error_bar(part)) for times, part in parts]
        if not bars or any(bar is None for _, _, bar in bars):  # of cells that weigh nothing it says nothing
            return None
        counted = sum(abs(times) * float(bar or 0) for times, _, bar in bars)
        return sum(times * n for times, n, _ in bars), hypot(counted, DEVIATIONS * sd) + added

    def forms_of(self, forms: Sequence[Form]) -> list[tuple[float, float] | None]:
        """What the model says of affine forms, and the 95 % half-width of each, in the form's unit; ``None`` where
        nothing is known.

        All terms of a form are one count of weighted cells: what is wrong with the rows of one is wrong in all of them.
        """
        model = self.model
        if model is None or not self.plan.rules.jointly:
            return [None] * len(forms)
        split = [self._joined(model, form) for form in forms]
        asked: dict[object, dict[str, LinearQuery]] = {}
        for _, query in [part for parts in split for part in parts or ()]:
            asked.setdefault(query.outline, {})[query.digest] = query
        bars: dict[str, int | None] = {}
        for same in asked.values():
            bars |= zip(same, self.error_bars(list(same.values())), strict=True)
        out: list[tuple[float, float] | None] = []
        for form, parts in zip(forms, split, strict=True):
            known = None if parts is None else [(times, q, bars[q.digest]) for times, q in parts]
            if not known or any(bar is None for _, _, bar in known):
                out.append(None)
                continue
            counted = sum(abs(times) * float(bar or 0) for times, _, bar in known)
            sd, added = self._unknown_beside(model, form)
            value = form.constant + sum(times * model.estimate(q) for times, q, _ in known)
            out.append((value, hypot(counted, DEVIATIONS * sd) + added))
        return out

    def _joined(self, model: TableModel, form: Form) -> list[tuple[float, LinearQuery]] | None:
        """Its terms as two counts of cells."""
        if any(t.query.keyed is not None for t in form.terms):
            return None
        return joined(self.plan.table, [(t.coefficient, model.by_cells(t.query)) for t in form.terms])

    def _unknown_beside(self, model: TableModel, form: Form) -> tuple[float, float]:
        """What is unknown of a form beside counts of cells, in its unit: (sd, what is added to any bar). Where rows
        stand in their bins is unknown to all terms alike."""
        sd = added = 0.0
        for t in form.terms:
            if t.query.is_by_value:
                inside = model.unknown_inside(t.query)
                sd, added = sd + abs(t.coefficient) * inside[0], added + abs(t.coefficient) * inside[1]
            if t.doubt:
                added += t.doubt * (max(0.0, model.estimate(t.query)) + float(self.error_bar(t.query) or 0))
        return sd, added

    def error_of(self, query: LinearQuery) -> float | None:
        """The 95 % half-width that an answer would have now, in counts; draws nothing, charges nothing."""
        found = self.measured(query)
        if found is not None:
            return float(error_bound(found[1], not query.is_indicator))
        bar = self.error_bar(query)
        return None if bar is None else float(bar)

    def error_of_form(self, form: Form) -> float | None:
        """About what ``combine`` will say of answers with these errors, in the form's unit; ``None`` before a model."""
        if self.model is None:
            return None
        error: float | None = 0.0
        for t in form.terms:
            error = added(error, abs(t.coefficient), t.doubt, self.model.estimate(t.query), self.error_of(t.query))
        return error

    def _finite_limit(self, query: LinearQuery) -> float:
        """The most rows that the query's finite factors alone may have; infinite when nothing is known of them."""
        finite = LinearQuery(query.table, query.factors)
        bar = self.error_bar(finite) if query.factors else None
        return inf if bar is None or self.model is None else self.model.estimate(finite) + bar

    # --- what is foreseen before anything is measured -------------------------------------------------------------

    def forecast(self) -> Forecast | None:
        """Errors foreseen from the warm start's plan; ``None`` for tables without one."""
        row_count = None if self.model is None else self.model.row_count
        if self._forecast is None or self._forecast[0] != row_count:
            self._forecast = row_count, forecast(self.plan, row_count)
        return self._forecast[1]

    def forecast_error(self, query: LinearQuery) -> float | None:
        """The 95 % error (counts) foreseen for a query that waits for measurements; ``None`` for any other."""
        query = by_cells_unmeasured(self.plan.table, query)
        if query.keyed is not None:
            return self._forecast_of_keys(query)
        found = self.forecast() if query.scope else None
        if found is None or (self.model is not None and not self.touches.warm.waiting_portions(query.scope)):
            return None
        width = half_width(found.query_sd(query)) + (not query.is_indicator)
        return float(width if self.model is None else min(width, self.model.row_count))

    def _forecast_of_keys(self, query: LinearQuery) -> float | None:
        """The same for frequent strings, each with the noise that its count, or its counts by one column, will have."""
        keyed = query.keyed
        if keyed is None or len(keyed.text_columns) != 1 or len(query.scope) > 1:
            return None
        start = self.touches.texts.unbegun(keyed.text_columns[0])
        if start is None or (query.scope and not query.factors):
            return None
        sigma = start.pair_sigma if query.scope else start.count_sigma
        cells = sum(float(((f.weights / f.unit) ** 2).sum()) for f in query.factors) or 1.0
        return float(half_width(float(sigma) * sqrt(len(keyed.strings) * cells)))


def _failing(factor: Factor) -> Factor:
    return replace(factor, weights=factor.unit - factor.weights)


def _within(found: tuple[int, float] | None, limit: float) -> tuple[int, float] | None:
    """What was read of a measurement, if its sd is at most ``limit`` counts."""
    return found if found is not None and found[1] <= limit else None
