"""The numbers that a part of an aggregate adds up, as far as they are known whatever rows the table has. Public.

They are looked at where the part's conditions hold, if there are none on some of the other declared values.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpsql.domain import NumberDomain, TableDomain
from dpsql.query import Form, UnitTable
from dpsql.sql.aggregates.aggregation import Summand
from dpsql.sql.counting.evaluate import Evaluator, Grids, Numbers
from dpsql.sql.counting.values.spans import CellValues, Span
from dpsql.sql.expressions.bound import Bound, Outside, compose


@dataclass(frozen=True, eq=False)
class PartNumbers:
    """Of parts of a block whose rows fulfil every conjunct of ``condition``."""

    table: TableDomain
    evaluator: Evaluator
    grids: Grids
    condition: tuple[Bound, ...]

    def are_integral(self, part: Summand) -> bool:
        """Whether they are of an integer type."""
        multiplied = guarded(part, self.condition).multiplied
        return all(b.straight is None and self._numbers(b).numbers.dtype == np.int64 for b in multiplied)

    def range(self, part: Summand) -> tuple[float | None, float | None]:
        """The least and greatest of them on declared values; NULLs aside."""
        if part.value is None:
            return None, None
        low = high = 1.0
        for bound in guarded(part, self.condition).multiplied:
            own = self._range_of(bound)
            if own is None:
                return None, None
            ends = [a * b for a in (low, high) for b in own]
            low, high = min(ends), max(ends)
        return low, high

    def spans(self, part: Summand, counts: Sequence[Form], whole: Span) -> tuple[Span, ...]:
        """The same among the rows of each count; ``()`` where conditions leave all that there are, ``whole``."""
        value = guarded(part, self.condition).value
        if value is None or isinstance(self.table, UnitTable):
            return ()
        values = CellValues.of(self.table, self.evaluator, self.grids, value)
        return () if values is None else values.spans(counts, whole)

    def add(self, part: Summand) -> bool:
        """Whether none of them makes their sum smaller."""
        least = 1.0 if part.value is None else self.range(part)[0]
        return part.coefficient >= 0 and (least is None or least >= 0)

    def signs(self, part: Summand, sums: Sequence[Form]) -> tuple[int, ...]:
        """For each sum of them 1 where no row makes it smaller, -1 where none makes it larger, as its conditions say; 0
        where that is not known."""
        low, high = self.range(part)
        if low is None or high is None:
            return (0,) * len(sums)
        rows = [Form(0.0, tuple([replace(t, coefficient=abs(t.coefficient)) for t in form.terms])) for form in sums]
        spans = self.spans(part, rows, (low, high)) or ((low, high),) * len(sums)
        return tuple([_sign(part.coefficient * ends[0], part.coefficient * ends[1]) for ends in spans])

    def center(self, part: Summand) -> float:
        """What their sum, as it is asked for, leaves out of each row's."""
        value = guarded(part, self.condition).value
        return part.coefficient * self._numbers(value).center if value is not None and value.distance else 0.0

    def _range_of(self, value: Bound) -> tuple[float, float] | None:
        line = value.straight
        if line is not None:
            domain = self.table.finite_domain(line.column)
            if isinstance(domain, NumberDomain):
                ends = sorted(line.scale * e + line.shift for e in (domain.edges[0], domain.edges[-1]))
                return ends[0], ends[1]
        numbers = self._numbers(value)
        return None if numbers.low is None or numbers.high is None else (numbers.low, numbers.high)

    def _numbers(self, value: Bound) -> Numbers:
        return self.evaluator.numbers(self.grids, value)


def _sign(one: float, other: float) -> int:
    """Of all numbers between two; 0 where they have none, or several."""
    return 1 if min(one, other) >= 0 else -1 if max(one, other) <= 0 else 0


def guarded(part: Summand, condition: Sequence[Bound]) -> Summand:
    """The part with a value that knows where its rows are: there alone a logarithm is looked at that has none at 0."""
    if part.value is None:
        return part
    return replace(part, value=_guarded(part.value, (*condition, *part.conjuncts)))


def _guarded(value: Bound, conjuncts: Sequence[Bound]) -> Bound:
    if value.straight is not None or value.numeric is not None:
        return value
    strings = {t for t, o in value.outside.items() if o is value.inside(t) is Outside.UNKNOWN}  # those looked at
    own = [c for c in conjuncts if c.columns and c.columns <= value.columns and c.outside.keys() <= strings]
    own = [c for c in own if _is_placed(c)]
    if not own:
        return value
    sql = f"CASE WHEN {' AND '.join(f'({c.sql})' for c in own)} THEN {value.sql} END"
    multiplied = tuple([_guarded(v, own) for v in value.product])
    return value._replace(guarded=compose(sql, (*own, value)), product=multiplied)


def _is_placed(condition: Bound) -> bool:
    """Whether it is known where it changes, so that it is looked at on either side."""
    return not condition.times and all(isinstance(b, float) for breaks in condition.steps.values() for b in breaks)
