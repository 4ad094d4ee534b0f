"""What a model answers without a test: estimates as whole numbers, and the bars that stand beside them. Public."""

from collections.abc import Mapping, Sequence
from math import ceil, inf, nan

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
) -> Sequence[float]:
    """The estimates as they are shown: sums in shares of a range, of which few rows make less than one, as they are.

    ``rows``: where the count of a sum's rows was answered, it is as many rows as that says times what the model makes
    of one (a ratio estimate; Cochran 1977, chapter 6), as far as the two differ by rounding: they are added up, or
    divided, and what rounding made of the count is in both.
    """
    if not state.plan.rules.fine or all(q.is_indicator for q in queries):
        return estimates
    if state.plan.basis(queries[0]) is not Basis.START:
        return estimates
    found = model.estimates(Crosstab.of(queries)).tolist()
    both = zip(queries, estimates, found, strict=True)
    return [e if q.is_indicator else f * _ratio(model, rows.get(q.digest)) for q, e, f in both]


def _ratio(model: TableModel, rows: Rows | None) -> float:
    """A count of rows as it was answered in what the model says of it; 1 where more than rounding is between them."""
    modelled = 0.0 if rows is None else model.estimate(rows.query)
    return 1.0 if rows is None or modelled <= 0.0 or abs(rows.number - modelled) > 1.0 else rows.number / modelled


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


def unguarded(
    state: TableState, model: TableModel, queries: Sequence[LinearQuery], estimates: Sequence[float]
) -> list[Answer]:
    """Answers that no test guards: the model's with their error bars, or what a noisy measurement says."""
    if not queries:
        return []
    asked, certain = Crosstab.of(queries), state.plan.certain_of(len(queries))
    match state.plan.basis(asked[0]):
        case Basis.START:
            bars = state.error_bars(asked)
            return [from_model(estimate, bar, None) for estimate, bar in zip(estimates, bars, strict=True)]
        case Basis.NET:
            limit, bound = state.plan.bound / DEVIATIONS, state.plan.bound
        case Basis.OWN:
            limit, bound = inf, ceil(model.row_count)
    both = zip(asked, estimates, model.readings(asked, limit), strict=True)
    answers = [untested(query, round(estimate), found, bound, certain) for query, estimate, found in both]
    return narrower(answers, by_word(state.plan, asked))
