"""A statement's counts of different values: asked, or foreseen. What a session adds to its linear queries."""

from collections.abc import Sequence
from dataclasses import replace

from dpsql.confidence import error_bound
from dpsql.errors import BudgetExhausted, UnsupportedQuery
from dpsql.query.summary import Distinct
from dpsql.result import Answer, QueryPlan, Terms, sources
from dpsql.session.asker import Asker
from dpsql.session.distinct.release import (
    Question,
    answer_of,
    ask_distinct,
    missing,
    numbers_of,
    priced,
    touched_first,
)
from dpsql.session.distinct.units import question_of, unit_answers, unit_tables
from dpsql.sql.statement import Statement


def questions_of(statement: Statement) -> list[Question]:
    """The counts of different values of a statement, one question for the groups of an aggregate."""
    found = [a.summary for block in statement.blocks for a in block.aggregates if isinstance(a.summary, Distinct)]
    counts = [tuple([c for c in summary.counts if c is not None]) for summary in found]
    return [*(Question(c) for c in counts if c), *map(question_of, unit_tables(statement))]


def check_terms(questions: Sequence[Question], terms: Terms) -> None:
    """UnsupportedQuery for different values within a bound."""
    if questions and terms.within is not None:
        reason = "within bounds counts of rows, and this asks for different values"
        raise UnsupportedQuery(reason, hint="ask without within: the error bar says how far off they are")


def check_limit(asker: Asker, questions: Sequence[Question]) -> int:
    """Units that these questions may spend at most; BudgetExhausted where that is more than the limit."""
    units, most = worst_units(asker, questions), asker.turns.allowance()
    if most is not None and units > most:
        worst = asker.plan.as_epsilon(units)
        raise BudgetExhausted(
            f"counts of different values charge epsilon {worst:.3g}, more than max_charge",
            requested=worst,
            remaining=asker.plan.as_epsilon(most),
            hint="raise max_charge: each has noise of its own",
        )
    return units


def answers_of(asker: Asker, statement: Statement, questions: Sequence[Question]) -> dict[str, Answer]:
    """Answers by digest, the first with what they charged, all or none of them; those about units among them.

    BudgetExhausted, before anything is charged, where they cannot be paid.
    """
    numbers, charged = ask_distinct(asker, questions) if questions else ({}, 0.0)
    out = unit_answers(asker, statement)
    out |= {digest: answer_of(asker, table, number) for digest, (table, number) in numbers.items()}
    for digest in list(out)[:1]:
        out[digest] = replace(out[digest], charged=charged)
    return out


def worst_units(asker: Asker, questions: Sequence[Question]) -> int:
    """Units that they may spend at most; BudgetExhausted where these are not left."""
    unknown = missing(asker, questions)
    first = [q for q in unknown if touched_first(asker, q)]
    units = sum(p.share.units for p in priced(asker, [q for q in unknown if q not in first]))
    return units + sum(_first_units(asker, q) for q in first)


def _first_units(asker: Asker, question: Question) -> int:
    """Of the first touch that answers a question, and of the row count before it."""
    return asker.states[question.table].touches.first_units(set(), [question.column])


def plans_of(asker: Asker, questions: Sequence[Question]) -> tuple[QueryPlan, ...]:
    """How they would be answered, and what that would charge. BudgetExhausted where it is not left for all of them."""
    out = []
    worst_units(asker, questions)
    for question in questions:
        unknown = [] if touched_first(asker, question) else missing(asker, [question])
        found = priced(asker, unknown)
        source, charge = sources.OWN, asker.plan.as_epsilon(worst_units(asker, [question]))
        if touched_first(asker, question):
            source = sources.FIRST_TOUCH
        elif not found:
            source = sources.KNOWN
        numbers = numbers_of(asker, question)
        sds = [float(p.sigma) for p in found] if numbers is None else [n.sd for n in numbers]
        queries = [t.query for c in question.counts for t in c.rows.terms]
        scope = tuple(dict.fromkeys([question.column, *(c for q in queries for c in q.touched)]))
        cells, error = max(q.cells for q in queries), float(error_bound(max(sds))) if sds else None
        out.append(QueryPlan(question.table, scope, cells, None, len(question.counts), source, error, charge))
    return tuple(out)
