"""A block's SELECT rewritten over its released table: aggregates and groups become columns, the rest stays.

Aliases mean what they mean in DuckDB: columns come first, except that a bare ORDER BY or DISTINCT ON entry names the
output; HAVING falls back on aliases. (DuckDB before 2.0.1 asked these first under GROUP BY ALL, and nowhere else.)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dpsql.sql.aggregates.aggregates import is_aggregate
from dpsql.sql.expressions.functions import INTERVAL_HIGH, INTERVAL_LOW, RELEASED, function_refusal
from dpsql.sql.expressions.names import Scope, unknown_column
from dpsql.sql.expressions.operators import unwrap
from dpsql.sql.statement import HIGH, LOW
from dpsql.sql.text.position import refusal

_LOOSE = "aggregate it with COUNT, SUM or AVG, or add it to GROUP BY"
_BESIDE_QUERY = "give the expression and its subquery a name in a subquery of FROM, and GROUP BY this name"


@dataclass(frozen=True, eq=False)
class Parts:
    """What the rewriting asks of the block: a group's or an aggregate's column, and the lowering of nested queries."""

    group_of: Callable[[exp.Expr], str | None]
    measure: Callable[[exp.Expr], str]
    nested: Callable[[exp.Expr], None]


class Rewriter:
    """Rewrites one SELECT in place; ``name`` is its released table's. ``aliases`` are copies that stay unchanged."""

    def __init__(self, text: str, name: str, scope: Scope, aliases: Mapping[str, exp.Expr], parts: Parts) -> None:
        self._text, self._name, self._scope = text, name, scope
        self._aliases = aliases
        self._parts = parts
        self._rewritten: dict[str, exp.Expr] = {}
        self._places: Mapping[str, int] = {}
        self._fallback = False
        self.intervals = False

    def rewrite(self, select: exp.Select, names: list[str]) -> None:
        """Turns the SELECT into one over the released table, with ``names`` for its output columns."""
        items: list[exp.Expr] = []
        self._places = _hidden_aliases(select.expressions, names)
        for item, name in zip(select.expressions, names, strict=True):
            inner = item.this if isinstance(item, exp.Alias) else item
            if select.parent is not None or not self._is_late(inner):
                inner = self._replaced(inner)
            if isinstance(item, exp.Alias):
                self._rewritten[item.alias.lower()] = inner  # of two with one name DuckDB takes the last
            items.append(exp.alias_(inner, name, quoted=True, copy=False))
        where = self._having(select)
        for window in select.args.get("windows") or ():
            self._children(window)
        for key in ("qualify", "limit", "offset"):
            if select.args.get(key) is not None:
                self._children(select.args[key])
        distinct = select.args.get("distinct")
        if distinct is not None and distinct.args.get("on") is not None:
            self._outputs(distinct.args["on"])
        if select.args.get("order") is not None:
            for item in select.args["order"].expressions:
                self._outputs(item)
        select.set("expressions", items)
        select.set("from_", exp.From(this=exp.to_table(self._name)))
        select.set("where", where)
        select.set("group", None)
        select.set("having", None)

    def _having(self, select: exp.Select) -> exp.Where | None:
        having = select.args.get("having")
        if having is None:
            return None
        self._fallback = True
        try:
            return exp.Where(this=self._replaced(having.this))
        finally:
            self._fallback = False

    def _outputs(self, node: exp.Expr) -> None:
        """The entries of ORDER BY and DISTINCT ON: a bare name is an output column's before it is a table's."""
        for child in list(node.iter_expressions()):
            bare = unwrap(child)
            if isinstance(bare, exp.Column) and bare.args.get("table") is None and bare.name.lower() in self._aliases:
                place = self._places.get(bare.name.lower())
                if place is not None:
                    child.replace(exp.Literal.number(place))
                continue
            replaced = self._replaced(child)
            if replaced is not child:
                child.replace(replaced)

    def _replaced(self, node: exp.Expr) -> exp.Expr:
        """``node`` over the released table. Raises for what would need rows."""
        if isinstance(node, exp.Query):
            self._parts.nested(node)
            return node
        if isinstance(node, exp.Anonymous) and is_interval(node):
            return self._interval(node)
        if is_aggregate(node):
            return self._column(self._parts.measure(node))
        if not isinstance(node, (exp.Literal, exp.Boolean, exp.Null, exp.Window)) and _bindable(node):
            source = self._parts.group_of(node)
            if source is not None:
                return self._column(source)
        if isinstance(node, exp.Column):
            return self._loose_column(node)
        if isinstance(node, exp.Star):
            raise refusal(self._text, node, "* selects whole rows", "select COUNT(*) or the GROUP BY columns")
        if isinstance(node, exp.Window):
            self._window(node)
        else:
            self._children(node)
        return node

    def _alias(self, node: exp.Column) -> exp.Expr | None:
        """The rewritten expression behind an alias; ``None`` for what is no alias, or one that comes later."""
        done = None if node.args.get("table") is not None else self._rewritten.get(node.name.lower())
        return None if done is None else exp.paren(done, copy=True)

    def _loose_column(self, node: exp.Column) -> exp.Expr:
        """A column that is no group: perhaps an alias."""
        if isinstance(node.this, exp.Star):
            raise refusal(self._text, node, "* selects whole rows", "select COUNT(*) or the GROUP BY columns")
        found = self._scope.resolve(self._text, node)
        if found is None or self._fallback:
            done = self._alias(node)
            if done is not None:
                return done
        if found is None:
            if node.name.lower() in self._aliases and node.args.get("table") is None:
                return node
            raise unknown_column(self._text, node, self._scope)
        call = node.find_ancestor(exp.Anonymous, exp.Query)
        if isinstance(call, exp.Anonymous) and call.name.lower() not in RELEASED:  # perhaps an aggregate
            raise refusal(self._text, call, *function_refusal(call.name.lower(), private=True))
        reason = f"{node.name} would show single rows of the private table {self._scope.table.name}"
        raise refusal(self._text, node, reason, _BESIDE_QUERY if _is_beside_query(node) else _LOOSE)

    def _window(self, node: exp.Window) -> None:
        """The window's own function runs on the result; everything inside it is replaced."""
        function = node.this
        while isinstance(function, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)):
            if isinstance(function, exp.Filter):
                self._children(function.args["expression"])
            function = function.this
        self._children(function)
        for key, value in list(node.args.items()):
            if key == "this":
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, exp.Expr):
                    replaced = self._replaced(child) if key == "partition_by" else child
                    if replaced is not child:
                        child.replace(replaced)
                    elif key != "partition_by":
                        self._children(child)

    def _children(self, node: exp.Expr) -> None:
        for child in list(node.iter_expressions()):
            if isinstance(child, (exp.Identifier, exp.DataType, exp.Var)):
                continue
            if type(child) is exp.Star and isinstance(node, exp.Anonymous):
                continue
            replaced = self._replaced(child)
            if replaced is not child:
                child.replace(replaced)

    def _is_late(self, node: exp.Expr) -> bool:
        """Whether an item is the interval of a number that is computed (see ``blocks.late_intervals``)."""
        if not is_interval(unwrap(node)):
            return False
        target = self._target(unwrap(node))
        return target is not None and not is_aggregate(target)

    def _target(self, node: exp.Expr) -> exp.Expr | None:
        """What an interval is of: the expression behind an alias of the same SELECT."""
        arguments = node.expressions
        target = unwrap(arguments[0]) if len(arguments) == 1 else node
        if isinstance(target, exp.Column) and target.args.get("table") is None:
            behind = self._aliases.get(target.name.lower())
            return None if behind is None else unwrap(behind)
        return target if is_aggregate(target) else None

    def _interval(self, node: exp.Anonymous) -> exp.Expr:
        target = self._target(node)
        if target is None or not is_aggregate(target):
            raise refusal(
                self._text,
                node,
                f"{node.name}() needs the alias of an aggregate of the same SELECT",
                "write COUNT(*) AS n, DP_INTERVAL_LOW(n)",
            )
        self.intervals = True
        end = LOW if node.name.lower() == INTERVAL_LOW else HIGH
        return self._column(self._parts.measure(target.copy()) + end)

    def _column(self, source: str) -> exp.Column:
        return exp.column(source, table=self._name)


