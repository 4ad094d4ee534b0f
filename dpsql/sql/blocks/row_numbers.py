"""Lining up answers with rows: the row number of the only block is carried to the front of the result.

That works while every SELECT above the block filters, orders, limits and passes columns of one source: then each row
of the result is a row of the block.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from sqlglot import exp

from dpsql.sql.aggregates.aggregates import is_aggregate
from dpsql.sql.expressions.operators import unwrap
from dpsql.sql.statement import ROW, Block
from dpsql.sql.text.parse import parse, to_sql

Shown = tuple[str, str | None]
"""An output column: its name (empty when DuckDB makes one), and the block's aggregate column that it is, if any."""

_MEASURE = re.compile(r"a\d+")
_OTHER_ROWS = ("distinct", "group", "having", "joins", "laterals", "pivots", "sample")


def number_rows(
    tree: exp.Expr, blocks: Sequence[Block], selects: Mapping[int, str]
) -> tuple[str | None, tuple[str | None, ...]]:
    """Puts the row number in front of the outermost select list of ``tree``, in place.

    ``selects`` names the released table of each block's SELECT, by ``id``. Returns the new column's name, and for each
    other output column the aggregate column that it shows unchanged; (None, ()) when rows are not the block's. The
    sides of a UNION ALL are numbered apart, so that their rows can be told from each other: (name, ()).
    """
    if isinstance(tree, exp.Union):
        return _number_sides(tree, tree, selects), ()
    if not isinstance(tree, exp.Select):
        return None, ()
    chain, union = _chain(tree, selects)
    if union is not None:
        return _number_above(chain, union, tree, selects), ()
    lists = _lists(chain) if len(blocks) == 1 else []
    if not lists:
        return None, ()
    name = _free_name(tree)
    _number(chain, lists, blocks[0].name, name)
    _shift_positions(chain[0])
    return name, tuple(source for _, source in lists[0][1])


def _number_above(
    chain: Sequence[exp.Select], union: exp.Union, tree: exp.Select, selects: Mapping[int, str]
) -> str | None:
    """Numbers rows within a UNION ALL from which SELECTs filter, order, limit and pass columns."""
    first = union
    while isinstance(first.this, exp.Union):
        first = first.this
    below = [(item.alias_or_name, None) for item in first.this.expressions]
    lists = [] if any(item.is_star for item in first.this.expressions) else _lists(chain, below)
    name = _number_sides(union, tree, selects) if lists else None
    if name is not None:
        _number(chain, lists, None, name)
        _shift_positions(chain[0])
    return name


def _number_sides(tree: exp.Union, whole: exp.Expr, selects: Mapping[int, str]) -> str | None:
    """Numbers rows within a UNION ALL; a side whose rows are no block's gets one number, which tells it from others."""
    sides: list[exp.Expr] = [tree]
    while isinstance(sides[0], exp.Union):
        union = sides[0]
        if union.args.get("distinct") or union.args.get("by_name") or (union is not tree and union.args.get("with_")):
            return None
        sides[:1] = [union.this, union.args["expression"]]
    if any(not isinstance(s, exp.Select) or s.args.get("distinct") is not None for s in sides):
        return None
    if _orders_by_all(tree) and any(item.is_star for item in sides[0].expressions):  # nobody knows how many these are
        return None
    name = _free_name(whole)
    for number, side in enumerate(sides):
        chain = _chain(side, selects)[0] if isinstance(side, exp.Select) else []
        lists = _lists(chain) if chain and id(chain[-1]) in selects else []
        if lists:
            _number(chain, lists, selects[id(chain[-1])], name, f"* {len(sides)} + {number}")
        else:
            row = exp.alias_(exp.Literal.number(number), name, quoted=True)
            side.set("expressions", [row, *side.expressions])
        if isinstance(side, exp.Select):
            _shift_positions(side)
    _shift_positions(tree, len(sides[0].expressions))
    return name


def _number(
    chain: Sequence[exp.Select],
    lists: Sequence[tuple[list[exp.Expr], list[Shown]]],
    block: str | None,
    name: str,
    then: str = "",
) -> None:
    """Carries the row number from below to the front of the first SELECT: that of ``block``, which is the last one's,
    or of the same name. ``then``: SQL behind it there."""
    for level, (select, (items, _)) in enumerate(zip(chain, lists, strict=True)):
        own = block is not None and select is chain[-1]
        number: exp.Expr = exp.column(ROW, table=block) if own else exp.column(name, quoted=True)
        if level == 0 and then:
            number = parse(f"SELECT {to_sql(number)} {then}").expressions[0]
        row = exp.alias_(number, name, quoted=True, copy=False)
        select.set("expressions", [row, *items] if level == 0 else [*items, row])


def _free_name(tree: exp.Expr) -> str:
    taken = {n.name.lower() for n in tree.find_all(exp.Identifier)}
    name = ROW
    while name in taken:
        name += "_"
    return name


