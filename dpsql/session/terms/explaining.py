"""The public plan of a statement with a bound: what is within it already, and what the rest costs. Touches no data."""

from collections.abc import Sequence

from dpsql.confidence import error_bound
from dpsql.query import LinearQuery
from dpsql.result import Explanation, Note, QueryPlan, Terms, sources
from dpsql.session.asker import Asker
from dpsql.session.notes import statement_notes
from dpsql.session.route import by_outline
from dpsql.session.terms.price import Priced
from dpsql.session.terms.within import Offer, offer
from dpsql.sql.statement import Statement


def explained_within(statement: Statement, queries: Sequence[LinearQuery], asker: Asker, terms: Terms) -> Explanation:
    """One plan per scope: those that are free, then those that are paid. Refused as asking would be, but for the
    price: an offer that cannot be paid is shown with what is left.
    """
    offered = offer(asker, statement, queries, terms)
    free = [q for q in queries if q.digest in offered.free]
    plans = [_free_plan(same, offered) for same in by_outline(free)] if free else []
    plans += [_paid_plan(release, asker) for release in offered.releases]
    notes = (Note("plan", _words(offered, asker)), *statement_notes(statement, asker))
    worst, left = asker.plan.as_epsilon(offered.units), asker.plan.as_epsilon(offered.left)
    times = offered.left // offered.units if offered.units else None
    outer = None if statement.direct is not None else statement.outer_sql
    return Explanation(tuple(plans), outer, worst, left if offered.units else asker.remaining_epsilon(), notes, times)


def _words(offered: Offer, asker: Asker) -> str:
    share = asker.plan.as_epsilon
    if offered.units == 0:
        return "all of it is within the bound already: free"
    aside = asker.plan.on_demand_units
    if aside == 0:
        return "refused as things are: this ledger sets nothing aside for precision on demand"
    part = f"epsilon {share(offered.units):.3g}, {offered.units / aside:.2%} of what was set aside on demand"
    left = f"{share(offered.left):.3g} of {share(aside):.3g} is left of it"
    return f"{'refused as things are: it costs' if offered.units > offered.left else 'costs'} {part}; {left}"


def _free_plan(queries: Sequence[LinearQuery], offered: Offer) -> QueryPlan:
    errors = [a.error for q in queries if (a := offered.free[q.digest]).error is not None]
    first = queries[0]
    return QueryPlan(
        first.table, first.touched, first.cells, None, len(queries), sources.RELEASED, max(errors, default=None), 0.0
    )


def _paid_plan(release: Priced, asker: Asker) -> QueryPlan:
    queries = release.queries
    sigma = float(release.share.sigma)
    error = max(error_bound(sigma * sd, not q.is_indicator) for q, sd in zip(queries, release.sds, strict=True))
    first, charge = queries[0], asker.plan.as_epsilon(release.share.units)
    return QueryPlan(
        first.table, first.touched, first.cells, None, len(queries), sources.ON_DEMAND, float(error), charge
    )
