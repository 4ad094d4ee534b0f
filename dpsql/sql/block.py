"""One SELECT block over a private table: what it asks, and what is left of it once the answers are a table."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from dpsql.errors import Error, UnsupportedQuery
from dpsql.sql.bind import Binder, Lookup, unwrap
from dpsql.sql.bound import Bound
from dpsql.sql.cache import Lru
from dpsql.sql.functions import INTERVAL_HIGH, INTERVAL_LOW
from dpsql.sql.grid import Evaluator
from dpsql.sql.lower import Answer, Lowering
from dpsql.sql.measure import Measure, is_aggregate, measure
from dpsql.sql.names import Scope, check_usable, unknown_column
from dpsql.sql.naming import Namer
from dpsql.sql.parse import Dialect
from dpsql.sql.position import place, refusal
from dpsql.sql.statement import Aggregate, AggregateType, Block, DirectColumn

ROW = "_row"
_MEASURE = re.compile(r"a\d+")
_CLAUSES = frozenset(
    {
        "with_", "expressions", "from_", "where", "group", "having", "qualify", "windows", "distinct", "order",
        "limit", "offset", "kind", "operation_modifiers",
    }
)  # fmt: skip


@dataclass(eq=False)
class Services:
    """What lowering needs from outside the statement, shared by all statements of a front end."""

    evaluator: Evaluator
    namer: Namer
    answers: Lru[Answer] = field(default_factory=lambda: Lru(1 << 23))


@dataclass(frozen=True, eq=False)
class Lowered:
    """A block with its direct columns, when its select list is nothing but groups and aggregates."""

    block: Block
    direct: tuple[DirectColumn, ...] | None
    sources: tuple[str | None, ...]


class BlockLowering:
    """Lowers one block; its SELECT node is rewritten in place by ``finish``."""

    def __init__(
        self,
        text: str,
        name: str,
        select: exp.Select,
        scope: Scope,
        services: Services,
        lookup: Lookup,
        nested: Callable[[exp.Expr], None],
    ) -> None:
        self.text, self.name, self.select, self.scope = text, name, select, scope
        self._services = services
        self._nested = nested
        aliases = {i.alias.lower(): i.this for i in select.expressions if isinstance(i, exp.Alias)}
        self._aliases: Mapping[str, exp.Expr] = aliases
        self._binder = Binder(text, scope, aliases, lookup)
        self._groups: list[Bound] = []
        self._group_sql: dict[str, int] = {}
        self._measures: list[Measure] = []
        self._measured: dict[str, int] = {}
        self._intervals = False
        self._rewritten: dict[str, exp.Expr] = {}
        self._keep_aliases = False

    def lower(self) -> Lowered:
        """The block; afterwards the SELECT reads the released table (see ``finish`` for direct ones)."""
        select = self.select
        self._check_clauses()
        check_usable(self.text, select, self.scope)
        where = select.args.get("where")
        condition = list(self.scope.condition)
        if where is not None:
            condition += self._binder.conjuncts(where.this)
        self._bind_groups()
        direct = self._direct()
        names = None if direct is not None else self._services.namer.names(select, self.scope)
        sources: tuple[str | None, ...] = ()
        if names is not None:
            sources = self._rewrite(names)
        block = self._block(condition, where)
        return Lowered(block, direct, sources)

    def _check_clauses(self) -> None:
        for key, value in self.select.args.items():
            if value and key not in _CLAUSES:
                raise refusal(
                    self.text,
                    self.select,
                    f"{key.strip('_').upper()} is not answered on a private table",
                    "docs/sql.md lists what is",
                )
        if self.select.args.get("kind"):
            raise refusal(self.text, self.select, "SELECT AS is not answered", "select columns")

    def _bind_groups(self) -> None:
        select = self.select
        group = select.args.get("group")
        if group is None:
            if select.args.get("distinct") is not None and not self._aggregates_anywhere():
                for item in select.expressions:
                    self._add_group(item.this if isinstance(item, exp.Alias) else item)
            return
        for key in ("grouping_sets", "cube", "rollup", "totals"):
            if group.args.get(key):
                raise self._no_grouping_sets(group)
        if group.args.get("all"):
            for item in select.expressions:
                inner = item.this if isinstance(item, exp.Alias) else item
                if not any(is_aggregate(n) for n in inner.walk()):
                    self._add_group(inner)
        for node in group.expressions:
            self._add_group(self._group_target(node))

    def _no_grouping_sets(self, node: exp.Expr) -> UnsupportedQuery:
        return refusal(
            self.text,
            node,
            "ROLLUP, CUBE and GROUPING SETS are not answered",
            "write one GROUP BY per level and join them with UNION ALL",
        )

    def _group_target(self, node: exp.Expr) -> exp.Expr:
        """The expression behind a position or an alias."""
        if isinstance(node, (exp.Rollup, exp.Cube, exp.GroupingSets)):
            raise self._no_grouping_sets(node)
        if isinstance(node, exp.Literal) and not node.args.get("is_string"):
            items = self.select.expressions
            if not node.this.isdigit() or not 1 <= int(node.this) <= len(items):
                raise refusal(
                    self.text,
                    node,
                    f"GROUP BY {node.this} is no position of the select list",
                    f"positions run from 1 to {len(items)}",
                )
            item = items[int(node.this) - 1]
            node = item.this if isinstance(item, exp.Alias) else item
        elif isinstance(node, exp.Column) and node.args.get("table") is None:
            alias = self._aliases.get(node.name.lower())
            if alias is not None and node.name.lower() not in self.scope.names:
                node = alias
        if any(is_aggregate(n) for n in node.walk()):
            raise refusal(self.text, node, "GROUP BY an aggregate", "group by columns; use HAVING for aggregates")
        return node

    def _add_group(self, node: exp.Expr) -> None:
        bound = self._binder.bind(unwrap(node))
        if bound.sql not in self._group_sql:
            self._group_sql[bound.sql] = len(self._groups)
            self._groups.append(bound)

    def _aggregates_anywhere(self) -> bool:
        return any(is_aggregate(n) for item in self.select.expressions for n in item.walk())

    def _direct(self) -> tuple[DirectColumn, ...] | None:
        """The select list as columns of the block, when nothing else is asked."""
        args = self.select.args
        if any(args.get(k) for k in ("having", "qualify", "windows", "distinct", "order", "limit", "offset", "with_")):
            return None
        sources: list[str] = []
        for item in self.select.expressions:
            inner = unwrap(item.this if isinstance(item, exp.Alias) else item)
            if is_aggregate(inner) and not isinstance(inner, exp.WithinGroup):
                sources.append(self._measure(inner))
            elif self._groups and isinstance(inner, exp.Column):
                found = self._group_of(inner)
                if found is None:
                    return None
                sources.append(found)
            else:
                return None
        names = self._services.namer.names(self.select, self.scope)
        return tuple(DirectColumn(n, s) for n, s in zip(names, sources, strict=True))

    def _measure(self, node: exp.Expr) -> str:
        key = node.sql(dialect=Dialect) if self._measures else ""
        if key and not self._measured:
            self._measured[self._measures[0].node.sql(dialect=Dialect)] = 0
        index = self._measured.get(key)
        if index is None:
            index = len(self._measures)
            self._measures.append(measure(self._binder, node))
            if key:
                self._measured[key] = index
        return f"a{index}"

    def _group_of(self, node: exp.Expr) -> str | None:
        """The group column that ``node`` is, if it is one."""
        try:
            bound = self._binder.bind(unwrap(node))
        except Error:
            if isinstance(node, exp.Column) and node.name.lower() not in self._aliases:
                raise
            return None
        index = self._group_sql.get(bound.sql)
        return None if index is None else f"g{index}"

    def _rewrite(self, names: list[str]) -> tuple[str | None, ...]:
        """Turns the SELECT into one over the released table; the block column that each output column is."""
        select = self.select
        sources: list[str | None] = []
        items: list[exp.Expr] = []
        for item, name in zip(select.expressions, names, strict=True):
            inner = self._replaced(item.this if isinstance(item, exp.Alias) else item)
            released = isinstance(inner, exp.Column) and inner.text("table") == self.name
            sources.append(inner.name if released and _MEASURE.fullmatch(inner.name) else None)
            if isinstance(item, exp.Alias):
                self._rewritten.setdefault(item.alias.lower(), inner)
            items.append(exp.alias_(inner, name, quoted=True, copy=False))
        having = select.args.get("having")
        where = None
        if having is not None:
            where = exp.Where(this=self._replaced(having.this))
        if select.args.get("qualify") is not None:
            self._children(select.args["qualify"])
        for window in select.args.get("windows") or ():
            self._children(window)
        distinct = select.args.get("distinct")
        if distinct is not None and distinct.args.get("on") is not None:
            self._children(distinct.args["on"])
        for key in ("limit", "offset"):
            if select.args.get(key) is not None:
                self._children(select.args[key])
        if select.args.get("order") is not None:
            self._keep_aliases = True  # ORDER BY sees output names before columns
            self._children(select.args["order"])
        select.set("expressions", items)
        select.set("from_", exp.From(this=exp.to_table(self.name)))
        select.set("where", where)
        select.set("group", None)
        select.set("having", None)
        return tuple(sources)

    def _replaced(self, node: exp.Expr) -> exp.Expr:
        """``node`` over the released table. Raises for what would need rows."""
        if isinstance(node, exp.Query):
            self._nested(node)
            return node
        if isinstance(node, exp.Anonymous) and node.name.lower() in (INTERVAL_LOW, INTERVAL_HIGH):
            return self._interval(node)
        if is_aggregate(node):
            return self._column(self._measure(node))
        if self._groups and not isinstance(node, (exp.Literal, exp.Boolean, exp.Null, exp.Window)):
            source = self._group_of(node) if _bindable(node) else None
            if source is not None:
                return self._column(source)
        if isinstance(node, exp.Column):
            return self._loose_column(node)
        if isinstance(node, exp.Star):
            raise refusal(self.text, node, "* selects whole rows", "select COUNT(*) or the GROUP BY columns")
        if isinstance(node, exp.Window):
            self._window(node)
        else:
            self._children(node)
        return node

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

    def _interval(self, node: exp.Anonymous) -> exp.Expr:
        arguments = node.expressions
        target = unwrap(arguments[0]) if len(arguments) == 1 else node
        if isinstance(target, exp.Column) and target.args.get("table") is None:
            target = unwrap(self._aliases.get(target.name.lower(), node))
        if not is_aggregate(target):
            raise refusal(
                self.text,
                node,
                f"{node.name}() needs the alias of an aggregate of the same SELECT",
                "write COUNT(*) AS n, DP_INTERVAL_LOW(n)",
            )
        self._intervals = True
        suffix = "low" if node.name.lower() == INTERVAL_LOW else "high"
        return self._column(f"{self._measure(target.copy())}_{suffix}")

    def _loose_column(self, node: exp.Column) -> exp.Expr:
        if not isinstance(node.this, exp.Star):
            found = self.scope.resolve(self.text, node)
            if found is None:
                alias = node.name.lower()
                if alias in self._aliases and node.args.get("table") is None:
                    done = None if self._keep_aliases else self._rewritten.get(alias)
                    return node if done is None else exp.paren(done, copy=True)
                raise unknown_column(self.text, node, self.scope)
        raise refusal(
            self.text,
            node,
            f"{node.name} would show single rows of the private table {self.scope.table.name}",
            "aggregate it with COUNT, SUM or AVG, or add it to GROUP BY",
        )

    def _column(self, source: str) -> exp.Column:
        return exp.column(source, table=self.name)

    def _block(self, condition: list[Bound], where: exp.Expr | None) -> Block:
        measures = self._measures
        parts = [p for m in measures for p in (*m.numerator, *(m.denominator or ()))]
        try:
            lowering = Lowering(
                self.text,
                self.scope.table,
                self._services.evaluator,
                self._services.answers,
                condition,
                self._groups,
                parts,
            )
        except UnsupportedQuery as error:
            if error.line is not None:
                raise
            line, column = place(self.text, where if where is not None else self.select)
            raise UnsupportedQuery(error.reason, line=line, column=column, hint=error.hint) from None
        aggregates = []
        index = 0
        for i, m in enumerate(measures):
            numerator = list(enumerate(m.numerator, index))
            index += len(m.numerator)
            denominator = list(enumerate(m.denominator or (), index))
            index += len(denominator)
            whole = m.integral and all(lowering.is_integral(p) for p in m.numerator)
            sql_type: AggregateType = "BIGINT" if whole else "DOUBLE"
            aggregates.append(
                Aggregate(
                    f"a{i}",
                    _label(self.text, m.node),
                    sql_type,
                    lowering.forms(numerator),
                    lowering.forms(denominator) if denominator else None,
                )
            )
        count = len(self._groups)
        return Block(
            self.name,
            self.scope.table.name,
            tuple(f"g{i}" for i in range(count)),
            tuple(lowering.group_type(i) for i in range(count)),
            lowering.groups,
            tuple(aggregates),
            self._intervals,
        )


def _bindable(node: exp.Expr) -> bool:
    """Whether the node can be a group expression: it holds no aggregate, window or query."""
    return not any(isinstance(n, (exp.Query, exp.Window, exp.Star)) or is_aggregate(n) for n in node.walk())


def _label(text: str, node: exp.Expr) -> str:
    """What the analyst wrote, on one line."""
    if type(node) is exp.Anonymous and len(node.expressions) == 1 and type(node.expressions[0]) is exp.Star:
        return "COUNT(*)"
    return node.sql(dialect=Dialect)
