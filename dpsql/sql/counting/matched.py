"""Which aggregates of a block are evaluated on released strings alone, and what is known of rows with other strings."""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from dpsql.sql.aggregates.aggregation import Aggregation, Summand
from dpsql.sql.counting.lower import Lowering
from dpsql.sql.expressions.bound import Bound, constant_of


class Matched(NamedTuple):
    """Of an aggregate the text ``columns`` of which it counts released strings alone; ``by_string``: whether what a row
    adds depends on its string, so that of others nothing is known."""

    columns: tuple[str, ...]
    by_string: bool


def matched_of(lowering: Lowering, aggregations: Sequence[Aggregation]) -> list[Matched]:
    """One for each aggregate of the block; the lowering's parts are their summands, in order."""
    parts = iter(enumerate([s for a in aggregations for s in a.summands]))
    out = []
    for a in aggregations:
        own = list(islice(parts, len(a.summands)))
        columns = lowering.matched_in([i for i, _ in own] or [-1])
        out.append(Matched(columns, any(lowering.is_valued(i) and not _is_at_most_one(lowering, s) for i, s in own)))
    return out


def _is_at_most_one(lowering: Lowering, part: Summand) -> bool:
    """Whether any string makes it 0 to 1, as a condition does that is cast to a number."""
    value = part.value
    if value is None or value.product:
        return False
    low, high = lowering.numbers.range(part)
    observed = low is not None and high is not None and low >= 0.0 and high <= 1.0
    return observed and (_chooses_from(value) if "CASE" in value.sql or "if(" in value.sql else "CAST(" in value.sql)


def _chooses_from(value: Bound) -> bool:
    constants = [constant_of(v) for _, v in value.branches if v.sql != "NULL"]
    return bool(constants) and all(c in (0, 1) for c in constants)
