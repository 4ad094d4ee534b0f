"""Counts of the rows that the sums of averages are over, as they were answered. Public."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis.rules import ModelRules
from dpsql.postprocess import are_rows_of
from dpsql.query import CountForms, LinearQuery, Term
from dpsql.result import Answer
from dpsql.sql.statement import Statement

Counts = Mapping[str, LinearQuery]
"""Of sums, by their digests."""
NO_COUNTS: Counts = MappingProxyType({})


class Rows(NamedTuple):
    """Of a sum: the ``query`` that counts its rows, and what was answered to it; ``None`` where that is told together
    with the sum."""

    query: LinearQuery
    number: float | None


NO_ROWS: Mapping[str, Rows] = MappingProxyType({})
"""Of sums, by their digests."""


class Counted(NamedTuple):
    """What was answered to ``query``, the count of a sum's rows: ``value`` and its sd, in counts."""

    query: LinearQuery
    value: int
    sd: float


def counts_of(statement: Statement) -> Counts:
    """The count of the rows of each sum that the statement divides by it, as an average, or adds to it, as a sum of
    values of which the least is not 0."""
    found: dict[str, LinearQuery] = {}
    for aggregate in (a for block in statement.blocks for a in block.aggregates):
        if aggregate.denominator is not None:
            for top, bottom in zip(aggregate.numerator, aggregate.denominator, strict=True):
                if not top.constant and not bottom.constant and all(t.coefficient == 1 for t in bottom.terms):
                    found |= _pair(top.terms, bottom.terms)
        elif aggregate.summary is None and not isinstance(aggregate.numerator, CountForms):
            for form in aggregate.numerator:
                if len(form.terms) == 2:
                    sums = [t for t in form.terms if t.query.value is not None]
                    found |= _pair(sums, [t for t in form.terms if t.query.value is None])
    return found


def _pair(sums: Sequence[Term], counts: Sequence[Term]) -> dict[str, LinearQuery]:
    if not len(sums) == len(counts) == 1 or any(t.doubt for t in (*sums, *counts)):
        return {}
    (summed,), (counted,) = sums, counts
    plain = counted.query.is_indicator and not summed.query.is_indicator
    return {summed.query.digest: counted.query} if plain else {}


def counts_among(queries: Sequence[LinearQuery], counts: Counts, rules: ModelRules) -> Counts:
    """``counts``, and of other sums the count of the same rows among a statement's ``queries``, so that what the
    statement shows of a group agrees; by rules before 26 none of these."""
    sums = [q for q in queries if not q.is_indicator and q.digest not in counts] if rules.as_counted else []
    places = {q.digest: _place(q) for q in sums}
    beside: dict[tuple[str, ...], dict[object, list[LinearQuery]]] = {}
    for columns in {place for place in places.values() if place is not None}:
        by_rest = beside.setdefault(columns, {})
        for q in queries:
            if q.is_indicator:
                by_rest.setdefault(_rest(q, columns), []).append(q)
    found = dict(counts)
    for q in sums:
        place = places[q.digest]
        alike = beside[place].get(_rest(q, place), []) if place is not None else []
        fit = [c for c in alike if are_rows_of(c, q)]
        if fit and place is not None:  # that which leaves out NULL, if there are several
            found[q.digest] = min(fit, key=lambda c: (not any(f.columns == place for f in c.factors), c.digest))
    return found


def _place(query: LinearQuery) -> tuple[str, ...] | None:
    """The columns whose values a sum adds up; ``None`` for products."""
    if query.value is not None:
        return (query.value,)
    own = [f.columns for f in query.factors if f.unit > 1]
    return own[0] if len(own) == 1 else None


def _rest(query: LinearQuery, columns: tuple[str, ...]) -> object:
    """What equal rows have in common beside conditions on these columns."""
    beside = frozenset(f.digest for f in query.factors if not set(columns) & set(f.columns))
    return beside, query.intervals, query.keyed is None


def waits(queries: Sequence[LinearQuery], counts: Counts, rules: ModelRules) -> bool:
    """Whether these of one outline come after ``counts``, of the rows of some of them; by rules before 26 where the
    first of them does."""
    return any(q.digest in counts for q in (queries if rules.as_counted else queries[:1]))


def rows_known(
    sums: Sequence[LinearQuery],
    counts: Counts,
    known: Callable[[Sequence[LinearQuery]], Mapping[str, Answer]],
    rules: ModelRules,
) -> Mapping[str, Rows]:
    """Of those that ``counts`` are of the same rows of, where these were answered: of a sum of one thing for some rows
    and another for others, each term has rows of its own. By rules before 26 not of sums of what cells count."""
    if not rules.fine:
        return NO_ROWS
    both = [(q, count) for q in sums if (count := counts.get(q.digest)) is not None]
    of = {q.digest: count for q, count in both if (rules.as_counted or q.value is not None) and are_rows_of(count, q)}
    answers = known(list({count.digest: count for count in of.values()}.values()))
    found = [(digest, count, answers.get(count.digest)) for digest, count in of.items()]
    rows = {d: Rows(count, float(a.value)) for d, count, a in found if a is not None and a.value is not None}
    together = {q.digest for q in sums} if rules.as_counted else set[str]()
    return rows | {d: Rows(count, None) for d, count, a in found if a is None and count.digest in together}


def counts_known(counts: Counts, answers: Mapping[str, Answer]) -> dict[str, Counted]:
    """Those of which it is known how far off the answer is, by the sums' digests."""
    found = [(digest, count, answers.get(count.digest)) for digest, count in counts.items()]
    return {
        digest: Counted(count, round(answer.value), answer.error / DEVIATIONS)
        for digest, count, answer in found
        if answer is not None and answer.value is not None and answer.error is not None
    }
