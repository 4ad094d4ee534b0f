"""ROLLUP, CUBE and GROUPING SETS: a SELECT for each level of groups, joined by UNION ALL.

Each level becomes a counting block of its own, asked as if it were written alone; so nothing about privacy changes.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, combinations, product
from typing import NamedTuple

from sqlglot import exp

from dpsql.sql.aggregates.aggregates import aggregates_itself, is_aggregate
from dpsql.sql.expressions.names import Scope
from dpsql.sql.expressions.operators import unwrap
from dpsql.sql.text.parse import to_sql
from dpsql.sql.text.position import refusal

MAX_LEVELS = 64
"""Of one GROUP BY: each is asked apart."""

_GROUPING = frozenset({"grouping", "grouping_id"})
_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
_WHOLE = {"distinct": "DISTINCT", "qualify": "QUALIFY", "windows": "WINDOW"}
_ATOMS = (exp.Literal, exp.Boolean, exp.Null)
_NAMES = (exp.Identifier, exp.DataType, exp.Var)
_LEVELS, _ORDER = "_levels", "_order_"


class Levels(NamedTuple):
    """The blocks that a SELECT becomes; ``root`` is what stands in the place of one that stood in nothing.

    ``aliases``: what those of its select list stand for in conditions and aggregates, at every level.
    """

    root: exp.Query | None
    selects: Sequence[exp.Select]
    aliases: Mapping[str, exp.Expr]


def has_levels(select: exp.Select) -> bool:
    """Whether GROUP BY names sets of groups, or the SELECT asks for their level."""
    group = select.args.get("group")
    if group is None:
        return False
    if any(isinstance(e, _SETS) for e in _entries(group)):
        return True
    parts = (*select.expressions, select.args.get("having"), select.args.get("order"))
    return any(_is_grouping(n) for part in parts if part is not None for n in part.walk())


def aliases_of(select: exp.Select) -> Mapping[str, exp.Expr]:
    """What stands behind each lower-cased alias of the select list; of two that are equal, the last."""
    return {i.alias.lower(): i.this for i in select.expressions if isinstance(i, exp.Alias)}


def group_target(text: str, node: exp.Expr, select: exp.Select, scope: Scope) -> exp.Expr:
    """The expression behind an entry of GROUP BY: a position, an alias, or itself. Raises UnsupportedQuery."""
    if isinstance(node, exp.Literal) and not node.args.get("is_string"):
        items = select.expressions
        if not node.this.isdigit() or not 1 <= int(node.this) <= len(items):
            reason = f"GROUP BY {node.this} is no position of the select list"
            raise refusal(text, node, reason, f"positions run from 1 to {len(items)}")
        item = items[int(node.this) - 1]
        node = item.this if isinstance(item, exp.Alias) else item
    elif isinstance(node, exp.Column) and node.args.get("table") is None and node.name.lower() not in scope.names:
        node = aliases_of(select).get(node.name.lower(), node)
    if any(is_aggregate(n) for n in node.walk(prune=lambda n: isinstance(n, exp.Query))):
        hint = "group by columns; use HAVING for aggregates"
        raise refusal(text, node, "GROUP BY cannot hold an aggregate", hint)
    return node


def levels(text: str, select: exp.Select, scope: Scope, names: Sequence[str]) -> Levels:
    """Puts one SELECT for each level in its place. ``names``: of its output columns. Raises UnsupportedQuery.

    ORDER BY, LIMIT and OFFSET hold for all levels together; HAVING for the groups of each.
    """
    _check(text, select)
    sets = _sets_of(text, select, scope)
    entries = {key: node for level in sets for key, node in level.items()}
    items = [i.this if isinstance(i, exp.Alias) else i for i in select.expressions]
    order, hidden = _ordered(select, names, [_key(i, scope) for i in items], scope)
    if hidden and len({n.lower() for n in names}) < len(names):
        raise refusal(text, hidden[0], "two columns have one name", "name each column once, or order by a position")
    shown = [*names, *(f"{_ORDER}{i}" for i in range(len(hidden)))]
    sides: list[exp.Select] = []
    for level in sets:
        made = select.copy()
        for key in ("with_", "order", "limit", "offset"):
            made.set(key, None)
        made.set("expressions", [i.copy() for i in (*items, *hidden)])
        made.set("group", exp.Group(expressions=[n.copy() for n in level.values()]) if level else None)
        _at(text, made, frozenset(level), tuple(entries), scope)
        pairs = zip(made.expressions, shown, strict=True)
        made.set("expressions", [exp.alias_(i, n, quoted=True, copy=False) for i, n in pairs])
        if not level and not aggregates_itself(made):  # one row, whatever the rows are
            made.set("from_", None)
            made.set("where", None)
        sides.append(made)
    tree: exp.Query = sides[0]
    for made in sides[1:]:
        tree = exp.Union(this=tree, expression=made, distinct=False)
    if hidden:
        inner = exp.Subquery(this=tree, alias=exp.TableAlias(this=exp.to_identifier(_LEVELS)))
        columns = [exp.column(n, table=_LEVELS, quoted=True) for n in names]
        tree = exp.Select(expressions=columns, from_=exp.From(this=inner))
    for key, clause in (("with_", select.args.get("with_")), ("order", order)):
        tree.set(key, clause)
    for key in ("limit", "offset"):
        tree.set(key, select.args.get(key))
    blocks = [s for s in sides if s.args.get("from_") is not None]
    if select.parent is None:
        return Levels(tree, blocks, aliases_of(select))
    select.replace(exp.Subquery(this=tree) if isinstance(select.parent, exp.SetOperation) else tree)
    return Levels(None, blocks, aliases_of(select))


def _check(text: str, select: exp.Select) -> None:
    """Raises for what would run over all levels at once."""
    hint = "put the SELECT with its GROUP BY into a subquery, and write the rest around it"
    for key, word in _WHOLE.items():
        if select.args.get(key):
            raise refusal(text, select, f"{word} beside sets of groups is not answered", hint)
    for item in (*select.expressions, *(select.args["order"].expressions if select.args.get("order") else ())):
        window = item.find(exp.Window)
        if window is not None:
            raise refusal(text, window, "a window function beside sets of groups is not answered", hint)


def _entries(group: exp.Group) -> list[exp.Expr]:
    """The entries of GROUP BY; some versions of the parser keep sets apart."""
    return [*group.expressions, *(e for k in ("rollup", "cube", "grouping_sets") for e in group.args.get(k) or ())]


def _sets_of(text: str, select: exp.Select, scope: Scope) -> list[dict[str, exp.Expr]]:
    """The groups of each level, by key: every way to take one set of each entry."""
    group = select.args["group"]
    if group.args.get("all") or group.args.get("totals"):
        raise refusal(text, group, "GROUP BY ALL beside sets of groups is not answered", "name the groups")
    out: list[dict[str, exp.Expr]] = [{}]
    written: dict[str, str] = {}
    for entry in _entries(group):
        found = _expanded(text, entry)
        if len(out) * len(found) > MAX_LEVELS:
            raise refusal(text, entry, f"more than {MAX_LEVELS} sets of groups", "ask for fewer of them")
        sets = [[_entry(text, n, select, scope, written) for n in nodes] for nodes in found]
        out = [{**before, **dict(one)} for before, one in product(out, sets)]
    return out


def _expanded(text: str, entry: exp.Expr) -> list[list[exp.Expr]]:
    """The sets of one entry of GROUP BY."""
    if not isinstance(entry, _SETS):
        return [_members(entry)]
    inner = entry.expressions
    if isinstance(entry, exp.GroupingSets):
        return [one for e in inner for one in _expanded(text, e)]
    if not inner:
        raise refusal(text, entry, "WITH ROLLUP and WITH CUBE are not answered", "write ROLLUP (a, b)")
    parts = [_members(e) for e in inner]
    if isinstance(entry, exp.Rollup):
        return [list(chain(*parts[:n])) for n in range(len(parts), -1, -1)]
    if 2 ** len(parts) > MAX_LEVELS:
        raise refusal(text, entry, f"more than {MAX_LEVELS} sets of groups", "ask for fewer of them")
    sizes = range(len(parts), -1, -1)
    return [list(chain(*taken)) for n in sizes for taken in combinations(parts, n)]


def _members(node: exp.Expr) -> list[exp.Expr]:
    """The expressions of one set."""
    return list(node.expressions) if isinstance(node, exp.Tuple) else [unwrap(node)]


def _entry(
    text: str, node: exp.Expr, select: exp.Select, scope: Scope, written: dict[str, str]
) -> tuple[str, exp.Expr]:
    """The key of a group and what it is. ``written``: how each group stands here; to DuckDB two aliases of one
    expression are two groups, of which a level may hold one."""
    target = group_target(text, unwrap(node), select, scope)
    if target.find(exp.Column) is None:
        raise refusal(text, node, "sets of groups by what is no column are not answered", "group by columns")
    key, name = _key(target, scope), to_sql(unwrap(node)).lower()
    if written.setdefault(key, name) != name:
        raise refusal(text, node, "one group stands in these sets under two names", "name it alike in all of them")
    return key, target


def _key(node: exp.Expr, scope: Scope) -> str:
    """Equal for expressions that are written alike: without the table's name, and in lower case."""
    found = unwrap(node).copy()
    for column in found.find_all(exp.Column):
        table = column.args.get("table")
        if table is not None and table.name.lower() == scope.qualifier:
            for part in ("table", "db", "catalog"):
                column.set(part, None)
        for name in column.find_all(exp.Identifier):
            name.replace(exp.to_identifier(name.name.lower(), quoted=True))
    return to_sql(found, normalize_functions="lower")


