"""One linear query, from cache to answer: the order of steps is the privacy argument (docs/privacy.md)."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpsql.accounting import Plan
from dpsql.confidence import DEVIATIONS
from dpsql.engine.protocol import Engine
from dpsql.errors import BudgetExhausted, InternalError
from dpsql.hypothesis import Measurement, TableModel, error_bound
from dpsql.ledger.protocol import Ledger
from dpsql.mechanism import Entropy, public_total, two_sided
from dpsql.policy import Policy
from dpsql.query import LinearQuery
from dpsql.result import Answer
from dpsql.session.answers import exact, from_measurement, from_model, rounded_together, untested
from dpsql.session.ledger_fold import LedgerFold
from dpsql.session.measuring import Measurer
from dpsql.session.paying import Payer, unpaid
from dpsql.session.planning import question_cost
from dpsql.session.purses import Purses
from dpsql.session.starting import Starter
from dpsql.session.table_state import TableState, own_sd, same_shape
from dpsql.session.text_starting import TextStarter
from dpsql.session.total_starting import TotalStarter
from dpsql.session.warm_starting import WarmStarter

_RECENT = 8192


class Asker:
    """Answers linear queries of one session. Not thread-safe: the session holds a lock."""

    def __init__(self, policy: Policy, plan: Plan, engine: Engine, ledger: Ledger, entropy: Entropy) -> None:
        self.policy = policy
        self.plan = plan
        self._fold = LedgerFold(policy, plan, ledger)
        self.states = self._fold.states
        self.purses = Purses(policy, plan, ledger, self.states)
        self._starter = Starter(plan, ledger, self.purses, self._follow, self._settle)
        self.total_starter = TotalStarter(policy, plan, engine, ledger, entropy, self._starter)
        self.warm_starter = WarmStarter(policy, plan, engine, ledger, entropy, self._starter)
        self.text_starter = TextStarter(plan, engine, ledger, entropy, self._starter, self._fold.delta_spent)
        self._engine = engine
        self._ledger = ledger
        self._measurer = Measurer(policy, plan, engine, entropy)
        self._payer = Payer(policy, plan, engine, ledger, entropy, self._starter)
        self._entropy = entropy
        self._reservation: int | None = None
        self._exhausted = False
        self._half_followed = False
        self._recent: OrderedDict[str, Answer] = OrderedDict()
        self._follow()

    def catch_up(self) -> None:
        """Absorb what other processes have released since."""
        self._reservation = self._ledger.settle(self._reservation)  # what an interrupt left open
        if self._half_followed or self._ledger.changed():
            self._follow()

    def _settle(self) -> None:
        """Close what nobody works under any more, in this session or in dead ones, and absorb what is new."""
        self._reservation = self._ledger.settle(self._reservation, dead=True)
        self._follow()

    def _follow(self) -> None:
        """Fold what is new in the ledger, own releases included: in the ledger's order, so that replay is the same.

        All anew if that was interrupted the last time.
        """
        if self._half_followed:
            self._fold.restart()
        self._exhausted = False
        self._half_followed = True  # an event that is missed could let a selection of keys be made twice
        self._fold.follow()
        for state in self.states.values():
            if state.pending and state.total is None:
                self._know_total(state)  # a public count is in no event, and measurements without it answer nothing
        self._half_followed = False

    # --- the budget --------------------------------------------------------------------------------------------

    @property
    def _own(self) -> int:
        """Hard rounds that the session itself keeps in reserve: 0 or 1."""
        return int(self._reservation is not None)

    def hard_rounds_left(self) -> int:
        """Hard rounds that the budget still covers, the one held in reserve included."""
        return self.purses.hard_rounds_left(self._own)

    def remaining_share(self) -> float:
        """Epsilon not spent yet, reservations of other processes taken off."""
        return self.purses.remaining_share(self._own)

    def check_total(self, table: str) -> None:
        """BudgetExhausted when the table's row count is unknown and cannot be paid any more."""
        self.total_starter.check(self.states[table])

    def payments_left(self) -> int:
        """How often the budget still pays: for hard rounds, or for questions with noise of their own."""
        return self.purses.questions_left() if self.plan.questions else self.hard_rounds_left()

    def payment_share(self) -> float:
        """What one such payment charges, in epsilon."""
        cost = question_cost(self.plan, self.policy) if self.plan.questions else self.plan.hard_cost
        return self.plan.epsilon_share(cost)

    @property
    def payment_name(self) -> str:
        return "planned question" if self.plan.questions else "hard round"

    def worst_payments(self, queries: Sequence[LinearQuery]) -> int:
        """Payments that the queries may need at most: one per shape that no measurement answers."""
        scopes: list[LinearQuery] = []
        for q in queries:
            if self.path(q)[0] in ("test", "release", "uncertified") and not any(same_shape(q, s) for s in scopes):
                scopes.append(q)
        return len(scopes)

    def path(self, query: LinearQuery) -> tuple[str, float | None]:
        """How a query would be answered now and its 95 % bound in counts.

        cache, measurement, release (of its own), test, model (no test is made), or uncertified (none is left).
        """
        known = self.known(query)
        if known is not None:
            return "cache", known.error
        state = self.states[query.table]
        found = state.measured(query)
        if found is not None:
            return "measurement", float(error_bound(found[1], not query.is_indicator))
        if state.own_sigma > 0 and self.payments_left() > 0:
            return "release", float(error_bound(own_sd([query], float(state.own_sigma)), not query.is_indicator))
        bar = state.error_bar(query)
        error = None if bar is None else float(bar)
        if not state.is_tested(query):
            return "model", error
        if state.net.hard_rounds == 0 or self.hard_rounds_left() == 0:
            return "uncertified", error
        certified = state.bound if state.model is None else state.certificate(query)
        return "test", float(certified) if error is None and certified is not None else error

    def _reserve_hard_round(self) -> int | None:
        """The reservation that pays for one hard round, standing until it is used; ``None`` when none is left."""
        if self._reservation is None and not self._exhausted:
            payload = {"purpose": "hard round", "burn": self.plan.test_cost, "tests": 1}
            self._reservation = self._starter.reserve_beside(self.plan.hard_cost, payload, tests=1)
            self._exhausted = self._reservation is None  # until another process changes the ledger
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
        if state.asked_together(query):
            return self.ask_together([query])[0]
        model, charged = self._know_total(state)
        if query.scope:
            charged += self.warm_starter.run(state, query.scope)
        found = state.measured(query)
        if found is not None:
            return self._keep(query, from_measurement(query, *found, charged=charged))
        query.check_sensitivity()
        estimate = round(model.estimate(query))
        reservation = None if state.net.hard_rounds == 0 else self._reserve_hard_round()
        if reservation is None:
            self._check_untested()
            found = model.measured(query, state.bound / DEVIATIONS)
            return self._keep(query, untested(query, estimate, found, state.bound, charged))
        self._measurer.note(model, query)
        if self._is_hard(state, query, estimate, reservation):
            same = [s for s in siblings if same_shape(s, query)]
            return self._measure(state, model, query, same, reservation, [query], charged)[0]
        bound = state.bound + (not query.is_indicator)
        return self._keep(query, exact(estimate, bound, "hypothesis", charged))

    def ask_together(self, queries: Sequence[LinearQuery]) -> list[Answer]:
        """Answers to one statement's queries of one shape, none of them known: all from one measurement or one model.

        So the cells of a GROUP BY add up. For queries with first measurements, which are made here if they are not yet,
        or with noise for each question alone.
        """
        state, keyed = self.states[queries[0].table], queries[0].keyed
        model, charged = self._know_total(state)
        if queries[0].scope:
            charged += self.warm_starter.run(state, queries[0].scope)
        if keyed is not None:
            charged += self.text_starter.run(state, keyed.text_columns)
        found = [state.measured(q) for q in queries]
        if None not in found:
            answers = [from_measurement(q, *f) for q, f in zip(queries, found, strict=True) if f is not None]
        elif state.own_sigma > 0:
            answers = self._paid(state, model, queries)
        else:
            answers = self._modelled(state, model, queries)
        answers[0] = replace(answers[0], charged=answers[0].charged + charged)
        for query, answer in zip(queries, answers, strict=True):
            self._remember_recent(query, answer)
        self._ledger.remember([(q.key, a) for q, a in zip(queries, answers, strict=True)])
        return answers

    def _paid(self, state: TableState, model: TableModel, queries: Sequence[LinearQuery]) -> list[Answer]:
        """One release for all; when no question is left, what earlier ones say, or the model, not certified."""
        answers = self._payer.pay(state, queries)
        if answers is None:
            if any(state.measured(q) is None for q in queries):
                self._check_untested()
            answers = [unpaid(state, model, q) for q in queries]
        return answers

    def _modelled(self, state: TableState, model: TableModel, queries: Sequence[LinearQuery]) -> list[Answer]:
        """The model's answers if all pass the test or none is made; else the measurement of a hard round."""
        estimates = rounded_together(model.estimate(q) for q in queries)
        passed = 0
        if state.net.hard_rounds > 0 and state.is_tested(queries[0]):
            for query, estimate in zip(queries, estimates, strict=True):
                query.check_sensitivity()
                reservation = self._reserve_hard_round()
                if reservation is None:
                    self._check_untested()
                    break
                self._measurer.note(model, query)
                if self._is_hard(state, query, estimate, reservation):
                    return self._measure(state, model, query, queries, reservation, queries, 0.0)
                passed += 1
        return [
            from_model(estimate, state.error_bar(query), state.certificate(query) if i < passed else None, 0.0)
            for i, (query, estimate) in enumerate(zip(queries, estimates, strict=True))
        ]

    def _check_untested(self) -> None:
        """BudgetExhausted where the policy wants no answer without a test: another session was faster."""
        if self.policy.mechanism.when_spent == "refuse":
            share = self.payment_share()
            raise BudgetExhausted(f"no {self.payment_name} is left", requested=share, remaining=self.remaining_share())

    @property
    def selects_keys(self) -> bool:
        """Whether the plan releases frequent keys of text columns: then they can be groups."""
        return any(state.texts is not None for state in self.states.values())

    def keys(self, table: str, text_column: str) -> tuple[str | None, ...] | None:
        """The keys of a text column that may be shown, NULL last; ``None`` before its first touch."""
        state = self.states[table]
        found = None if state.texts is None else state.texts.keys(text_column)
        if found is None:
            return None
        prefix = state.table.prefixes.get(text_column)
        declared = state.table.by_name[(text_column if prefix is None else prefix.column).lower()]
        return (*found, None) if declared.nullable else found

    def release_keys(self, table: str, text_column: str) -> float:
        """Make the first touch of a text column, the row count before it; what that charged, in epsilon.

        BudgetExhausted when it cannot be paid any more.
        """
        state = self.states[table]
        _, charged = self._know_total(state)
        charged += self.text_starter.run(state, (text_column,))
        start = None if state.texts is None else state.texts.pending(text_column)
        if start is not None:
            raise BudgetExhausted(
                f"the first touch of {text_column} cannot be paid any more",
                requested=self.plan.epsilon_share(start.units),
                remaining=self.remaining_share(),
            )
        return charged

    def _is_hard(self, state: TableState, query: LinearQuery, estimate: int, reservation: int) -> bool:
        """The test, its hard outcome durable before anything else happens."""
        value = self._measurer.counts(query).map(query.floor)
        self._reservation = None  # an interrupt may lose a hard outcome: then nothing is tested under it again
        with self._ledger.drawing(reservation):
            outcome = two_sided(value, estimate, state.theta, state.test, self._entropy)
            if outcome.hard:
                record = {"query": query.key, "table": query.table, "estimate": estimate, "side": outcome.value}
                self._ledger.hard(reservation, record)
        if not outcome.hard:
            self._reservation = reservation
        return outcome.hard

    def ask_after_measurement(self, query: LinearQuery) -> Answer | None:
        """The answer from a measurement made for the same statement, without a test; ``None`` if it is too coarse."""
        model = self.states[query.table].model
        found = None if model is None else model.measured(query)
        return None if found is None else self._keep(query, from_measurement(query, *found))

    def _keep(self, query: LinearQuery, answer: Answer) -> Answer:
        self._remember_recent(query, answer)
        self._ledger.remember([(query.key, answer)])
        return answer

    def _remember_recent(self, query: LinearQuery, answer: Answer) -> None:
        self._recent[query.key] = answer
        if len(self._recent) > _RECENT:
            self._recent.popitem(last=False)

    def _measure(
        self,
        state: TableState,
        model: TableModel,
        query: LinearQuery,
        same: Sequence[LinearQuery],
        reservation: int,
        answered: Sequence[LinearQuery],
        charged: float,
    ) -> list[Answer]:
        """The hard round after its record is durable: measure the scope, make that durable, absorb, answer."""
        payload, find = self._measurer.measure(state, model, query, same)
        charged += self.plan.epsilon_share(self.plan.hard_cost)
        answers = []
        for q in answered:
            found = find(q)
            if found is None:
                raise InternalError("a hard round measured parts that do not determine its own query")
            answers.append(from_measurement(q, *found, charged=charged if q is query else 0.0))
        self._ledger.release(reservation, payload, [(q.key, a) for q, a in zip(answered, answers, strict=True)])
        for q, answer in zip(answered, answers, strict=True):
            self._remember_recent(q, answer)
        self._follow()
        return answers

    def _know_total(self, state: TableState) -> tuple[TableModel, float]:
        """The table's model, its number of rows made known first; what that charged, in epsilon."""
        if state.model is not None:
            return state.model, 0.0
        if state.total is None:
            rows = self._engine.contingency(state.table.name, ())
            stored = self._engine.is_base_table(state.table.name)
            exact = np.array(public_total(rows, self.policy.privacy.neighbors, state.table, is_base_table=stored))
            following, self._half_followed = self._half_followed, True  # until the state knows it whole
            model = state.know_total(Measurement(state.table.name, (), exact, 0.0))
            self._half_followed = following
            return model, 0.0
        charged = self.total_starter.run(state)
        if state.model is None:
            raise InternalError("a released row count is not in the ledger")
        return state.model, charged

    def close(self) -> None:
        """Give the unused reservation back."""
        if self._reservation is not None:
            reservation, self._reservation = self._ledger.settle(self._reservation), None
            if reservation is not None:  # else an interrupt has left its outcome unknown
                self._ledger.free(reservation)
