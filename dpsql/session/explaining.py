"""The public plan of a statement: where each scope would be answered from, what it could charge; touches no data."""

from collections.abc import Iterable, Sequence

from dpsql.hypothesis import error_bound
from dpsql.query import LinearQuery
from dpsql.result import Explanation, QueryPlan
from dpsql.session.asking import Asker
from dpsql.session.outlook import outlook
from dpsql.session.table_state import own_sd, same_shape
from dpsql.sql.statement import Statement

_SOURCES = {
    "release": "a measurement of its own",
    "test": "hypothesis if the test passes, else a measurement",
    "uncertified": "hypothesis, not certified: no test left",
    "model": "hypothesis",
    "measurement": "a measurement",
    "cache": "an equal question's answer",
}
"""Of a statement's queries of one shape, the first kind that occurs counts for all."""


def explanation(statement: Statement, queries: Sequence[LinearQuery], asker: Asker) -> Explanation:
    """One plan per scope, in asking order."""
    left, share = asker.payments_left(), asker.payment_share()
    scopes: list[list[LinearQuery]] = []
    for query in queries:
        group = next((g for g in scopes if same_shape(g[0], query)), None)
        if group is None:
            scopes.append([query])
        else:
            group.append(query)
    paths = [_path(group, asker) for group in scopes]
    plans = [_scope_plan(group, path, asker, share) for group, path in zip(scopes, paths, strict=True)]
    tables = dict.fromkeys([*(q.table for q in queries), *(table for table, _ in statement.awaited)])
    asked = {name: {g[0].scope for g in scopes if g[0].table == name} for name in tables}
    texts = {name: _lone_text(g[0] for g in scopes if g[0].table == name) for name in asked}
    for table, column in statement.awaited:
        texts[table].append(column)
    first_shares = {name: asker.purses.first_share(name, found, texts[name]) for name, found in asked.items()}
    notes = [f"{name} is answered by: {outlook(asker.states[name]).strategy}" for name in asked]
    notes += [
        f"the first question to {name} also measures {_first(asker, name, asked[name], texts[name])}: {_share(first)}"
        for name, first in first_shares.items()
        if first > 0
    ]
    notes += [
        f"the groups by {column} are its frequent strings, once they are measured" for _, column in statement.awaited
    ]
    worst = sum(p.worst_charge for p in plans) + sum(first_shares.values())
    needed = sum(kind in ("test", "release", "uncertified") for kind, _ in paths)
    times = left // needed if any(p.worst_charge > 0 for p in plans) else None
    if asker.policy.mechanism.when_spent == "refuse" and needed > left:
        times = 0
        notes.append(f"refused as things are: it may need {needed} {asker.payment_name}s, {left} are left")
    remaining = asker.remaining_share()
    outer = None if statement.direct is not None else statement.outer_sql
    return Explanation(tuple(plans), outer, worst, remaining, tuple(notes), times)


def _path(group: Sequence[LinearQuery], asker: Asker) -> tuple[str, float | None]:
    """How queries of one shape are answered, by the one that needs most, and their largest error."""
    paths = [asker.path(q) for q in group]
    path = next(p for p in _SOURCES if any(kind == p for kind, _ in paths))
    if path == "release":  # one for all of them: each part of it is finer
        sigma = float(asker.states[group[0].table].own_sigma)
        return path, float(error_bound(own_sd(group, sigma), not all(q.is_indicator for q in group)))
    errors = [error for _, error in paths]
    return path, None if any(e is None for e in errors) else max(e for e in errors if e is not None)


def _scope_plan(group: Sequence[LinearQuery], path: tuple[str, float | None], asker: Asker, share: float) -> QueryPlan:
    query, (kind, error) = group[0], path
    worst = share if kind in ("test", "release") else 0.0
    foreseen = None
    if kind != "cache":
        found = [asker.states[q.table].foreseen(q) for q in group]
        foreseen = max((e for e in found if e is not None), default=None)
    support = None if query.keyed is None else len({k for q in group if q.keyed for k in q.keyed.keys})
    text = query.keyed.text_columns if query.keyed else ()
    return QueryPlan(
        query.table,
        text + query.scope,
        query.cells,
        support,
        len(group),
        _SOURCES[kind],
        error if foreseen is None else foreseen,
        worst,
        foreseen is not None,
    )


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