def _bindable(node: exp.Expr) -> bool:
    """Whether the node can be a group expression: it holds no aggregate, window or query."""
    return not any(isinstance(n, (exp.Query, exp.Window, exp.Star)) or is_aggregate(n) for n in node.walk())


def _hidden_aliases(items: Sequence[exp.Expr], names: Sequence[str]) -> dict[str, int]:
    """The positions, from 1, of aliases behind which a column of their name is selected: once that column has an alias,
    too, it would hide them."""
    aliases, hidden = dict[str, int](), dict[str, int]()
    for position, (item, name) in enumerate(zip(items, names, strict=True), start=1):
        lower = name.lower()
        hidden.pop(lower, None)
        if isinstance(item, exp.Alias):
            aliases[lower] = position
        elif lower in aliases:
            hidden[lower] = aliases[lower]
    return hidden


def _is_beside_query(node: exp.Expr) -> bool:
    """Whether the expression that the node is part of holds a query, for which it is never a group's."""
    around = node
    while around.parent is not None and not isinstance(around.parent, exp.Select):
        around = around.parent
    return around.find(exp.Query) is not None


def is_interval(node: exp.Expr) -> bool:
    """Whether the node is a call of DP_INTERVAL_LOW or DP_INTERVAL_HIGH."""
    return type(node) is exp.Anonymous and node.name.lower() in (INTERVAL_LOW, INTERVAL_HIGH)
