"""What a model answers without a test: estimates as whole numbers, and the bars that stand beside them. Public."""

from collections.abc import Iterable, Sequence
from math import ceil

from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis import TableModel
from dpsql.planning import Basis
from dpsql.query import LinearQuery
from dpsql.result import Answer
from dpsql.session.answers import from_model, rounded_together, untested
from dpsql.session.table_state import TableState


def modelled(state: TableState, model: TableModel, queries: tuple[LinearQuery, ...]) -> list[Answer]:
    """The model's answers to queries of one outline."""
    return unguarded(state, model, queries, estimates_of(state, model, queries))


def estimates_of(state: TableState, model: TableModel, queries: Sequence[LinearQuery]) -> list[int]:
    """The model's answers as whole numbers, which add up where a model of the whole table is measured first."""
    estimates = [model.estimate(q) for q in queries]
    match state.plan.basis(queries[0]):
        case Basis.START | Basis.OWN:
            return rounded_together(estimates)
        case Basis.NET:  # one by one, as ledgers of this kind have always shown them
            return [round(e) for e in estimates]


def unguarded(
    state: TableState, model: TableModel, queries: Iterable[LinearQuery], estimates: Iterable[int]
) -> list[Answer]:
    """Answers that no test guards: the model's with their error bars, or what a noisy measurement says."""
    both, certain = list(zip(queries, estimates, strict=True)), state.plan.certain
    if not both:
        return []
    match state.plan.basis(both[0][0]):
        case Basis.START:
            return [from_model(estimate, state.error_bar(query), None) for query, estimate in both]
        case Basis.NET:
            limit, bound = state.plan.bound / DEVIATIONS, state.plan.bound
            return [untested(q, estimate, model.measured(q, limit), bound, certain) for q, estimate in both]
        case Basis.OWN:
            return [untested(q, e, model.measured(q), ceil(model.row_count), certain) for q, e in both]
