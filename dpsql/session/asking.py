"""One linear query, from cache to answer: the order of steps is the privacy argument (docs/privacy.md)."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import inf

import numpy as np

from dpsql.accounting import Accountant, Plan
from dpsql.engine.protocol import Engine
from dpsql.errors import BudgetExhausted, InternalError
from dpsql.hypothesis import Measurement, TableModel, coarsen, error_bound
from dpsql.ledger.event import Event, Totals
from dpsql.ledger.protocol import Ledger
from dpsql.mechanism import Entropy, measure, public_total, two_sided
from dpsql.policy import Policy
from dpsql.private import Private
from dpsql.query import Counts, Key, LinearQuery, sort_key
from dpsql.result import Answer, Source
from dpsql.session.payload import CONTINGENCY, TOTAL, decode_measurement, encode_measurement
from dpsql.session.planning import row_count_is_public, total_cost, total_sigma
from dpsql.session.table_state import TableState, measurement_axes, same_shape

_RECENT = 8192
MEASURED_SHARE = 1 / 3
"""A measurement whose exact bound is below this share of theta answers without a test."""


class Asker:
    """Answers linear queries of one session. Not thread-safe: the session holds a lock."""

    def __init__(self, policy: Policy, plan: Plan, engine: Engine, ledger: Ledger, entropy: Entropy) -> None:
        self.policy = policy
        self.plan = plan
        self.accountant = Accountant.of(plan)
        self.states = {t.name: TableState.make(t, plan, policy) for t in policy.tables}
        self._engine = engine
        self._ledger = ledger
        self._entropy = entropy
        self._reservation: int | None = None
        self._exhausted = False
        self._seen = 0
        self._recent: OrderedDict[str, Answer] = OrderedDict()
        self._fold(ledger.events())

    # --- state is a fold of the ledger -------------------------------------------------------------------------

    def catch_up(self) -> None:
        """Absorb what other processes have released since."""
        if self._ledger.changed():
            self._follow()

    def _follow(self) -> None:
        """Fold what is new in the ledger, own releases included: in the ledger's order, so that replay is the same."""
        self._exhausted = False
        self._fold(self._ledger.events(self._seen))

    def _fold(self, events: Iterable[Event]) -> None:
        for event in events:
            self._seen = max(self._seen, event.sequence)
            if event.kind == "release":
                self._absorb(event.payload["kind"], decode_measurement(event.payload))
        for state in self.states.values():
            if state.pending and row_count_is_public(self.policy, state.table):
                self._know_total(state)  # a public count is in no event, and measurements without it answer nothing

    def _absorb(self, kind: str, measurement: Measurement) -> None:
        state = self.states[measurement.table]
        if kind == TOTAL:
            state.know_total(measurement)
        else:
            state.absorb(measurement)

    # --- the budget --------------------------------------------------------------------------------------------

    def pending_totals(self) -> int:
        """Units kept back for row counts that are not measured yet."""
        return self._totals(known=False)

    def hard_rounds_left(self) -> int:
        """Hard rounds that the budget still covers, the one held in reserve included."""
        totals = self._ledger.totals()
        if self.plan.hard_rounds == 0:
            return 0
        reserved = totals.reserved - (self.plan.hard_cost if self._reservation is not None else 0)
        free = self.plan.total_units - totals.spent - reserved - self.pending_totals()
        return max(0, min(free // self.plan.hard_cost, self.plan.hard_rounds))

    def spent_on_totals(self) -> int:
        """Units that row counts have cost so far."""
        return self._totals(known=True)

    def _totals(self, *, known: bool) -> int:
        asked = (s.table for s in self.states.values() if (s.model is not None) == known)
        return sum(total_cost(self.plan, self.policy, table) for table in asked)

    def total_share(self, table: str) -> float:
        """What the first question to ``table`` charges for its row count, in epsilon; 0.0 once it is known."""
        state = self.states[table]
        if state.model is not None:
            return 0.0
        return self.plan.epsilon_share(total_cost(self.plan, self.policy, state.table))

    def remaining_share(self) -> float:
        """Epsilon not spent yet, reservations of other processes taken off."""
        totals = self._ledger.totals()
        own = self.plan.hard_cost if self._reservation is not None else 0
        return self.plan.epsilon_share(max(0, self.plan.total_units - totals.spent - totals.reserved + own))

    def check_total(self, table: str) -> None:
        """BudgetExhausted when the table's row count is unknown and cannot be paid any more."""
        state = self.states[table]
        if state.model is None:
            totals = self._ledger.totals()
            cost = total_cost(self.plan, self.policy, state.table)
            own = self.plan.hard_cost if self._reservation is not None else 0
            try:
                self.accountant.check(totals.spent, totals.reserved - own, cost)
            except BudgetExhausted:
                self._follow()
                if state.model is None:  # else another session has just paid for it
                    raise

    def worst_hard_rounds(self, queries: Sequence[LinearQuery]) -> int:
        """Hard rounds that the queries may need at most: one per scope that no measurement answers."""
        scopes: list[LinearQuery] = []
        for q in queries:
            if self.path(q)[0] in ("test", "uncertified") and not any(same_shape(q, s) for s in scopes):
                scopes.append(q)
        return len(scopes)

    def path(self, query: LinearQuery) -> tuple[str, float | None]:
        """How a query would be answered now (cache, measurement, test, uncertified) and its 95 % bound in counts."""
        known = self.known(query)
        if known is not None:
            return "cache", known.error
        state = self.states[query.table]
        found = None if state.model is None else state.model.measured(query)
        if found is not None:
            bound = error_bound(found[1], not query.is_indicator)
            if bound <= _measured_limit(state, query):
                return "measurement", float(bound)
        if state.net.hard_rounds == 0 or self.hard_rounds_left() == 0:
            return "uncertified", None
        return "test", float(state.bound)

    def _reserve_hard_round(self) -> int | None:
        """The reservation that pays for one hard round, standing until it is used; ``None`` when none is left."""
        if self._reservation is None and not self._exhausted:
            kept = self.pending_totals()

            def check(totals: Totals) -> None:
                self.accountant.check(totals.spent, totals.reserved + kept, self.plan.hard_cost)

            payload = {"purpose": "hard round", "burn": self.plan.test_cost}
            try:
                self._reservation = self._ledger.reserve(self.plan.hard_cost, check, payload)
            except BudgetExhausted:
                self._exhausted = True  # until another process changes the ledger
        return self._reservation

    # --- answers -----------------------------------------------------------------------------------------------

    def known(self, query: LinearQuery) -> Answer | None:
        """The answer once given to an equal question, free of charge."""
        answer = self._recent.get(query.key)
        if answer is None:
            answer = self._ledger.lookup(query.key)
        return None if answer is None else replace(answer, charged=0.0)

    def ask(self, query: LinearQuery, siblings: Sequence[LinearQuery] = ()) -> Answer:
        """The answer to a query that is not known, in counts: measured, easy, hard, or uncertified."""
        state = self.states[query.table]
        model, charged = self._know_total(state)
        limit = _measured_limit(state, query)
        found = model.measured(query, limit / 1.96)
        if found is not None and error_bound(found[1], not query.is_indicator) <= limit:
            return self._keep(query, _measured_answer(query, *found, charged=charged))
        query.check_sensitivity()
        estimate = round(model.estimate(query))
        reservation = None if state.net.hard_rounds == 0 else self._reserve_hard_round()
        if reservation is None:
            if self.policy.mechanism.when_spent == "refuse":  # another session was faster
                share = self.plan.epsilon_share(self.plan.hard_cost)
                raise BudgetExhausted("no hard round is left", requested=share, remaining=self.remaining_share())
            found = model.measured(query, state.bound / 1.96)
            return self._keep(query, _untested(query, estimate, found, state.bound, charged))
        value = self._counts(query).map(query.floor)
        self._reservation = None  # an interrupt may lose a hard outcome: then nothing is tested under it again
        with self._ledger.drawing(reservation):
            outcome = two_sided(value, estimate, state.theta, state.test, self._entropy)
            if outcome.hard:
                record = {"query": query.key, "table": query.table, "estimate": estimate, "side": outcome.value}
                self._ledger.hard(reservation, record)
        if outcome.hard:
            return self._measure(state, model, query, siblings, reservation, charged)
        self._reservation = reservation
        bound = state.bound + (not query.is_indicator)
        return self._keep(query, _exact(estimate, bound, "hypothesis", charged))

    def ask_after_measurement(self, query: LinearQuery) -> Answer | None:
        """The answer from a measurement made for the same statement, without a test; ``None`` if it is too coarse."""
        model = self.states[query.table].model
        found = None if model is None else model.measured(query)
        return None if found is None else self._keep(query, _measured_answer(query, *found))

    def _keep(self, query: LinearQuery, answer: Answer) -> Answer:
        self._remember_recent(query, answer)
        self._ledger.remember([(query.key, answer)])
        return answer

    def _remember_recent(self, query: LinearQuery, answer: Answer) -> None:
        self._recent[query.key] = answer
        if len(self._recent) > _RECENT:
            self._recent.popitem(last=False)

    def _counts(self, query: LinearQuery) -> Private[Counts]:
        if query.keyed is None:
            return self._engine.contingency(query.table, query.scope)
        return self._engine.keyed_counts(query.table, query.keyed.text_columns, query.keyed.keys, query.scope)

    def _measure(
        self,
        state: TableState,
        model: TableModel,
        query: LinearQuery,
        siblings: Sequence[LinearQuery],
        reservation: int,
        charged: float,
    ) -> Answer:
        """The hard round after its record is durable: measure the scope, make that durable, absorb, answer."""
        same = [s for s in siblings if same_shape(s, query)]
        sigma = state.net.sigma
        axes = measurement_axes(query, same, model.total, float(sigma), state.bound)
        scope = tuple(c for a in axes for c in a.columns)
        keyed = query.keyed
        text: tuple[str, ...] = ()
        keys: tuple[Key, ...] = ()
        if keyed is None:
            counts = self._engine.contingency(query.table, scope)
        else:
            text, keys = keyed.text_columns, _all_keys(query, same)
            counts = self._engine.keyed_counts(query.table, text, keys, scope)
        parts = counts.map(lambda c: np.asarray(coarsen(c, axes, keyed is not None), dtype=np.int64))
        measurement = Measurement(query.table, axes, measure(parts, sigma, self._entropy), float(sigma), text, keys)
        found = measurement.answer(query)
        if found is None:
            raise InternalError("a hard round measured parts that do not determine its own query")
        charged += self.plan.epsilon_share(self.plan.hard_cost)
        answer = _measured_answer(query, *found, charged=charged)
        self._ledger.release(reservation, encode_measurement(CONTINGENCY, measurement), [(query.key, answer)])
        self._remember_recent(query, answer)
        self._follow()
        return answer

    def _know_total(self, state: TableState) -> tuple[TableModel, float]:
        """The table's model, its number of rows made known first; what that charged, in epsilon."""
        if state.model is not None:
            return state.model, 0.0
        name = state.table.name
        rows = self._engine.contingency(name, ())
        if row_count_is_public(self.policy, state.table):
            exact = np.array(public_total(rows, self.policy.privacy.neighbors, state.table))
            return state.know_total(Measurement(name, (), exact, 0.0)), 0.0
        charged = self._measure_total(state, rows)
        model = self.states[name].model
        if model is None:
            raise InternalError("a released row count is not in the ledger")
        return model, charged

    def _measure_total(self, state: TableState, rows: Private[Counts]) -> float:
        """Measure the row count unless another session just did; what that charged, in epsilon."""
        name, cost = state.table.name, total_cost(self.plan, self.policy, state.table)
        try:
            reservation = self._ledger.reserve(
                cost,
                lambda totals: self.accountant.check(totals.spent, totals.reserved, cost),
                {"purpose": "row count", "table": name, "burn": cost},
            )
        except BudgetExhausted:
            self._follow()
            if state.model is None:
                raise
            return 0.0
        self._follow()
        if state.model is not None:
            self._ledger.free(reservation)
            return 0.0
        sigma = total_sigma(self.plan, self.policy, state.table)
        with self._ledger.drawing(reservation):
            values = measure(rows, sigma, self._entropy)
            measurement = Measurement(name, (), values, float(sigma))
            self._ledger.release(reservation, encode_measurement(TOTAL, measurement))
        self._follow()
        return self.plan.epsilon_share(cost)

    def close(self) -> None:
        """Give the unused reservation back."""
        if self._reservation is not None:
            reservation, self._reservation = self._reservation, None
            self._ledger.free(reservation)


def _all_keys(query: LinearQuery, siblings: Sequence[LinearQuery]) -> tuple[Key, ...]:
    keys = {k for q in (query, *siblings) if q.keyed is not None for k in q.keyed.keys}
    return tuple(sorted(keys, key=sort_key))


def _measured_limit(state: TableState, query: LinearQuery) -> float:
    """The largest exact bound (counts) with which a measurement answers without a test: public numbers only.

    The row count is always its own measurement's, and so is everything when there are no tests.
    """
    is_row_count = query.keyed is None and not query.factors
    return inf if is_row_count or state.net.hard_rounds == 0 else MEASURED_SHARE * state.theta


def _exact(value: int, bound: int, source: Source, charged: float) -> Answer:
    """An answer in counts with a guaranteed bound; the interval of a count does not go below 0."""
    low, high = max(0, value - bound), max(0, value + bound)
    interval = (float(low), float(high))
    return Answer(value, float(bound), interval, "exact", source, True, float(bound), charged)


def _measured_answer(query: LinearQuery, value: int, sd: float, charged: float = 0.0) -> Answer:
    return _exact(value, error_bound(sd, not query.is_indicator), "measurement", charged)


def _untested(query: LinearQuery, estimate: int, found: tuple[int, float] | None, bound: int, charged: float) -> Answer:
    """No test is left: the measurement if its noise is below what a test would certify, else the bare model."""
    if found is not None and error_bound(found[1], not query.is_indicator) <= bound:
        return _measured_answer(query, *found, charged=charged)
    return Answer(estimate, None, None, "calibrated", "hypothesis", certified=False, charged=charged)
