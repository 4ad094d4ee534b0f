"""Questions about a table of units: sums of the numbers that one release said of how many rows the units have."""

from collections.abc import Sequence
from math import hypot

from dpsql.confidence import DEVIATIONS, error_bound
from dpsql.hypothesis.rules import MODEL_RULES
from dpsql.query import Form, LinearQuery, UnitTable
from dpsql.result import Answer
from dpsql.session.asker import Asker
from dpsql.session.distinct.release import Question, numbers_of
from dpsql.session.own.by_value.measured_beside import ALONE, Distance
from dpsql.session.results.other_strings import OtherStrings
from dpsql.session.results.unasked import MOST_FORMS, Said, Unasked
from dpsql.sql.statement import Statement


def unit_tables(statement: Statement) -> list[UnitTable]:
    """The tables of units that a statement reads and that may have a row."""
    found = {b.units.name: b.units for b in statement.blocks if b.units is not None and b.units.counts}
    return list(found.values())


def question_of(table: UnitTable) -> Question:
    """What is to be released for it."""
    return Question(table.counts, table.most)


def unit_answers(asker: Asker, statement: Statement) -> dict[str, Answer]:
    """Answers to all queries on tables of units, whose numbers are released, by digest."""
    out: dict[str, Answer] = {}
    for block in statement.blocks:
        if block.units is not None:
            out |= {q.digest: _answer(asker, block.units, q) for q in block.queries}
    return out


def unasked_of(asker: Asker, statement: Statement) -> Unasked:
    """What models say of what the statement does not ask, of private tables and, errors alone, of those of units."""
    units = {table.name: table for table in unit_tables(statement)}

    def error_of(query: LinearQuery) -> float | None:
        table = units.get(query.table)
        return asker.states[query.table].error_of(query) if table is None else _answer(asker, table, query).error

    def as_released(queries: Sequence[LinearQuery], errors: Sequence[float]) -> Sequence[int] | None:
        table = queries[0].table
        return None if table in units else asker.states[table].as_released(queries, errors)

    def line_of(query: LinearQuery, origin: float) -> Said | None:
        found = None if query.table in units else asker.states[query.table].line_of(query, origin)
        return None if found is None else Said(*found)

    def forms_of(forms: Sequence[Form]) -> Sequence[Said | None]:
        tables = {t.query.table for form in forms for t in form.terms}
        if len(forms) > MOST_FORMS or len(tables) != 1 or not tables.isdisjoint(units):
            return [None] * len(forms)
        found = asker.states[tables.pop()].forms_of(forms)
        return [None if f is None else Said(*f) for f in found]

    def distance_of(summed: LinearQuery, counted: LinearQuery) -> Distance | None:
        return None if summed.table in units else asker.states[summed.table].beside.distance(summed, counted)

    def sum_of(summed: LinearQuery) -> Said | None:
        found = None if summed.table in units else asker.states[summed.table].beside.of_sum(summed)
        if found is None:
            return None
        (middle, total, sd), count = found
        if count == ALONE:
            return Said(total, DEVIATIONS * sd)
        counted = asker.given.by_digest([count]).get(count)
        if counted is None or counted.value is None or counted.error is None:
            return None
        return Said(middle * counted.value + total, hypot(middle * counted.error, DEVIATIONS * sd))

    def rows_of(table: str) -> tuple[float, float] | None:
        state = asker.states.get(table)  # tables of units are none of the policy's
        if state is None or state.model is None:
            return None
        counted = state.model.contingencies[0]
        return float(counted.values), counted.sigma

    lone = MODEL_RULES[asker.plan.models].lone_sums
    others = OtherStrings(asker)
    return Unasked(error_of, line_of, forms_of, distance_of, sum_of, lone, as_released, rows_of, others.most)


def _answer(asker: Asker, table: UnitTable, query: LinearQuery) -> Answer:
    """A sum of released numbers. Their noises are independent, so that its sd is that of the sum.

    What is added up in fractions is not rounded: one more for the discrete noise of the largest of them.
    """
    numbers = numbers_of(asker, question_of(table)) if table.counts else []
    if not numbers:
        return Answer(0, 0.0, (0.0, 0.0), "exact", "public", True, 0.0)
    value = table.told(query, [n.value for n in numbers])
    sd, certain = table.sd(query, numbers[0].sd), asker.states[table.of.name].plan.certain
    whole = query.is_indicator
    error = float(error_bound(sd)) if whole else DEVIATIONS * sd + 1.0
    interval = (max(0.0, value - error), max(0.0, value + error))
    bound = certain * sd + 1.0
    return Answer(round(value) if whole else value, error, interval, "exact", "measurement", True, bound)
