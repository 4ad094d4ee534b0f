"""Linear queries from cache to answer: performs the routes, in the order that docs/privacy.md argues about.

Only here are a reservation, a coin and a release brought together; what is decided before is decided in ``route``.
"""

from collections.abc import Sequence
from dataclasses import replace

from dpsql.accounting import Plan
from dpsql.engine.protocol import Engine
from dpsql.errors import BudgetExhausted, InternalError
from dpsql.first import (
    Bench,
    Progress,
    Purses,
    Turns,
    check_row_count,
    measure_contingencies,
    measure_row_count,
    measure_strings,
    published_row_count,
    read_listed,
)
from dpsql.hypothesis import TableModel
from dpsql.hypothesis.rules import MODEL_RULES
from dpsql.ledger import Ledger, interrupts_held
from dpsql.mechanism import Entropy
from dpsql.planning import Shares, plan_tables
from dpsql.policy import Policy
from dpsql.query import Crosstab, LinearQuery
from dpsql.result import Answer
from dpsql.session.answers import from_measurement, from_model, with_charge
from dpsql.session.given import Given
from dpsql.session.hard_round import HardRound
from dpsql.session.ledger_fold import LedgerFold
from dpsql.session.model.beside_model import Beside
from dpsql.session.model.modelled import barred, certified, estimates_of, modelled, told, unguarded
from dpsql.session.model.net_test import NetTest, net_tests
from dpsql.session.own.by_value.counted import NO_COUNTS, NO_ROWS, Counts, counts_among, rows_known, waits
from dpsql.session.own.release import release_own
from dpsql.session.route import (
    AnsweredBefore,
    Declared,
    Measured,
    Modelled,
    OwnRelease,
    Route,
    SpareRelease,
    Tested,
    Untested,
    by_outline,
    by_word_alone,
    route,
    spares_of,
    tables_asked,
)
from dpsql.session.strings.by_word import by_word, narrower
from dpsql.session.strings.read import as_measured
from dpsql.session.strings.released import released_keys
from dpsql.session.table_state import TableState


