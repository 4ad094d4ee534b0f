"""The public plan of a statement: where each scope would be answered from, what it could charge; touches no data."""

from collections.abc import Iterable, Sequence

from dpsql.query import LinearQuery
from dpsql.result import Explanation, QueryPlan
from dpsql.session.asking import Asker
from dpsql.session.table_state import same_shape
from dpsql.sql.statement import Statement


def explanation(statement: Statement, queries: Sequence[LinearQuery], asker: Asker) -> Explanation:
    """One plan per scope, in asking order."""
    left = asker.hard_rounds_left()
    share = asker.plan.epsilon_share(asker.plan.hard_cost)
    scopes: list[list[LinearQuery]] = []
    for query in queries:
        group = next((g for g in scopes if same_shape(g[0], query)), None)
        if group is None:
            scopes.append([query])
        else:
            group.append(query)
    plans = [_scope_plan(group, asker, left, share) for group in scopes]
    asked = {
        name: {g[0].scope for g in scopes if g[0].table == name} for name in dict.fromkeys(q.table for q in queries)
    }
    texts = {name: _lone_text(g[0] for g in scopes if g[0].table == name) for name in asked}
    first_shares = {name: asker.purses.first_share(name, found, texts[name]) for name, found in asked.items()}
    notes = [
        f"the first question to {name} also measures {_first(asker, name, asked[name], texts[name])}: {_share(first)}"
        for name, first in first_shares.items()
        if first > 0
    ]
    worst = sum(p.worst_charge for p in plans) + sum(first_shares.values())
    rounds = sum(p.worst_charge > 0 for p in plans)
    remaining = asker.remaining_share()
    outer = None if statement.direct is not None else statement.outer_sql
    return Explanation(tuple(plans), outer, worst, remaining, tuple(notes), left // rounds if rounds else None)


def _scope_plan(group: Sequence[LinearQuery], asker: Asker, left: int, share: float) -> QueryPlan:
    query = group[0]
    paths = [asker.path(q) for q in group]
    order = ("test", "uncertified", "model", "measurement", "cache")
    path = next(p for p in order if any(kind == p for kind, _ in paths))
    errors = [error for _, error in paths]
    worst = 0.0 if path in ("cache", "measurement", "model") or left == 0 else share
    source = {
        "cache": "an equal question's answer",
        "measurement": "a measurement",
        "model": "hypothesis",
        "test": "hypothesis if the test passes, else a measurement",
        "uncertified": "hypothesis, not certified: no test left",
    }[path]
    error = None if any(e is None for e in errors) else max(e for e in errors if e is not None)
    support = None if query.keyed is None else len({k for q in group if q.keyed for k in q.keyed.keys})
    text = query.keyed.text_columns if query.keyed else ()
    return QueryPlan(query.table, text + query.scope, query.cells, support, len(group), source, error, worst)


def _lone_text(queries: Iterable[LinearQuery]) -> list[str]:
    """Text columns that are asked about alone: their first touch is planned."""
    found = (q.keyed.text_columns for q in queries if q.keyed is not None)
    return list(dict.fromkeys(columns[0] for columns in found if len(columns) == 1))


def _first(asker: Asker, table: str, scopes: Iterable[tuple[str, ...]], texts: Iterable[str]) -> str:
    state = asker.states[table]
    count = ["its row count"] if state.model is None else []
    if state.warm is not None and any(state.warm.next_units(scope) > 0 for scope in scopes):
        count.append("contingencies of its columns (the warm start)")
    if state.texts is not None:
        count += [f"the frequent strings of {column}" for column in texts if state.texts.pending(column) is not None]
    return " and ".join(filter(None, [", ".join(count[:-1]), *count[-1:]]))


def _share(epsilon: float) -> str:
    return f"epsilon {epsilon:.3g}"
