"""UNION ALL of rows of one private table: its sides are counted one by one, and their counts are added.

A row may be on several sides, and then counts several times, as it does in DuckDB. Each side asks its own linear
queries, so nothing about privacy changes: only what is added up does.
"""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from dpsql.dialect.quoting import written
from dpsql.sql.blocks.naming import empty_table
from dpsql.sql.expressions.names import Scope, quoted
from dpsql.sql.public_sql import PublicSql
from dpsql.sql.text.position import refusal

MAX_SIDES = 32
"""Of a UNION ALL of private rows: each asks questions of its own."""


def sides(node: exp.SetOperation) -> list[exp.Expr]:
    """The operands of a chain of set operations, left to right, without recursion on its left-deep side."""
    out: list[exp.Expr] = [node.args["expression"]]
    left = node.this
    while isinstance(left, exp.SetOperation) and left.args.get("with_") is None:
        out.append(left.args["expression"])
        left = left.this
    out.append(left)
    return out[::-1]


def united(text: str, node: exp.SetOperation, scopes: Sequence[Scope | None], public: PublicSql) -> Scope | None:
    """The rows of all sides together; ``None`` unless every side is rows of one private table, joined by UNION ALL.

    ``scopes``: what each of its ``sides`` yields. Columns have the names of the first side.
    """
    found = [s for s in scopes if s is not None]
    one_table = len({id(s.table) for s in found}) == 1
    if len(found) < len(scopes) or not one_table or not _adds(node):
        return None
    for side, scope in zip(sides(node), found, strict=True):
        if not scope.branches and not _distinct_names(side, scope):
            raise refusal(text, side, "a side of UNION ALL has two columns of one name", "name each column once")
    branches = tuple(branch for s in found for branch in (s.branches or (s,)))
    if any(bound.unit for b in branches for _, bound in b.names.values()):
        raise refusal(text, node, "a side of UNION ALL selects units", "count each side's units by themselves")
    if len({len(b.names) for b in branches}) > 1:
        raise refusal(text, node, "the sides of UNION ALL have different numbers of columns", "select the same columns")
    branches = tuple(_named(b, branches[0]) for b in branches)
    if len({_types(b, public) for b in branches}) > 1:
        raise refusal(text, node, "the sides of UNION ALL have columns of different types", "cast them to one type")
    if len(branches) > MAX_SIDES:
        raise refusal(text, node, f"more than {MAX_SIDES} sides of UNION ALL over private rows", "count them apart")
    refused = next((b.refused for b in branches if b.refused is not None), None)
    first = branches[0]
    if refused is not None:
        return Scope(first.table, first.qualifier, first.names, (), False, refused)
    return Scope(first.table, first.qualifier, first.names, (), False, "UNION ALL", branches)


def _named(scope: Scope, first: Scope) -> Scope:
    """The columns of a side under the names of the first side's, place by place."""
    pairs = zip(first.names.items(), scope.names.values(), strict=True)
    return replace(scope, names={key: (name, bound) for (key, (name, _)), (_, bound) in pairs})


def _types(scope: Scope, public: PublicSql) -> tuple[str, ...]:
    """The types of a side's columns. Where they differ DuckDB would cast before it compares; whole numbers are one."""
    items = ", ".join(f"{bound.sql} AS c{i}" for i, (_, bound) in enumerate(scope.names.values()))
    name = scope.table.name
    found = public.run(f"SELECT {items} FROM {quoted(name)} LIMIT 0", {name: empty_table(scope.table)})
    return tuple("integer" if pa.types.is_integer(t) else str(t) for t in found.schema.types)


def _distinct_names(side: exp.Expr, scope: Scope) -> bool:
    """Whether each column of a side is a name of its scope: of two of one name a scope has the first."""
    while isinstance(side, exp.Subquery):
        side = side.this
    items = side.expressions if isinstance(side, exp.Select) else []
    stars = any(isinstance(i, exp.Star) or (isinstance(i, exp.Column) and isinstance(i.this, exp.Star)) for i in items)
    return len(items) == 1 if stars else len(items) == len(scope.names)


def _adds(node: exp.Expr) -> bool:
    """Whether every operation of the chain is UNION ALL by position, with nothing that sorts or cuts its rows."""
    while isinstance(node, exp.SetOperation):
        known = ("this", "expression", "distinct", "with_")
        if not isinstance(node, exp.Union) or any(v for k, v in node.args.items() if k not in known):
            return False
        if node.args.get("distinct") is not False:
            return False
        node = node.this
    return True


def several_rows(scope: Scope) -> tuple[str, str]:
    """Reason and hint for what is no sum over rows that are counted several times."""
    if scope.unlisted:
        found = f"{written(scope.unlisted[0])} IN (SELECT ... FROM the public table)"
        return unlisted_key(scope.unlisted), f"this join is answered with COUNT, SUM and AVG alone; write WHERE {found}"
    if scope.by_source:
        reason = "this aggregate is no sum, and a row finds several rows in this join"
        return reason, "join a table in which each key stands once, or write COUNT, SUM and AVG"
    reason = "this aggregate over the rows of several selections is not answered"
    return reason, "write one condition with OR, or aggregate each in its own SELECT"


def several_groups(scope: Scope) -> tuple[str, str]:
    """Reason and hint for rows that are counted several times, in different groups."""
    subquery = "group by the key in a subquery, join its result and sum its counts"
    if scope.unlisted:
        return unlisted_key(scope.unlisted), f"ask of one group at a time, by WHERE or FILTER; or {subquery}"
    if scope.by_source:
        return "a row finds several rows in this join, which are in different groups", subquery
    return "the sides of UNION ALL group by different expressions", "select the same column on each side"


def unlisted_key(names: Sequence[str]) -> str:
    """Why a join is not answered as a look-up."""
    return f"a join by {' and '.join(names)}, whose values are not listed one by one in the policy"
