"""Between which numbers the values lie that a group averages: its conditions on their column say. Public."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt

from dpsql.domain import NumberDomain, TableDomain
from dpsql.query import CountForms, Factor, Form, LinearQuery
from dpsql.sql.counting.evaluate import Evaluator, Grids
from dpsql.sql.expressions.bound import Bound
from dpsql.sql.expressions.changes.straight import Straight

MOST_CURVED = 128
"""Groups of a statement that sums a curve by value."""
Span = tuple[float, float]
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CellValues:
    """The least and the greatest value of an expression of one ``column`` in each of its cells: float64, (cells,)."""

    column: str
    low: _Floats
    high: _Floats
    value: Bound

    @classmethod
    def of(cls, table: TableDomain, evaluator: Evaluator, grids: Grids, value: Bound) -> "CellValues | None":
        """``None`` for an expression of several columns, of strings, or whose values inside a bin are not known."""
        names = {c.name for c in table.finite}
        if len(value.columns) != 1 or not value.columns <= names:
            return None
        (column,) = value.columns
        domain, line = table.finite_domain(column), value.straight
        if line is not None and isinstance(domain, NumberDomain) and domain.is_binned:
            ends = [line.scale * np.array(e) + line.shift for e in (domain.edges[:-1], domain.edges[1:])]
            return cls(column, np.minimum(*ends), np.maximum(*ends), value)
        (axis,) = grids.check(value.columns)
        if axis.points is not None or axis.classes is not None:
            return None
        numbers = evaluator.numbers(grids, value).numbers.astype(np.float64)
        return cls(column, numbers, numbers, value)

    def spans(self, counts: Sequence[Form], whole: Span) -> tuple[Span, ...]:
        """Of the rows of each count; ``()`` where none of them is about the column. ``whole``: of all rows."""
        if isinstance(counts, CountForms) and not (len(counts) and self.column in counts.crosstab[0].scope):
            return ()
        known: dict[bytes, Span] = {}
        return tuple([self._span(form, whole, known) for form in counts])

    def _span(self, form: Form, whole: Span, known: dict[bytes, Span]) -> Span:
        low, high = inf, -inf
        for term in form.terms:
            if term.coefficient > 0 or term.doubt > 0:
                here = self._of(term.query, whole, known)
                low, high = min(low, here[0]), max(high, here[1])
        return (max(low, whole[0]), min(high, whole[1])) if low <= high and form.constant == 0 else whole

    def _of(self, query: LinearQuery, whole: Span, known: dict[bytes, Span]) -> Span:
        low, high = whole
        for factor in query.factors:
            if self.column in factor.columns:
                if factor.digest not in known:
                    known[factor.digest] = self._of_cells(factor, whole)
                low, high = known[factor.digest]
        for interval in query.intervals:
            if interval.column == self.column and self.value.straight is not None:
                line = self.value.straight
                ends = sorted(line.scale * x + line.shift for x in (interval.low, interval.high))
                low, high = max(low, ends[0]), min(high, ends[1])
        return (low, high) if low <= high else whole

    def _of_cells(self, factor: Factor, whole: Span) -> Span:
        others = tuple([i for i, name in enumerate(factor.columns) if name != self.column])
        some = np.flatnonzero(np.asarray(factor.weights.any(axis=others))[: len(self.low)])
        return (float(self.low[some].min()), float(self.high[some].max())) if len(some) else whole


def summed_by_value(table: TableDomain, numbers: Mapping[int, Bound], groups: int) -> int | None:
    """Which of several numbers that are multiplied is summed by value: the line of which values in one bin differ most,
    else a curve. Of many groups a curve is not: each takes milliseconds, and the noise of small ones is more than it
    settles."""
    lines = {i: value.straight for i, value in numbers.items() if value.straight}
    if lines or groups > MOST_CURVED:
        return max(lines, key=lambda i: spread_in_bins(table, lines[i]), default=None)
    return min(numbers, default=None)


def spread_in_bins(table: TableDomain, line: Straight) -> float:
    """How far apart values of a line are in one bin, on average, in shares of the larger of them."""
    domain = table.finite_domain(line.column)
    if not isinstance(domain, NumberDomain):
        return 0.0
    ends = line.scale * np.array(domain.edges) + line.shift
    largest = np.maximum(np.abs(ends[:-1]), np.abs(ends[1:]))
    apart = np.abs(np.diff(ends))
    return float(np.divide(apart, largest, out=np.zeros_like(apart), where=largest > 0.0).mean())
