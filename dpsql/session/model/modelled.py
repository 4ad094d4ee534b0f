"""What a model answers without a test: estimates as whole numbers, and the bars that stand beside them. Public."""

from collections.abc import Mapping, Sequence
from math import ceil, inf, nan
from typing import NamedTuple

import numpy as np

from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis import TableModel
from dpsql.planning import Basis
from dpsql.query import Crosstab, LinearQuery
from dpsql.result import Answer, CrosstabAnswers
from dpsql.session.answers import from_model, rounded_together, untested
from dpsql.session.own.by_value.counted import NO_ROWS, Rows
from dpsql.session.strings.by_word import by_word, narrower
from dpsql.session.table_state import TableState


class Told(NamedTuple):
    """A number as it is shown; ``moved``: how far its bar reaches beyond the model's, in counts."""

    number: float
    moved: float = 0.0


def modelled(
    state: TableState, model: TableModel, queries: Sequence[LinearQuery], rows: Mapping[str, Rows] = NO_ROWS
) -> list[Answer]:
    """The model's answers to queries of one outline; ``rows``: as in ``told``."""
    return unguarded(state, model, queries, told(state, model, queries, estimates_of(state, model, queries), rows))


def told(
    state: TableState,
    model: TableModel,
    queries: Sequence[LinearQuery],
    estimates: Sequence[int],
    rows: Mapping[str, Rows],
) -> list[Told]:
    """The estimates as they are shown: sums in shares of a range, of which few rows make less than one, as they are.

    ``rows``: where the count of a sum's rows was answered, it is as many rows as that says times what the model makes
    of one (a ratio estimate; Cochran 1977, chapter 6): they are added up, or divided, and what the model is off by in
    rows, or rounding made of the count, is in both. Where more than rounding is between the two, by a release or a
    model of before, the bar reaches as much farther as the sum was moved.
    """
    rules = state.plan.rules
    if not rules.fine or all(q.is_indicator for q in queries) or state.plan.basis(queries[0]) is not Basis.START:
        return [Told(e) for e in estimates]
    found = model.estimates(Crosstab.of(queries)).tolist()
    beside = dict(zip([q.digest for q in queries], estimates, strict=True))
    return [
        Told(e)
        if q.is_indicator
        else as_counted(model, f, _counted(rows.get(q.digest), beside), whatever=rules.as_counted)
        for q, e, f in zip(queries, estimates, found, strict=True)
    ]


def _counted(rows: Rows | None, beside: Mapping[str, int]) -> Rows | None:
    """With the number that is told ``beside`` it, where none was answered before."""
    if rows is None or rows.number is not None:
        return rows
    told = beside.get(rows.query.digest)
    return None if told is None else Rows(rows.query, float(told))


def as_counted(model: TableModel, estimate: float, rows: Rows | None, *, whatever: bool) -> Told:
    """The model's sum of as many rows as were counted. ``whatever``: they are off the model's by, else by rounding."""
    modelled = 0.0 if rows is None else model.estimate(rows.query)
    if rows is None or rows.number is None or modelled <= 0.0:
        return Told(estimate)
    number, rounded = estimate * (rows.number / modelled), abs(rows.number - modelled) <= 1.0
    if not (rounded or whatever):
        return Told(estimate)
    return Told(number, 0.0 if rounded else abs(number - estimate))


def estimates_of(state: TableState, model: TableModel, queries: Sequence[LinearQuery]) -> list[int]:
    """The model's answers as whole numbers, which add up where a model of the whole table is measured first."""
    estimates: list[float] = model.estimates(Crosstab.of(queries)).tolist()
    match state.plan.basis(queries[0]):
        case Basis.START | Basis.OWN:
            return rounded_together(estimates)
        case Basis.NET:  # one by one, as ledgers of this kind have always shown them
            return [round(e) for e in estimates]


def modelled_together(state: TableState, model: TableModel, asked: Crosstab) -> CrosstabAnswers | None:
    """The same as arrays; ``None`` where measurements may answer some of the queries."""
    if state.plan.basis(asked[0]) is not Basis.START:
        return None
    bars = np.array([nan if bar is None else bar for bar in state.error_bars(asked)])
    values = rounded_together(model.estimates(asked).tolist())
    return CrosstabAnswers(np.array(values, dtype=np.int64), bars, "calibrated", "hypothesis")


def certified(state: TableState, query: LinearQuery, off: float) -> int | None:
    """What a passed test guarantees of a number that is ``off`` the tested one by so much, in counts."""
    bound = state.certificate(query)
    return None if bound is None else bound + ceil(abs(off))


def barred(bars: Sequence[int | None], shown: Sequence[Told]) -> list[int | None]:
    """The model's bars of numbers as they are shown."""
    return [None if b is None else b + ceil(t.moved) for b, t in zip(bars, shown, strict=True)]


def unguarded(
    state: TableState, model: TableModel, queries: Sequence[LinearQuery], shown: Sequence[Told]
) -> list[Answer]:
    """Answers that no test guards: the model's with their error bars, or what a noisy measurement says."""
    if not queries:
        return []
    asked, certain = Crosstab.of(queries), state.plan.certain_of(len(queries))
    match state.plan.basis(asked[0]):
        case Basis.START:
            bars = barred(state.error_bars(asked), shown)
            return [from_model(one.number, bar, None) for one, bar in zip(shown, bars, strict=True)]
        case Basis.NET:
            limit, bound = state.plan.bound / DEVIATIONS, state.plan.bound
        case Basis.OWN:
            limit, bound = inf, ceil(model.row_count)
    both = zip(asked, shown, model.readings(asked, limit), strict=True)
    answers = [untested(query, round(one.number), found, bound, certain) for query, one, found in both]
    return narrower(answers, by_word(state.plan, asked))
