"""What rows with strings that were not released may add to numbers of those that were. Public.

An expression of text is evaluated on the strings that were released, for no others are known. How many rows have others
is known: so many more may count, and bars that leave them out hold of no question that was asked.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil, hypot

import numpy as np

from dpsql.domain import TableDomain
from dpsql.postprocess import combine
from dpsql.postprocess.combine import Lookup
from dpsql.query import Factor, Form, KeyedFactor, LinearQuery, linear_query
from dpsql.result import Answer
from dpsql.session.asker import Asker
from dpsql.sql.statement import Aggregate

OthersOf = Callable[[LinearQuery, Sequence[str]], float | None]
More = Callable[[LinearQuery], float | None]
"""How many more rows than a query counts it may count at most, for strings that were not released; the first: for those
of these columns."""


class OtherStrings:
    """How many rows of private tables have strings that were not released, under conditions on other columns."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self._known: dict[tuple[str, str, tuple[bytes, ...]], float | None] = {}

    def most(self, query: LinearQuery, columns: Sequence[str]) -> float | None:
        """Rows that meet the query's conditions on other columns and have a string of ``columns`` that was not
        released: at most so many, with 95 %. 0 of a query that counts none by them; ``None`` before a model."""
        here = () if query.keyed is None else [c for c in query.keyed.text_columns if c in columns]
        found = [self._of(query.table, column, query.factors) for column in here]
        return None if None in found else sum(f for f in found if f is not None)

    def _of(self, table: str, column: str, factors: Sequence[Factor]) -> float | None:
        name = table, column, tuple(f.digest for f in factors)
        if name not in self._known:
            self._known[name] = self._counted(table, column, factors)
        return self._known[name]

    def _counted(self, table: str, column: str, factors: Sequence[Factor]) -> float | None:
        state = self._asker.states.get(table)  # tables of units are none of the policy's
        keys = None if state is None else self._asker.keys(table, column)
        if state is None or state.model is None or keys is None:
            return None
        whole = LinearQuery(table, tuple(factors))
        shown = of_released(state.plan.table, column, keys, factors)
        rows = state.model.estimate(whole) if factors else state.model.row_count
        error = state.error_of(whole) if factors else 0.0
        of_shown = (0.0, 0.0) if shown is None else (state.model.estimate(shown), state.error_of(shown))
        if error is None or of_shown[1] is None:
            return None
        return float(max(0, ceil(rows - of_shown[0] + hypot(error, of_shown[1]))))


def of_released(
    table: TableDomain, column: str, keys: Sequence[str | None], factors: Sequence[Factor] = ()
) -> LinearQuery | None:
    """The rows that have one of the released strings, or NULL, and meet ``factors``; ``None``: none can."""
    strings = tuple((k,) for k in keys)
    return linear_query(table, factors, KeyedFactor((column,), strings, (), np.ones(len(strings), dtype=np.int64)))


def beside_others(aggregate: Aggregate, answers: Sequence[Answer], lookup: Lookup, others_of: OthersOf) -> list[Answer]:
    """An aggregate's answers, one per group, with bars that hold whichever strings were not released."""
    if not aggregate.matched:
        return list(answers)

    def more(query: LinearQuery) -> float | None:
        return others_of(query, aggregate.matched)

    return [_beside(aggregate, group, answer, lookup, more) for group, answer in enumerate(answers)]


def without_bars(answers: Sequence[Answer]) -> list[Answer]:
    """Numbers of which nothing is known but what was released."""
    return [replace(a, error=None, interval=None, certified=False, certified_bound=None) for a in answers]


def _beside(aggregate: Aggregate, group: int, answer: Answer, lookup: Lookup, more: More) -> Answer:
    answer = replace(answer, certified=False, certified_bound=None)
    if answer.source == "public" and answer.value is not None:  # no released string matches: others may
        return replace(answer, error=None, interval=None, error_kind="calibrated", source="measurement")
    unknown = replace(answer, error=None, interval=None)
    if answer.value is None or answer.error is None or aggregate.summary is not None or aggregate.by_string:
        return unknown
    low, high = answer.interval or (answer.value - answer.error, answer.value + answer.error)
    above, below = aggregate.numerator[group], None if aggregate.denominator is None else aggregate.denominator[group]
    added, others = _added(above, more), None if below is None else _added(below, more)
    if added is None:
        return unknown
    least, greatest = added
    if below is None:
        low = max(low + least, 0.0) if above.is_count else low + least
        return _within(answer, low, high + greatest)
    counted = combine(below, lookup, integer=False, sign=0)
    rows = float(counted.value or 0) - (counted.error or 0.0)  # at least so many
    if others is None or rows <= 0.0:
        return unknown
    if others[1] == 0.0:  # all rows are counted below, whatever their strings
        return _within(answer, low + least / rows, high + greatest / rows)
    if aggregate.low is None or aggregate.high is None or any(more(t.query) == 0.0 for t in above.terms):
        return unknown
    share = others[1] / (rows + others[1])
    return _within(answer, low + share * (aggregate.low - low), high + share * (aggregate.high - high))


def _added(form: Form, more: More) -> tuple[float, float] | None:
    """What other strings may add to a form at least and at most, each row of them as much as one can."""
    least = greatest = 0.0
    for term in form.terms:
        rows = more(term.query)
        if rows is None:
            return None
        if term.coefficient < 0:
            least += term.coefficient * rows
        else:
            greatest += term.coefficient * rows
    return least, greatest


def _within(answer: Answer, low: float, high: float) -> Answer:
    value = float(answer.value or 0)
    error = max(answer.error or 0.0, value - low, high - value)
    return replace(answer, error=error, interval=(low, high))
