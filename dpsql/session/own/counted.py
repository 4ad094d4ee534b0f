"""Counts of the rows that the sums of averages are over, as they were answered. Public."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from dpsql.confidence import DEVIATIONS
from dpsql.query import LinearQuery
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
    """The count of the rows of each sum that the statement divides by it, as an average."""
    found: dict[str, LinearQuery] = {}
    for aggregate in (a for block in statement.blocks for a in block.aggregates):
        for top, bottom in zip(aggregate.numerator, aggregate.denominator or (), strict=False):
            if len(top.terms) == len(bottom.terms) == 1 and not top.constant and not bottom.constant:
                (summed,), (counted,) = top.terms, bottom.terms
                plain = counted.coefficient == 1 and not counted.doubt and not summed.doubt
                if plain and counted.query.is_indicator and not summed.query.is_indicator:
                    found[summed.query.digest] = counted.query
    return found


def counts_known(counts: Counts, answers: Mapping[str, Answer]) -> dict[str, Counted]:
    """Those of which it is known how far off the answer is, by the sums' digests."""
    found = [(digest, count, answers.get(count.digest)) for digest, count in counts.items()]
    return {
        digest: Counted(count, round(answer.value), answer.error / DEVIATIONS)
        for digest, count, answer in found
        if answer is not None and answer.value is not None and answer.error is not None
    }
