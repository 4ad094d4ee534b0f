"""The public plan of a statement: where each scope would be answered from, what it could charge; touches no data.

It describes the routes that asking would take (``route``), and decides nothing itself.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby

import pyarrow as pa

from dpsql.confidence import error_bound
from dpsql.planning import distance_words, outlook
from dpsql.query import LinearQuery
from dpsql.result import Answer, Explanation, Note, QueryPlan, Result, sources
from dpsql.session.asker import Asker
from dpsql.session.foreseen import First, first_measured, route_units, worst_units
from dpsql.session.notes import statement_notes
from dpsql.session.own.by_value.counted import NO_COUNTS, Counts, counts_of
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
)
from dpsql.session.strings.read import as_measured
from dpsql.session.table_state import TableState
from dpsql.sql.statement import Statement

_SOURCES: tuple[tuple[type[Route], str], ...] = (
    (OwnRelease, sources.OWN),
    (SpareRelease, sources.SPARE),
    (Tested, sources.TESTED),
    (Untested, sources.UNTESTED),
    (Modelled, sources.MODEL),
    (Measured, sources.MEASURED),
    (Declared, sources.OWNERS_WORD),
    (AnsweredBefore, sources.KNOWN),
)
"""Of a statement's queries of one outline, the first kind that occurs counts for all."""


def explanation(
    statement: Statement,
    queries: Sequence[LinearQuery],
    asker: Asker,
    others: tuple[QueryPlan, ...] = (),
    other_units: int = 0,
) -> Explanation:
    """One plan per scope, in asking order; ``others``: of what is no linear query, for so many units at most."""
    left = asker.payments_left()
    routes = asker.routes(queries)
    _foresee_counts(asker, queries, counts_of(statement))
    scopes = [list(same) for _, same in groupby(routes, key=lambda r: r.queries[0].outline)]
    plans = [_scope_plan(asker.states[same[0].queries[0].table], same, asker) for same in scopes]
    for state in asker.states.values():
        state.own.know_counts(NO_COUNTS, {})  # foreseen ones, whose values nobody has answered
    tables = first_measured(asker, statement, queries, routes)
    plan = [f"{name} is answered by: {outlook(s.plan, s.forecast()).strategy}" for name, s in _states(asker, tables)]
    plan += [words for _, s in _states(asker, tables) for words in _of_construction(s, asker)]
    plan += [
        f"{_which(state, first.scopes)} to {name} also measures {_words(state, first)}: "
        f"{_share(asker.plan.as_epsilon(first.units))}"
        for (name, state), first in zip(_states(asker, tables), tables.values(), strict=True)
        if first.units > 0
    ]
    plan += [
        f"the strings of {column} that count are its frequent ones, once they are measured"
        f"{_shown_from(asker.states[table], column)}"
        for table, column in statement.awaited
    ]
    worst = asker.plan.as_epsilon(worst_units(asker, statement, tables, routes, other_units))
    needed = sum(r.payments for r in routes)
    times = left // needed if needed and any(p.worst_charge > 0 for p in plans) else None
    if asker.policy.mechanism.when_spent == "refuse" and needed > left:
        times = 0
        plan.append(f"refused as things are: it may need {needed} {asker.payment.name}s, {left} are left")
    outer = None if statement.direct is not None else statement.outer_sql
    cut = [Note("bins", text) for text in _of_cuts(statement, asker)]
    notes = (*(Note("plan", text) for text in plan), *statement_notes(statement, asker), *cut)
    return Explanation((*plans, *others), outer, worst, asker.remaining_epsilon(), notes, times)


def _of_cuts(statement: Statement, asker: Asker) -> Iterator[str]:
    """How far off counts are where conditions hold for a part of a bin, as soon as anything is known of its rows."""
    for block in statement.blocks:
        state = asker.states.get(block.table)  # none of a table of units, of whose counts a release tells all
        counted = [a for a in block.aggregates if block.cut and a.sql_type == "BIGINT" and a.summary is None]
        forms = [form for a in counted for form in a.numerator if any(t.doubt for t in form.terms)]
        errors = [] if state is None else [e for e in map(state.error_of_form, forms) if e is not None]
        if errors:
            yield f"rows of parts of {block.table} that are cut may count or not: errors are up to {max(errors):,.0f}"


def _foresee_counts(asker: Asker, queries: Sequence[LinearQuery], counts: Counts) -> None:
    """Sums of averages are measured beside the counts of their rows, which are answered before: as far off as these
    will be."""
    for name, state in asker.states.items():
        of = {q.digest: counts[q.digest] for q in queries if q.digest in counts and q.table == name}
        wanted = {count.digest: count for count in of.values()}
        found = {q.digest: _foreseen(state, way) for way in asker.routes(list(wanted.values())) for q in way.queries}
        state.own.know_counts(of, found)


def _foreseen(state: TableState, way: Route) -> Answer:
    return Answer(0, _error(state, way), None, "calibrated", "measurement", certified=False)


