"""Which aggregates of a block are evaluated on released strings alone, and what is known of rows with other strings."""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from dpsql.sql.aggregates.aggregation import Aggregation
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
        unknown = [s for i, s in own if lowering.is_valued(i) and not (s.value and _is_zero_or_one(s.value))]
        out.append(Matched(columns, bool(unknown)))
    return out


def _is_zero_or_one(value: Bound) -> bool:
    """Whether it is whatever the string is: a condition that is cast to a number, or one that chooses between both."""
    constants = [constant_of(v) for _, v in value.branches if v.sql != "NULL"]
    return value.holds or (bool(constants) and all(c in (0, 1) for c in constants))
