"""A session: one policy, one ledger, one hypothesis. The whole way of a statement, one step per stage.

Whoever reads one file of the package should read ``Session._run_statement``: each of its steps is a room of the house.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from threading import RLock
from typing import NamedTuple, TypeVar

import numpy as np

from dpsql.accounting import Plan
from dpsql.collector import collected_seldom
from dpsql.domain import Parameters, TableDomain
from dpsql.engine.protocol import Engine
from dpsql.errors import Error, InternalError
from dpsql.hypothesis import MODEL_RULES
from dpsql.ledger.protocol import Ledger
from dpsql.mechanism import Entropy
from dpsql.planning import outlook
from dpsql.policy import Policy
from dpsql.query import Crosstab
from dpsql.result import NO_TERMS, Answer, Budget, Explanation, Note, Result, Terms
from dpsql.session.answers import with_charge
from dpsql.session.asker import Asker
from dpsql.session.crosstabs import ask_crosstab
from dpsql.session.distinct.asking import answers_of, check_limit, check_terms, plans_of, questions_of, worst_units
from dpsql.session.distinct.units import unasked_of
from dpsql.session.explaining import explained, explanation
from dpsql.session.notes import statement_notes
from dpsql.session.own.by_value.counted import counts_of
from dpsql.session.results import result
from dpsql.session.steps import FirstSteps, explained_in_steps, no_terms_in_steps
from dpsql.session.strings.released import ReleasedStrings
from dpsql.session.synthesizing import Synthesizing
from dpsql.session.terms.at_most import ask_at_most, check_strings
from dpsql.session.terms.explaining import explained_within
from dpsql.session.terms.within import ask_within
from dpsql.sql import FrontEnd
from dpsql.sql.counting.key_source import ReleasedRows
from dpsql.sql.counting.values.rules import FEW_STRETCHES
from dpsql.sql.public_sql import PublicSql
from dpsql.sql.statement import Statement
from dpsql.synthesis.released import SyntheticTable
from dpsql.synthesis.wanted import RunForecast, Wanted

T = TypeVar("T")
_NO_ROWS: ReleasedRows = {}


def utc_now() -> datetime:
    """What clock functions of a statement stand for."""
    return datetime.now(UTC)


MANY_PLANNED = 512
"""Planned questions, or spare releases: of so many one list of values takes a small part."""


class _StatementAnswers(NamedTuple):
    """Answers by query key, or ``together`` those of one crosstab; ``touched``: what its first touches charged."""

    answers: dict[str, Answer]
    together: Sequence[Answer] | None
    notes: tuple[Note, ...]
    touched: float

    def after(self, charged: float) -> "_StatementAnswers":
        """The same, with ``charged`` shown at the first of the answers, beside what they charged themselves."""
        if charged <= 0:
            return self
        if self.together is not None:
            return self._replace(together=with_charge(self.together, charged))
        answers = dict(self.answers)
        for first in list(answers)[:1]:
            answers[first] = replace(answers[first], charged=answers[first].charged + charged)
        return self._replace(answers=answers)


class Session:
    """Answers statements of one analyst; thread-safe by one lock, so statements run one after another."""

    def __init__(
        self, engine: Engine, ledger: Ledger, policy: Policy, plan: Plan, public: PublicSql, entropy: Entropy
    ) -> None:
        self._engine = engine
        self._ledger = ledger
        self._policy = policy
        self._plan = plan
        self._public = public
        rules = MODEL_RULES[plan.models]
        # a statement of many stretches would use up what is planned, or be refused for the hard rounds it may need
        paid_by_each = 0 < plan.questions + plan.spares < MANY_PLANNED or policy.mechanism.when_spent == "refuse"
        self._front_end = FrontEnd(
            policy,
            public,
            distances=rules.distances,
            by_value=rules.by_value,
            curves=rules.curves,
            cut_classes=rules.cut_classes,
            listed_by_value=rules.listed_by_value,
            stretches=FEW_STRETCHES if paid_by_each else rules.stretches,
            passed=rules.passed,
        )
        self._asker = Asker(policy, plan, engine, ledger, entropy)
        self._strings = ReleasedStrings(self._asker.states)
        self._lock = RLock()
        self._moment = utc_now()
        self._closed = False

    @property
    def notices(self) -> tuple[str, ...]:
        """What the owner should know about how the session was opened, one sentence each."""
        return tuple(self._ledger.notices)

    def execute(self, text: str, parameters: Parameters = None, terms: Terms = NO_TERMS) -> Result:
        """Lower, refuse or ask, combine, post-process; charged as the result says, on the analyst's terms.

        Raises ``dpsql.errors`` only, each with what the statement had ``charged`` before.
        """

        def work() -> Result:
            before = self._asker.paid.units
            return replace(self._execute(text, parameters, terms), paid=self._charged_since(before))

        return self._guarded(work)

    def _guarded(self, work: Callable[[], T]) -> T:
        """What ``work`` returns; only errors of dpsql leave, each with what had been paid when it was raised."""
        with self._lock:
            before = self._asker.paid.units
            self._moment = utc_now()
            try:
                with self._public.statement(), collected_seldom(), np.errstate(all="ignore"):
                    return work()
            except Error as error:
                error.after_charge(self._charged_since(before))
                raise
            except KeyboardInterrupt as stopped:
                paid = self._charged_since(before)
                if paid > 0.0:
                    stopped.add_note(f"epsilon {paid:.3g} was paid, and asked again it goes on from there")
                raise
            except Exception:  # noqa: BLE001 - whatever it is, its text and context may hold what is private
                failure = InternalError("dpsql failed in a way that it does not know")
            failure.after_charge(self._charged_since(before))
            raise failure

    def _charged_since(self, before: int) -> float:
        return self._plan.as_epsilon(self._asker.paid.units - before)

    def _execute(self, text: str, parameters: Parameters, terms: Terms) -> Result:
        asker = self._asker
        asker.catch_up()
        # what is asked in turn is paid as it was explained before
        with asker.fold.pace.held(), asker.turns.limited(terms.max_charge):
            return self._run_statement(text, parameters, terms)

    def _run_statement(self, text: str, parameters: Parameters, terms: Terms) -> Result:
        statement = self._lower(text, parameters)
        if statement.explained:
            return explained(self._explanation(statement, terms))
        if statement.defines is not None:
            self._front_end.define(statement.defines)
        steps = self._first(statement, terms)
        if steps.results:
            statement = self._lower(text, parameters, steps.rows)
        strings = 0.0
        if statement.awaited and terms.within is None:
            strings = self._release_strings(statement)
            statement = self._lower(text, parameters, steps.rows)
        asked = self._answer_questions(statement, terms)
        return self._shown(statement, asked.after(steps.charged + strings + asked.touched), steps.notes)

    def _release_strings(self, statement: Statement) -> float:
        """Release the strings that a statement awaits, if all that it asks then can be paid; what they charged."""
        others = check_limit(self._asker, questions_of(statement))
        check_strings(self._asker, statement, statement.queries, others)
        return sum((self._asker.release_keys(*column) for column in statement.awaited), 0.0)

    def _answer_questions(self, statement: Statement, terms: Terms) -> _StatementAnswers:
        together, touched = self._answer_as_crosstab(statement, terms)
        answers, notes = ({}, ()) if together is not None else self._answer_one_by_one(statement, terms)
        return _StatementAnswers(answers, together, notes, touched)

    def _shown(self, statement: Statement, asked: _StatementAnswers, of_steps: tuple[Note, ...]) -> Result:
        """What was asked, combined and taken through the outer statement."""
        return result(
            statement,
            asked.answers,
            self._public,
            tuple(dict.fromkeys([*of_steps, *statement_notes(statement, self._asker), *asked.notes])),
            unasked_of(self._asker, statement),
            rules=MODEL_RULES[self._plan.models],
            together=asked.together,
        )

    def _answer_as_crosstab(self, statement: Statement, terms: Terms) -> tuple[Sequence[Answer] | None, float]:
        """All that a statement of many groups asks, where nothing of it has a test or a release; what its first
        touches charged."""
        queries = statement.queries
        if terms != NO_TERMS or not isinstance(queries, Crosstab) or questions_of(statement):
            return None, 0.0
        return ask_crosstab(self._asker, queries)

    def _first(self, statement: Statement, terms: Terms) -> FirstSteps:
        """The answers of the statements inside one, in the order in which they stand there."""
        if statement.first and terms != NO_TERMS:
            raise no_terms_in_steps()
        before = self._asker.paid.units
        found = {text: self._execute(text, None, NO_TERMS) for text in statement.first}
        return FirstSteps(found, self._charged_since(before))

    def _answer_one_by_one(self, statement: Statement, terms: Terms) -> tuple[dict[str, Answer], tuple[Note, ...]]:
        queries, questions = statement.queries, questions_of(statement)
        check_terms(questions, terms)
        if terms.within is not None:
            return ask_within(self._asker, statement, queries, terms), ()
        if terms.max_charge is not None:
            others = check_limit(self._asker, questions)
            ask_others = partial(answers_of, self._asker, statement, questions)
            return ask_at_most(self._asker, statement, queries, others, ask_others)
        counts = counts_of(statement)
        if not questions:
            return self._asker.ask(queries, counts) | answers_of(self._asker, statement, questions), ()
        known = self._asker.known_of(queries)
        self._asker.check([q for q in queries if q.digest not in known])
        distinct = answers_of(self._asker, statement, questions)
        return self._asker.ask(queries, counts) | distinct, ()

    def explain(self, text: str, parameters: Parameters = None, terms: Terms = NO_TERMS) -> Explanation:
        """The statement's public plan; charges nothing, touches no data."""
        return self._guarded(lambda: self._explain(text, parameters, terms))

    def _explain(self, text: str, parameters: Parameters, terms: Terms) -> Explanation:
        self._asker.catch_up()
        return self._explanation(self._lower(text, parameters), terms)

    def _explanation(self, statement: Statement, terms: Terms) -> Explanation:
        if statement.first:
            if terms != NO_TERMS:
                raise no_terms_in_steps()
            first = {text: self._explanation(self._lower(text, None), NO_TERMS) for text in statement.first}
            return explained_in_steps(first, self._asker.remaining_epsilon())
        queries, questions = statement.queries, questions_of(statement)
        check_terms(questions, terms)
        if terms.within is not None:
            return explained_within(statement, queries, self._asker, terms)
        others, units = plans_of(self._asker, questions), worst_units(self._asker, questions)
        return explanation(statement, queries, self._asker, others, units)

    def foresee(self, wanted: Wanted) -> RunForecast:
        """What making a synthetic table would do and charge; charges nothing, touches no data."""
        return self._guarded(lambda: self._synthesizing(wanted).forecast())

    def synthesize(self, wanted: Wanted) -> SyntheticTable:
        """A synthetic table; charged as it says. The same again, after an interrupt too, is free as far as it came."""
        return self._guarded(lambda: self._synthesizing(wanted).make())

    def _synthesizing(self, wanted: Wanted) -> Synthesizing:
        self._asker.catch_up()
        return Synthesizing(self._asker, lambda text: self._lower(text, None, None), wanted)

    def budget(self) -> Budget:
        """What has been spent, over all processes that share the ledger."""
        with self._lock:
            asker, plan = self._asker, self._plan
            asker.catch_up()
            epsilon, spent = float(plan.epsilon), plan.as_epsilon(self._ledger.totals().spent)
            answered, free = self._ledger.count_answers()
            left = asker.payments_left()
            return Budget(
                epsilon,
                float(plan.delta),
                spent,
                epsilon - spent,
                left * asker.payment.tests,
                answered,
                free,
                asker.purses.shares(),
                tuple(outlook(state.plan, state.forecast()) for state in asker.states.values()),
                None if asker.payment.tests else left,
            )

    def spent_epsilon(self) -> float:
        """``budget().spent_epsilon`` alone, which costs microseconds."""
        with self._lock:
            return self._plan.as_epsilon(self._ledger.totals().spent)

    def tables(self) -> tuple[TableDomain, ...]:
        """The private tables as the policy declares them."""
        return self._policy.tables

    def public_tables(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """Names and DuckDB types of the columns of each public table."""
        return self._guarded(self._front_end.public_tables)

    def on_progress(self, report: Callable[[str, str, int, int], None]) -> None:
        """Call ``report(table, what, done, of)`` while a table is looked at for the first time."""
        self._asker.on_progress = report
        self._asker.turns.on_wait = lambda what, seconds: report(what, "in another session", seconds, 0)
        for state in self._asker.states.values():
            state.on_progress = report

    def close(self) -> None:
        """Give the unused reservation back, keep buffered answers; idempotent."""
        with self._lock:
            if not self._closed:
                self._closed = True
                try:
                    self._asker.close()
                finally:
                    self._ledger.close()
                    self._engine.close()

    def _lower(self, text: str, parameters: Parameters, rows: ReleasedRows | None = _NO_ROWS) -> Statement:
        keys = self._strings if self._asker.selects_keys else None
        return self._front_end.lower(text, parameters, keys=keys, rows=rows, moment=self._moment)