def _of_construction(state: TableState, asker: Asker) -> list[str]:
    """What is to be known of a construction of the papers, and of the papers' constants."""
    model = state.model
    remark = model.construction.remark if model is not None and model.construction is not None else None
    found = [] if remark is None else [f"{state.plan.name}: {remark}"]
    rows = None if model is None else f"{model.row_count:,.0f} rows"
    words = distance_words(state.plan, asker.policy, rows)
    return found if words is None else [*found, words]


def _states(asker: Asker, tables: Iterable[str]) -> list[tuple[str, TableState]]:
    return [(name, asker.states[name]) for name in tables]


def _scope_plan(state: TableState, routes: Sequence[Route], asker: Asker) -> QueryPlan:
    """How queries of one outline are answered, by the route that needs most, and their largest error."""
    source = next(words for kind, words in _SOURCES if any(type(r) is kind for r in routes))
    queries = [q for r in routes for q in r.queries]
    query, keyed = queries[0], queries[0].keyed
    found = [state.forecast_error(q) for r in routes if type(r) is not AnsweredBefore for q in r.queries]
    foreseen = max((e for e in found if e is not None), default=None)
    errors = [_error(state, r) for r in routes]
    error = None if None in errors else max(e for e in errors if e is not None)
    return QueryPlan(
        query.table,
        (keyed.text_columns if keyed else ()) + query.touched,
        query.cells,
        None if keyed is None else len({k for q in queries if q.keyed for k in q.keyed.strings}),
        len(queries),
        source,
        error if foreseen is None else foreseen,
        asker.plan.as_epsilon(sum(route_units(asker, r) for r in routes)),
        foreseen is not None,
    )


def _error(state: TableState, way: Route) -> float | None:
    """The largest 95 % bound of a route's answers, in counts; ``None`` when one of them has none."""
    match way:
        case AnsweredBefore() | Declared():
            errors = [a.error for a in way.answers]
        case Measured():
            errors = [a.error for a in as_measured(state, way.queries, way.found)]
        case SpareRelease():
            with state.own.paying(way.times):
                errors = [float(error_bound(sd)) for sd in state.own.spare_sds(way.queries)]
        case OwnRelease():  # one for all of them: each part of it is finer
            sd = max(state.own.own_sds(way.queries))
            errors = [float(error_bound(sd, not all(q.is_indicator for q in way.queries)))]
        case Modelled() | Untested():
            errors = [state.error_bar(q) for q in way.queries]
        case Tested():
            errors = [_tested_error(state, q) for q in way.queries]
    return None if None in errors else float(max(e for e in errors if e is not None))


def _tested_error(state: TableState, query: LinearQuery) -> float | None:
    bar = state.error_bar(query)
    if bar is not None:
        return bar
    return state.plan.bound if state.model is None else state.certificate(query)


def _which(state: TableState, scopes: Collection[tuple[str, ...]]) -> str:
    later = state.model is not None and state.touches.warm.beside_any(scopes)
    return "this question" if later else "the first question"


def _words(state: TableState, first: First) -> str:
    """What is measured first."""
    touches = state.touches
    count = ["its row count"] if state.model is None else []
    if any(touches.warm.next_units(scope) > 0 for scope in first.scopes):
        count.append("contingencies of its columns (the warm start)")
    if beside := touches.warm.beside_any(first.scopes):
        count.append(f"{len(beside):,} pairs of columns beside those (a quarter of the columns is asked about)")
    count += [
        f"the frequent strings of {column}{_shown_from(state, column)}"
        for column in first.texts
        if touches.texts.next_units(column) > 0
    ]
    return " and ".join(filter(None, [", ".join(count[:-1]), *count[-1:]]))


def _shown_from(state: TableState, column: str) -> str:
    """From how many rows on a string is shown, which is known before it is paid for."""
    start = state.plan.texts.get(column)
    return "" if start is None else f" (of about {start.shown_from:,} rows or more)"


def _share(epsilon: float) -> str:
    return f"epsilon {epsilon:.3g}"


def explained(found: Explanation) -> Result:
    """The plan as rows of text, as EXPLAIN shows it: some for each scope, the outer statement, the charge at most."""
    rows = [row for plan in found.plans for row in _rows(plan)]
    if found.outer is not None:
        rows.append(("then", found.outer))
    rows.append(("charge", f"at most {_share(found.worst_charge)} of {_share(found.remaining)} that are left"))
    columns = [pa.array([row[i] for row in rows], pa.string()) for i in (0, 1)]
    return Result(pa.table(columns, ["explain_key", "explain_value"]), ("VARCHAR", "VARCHAR"), notes=found.notes)


def _rows(plan: QueryPlan) -> list[tuple[str, str]]:
    """A row for each thing that is said of a scope: a terminal cuts what is long."""
    scope = ", ".join(plan.scope) or "every row"
    number = "one" if plan.queries == 1 else f"{plan.queries:,}"
    cells = "one cell" if plan.cells == plan.queries == 1 else f"{number} of {plan.cells:,} cells"
    return [
        ("question", f"{plan.table} ({scope}): {cells}"),
        ("answered from", plan.source),
        ("error", "not known" if plan.error is None else f"about {plan.error:,.0f}"),
        ("costs", f"at most {_share(plan.worst_charge)}"),
    ]
