"""Statements that charge at most what the analyst says: asked as ever where they cannot charge more, else for free.

A test charges only when it turns hard, and whether it does is known only after the coin. So a test counts as what it
may charge, and where that is too much the model answers untested, with its error bar, or nothing is answered. What is
compared with the limit is what ``explain`` foresees; what other sessions do meanwhile cannot make it dearer, for
reservations keep within the limit, too (``Turns``).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import product

from dpsql.errors import BudgetExhausted
from dpsql.hypothesis.rules import MODEL_RULES
from dpsql.query import LinearQuery
from dpsql.result import Answer, Note
from dpsql.session.asker import Asker
from dpsql.session.distinct.release import check_distinct_paid
from dpsql.session.foreseen import awaited_payments, first_measured, worst_units
from dpsql.session.model.modelled import modelled
from dpsql.session.own.by_value.counted import Counts, Rows, counts_among, counts_of, rows_known, waits
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
)
from dpsql.session.strings.read import as_measured
from dpsql.sql.statement import Statement

_UNTESTED = Note("plan", "not tested, for max_charge leaves nothing for a test: error bars are the model's own")


def ask_at_most(
    asker: Asker,
    statement: Statement,
    queries: Sequence[LinearQuery],
    others: int = 0,
    ask_others: Callable[[], dict[str, Answer]] = dict,
) -> tuple[dict[str, Answer], tuple[Note, ...]]:
    """Answers by digest, within the limit that ``asker.turns`` has, and what is to be said of them.

    ``ask_others``: what is no linear query of the statement, for so many units at most, as ever before the queries and
    after they were looked at. Questions bring no pairs of columns
    beside their own, and are paid as fewer spare releases, where that is enough. BudgetExhausted, at no charge, where
    the statement may charge more and is not known without.
    """
    most, pace = asker.turns.allowance(), asker.fold.pace
    for alone, times in product((False, True), range(pace.times(), 0, -1)):
        with pace.held(times), _one_by_one(asker, queries, alone):
            routes = asker.routes(queries)
            first = first_measured(asker, statement, queries, routes)
            worst = worst_units(asker, statement, first, routes, others)
            if most is None or worst <= most:
                known = asker.known_of(queries)
                asker.check([q for q in queries if q.digest not in known])
                answers = ask_others() | asker.ask(queries, counts_of(statement))
                return answers, (_UNTESTED,) if asker.turns.held_back else ()
    found = _free(asker, routes, counts_of(statement))
    if found is None:
        reason = "this may charge epsilon {}, more than max_charge"
        hint = "raise max_charge; what it asks is neither released nor known to the model"
        raise _too_dear(asker, reason, worst, hint)
    answers, notes = found
    return ask_others() | answers, notes


def check_strings(asker: Asker, statement: Statement, queries: Sequence[LinearQuery], others: int = 0) -> None:
    """BudgetExhausted, at no charge, where a statement that awaits strings is not going to be paid in full, or may
    charge more than the limit."""
    check_distinct_paid(asker, [(b.table, c) for b in statement.blocks if b.awaiting for c in b.awaiting.distinct])
    most = asker.turns.allowance()
    if most is None:
        return
    routes = asker.routes(queries)
    if asker.policy.mechanism.when_spent == "refuse":
        needed = sum(way.payments for way in routes) + awaited_payments(statement)
        if needed > asker.payments_left():
            reason = f"this statement may need {needed} {asker.payment.name}s, {asker.payments_left()} are left"
            raise _too_dear(asker, reason, needed * asker.payment.units, "list the strings")
    worst = worst_units(asker, statement, first_measured(asker, statement, queries, routes), routes, others)
    if worst > most:
        reason = "the strings to group by are not released yet, and that may charge epsilon {}, more than max_charge"
        raise _too_dear(asker, reason, worst, "raise max_charge, or list the strings")


def _too_dear(asker: Asker, reason: str, units: int, hint: str) -> BudgetExhausted:
    share = asker.plan.as_epsilon
    worst, most = share(units), share(asker.turns.allowance() or 0)
    return BudgetExhausted(reason.format(f"{worst:.3g}"), requested=worst, remaining=most, hint=hint)


@contextmanager
def _one_by_one(asker: Asker, queries: Sequence[LinearQuery], alone: bool) -> Iterator[None]:
    """Pairs of columns are measured with their own questions while this lasts, where they are to be ``alone`` or none
    is beside them now."""
    with ExitStack() as stack:
        for name, state in asker.states.items():
            warm = state.touches.warm
            if alone or not warm.beside_any({q.touched for q in queries if q.table == name}):
                stack.enter_context(warm.pairs.one_by_one())
        yield


def _free(asker: Asker, routes: Sequence[Route], counts: Counts) -> tuple[dict[str, Answer], tuple[Note, ...]] | None:
    """What released numbers and models say of all queries; ``None`` where they do not. Draws and reserves nothing.

    Sums come after the ``counts`` of their rows, as where they are asked.
    What asking would test is not kept: whoever asks it later without a limit has it tested.
    """
    out: dict[str, Answer] = {}
    notes: tuple[Note, ...] = ()

    def known(queries: Sequence[LinearQuery]) -> Mapping[str, Answer]:
        return {q.digest: out[q.digest] for q in queries if q.digest in out}

    rules = MODEL_RULES[asker.plan.models]
    counts = counts_among([q for way in routes for q in way.queries], counts, rules)
    for way in sorted(routes, key=lambda way: waits(way.queries, counts, rules)):
        answers = _of_route(asker, way, rows_known(way.queries, counts, known, rules))
        if answers is None:
            return None
        pairs = [(q.digest, a) for q, a in zip(way.queries, answers, strict=True)]
        out.update(pairs)
        if isinstance(way, Measured | Modelled):
            asker.bench.ledger.remember(pairs)
        elif not isinstance(way, AnsweredBefore):
            notes = (_UNTESTED,)
    return out, notes


def _of_route(asker: Asker, way: Route, rows: Mapping[str, Rows]) -> Sequence[Answer] | None:
    state = asker.states[way.queries[0].table]
    match way:
        case AnsweredBefore() | Declared():
            return way.answers
        case Measured():
            return as_measured(state, way.queries, way.found)
        case OwnRelease() | SpareRelease() | Tested() | Modelled() | Untested():
            wants_test = not isinstance(way, Modelled)
            if state.model is None or (wants_test and asker.policy.mechanism.when_spent == "refuse"):
                return None
            answers = modelled(state, state.model, way.queries, rows)
            return None if any(a.error is None for a in answers) else answers
