"""Counts of the rows that the sums of averages are over, as they were answered. Public."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from dpsql.confidence import DEVIATIONS
from dpsql.query import CountForms, LinearQuery, Term
from dpsql.result import Answer
from dpsql.sql.statement import Statement

Counts = Mapping[str, LinearQuery]
"""Of sums, by their digests."""
NO_COUNTS: Counts = MappingProxyType({})


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


def counts_known(counts: Counts, answers: Mapping[str, Answer]) -> dict[str, Counted]:
    """Those of which it is known how far off the answer is, by the sums' digests."""
    found = [(digest, count, answers.get(count.digest)) for digest, count in counts.items()]
    return {
        digest: Counted(count, round(answer.value), answer.error / DEVIATIONS)
        for digest, count, answer in found
        if answer is not None and answer.value is not None and answer.error is not None
    }