def _at(text: str, select: exp.Select, level: frozenset[str], entries: Sequence[str], scope: Scope) -> None:
    """The SELECT at one level, in place: groups that are not of it are NULL, and GROUPING() is a number."""

    def replaced(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Query) or is_aggregate(node):
            return node
        if _is_grouping(node):
            keys = [_key(e, scope) for e in node.expressions]
            if not keys or not set(keys) <= set(entries):
                raise refusal(text, node, "GROUPING() of what is no group", "name expressions of GROUP BY")
            bits = sum((k not in level) << i for i, k in enumerate(reversed(keys)))
            return exp.cast(exp.Literal.number(bits), "BIGINT")
        if not isinstance(node, _ATOMS):
            key = _key(node, scope)
            if key in level:
                return node
            if key in entries:
                return exp.Null()
        children(node)
        return node

    def children(node: exp.Expr) -> None:
        for child in list(node.iter_expressions()):
            if not isinstance(child, _NAMES):
                found = replaced(child)
                if found is not child:
                    child.replace(found)

    select.set("expressions", [replaced(i) for i in select.expressions])
    if select.args.get("having") is not None:
        children(select.args["having"])


def _ordered(
    select: exp.Select, names: Sequence[str], keys: Sequence[str], scope: Scope
) -> tuple[exp.Order | None, list[exp.Expr]]:
    """ORDER BY over all levels, and what it orders by beside the columns that are shown."""
    order = select.args.get("order")
    if order is None:
        return None, []
    lower = [n.lower() for n in names]
    order, hidden = order.copy(), list[exp.Expr]()
    for item in order.expressions:
        target = unwrap(item.this)
        if isinstance(target, (exp.Literal, exp.Var)):
            continue
        bare = isinstance(target, exp.Column) and target.args.get("table") is None
        key = _key(target, scope)
        if bare and target.name.lower() in lower:
            last = lower[::-1].index(target.name.lower())  # of two with one name
            place: exp.Expr = exp.Literal.number(len(lower) - last)
        elif key in keys:
            place = exp.Literal.number(keys.index(key) + 1)
        else:
            place = exp.column(f"{_ORDER}{len(hidden)}", table=_LEVELS)
            hidden.append(target)
        item.set("this", place)
    return order, hidden


def _is_grouping(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() in _GROUPING