class Asker:
    """Answers linear queries of one session; its other releases share ``bench``, ``turns`` and ``fold``. No locks.

    ``selects_keys``: whether the plan says of text columns which keys are released, or that none could be.
    """

    def __init__(self, policy: Policy, plan: Plan, engine: Engine, ledger: Ledger, entropy: Entropy) -> None:
        self.policy = policy
        self.plan = plan
        self.on_progress: Progress | None = None
        plans = plan_tables(plan, policy)
        self.fold = LedgerFold(plans, ledger)
        self.states = self.fold.states
        self.payment = Shares(plan, policy).payment
        self.purses = Purses(plan, ledger, self.fold.touches, self.payment, self.fold.used)
        self.bench = Bench(plan, engine, ledger, entropy)
        self.paid = self.bench.paid
        self.selects_keys = any(p.texts or p.unshown for p in plans.values())
        self.turns = Turns(plan, ledger, self.purses, self.paid, self._follow, self._settle)
        self._ledger = ledger
        self._hard_round = HardRound(self.bench)
        self._reservation: int | None = None
        self._exhausted = False
        self._rows = NO_ROWS
        self._half_followed = False
        self.given = Given(ledger, self.fold)
        self._follow()

    # --- the ledger --------------------------------------------------------------------------------------------

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
            self.fold.restart()
        self._exhausted = False
        self._half_followed = True  # an event that is missed could let a selection of keys be made twice
        self.fold.follow()
        for state in self.states.values():
            if state.unabsorbed and state.plan.row_count_is_public:
                self._know_row_count(state)  # a public count is in no event, and without it measurements answer nothing
        self._half_followed = False

    def close(self) -> None:
        """Give the unused reservation back."""
        if self._reservation is not None:
            reservation, self._reservation = self._ledger.settle(self._reservation), None
            if reservation is not None:  # else an interrupt has left its outcome unknown
                self._ledger.free(reservation)

    # --- the budget --------------------------------------------------------------------------------------------

    @property
    def _own(self) -> int:
        """Hard rounds that the session itself keeps in reserve: 0 or 1."""
        return int(self._reservation is not None)

    def remaining_epsilon(self) -> float:
        """Epsilon not spent yet, reservations of other processes taken off."""
        return self.purses.remaining_epsilon(self._own)

    def payments_left(self) -> int:
        """How often the budget still pays: for hard rounds, or for questions with noise of their own."""
        return self.purses.payments_left(self._own)

    def payment_epsilon(self) -> float:
        """What one such payment charges, in epsilon."""
        return self.plan.as_epsilon(self.payment.units)

    def check(self, missing: Sequence[LinearQuery]) -> None:
        """BudgetExhausted unless the row counts of the tables can be paid, and with "refuse" all of the statement.

        A statement that cannot be paid in full is never answered in part. Draws nothing and charges nothing.
        """
        for name in tables_asked(self.states, missing):
            check_row_count(self.states[name].touches.row_count, self.bench, self.turns)
        if self.policy.mechanism.when_spent == "refuse":
            worst = sum(r.payments for r in self.routes(missing))
            cost, tests = worst * self.payment.units, worst * self.payment.tests
            if not self.turns.can_pay_beside(lambda: worst <= self.payments_left(), cost, tests):
                share, left = self.payment_epsilon(), self.payments_left()
                raise BudgetExhausted(
                    f"this statement may need {worst} {self.payment.name}s, {left} are left",
                    requested=worst * share,
                    remaining=left * share,
                )

    def _check_untested(self) -> None:
        """BudgetExhausted where the policy wants no answer without a test."""
        if self.policy.mechanism.when_spent == "refuse":
            share = self.payment_epsilon()
            raise BudgetExhausted(
                f"no {self.payment.name} is left", requested=share, remaining=self.remaining_epsilon()
            )
        self.turns.go_without()

    def _reserve_hard_round(self) -> int | None:
        """The reservation that pays for one hard round, standing until it is used; ``None`` when none is left."""
        if not self.turns.allows(self.plan.hard_cost):
            return None
        if self._reservation is None and not self._exhausted:
            payload = {"purpose": "hard round", "burn": self.plan.test_cost, "tests": 1}
            self._reservation = self.turns.reserve_beside(self.plan.hard_cost, payload, tests=1)
            self._exhausted = self._reservation is None  # until another process changes the ledger
        return self._reservation

    # --- the route ---------------------------------------------------------------------------------------------

    def routes(self, queries: Sequence[LinearQuery]) -> list[Route]:
        """How the queries would be answered now, in their order of outlines; draws nothing and charges nothing."""
        spent, spares = self.payments_left() == 0, self.purses.spares_left()
        out: list[Route] = []
        for group in by_outline(queries):
            found = self.known_of(group)
            known = tuple(q for q in group if q.digest in found)
            if known:
                out.append(AnsweredBefore(known, tuple(found[q.digest] for q in known)))
            missing = tuple(q for q in group if q.digest not in found)
            ways = route(self.states[group[0].table], missing, spent=spent, spares=spares) if missing else ()
            spares -= spares_of(ways)
            out += ways
        return out

    def ask(self, queries: Sequence[LinearQuery], counts: Counts = NO_COUNTS) -> dict[str, Answer]:
        """Answers in counts by digest, all or none of them: what was known is free. Queries of one outline are answered
        together, in the order in which outlines occur, but for sums: after the ``counts`` of their rows, by digests.

        BudgetExhausted, before anything is charged, when the statement cannot be paid.
        """
        answers = self.known_of(queries)
        missing = [q for q in queries if q.digest not in answers] if len(answers) < len(queries) else []
        if missing:
            self.check(missing)
            rules = MODEL_RULES[self.plan.models]
            beside = counts if rules.about_middle and self.plan.questions else NO_COUNTS
            counts = counts if self.plan.questions else counts_among(queries, counts, rules)
            last = counts if rules.fine else beside
            with self.fold.pace.held():
                for group in sorted(by_outline(missing), key=lambda same: waits(same, last, rules)):
                    counted = {q.digest: beside[q.digest] for q in group if q.digest in beside}
                    self.states[group[0].table].own.know_counts(counted, self.known_of(list(counted.values())))
                    self._rows = rows_known(group, counts, self.known_of, rules)
                    answers.update(self._answered(group))
        return answers

    def known(self, query: LinearQuery) -> Answer | None:
        """The answer once given to an equal question, free of charge."""
        return self.known_of([query]).get(query.digest)

    def known_of(self, queries: Sequence[LinearQuery]) -> dict[str, Answer]:
        """The same of each of the queries that was answered, by digest."""
        return self.given.of(queries)

    def _answered(self, group: tuple[LinearQuery, ...]) -> list[tuple[str, Answer]]:
        """One outline's queries: what is measured first for them, then their routes; kept, and absorbed."""
        query = group[0]
        state = self.states[query.table]
        self.fold.pace.ask()
        asked = Crosstab.of(group)
        said = by_word_alone(state, asked)
        if said:
            return self._kept([(q, a) for way in said for q, a in zip(way.queries, way.answers, strict=True)])
        charged = self.first_touches(query.table, query.touched, query.keyed.text_columns if query.keyed else ())
        read_listed(state.touches.listed, asked, self.bench, self.turns)
        model = _known(state)
        given: list[tuple[LinearQuery, Answer]] = []
        for way in route(state, asked, spent=self._exhausted, spares=self.purses.spares_left()):
            given += zip(way.queries, self._perform(state, model, way, charged), strict=True)
            charged = 0.0  # shown once, and so in the first answer that a release makes durable
        return self._kept(given)

    def _kept(self, given: Sequence[tuple[LinearQuery, Answer]]) -> list[tuple[str, Answer]]:
        """Answers by digest, remembered for equal questions."""
        kept = [(q.digest, a) for q, a in given]
        if self.turns.held_back:
            return kept
        new = self._ledger.remember(kept)
        if not new or any(a.charged for _, a in kept):  # another session was told the same at the same moment
            durable = self._ledger.lookup_all([key for key, _ in kept])
            kept = [(key, replace(durable.get(key) or a, charged=a.charged)) for key, a in kept]
        self.given.keep(kept)
        return kept

    def _perform(self, state: TableState, model: TableModel, way: Route, charged: float) -> Sequence[Answer]:
        """The answers of one route, in its queries' order; ``charged`` (epsilon) is added to the first one."""
        match way:
            case AnsweredBefore() | Declared():
                return with_charge(way.answers, charged)
            case Measured():
                return with_charge(as_measured(state, way.queries, way.found), charged)
            case OwnRelease() | SpareRelease():
                return self._released(state, model, way, charged)
            case Tested():
                return self._tested(state, model, way.queries, charged)
            case Modelled():
                return with_charge(modelled(state, model, way.queries, self._rows), charged)
            case Untested():
                self._check_untested()
                return with_charge(modelled(state, model, way.queries, self._rows), charged)

    def _released(
        self, state: TableState, model: TableModel, way: OwnRelease | SpareRelease, charged: float
    ) -> Sequence[Answer]:
        """One release for all; where none is left or others were faster, what they released, or the model."""
        queries, spare = way.queries, isinstance(way, SpareRelease)
        with self.fold.pace.held(way.times if isinstance(way, SpareRelease) else None):
            answers = release_own(state, queries, self.bench, self.turns, charged, spare=spare)
        if answers is not None:
            return answers
        known = [a for q in queries if (a := self.known(q)) is not None]
        if len(known) == len(queries):
            return with_charge(known, charged)
        (rest,) = route(state, queries, spent=self._exhausted or not spare, spares=0)
        return self._perform(state, model, rest, charged)

    def _tested(
        self, state: TableState, model: TableModel, queries: Sequence[LinearQuery], charged: float
    ) -> Sequence[Answer]:
        """The model's answers if all pass their tests; else the measurement of a hard round."""
        estimates, bars, passed = estimates_of(state, model, queries), state.error_bars(queries), 0
        rules, shown = state.plan.rules, told(state, model, queries, estimates, self._rows)
        for test in net_tests(self._hard_round, model, queries, estimates, together=rules.tested_together):
            reservation = self._reserve_hard_round()
            if reservation is None:
                self._check_untested()
                break
            state.test.ready()  # which takes a minute at a small epsilon, and may be interrupted here
            with interrupts_held():
                if self._is_hard(state, test, reservation):
                    fine = [t.number for t in shown], barred(bars, shown)
                    beside = Beside.by(rules, test.alone, queries, *(fine if rules.fine_rounds else (estimates, bars)))
                    return self._measure(state, model, beside, reservation, charged)
            passed += len(test.queries)
        both = zip(queries[:passed], shown, estimates, barred(bars, shown), strict=False)
        tested = [from_model(one.number, bar, certified(state, q, one.number - e)) for q, one, e, bar in both]
        tested = narrower(tested, by_word(state.plan, queries[:passed]))
        return with_charge(tested + unguarded(state, model, queries[passed:], shown[passed:]), charged)

    # --- a hard round ------------------------------------------------------------------------------------------

    def _is_hard(self, state: TableState, test: NetTest, number: int) -> bool:
        """The test, its hard outcome durable before anything else happens."""
        self._reservation = None  # an interrupt may lose a hard outcome: then nothing is tested under it again
        with self.bench.tossing(number, self.plan.hard_cost):
            outcome = test.outcome(state.plan.theta, state.test, self.bench.entropy)
            hard = outcome.hard
            if hard:
                self._ledger.hard(number, test.names | {"table": state.plan.name, "side": outcome.value})
        if not hard:
            self._reservation = number
        return hard

    def _measure(
        self, state: TableState, model: TableModel, beside: Beside, reservation: int, charged: float
    ) -> list[Answer]:
        """The hard round after its record is durable: measure the scope, make that durable, absorb, answer."""
        queries = beside.queries
        self.bench.paid.units += self.plan.hard_cost  # it is hard: what fails from here on burns it
        payload, find = self._hard_round.measure(state, model, beside.one, queries)
        read = [found for found in find(queries) if found is not None]
        if len(read) < len(queries):
            raise InternalError("a hard round measured parts that do not determine its own query")
        certain = state.plan.certain_of(len(queries))
        measured = [from_measurement(q, *found, certain) for q, found in zip(queries, read, strict=True)]
        answers = narrower(beside.answers(measured, [sd for _, sd in read]), by_word(state.plan, queries))
        answers = with_charge(answers, charged + self.plan.as_epsilon(self.plan.hard_cost))
        self._ledger.release(reservation, payload, [(q.digest, a) for q, a in zip(queries, answers, strict=True)])
        self._follow()
        return answers

    # --- what is measured once ---------------------------------------------------------------------------------

    def first_touches(self, table: str, scope: tuple[str, ...] = (), text_columns: tuple[str, ...] = ()) -> float:
        """Measure what a question about finite and text columns waits for; what that charged, in epsilon.

        The row count comes before all else: BudgetExhausted when it cannot be paid. Of the others, what is lost or
        cannot be paid is done without.
        """
        state, charged = self.states[table], 0.0
        if state.model is None:
            charged = self._know_row_count(state)
        if scope and not state.touches.warm.is_ready(scope):
            warm = state.touches.warm
            charged += measure_contingencies(warm, scope, self.bench, self.turns, self.on_progress)
        if text_columns:
            texts, delta_spent = state.touches.texts, self.fold.delta_spent
            charged += measure_strings(texts, text_columns, self.bench, self.turns, delta_spent)
        return charged

    def _know_row_count(self, state: TableState) -> float:
        """Make the table's number of rows known, which starts its model; what that charged, in epsilon."""
        if not state.plan.row_count_is_public:
            return measure_row_count(state.touches.row_count, self.bench, self.turns)
        rows = published_row_count(state.plan.table, self.bench, self.policy.privacy.neighbors)
        following, self._half_followed = self._half_followed, True  # until the state knows it whole
        state.know_row_count(rows)
        self._half_followed = following
        return 0.0

    def keys(self, table: str, text_column: str) -> tuple[str | None, ...] | None:
        """The keys of a text column that may be shown, NULL last; ``None`` before its first touch."""
        return released_keys(self.states[table], text_column)

    def release_keys(self, table: str, text_column: str) -> float:
        """Make the first touch of a text column, the row count before it; what that charged, in epsilon.

        BudgetExhausted when it cannot be paid any more.
        """
        state = self.states[table]
        charged = self.first_touches(table, text_columns=(text_column,))
        start = state.touches.texts.unbegun(text_column)
        if start is not None:
            raise BudgetExhausted(
                f"the first touch of {text_column} cannot be paid any more",
                requested=self.plan.as_epsilon(start.units),
                remaining=self.remaining_epsilon(),
            )
        return charged


def _known(state: TableState) -> TableModel:
    """The table's model, after its row count became known."""
    if state.model is None:
        raise InternalError("a released row count is not in the ledger")
    return state.model
