"""What a statement may charge at most: what is explained, and what a limit is compared with. Public.

Worked out from the routes that asking would take, which is the one forecast: a limit of what was explained is kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpsql.planning.distinct import distinct_share
from dpsql.query import LinearQuery
from dpsql.session.asker import Asker
from dpsql.session.route import (
    AnsweredBefore,
    Declared,
    Measured,
    Modelled,
    OwnRelease,
    Route,
    SpareRelease,
    Tested,
    Untested,
    asking_rows,
)
from dpsql.sql.statement import Awaiting, Statement

NEARER = 0.5
"""Of a spare release's noise: with less in their counts, it tells no more of a list of strings."""


@dataclass(frozen=True)
class First:
    """What is measured first of one table: for questions about ``scopes``, and for columns of ``texts``; ``units``."""

    scopes: frozenset[tuple[str, ...]]
    texts: tuple[str, ...]
    units: int


def first_measured(
    asker: Asker, statement: Statement, queries: Sequence[LinearQuery], routes: Sequence[Route]
) -> dict[str, First]:
    """By table, in the order of questions; nothing of a table of which no row is asked."""
    tables = dict.fromkeys([*(q.table for q in queries), *(table for table, _ in statement.awaited)])
    asking = asking_rows(queries, routes)
    return {name: _first(asker, statement, name, [q for q in asking if q.table == name]) for name in tables}


def _first(asker: Asker, statement: Statement, name: str, asking: Sequence[LinearQuery]) -> First:
    plan, named = asker.states[name].plan, [q.keyed.text_columns for q in asking if q.keyed is not None]
    texts = [column for columns in dict.fromkeys(named) for column in plan.touched_first(columns)]
    texts += [column for table, column in statement.awaited if table == name]
    beside = [of.texts for table, of in _awaiting(statement) if table == name]
    texts += [column for columns in beside for column in plan.touched_first(columns)]
    later = [of.columns for table, of in _awaiting(statement) if table == name and of.columns]
    scopes = frozenset([*(q.touched for q in asking), *later])
    units = asker.states[name].touches.first_units(scopes, texts) if scopes or texts else 0
    return First(scopes, tuple(dict.fromkeys(texts)), units)


def worst_units(
    asker: Asker, statement: Statement, first: Mapping[str, First], routes: Sequence[Route], others: int = 0
) -> int:
    """Units that asking spends at most: on what is measured ``first``, on the routes and on strings that are awaited;
    ``others``: on what is no linear query."""
    awaited = sum(_of_strings(asker, table, of) for table, of in _awaiting(statement))
    return sum(f.units for f in first.values()) + sum(route_units(asker, way) for way in routes) + awaited + others


def route_units(asker: Asker, way: Route) -> int:
    """Units that the route spends at most, beside what is measured first."""
    match way:
        case OwnRelease():
            return asker.payment.units
        case SpareRelease():
            return way.spares * asker.plan.spare_units
        case Tested() | Modelled() | Untested():
            own, left = asker.states[way.queries[0].table].own, asker.purses.spares_left()
            with own.paying(own.spare_times(way.queries, left)):
                number = own.spares_for(way.queries) if own.may_want_spare(way.queries) else 0
            spare = number * asker.plan.spare_units if number <= left else 0
            return max(spare, asker.payment.units if isinstance(way, Tested) else 0)
        case AnsweredBefore() | Measured() | Declared():
            return 0


def awaited_payments(statement: Statement) -> int:
    """How many hard rounds or planned questions blocks may need, at most, once their strings are released."""
    return sum(of.outlines for _, of in _awaiting(statement) if of.columns or of.together)


def _awaiting(statement: Statement) -> list[tuple[str, Awaiting]]:
    return [(b.table, b.awaiting) for b in statement.blocks if b.awaiting is not None]


def _of_strings(asker: Asker, table: str, awaiting: Awaiting) -> int:
    """Units that a block which awaits its strings spends at most: a payment for each outline, a release for each count
    of different values. Of one text column and no other, groups of strings are what the first touch has measured."""
    state = asker.states[table]
    plan, spares = state.plan, asker.purses.spares_left()
    alone, together = state.own.dearest(plan.spare), state.own.dearest(plan.group_spare)
    units = max(asker.payment.units if asker.payments_left() else 0, together, alone)
    left = asker.payments_left() * asker.payment.units + spares * asker.plan.spare_units
    # a lone group is a list, of which a spare release may say more than counts of all strings where few are planned
    enough = NEARER * float(plan.spare.sigma)
    known = awaiting.listed and all(float(start.count_sigma) < enough for start in plan.texts.values())
    each = units if awaiting.columns or awaiting.together else 0 if known else alone
    units = min(awaiting.outlines * each, left)
    return units + sum(distinct_share(asker.plan, plan, asker.payment, c, spares).units for c in awaiting.distinct)
