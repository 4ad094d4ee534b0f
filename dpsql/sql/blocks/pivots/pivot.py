"""PIVOT as a GROUP BY: one column for each value, its aggregate over the rows that have the value.

The values come from IN, or from ``SELECT DISTINCT`` on the same source: of a declared column these are the declared
ones, so the columns of the result say nothing about the data.
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from sqlglot import exp

from dpsql.sql.aggregates.aggregates import is_aggregate
from dpsql.sql.blocks.pivots.source import Source
from dpsql.sql.expressions.operators import unwrap
from dpsql.sql.text.parse import to_sql
from dpsql.sql.text.position import refusal

MAX_PIVOT_COLUMNS = 256
"""Columns that a PIVOT may make: each is an aggregate of its own."""

REST = "rest"
"""In the meta of a SELECT: whether it is grouped by all columns that its PIVOT does not name."""


class _Value(NamedTuple):
    """Rows with one value of an ON expression, and the name that their column has."""

    name: str
    condition: exp.Expr


def pivoted(text: str, node: exp.Pivot, source: Source) -> exp.Select:
    """The SELECT that a PIVOT stands for. Raises UnsupportedQuery with its place."""
    on = node.args.get("fields") or node.expressions
    if not on:
        raise refusal(text, node, "a PIVOT without ON has no columns to make", "write ON column, or GROUP BY alone")
    using = (node.args.get("using") or []) if not node.args.get("fields") else node.expressions
    using = using or [exp.Anonymous(this="COUNT", expressions=[exp.Star()])]
    axes = [_values(text, entry, source) for entry in on]
    group = node.args.get("group")
    if group is None:
        shown = _rest(source, [*on, *using])
    elif group.expressions and all(isinstance(e, exp.Column) for e in group.expressions):
        shown = [e.copy() for e in group.expressions]
    else:
        raise refusal(text, node, "a PIVOT is grouped by columns", "name them, and put expressions into a subquery")
    items: list[exp.Expr] = [e.copy() for e in shown]
    for cell in product(*axes):
        for item in using:
            items.append(_cell(text, item, cell, several=len(using) > 1))
        if len(items) > MAX_PIVOT_COLUMNS:
            reason = f"PIVOT would make more than {MAX_PIVOT_COLUMNS:,} columns"
            raise refusal(text, node, reason, "name the values: ON column IN ('a', 'b')")
    if len(items) == len(shown):
        raise refusal(text, node, "PIVOT finds no value", "name the values: ON column IN ('a', 'b')")
    grouped = exp.Group(expressions=[e.copy() for e in shown]) if shown else None
    made = exp.Select(expressions=items, from_=source.clause, group=grouped)
    made.meta[REST] = group is None
    return made


def _values(text: str, entry: exp.Expr, source: Source) -> list[_Value]:
    target = entry.this if isinstance(entry, exp.In) else entry
    if isinstance(target, exp.Identifier):
        target = exp.Column(this=target.copy())
    if not isinstance(entry, exp.In):
        return [_value(target, v, _shown(v)) for v in sorted(_distinct(target, source), key=_shown)]
    if entry.args.get("query") or not entry.expressions or isinstance(target, exp.Tuple):
        raise refusal(text, entry, "this list of a PIVOT is not answered", "write ON column IN ('a', 'b')")
    found: list[_Value] = []
    seen: set[str] = set()
    for listed in entry.expressions:
        value = listed.this if isinstance(listed, (exp.PivotAlias, exp.Alias)) else listed
        if not isinstance(unwrap(value), (exp.Literal, exp.Boolean, exp.Neg, exp.Cast)):
            raise refusal(text, listed, "a value of a PIVOT is a literal", "write ON column IN ('a', 'b')")
        if (shown := _shown(value)) in seen:
            raise refusal(text, listed, f"the value {shown} stands twice in this IN", "write each value once")
        seen.add(shown)
        found.append(_value(target, value, listed.alias or _shown(value)))
    return found


def _distinct(target: exp.Expr, source: Source) -> Sequence[exp.Expr]:
    """The values of an expression over the source other than NULL."""
    known = exp.Not(this=exp.Is(this=target.copy(), expression=exp.null()))
    distinct = exp.Distinct()
    return source.values(
        exp.Select(expressions=[target.copy()], from_=source.clause, where=exp.Where(this=known), distinct=distinct)
    )


def _value(target: exp.Expr, value: exp.Expr, name: str) -> _Value:
    return _Value(name, exp.EQ(this=exp.paren(target.copy()), expression=value.copy()))


def _shown(value: exp.Expr) -> str:
    """The name of the column of a value, as DuckDB would print it."""
    value = unwrap(value)
    if isinstance(value, exp.Neg):
        return f"-{_shown(value.this)}"
    if isinstance(value, exp.Cast):
        return _shown(value.this)
    return to_sql(value).lower() if isinstance(value, exp.Boolean) else value.name


def _cell(text: str, item: exp.Expr, cell: Sequence[_Value], *, several: bool) -> exp.Expr:
    """One aggregate over the rows of one cell."""
    made = exp.Paren(this=(item.this if isinstance(item, exp.Alias) else item).copy())
    condition = exp.and_(*(v.condition for v in cell), wrap=False)
    aggregates = [n for n in made.walk() if is_aggregate(n) and not _inside(n)]
    if not aggregates:
        raise refusal(text, item, "USING takes an aggregate", "write USING COUNT(*)")
    for node in aggregates:
        if isinstance(node, exp.Filter):
            raise refusal(text, node, "FILTER in a PIVOT is not answered", "put the condition into a subquery")
        node.replace(exp.Filter(this=node.copy(), expression=exp.Where(this=condition.copy())))
    parts = [v.name for v in cell]
    if isinstance(item, exp.Alias):
        parts.append(item.alias)
    elif several:
        parts.append(to_sql(item, normalize_functions="lower").replace("count(*)", "count_star()"))
    return exp.alias_(unwrap(made), "_".join(parts), quoted=True, copy=False)


def _inside(node: exp.Expr) -> bool:
    """Whether an aggregate stands in FILTER or WITHIN GROUP, which are then the aggregate."""
    return isinstance(node.parent, (exp.Filter, exp.WithinGroup))


def _rest(source: Source, named: Sequence[exp.Expr]) -> list[exp.Expr]:
    """The columns of the source that ON and USING do not mention."""
    taken = {c.name.lower() for e in named for c in e.find_all(exp.Column)}
    taken |= {e.this.name.lower() for e in named if isinstance(e, exp.In)}
    return [exp.column(name, quoted=True) for name in source.columns() if name.lower() not in taken]
