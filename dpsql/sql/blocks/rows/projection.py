"""Rows of a private table, filtered and projected: what a subquery or CTE of rows means to the block that counts."""

from sqlglot import exp

from dpsql.sql.aggregates.chosen import choices_of
from dpsql.sql.expressions.bind import Binder, Lookup
from dpsql.sql.expressions.bound import Bound
from dpsql.sql.expressions.names import Scope, quoted, unit_of
from dpsql.sql.expressions.operators import unwrap
from dpsql.sql.expressions.remarks import Remarked
from dpsql.sql.text.parse import to_sql
from dpsql.sql.text.position import refusal

_ROW_CLAUSES = {
    "distinct": "DISTINCT", "order": "ORDER BY", "limit": "LIMIT", "offset": "OFFSET", "qualify": "QUALIFY",
    "windows": "WINDOW", "having": "HAVING", "sample": "USING SAMPLE",
}  # fmt: skip


def projection(text: str, node: exp.Select, scope: Scope, lookup: Lookup) -> tuple[Scope, list[Remarked]]:
    """Rows of a private table, filtered and projected; merged into the block that counts them."""
    refused = scope.refused or next((word for k, word in _ROW_CLAUSES.items() if node.args.get(k)), None)
    aliases = {i.alias.lower(): i.this for i in node.expressions if isinstance(i, exp.Alias)}
    binder = Binder(text, scope, aliases, lookup)
    condition = scope.condition
    where = node.args.get("where")
    if where is not None:
        condition = (*condition, *binder.conjuncts(where.this))
    names: dict[str, tuple[str, Bound]] = {}
    star_only, unit = True, None
    for item in node.expressions:
        inner = item.this if isinstance(item, exp.Alias) else item
        if _is_star(inner):
            if any(inner.args.get(k) for k in ("except_", "replace", "rename")):
                raise refusal(text, inner, "* with EXCLUDE or REPLACE is not answered", "name the columns")
            for key, value in scope.starred(text, inner).items():
                names.setdefault(key, value)
            unit = scope.unit
            continue
        star_only = False
        if isinstance(inner, exp.Window) or inner.find(exp.Window):
            refused = refused or "a window function"
            continue
        name = item.alias if isinstance(item, exp.Alias) else inner.name
        bound = unit_of(scope.table) if scope.is_unit(inner) else binder.bind(unwrap(inner))
        if not isinstance(item, exp.Alias) and not isinstance(inner, exp.Column):
            name = to_sql(inner, normalize_functions="lower")
        wrapped = (
            bound
            if bound.text or bound.unit or bound.literal or bound.sql == quoted(bound.sql[1:-1])
            else _grouped(bound)
        )
        if wrapped.steps and not wrapped.choices:
            wrapped = wrapped._replace(choices=choices_of(binder, inner))
        names.setdefault(name.lower(), (name, wrapped))
    base = scope.base and star_only
    return Scope(scope.table, scope.qualifier, names, condition, base, refused, unit=unit), binder.remarks


def _is_star(node: exp.Expr) -> bool:
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def _grouped(bound: Bound) -> Bound:
    """The expression as a part of any other, with all that is known of it, as where it changes inside of bins."""
    return bound._replace(sql=f"({bound.sql})")