def _chain(tree: exp.Select, selects: Mapping[int, str]) -> tuple[list[exp.Select], exp.Union | None]:
    """The SELECTs from the outermost to the block's, or to those above a UNION, with that; empty when rows are joined,
    grouped or told apart on the way."""
    chain: list[exp.Select] = []
    ctes: dict[str, exp.Expr] = {}
    select: exp.Expr | None = tree
    while isinstance(select, exp.Select):
        chain.append(select)
        if id(select) in selects:
            return ([] if select.args.get("distinct") is not None else chain), None
        if any(select.args.get(k) for k in _OTHER_ROWS) or any(_counts(i) for i in select.expressions):
            return [], None
        clause = select.args.get("with_")
        ctes.update({c.alias.lower(): c for c in (clause.expressions if clause is not None else ())})
        source = select.args.get("from_")
        below = None if source is None else _inner(tree, source.this, ctes)
        if isinstance(below, exp.Union):
            return chain, below
        select = below
    return [], None


def _inner(tree: exp.Select, source: exp.Expr, ctes: Mapping[str, exp.Expr]) -> exp.Expr | None:
    """The query behind an entry of FROM: a subquery, or a CTE that is read once."""
    if any(value for key, value in source.args.items() if key not in ("this", "alias")) or _renames(source):
        return None
    if isinstance(source, exp.Subquery):
        return _unwrap_query(source.this)
    cte = ctes.get(source.name.lower()) if isinstance(source, exp.Table) else None
    reads = sum(t.name.lower() == source.name.lower() for t in tree.find_all(exp.Table))
    return None if cte is None or reads != 1 or _renames(cte) else _unwrap_query(cte.this)


def _unwrap_query(node: exp.Expr) -> exp.Expr:
    """The query inside parentheses that have no clauses of their own."""
    while isinstance(node, exp.Subquery) and not any(v for k, v in node.args.items() if k != "this"):
        node = node.this
    return node


def _renames(node: exp.Expr) -> bool:
    alias = node.args.get("alias")
    return isinstance(alias, exp.TableAlias) and bool(alias.args.get("columns"))


def _counts(node: exp.Expr) -> bool:
    """Whether a select item may aggregate: its own aggregates, not those of windows or subqueries."""
    stack = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, exp.Query):
            continue
        if isinstance(top, exp.Window):
            stack.extend(c for c in top.iter_expressions() if c is not top.this)
            stack.extend(top.this.iter_expressions())
            continue
        if is_aggregate(top):
            return True
        stack.extend(top.iter_expressions())
    return False


def _lists(
    chain: Sequence[exp.Select], union: Sequence[Shown] | None = None
) -> list[tuple[list[exp.Expr], list[Shown]]]:
    """For each SELECT its items with * written out, and what they show; empty when a * cannot be written out.
    ``union``: the columns of the UNION that the last one reads."""
    out: list[tuple[list[exp.Expr], list[Shown]]] = []
    below = [*(union or ())]
    for select in reversed(chain):
        items: list[exp.Expr] = []
        shown: list[Shown] = []
        known = {name.lower(): source for name, source in reversed(below)}  # of two with one name the first is meant
        if _is_read_whole(select, known):
            return []
        for item in select.expressions:
            inner = unwrap(item.this if isinstance(item, exp.Alias) else item)
            star = inner if isinstance(inner, exp.Star) else inner.this if isinstance(inner, exp.Column) else None
            if isinstance(star, exp.Star):
                of_rows = not out and union is None
                if any(star.args.values()) or of_rows or "" in known or len(known) < len(below):
                    return []
                items += [exp.column(name, quoted=True) for name, _ in below]
                shown += below
                continue
            items.append(item)
            source = None
            if isinstance(inner, exp.Column):
                source = _measure(inner) if not out and union is None else known.get(inner.name.lower())
            named = isinstance(item, (exp.Alias, exp.Column))
            shown.append((item.alias_or_name if named else "", source))
        out.append((items, shown))
        below = shown
    return out[::-1]


def _is_read_whole(select: exp.Select, known: Collection[str]) -> bool:
    """Whether the rows below are named as such: as values they would show their number."""
    name = select.args["from_"].this.alias_or_name.lower()
    return name not in known and any(c.name.lower() == name for c in select.find_all(exp.Column))


def _measure(column: exp.Column) -> str | None:
    """The aggregate column that an item of the block's rewritten SELECT is."""
    return column.name if column.text("table") and _MEASURE.fullmatch(column.name) else None


def _orders_by_all(tree: exp.Expr) -> bool:
    order = tree.args.get("order")
    return order is not None and any(_is_all(item.this) for item in order.expressions)


def _is_all(target: exp.Expr) -> bool:
    return isinstance(target, exp.Var) and target.name.upper() == "ALL"


def _shift_positions(tree: exp.Expr, width: int | None = None) -> None:
    """ORDER BY positions and ALL, after one more column was put in front; ``width``: how many there are with it."""
    order = tree.args.get("order")
    if order is None:
        return
    shifted: list[exp.Expr] = []
    for item in order.expressions:
        target = item.this
        if isinstance(target, exp.Literal) and not target.is_string and target.this.isdigit():
            item.set("this", exp.Literal.number(int(target.this) + 1))
            shifted.append(item)
        elif _is_all(target):
            for position in range(2, (len(tree.expressions) if width is None else width) + 1):
                one = item.copy()
                one.set("this", exp.Literal.number(position))
                shifted.append(one)
        else:
            shifted.append(item)
    order.set("expressions", shifted)
