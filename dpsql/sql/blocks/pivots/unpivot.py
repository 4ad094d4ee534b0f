"""UNPIVOT as UNION ALL: one SELECT for each column that becomes rows."""

from sqlglot import exp

from dpsql.sql.blocks.pivots.source import Source
from dpsql.sql.text.position import refusal

_NAME, _VALUE = "name", "value"


def unpivoted(text: str, node: exp.Pivot, source: Source) -> exp.Query:
    """The UNION ALL that an UNPIVOT stands for. Raises UnsupportedQuery with its place."""
    fields = node.args.get("fields")
    if fields:
        name, value, turned = fields[0].this.name, node.expressions[0].name, fields[0].expressions
    else:
        into, turned = node.args.get("into"), node.expressions
        name = into.this.name if into is not None else _NAME
        value = into.expressions[0].name if into is not None else _VALUE
    columns: list[tuple[str, str]] = []
    for entry in turned:
        column = entry.this if isinstance(entry, (exp.PivotAlias, exp.Alias)) else entry
        if not isinstance(column, exp.Column) or isinstance(column.this, exp.Star):
            raise refusal(text, entry, "UNPIVOT takes names of columns", "write ON a, b")
        columns.append((column.name, entry.alias or column.name))
    if not columns:
        raise refusal(text, node, "UNPIVOT without columns", "write ON a, b")
    taken = {column.lower() for column, _ in columns}
    kept = [n for n in source.columns() if n.lower() not in taken]
    nulls = bool(node.args.get("include_nulls"))
    sides = [_side(source, kept, column, (label, name, value), nulls=nulls) for column, label in columns]
    tree: exp.Query = sides[0]
    for side in sides[1:]:
        tree = exp.Union(this=tree, expression=side, distinct=False)
    return tree


def _side(source: Source, kept: list[str], column: str, names: tuple[str, str, str], *, nulls: bool) -> exp.Select:
    """The rows of one column; ``names``: what stands under the column of names, and the names of the two columns."""
    label, name, value = names
    items: list[exp.Expr] = [exp.column(n, quoted=True) for n in kept]
    items.append(exp.alias_(exp.Literal.string(label), name, quoted=True))
    items.append(exp.alias_(exp.column(column, quoted=True), value, quoted=True))
    made = exp.Select(expressions=items, from_=source.clause)
    if not nulls:
        known = exp.Not(this=exp.Is(this=exp.column(column, quoted=True), expression=exp.null()))
        made.set("where", exp.Where(this=known))
    return made
