"""A relation LEFT JOIN private rows: what the relation's rows that find none add to the answer.

Which ones find none is private, so they must add nothing: only what counts or sums a column of the private table, by
columns of the relation, is the same without them.
"""

from sqlglot import exp

from dpsql.dialect.quoting import written
from dpsql.errors import UnsupportedQuery
from dpsql.sql.aggregates.aggregates import is_aggregate
from dpsql.sql.blocks.joins.sources import Sources
from dpsql.sql.expressions.operators import unwrap
from dpsql.sql.text.position import refusal


def check_optional(text: str, select: exp.Select, sources: Sources) -> None:
    """Raises UnsupportedQuery where a row without a private one would change a number or be a group of its own."""
    where = select.args.get("where")
    if where is not None and any(sources.owner(text, c) == -1 for c in where.find_all(exp.Column)):
        raise _refusal(text, where, sources)
    for item in [*select.expressions, *(select.args[k] for k in ("group", "having", "order") if select.args.get(k))]:
        _check(text, item, sources)


def _check(text: str, node: exp.Expr, sources: Sources) -> None:
    if is_aggregate(node):
        arguments = [unwrap(a) for a in node.expressions]
        if len(arguments) != 1 or not _is_private(text, arguments[0], sources):
            raise _refusal(text, node, sources)
    elif isinstance(node, exp.Star) or (_is_private(text, node, sources) and not _is_shared(node, sources)):
        raise _refusal(text, node, sources)
    else:
        for child in node.iter_expressions():
            _check(text, child, sources)


def _is_private(text: str, node: exp.Expr, sources: Sources) -> bool:
    return isinstance(node, exp.Column) and sources.owner(text, node) == -1


def _is_shared(node: exp.Expr, sources: Sources) -> bool:
    """Whether it is the column of both that USING names: where rows are found, they are equal."""
    return node.args.get("table") is None and node.name.lower() in sources.shared


def _refusal(text: str, node: exp.Expr, sources: Sources) -> UnsupportedQuery:
    table, alias = sources.private.table.name, sources.private.qualifier
    name = written(table if alias == table.lower() else alias)
    return refusal(
        text,
        node,
        f"rows that are kept without a row of {table} depend on which rows there are",
        f"write JOIN; or count a column of {table}, by columns of the other table: COUNT({name}.column)",
    )
