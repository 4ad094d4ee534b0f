"""Walking a statement's SELECTs: which read rows, which are blocks, and what the outer statement becomes.

CTEs, subqueries and unions nest. Which SELECT is a block decides what is paid, so it is decided once, before anything
is lowered.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
from sqlglot import exp

from dpsql.domain import TableDomain
from dpsql.errors import ProgrammingError
from dpsql.policy import Policy
from dpsql.query import UnitTable
from dpsql.sql.aggregates.aggregates import aggregates_itself
from dpsql.sql.blocks.block import Asked, BlockLowering, Services
from dpsql.sql.blocks.inner import Inner, used_ctes
from dpsql.sql.blocks.joins import Correlated, Joins, as_declared_view
from dpsql.sql.blocks.levels import has_levels, levels
from dpsql.sql.blocks.outer import check_outer
from dpsql.sql.blocks.pivots import Source, turned, turned_entry
from dpsql.sql.blocks.rows import lists_units, projection, unit_rows
from dpsql.sql.blocks.unions import sides, united
from dpsql.sql.catalog import series_entry, stand_in
from dpsql.sql.counting.key_source import KeyLookup
from dpsql.sql.expressions.names import Scope, check_usable, table_scope, unknown_table
from dpsql.sql.expressions.remarks import Remarked
from dpsql.sql.public_sql import PublicSql
from dpsql.sql.statement import Block, DirectColumn
from dpsql.sql.text.parameters import literals
from dpsql.sql.text.parse import to_sql
from dpsql.sql.text.position import refusal
from dpsql.sql.text.spellings import DATABASE, SCHEMA

Environment = Mapping[str, Scope | None]
"""What a CTE's lower-cased name means: rows of a private table, or (``None``) released and public values."""

RELEASED_PREFIX = "_released_"
_TABLE_CLAUSES = {"when": "AT", "joins": "JOIN"}


@dataclass(eq=False)
class Walk:
    """The state of one statement's lowering."""

    text: str
    policy: Policy
    public: PublicSql
    services: Services
    keys: KeyLookup
    answered: Callable[[str], pa.Table]
    blocks: list[Block] = field(default_factory=list)
    public_tables: set[str] = field(default_factory=set)
    direct: tuple[DirectColumn, ...] | None = None
    selects: dict[int, str] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    remarks: list[Remarked] = field(default_factory=list)
    tree: exp.Expr | None = None  # what the outermost query became, where it is another one

    def __post_init__(self) -> None:
        self.inner = Inner(self.text, self.answered)
        self.joins = Joins(self.text, self.policy, self.public, self.inner)
        self.correlated = Correlated(self.text, self.policy, self.public, self.inner.names)

    def forget(self, before: int) -> None:
        """Blocks from number ``before`` on are not asked here: what reads them is answered as a statement before."""
        self.keep({b.name for b in self.blocks[:before]})

    def keep(self, names: Collection[str]) -> None:
        """Blocks of other names are not asked."""
        self.blocks = [b for b in self.blocks if b.name in names]
        self.asked = [a for a in self.asked if a.name in names]

    def query(self, node: exp.Expr, env: Environment) -> Scope | None:
        """Lowers every block inside ``node``. Rows of a private table come back as a scope, nothing else does."""
        if isinstance(node, exp.Subquery):
            env = self._with(node, env)
            inner = node.this
            if isinstance(inner, exp.Table):
                return self._source(inner, env)
            scope = self.query(inner, env)
            if scope is not None and any(node.args.get(k) for k in ("order", "limit", "offset", "where", "joins")):
                raise self._rows(node, scope)
            return scope
        if isinstance(node, exp.Select):
            return self._select(node, self._with(node, env))
        if isinstance(node, exp.SetOperation):
            env = self._with(node, env)
            operands = sides(node)
            scopes = [self._side(side, env, alike=_alike(node)) for side in operands]
            rows = united(self.text, node, scopes, self.public)
            if rows is not None:
                return rows
            for side, scope in zip(operands, scopes, strict=True):
                if scope is not None:
                    raise self._rows(side, scope)
            for key in ("order", "limit", "offset"):
                clause = node.args.get(key)
                if clause is not None:
                    self._subqueries(clause, env)
            return None
        if isinstance(node, exp.Values):
            self._subqueries(node, env)
            return None
        if isinstance(node, exp.Pivot):
            return self._pivot(node, self._with(node, env))
        raise refusal(self.text, node, f"{type(node).__name__.upper()} is not answered", "send one SELECT statement")

    def _side(self, side: exp.Expr, env: Environment, *, alike: bool) -> Scope | None:
        """What a side of a set operation yields. ``alike``: equal rows become one, so rows of a table are DISTINCT."""
        plain = isinstance(side, exp.Select) and not side.args.get("distinct")
        written = side.copy() if alike and plain else None
        scope = self.query(side, env)
        if scope is None or written is None or any(written.args.get(k) for k in ("order", "limit", "offset", "with_")):
            return scope
        written.set("distinct", exp.Distinct())
        side.replace(written)
        return self.query(written, env)

    def _pivot(self, node: exp.Pivot, env: Environment) -> Scope | None:
        """A PIVOT as the query that it stands for, which takes its place."""
        made: exp.Expr = turned(self.text, node, self._turnable(node.this))
        if node.parent is None:
            self.tree = made
        else:
            node.replace(made)
        scope = self.query(made, env)
        top = self.tree if made.parent is None and self.tree is not None else made
        top.set("with_", node.args.get("with_"))
        return scope

    def _turnable(self, entry: exp.Expr) -> Source:
        """What a PIVOT may ask of an entry of FROM: columns and values that are public, or are released first."""

        def values(query: exp.Select) -> list[exp.Expr]:
            found = self.inner.values(entry, query)
            if self.keys.first and not self.keys.in_steps:
                hint = "name the values: ON column IN ('a', 'b')"
                raise refusal(self.text, entry, "the values of this PIVOT are not known beforehand", hint)
            return found or ([exp.null()] if self.keys.first else [])

        return Source(entry, lambda: self.inner.columns(entry), values)

    def rows_refusal(self, node: exp.Expr, scope: Scope) -> Exception:
        """The refusal of a statement that would return rows."""
        return self._rows(node, scope)

    def _rows(self, node: exp.Expr, scope: Scope) -> Exception:
        if isinstance(scope.table, UnitTable):
            return lists_units(self.text, node, scope.table)
        return refusal(
            self.text,
            node,
            f"this returns rows of the private table {scope.table.name}",
            "count them: SELECT COUNT(*), with GROUP BY for a breakdown",
        )

    def _with(self, node: exp.Expr, env: Environment) -> Environment:
        """The environment inside ``node``; CTEs that only select rows leave the tree."""
        clause = node.args.get("with_")
        if clause is None:
            return env
        if clause.args.get("recursive"):
            raise refusal(self.text, clause, "recursive CTEs are not answered", "write the steps as several CTEs")
        for cte in clause.expressions:
            if cte.alias.lower().startswith(RELEASED_PREFIX):
                raise refusal(self.text, cte, f"names that start with {RELEASED_PREFIX} are taken", "rename the CTE")
        inner = dict(env)
        kept = []
        for cte in used_ctes(node, clause):
            name, written = cte.alias.lower(), cte.copy()
            scope = self.query(cte.this, inner)
            self.inner.add(written)  # in itself the name is another table's
            if scope is not None:
                scope = self._renamed(cte, scope, name)
            else:
                kept.append(cte)
            inner[name] = scope
        if not kept:
            node.set("with_", None)
        elif len(kept) < len(clause.expressions):
            clause.set("expressions", kept)
        return inner

    def _renamed(self, node: exp.Expr, scope: Scope, qualifier: str) -> Scope:
        alias = node.args.get("alias")
        columns = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
        names = scope.names
        if columns:
            if len(columns) > len(names):
                raise refusal(self.text, node, "more column names than columns", "name each column once")
            renamed = [c.name for c in columns] + [n for n, _ in names.values()][len(columns) :]
            names = {n.lower(): (n, b) for n, (_, b) in zip(renamed, names.values(), strict=True)}
        base = scope.base and not columns
        branches = tuple(self._renamed(node, b, qualifier) for b in scope.branches)
        unit = None if columns else scope.unit
        return Scope(scope.table, qualifier, names, scope.condition, base, scope.refused, branches, unit=unit)

    def _source(self, node: exp.Expr, env: Environment) -> Scope | None:
        """What one entry of FROM yields."""
        if isinstance(node, exp.Table):
            return self._table(node, env)
        if isinstance(node, exp.Subquery):
            scope = self.query(node, env)
            if scope is None:
                return None
            return self._renamed(node, scope, (node.alias or scope.qualifier).lower())
        if isinstance(node, exp.Values):
            self._subqueries(node, env)
            return None
        raise refusal(self.text, node, f"{type(node).__name__.upper()} in FROM is not answered", "name a table")

    def _table(self, node: exp.Table, env: Environment) -> Scope | None:
        if stand_in(node, self.policy, self.public):
            return None
        if not isinstance(node.this, exp.Identifier):
            raise refusal(
                self.text,
                node,
                "table functions and file readers are not answered",
                "ask the owner to declare a public table",
            )
        name = node.name.lower()
        schema = node.args.get("db")
        if isinstance(schema, str) or isinstance(node.args.get("catalog"), str):  # as in a..b
            raise refusal(self.text, node, "a part of the table's name is missing", "write the table's name alone")
        if schema is None and name in env:
            scope = env[name]
            return None if scope is None else self._renamed(node, scope, (node.alias or name).lower())
        if _is_main(schema, SCHEMA) and _is_main(node.args.get("catalog"), DATABASE):
            table = self.policy.by_name.get(name)
            if table is not None:
                return self._private(node, table)
            for public in self.policy.public_tables:
                if public.lower() == name:
                    self.public_tables.add(public)
                    node.set("db", None)
                    node.set("catalog", None)
                    return None
        known = [t.name for t in self.policy.tables] + list(self.policy.public_tables)
        raise unknown_table(self.text, node, known)

    def _private(self, node: exp.Table, table: TableDomain) -> Scope:
        if node.args.get("sample") is not None:
            raise refusal(self.text, node, "sampling is not answered", "it is random; count all rows")
        for key, value in node.args.items():
            if value and key not in ("this", "db", "catalog", "alias"):
                raise refusal(
                    self.text,
                    node,
                    f"{_TABLE_CLAUSES.get(key, key.upper())} on a private table is not answered",
                    "write the table's name alone",
                )
        return self._renamed(node, table_scope(table, table.name.lower()), (node.alias or table.name).lower())

    def _select(self, node: exp.Select, env: Environment) -> Scope | None:
        clause = node.args.get("from_")
        if clause is None:
            self._subqueries(node, env)
            return None
        joins = as_declared_view(self.text, node, self.policy, env)
        for place in (clause, *joins):
            entry = series_entry(self.text, place.this)
            place.set("this", turned_entry(self.text, entry, self._turnable))
        entries = [clause.this, *(j.this for j in joins)]
        written = [e.copy() for e in entries] if joins else []
        before = len(self.blocks)
        scopes = [self._source(e, env) for e in entries]
        for join in clause.this.args.get("joins") or []:
            entries.append(join.this)
            scopes.append(self._source(join.this, env))
        if node.args.get("laterals"):
            raise refusal(self.text, node, "LATERAL is not answered", "join the released block with JOIN ... ON")
        private = [(e, s) for e, s in zip(entries, scopes, strict=True) if s is not None]
        if not private:
            self._subqueries(node, env, entries)
            return None
        if len(private) > 1:
            hint = "count each in its own subquery, or ask the owner for a view of both, declared with its unit"
            raise refusal(self.text, private[-1][0], "a join of private tables", hint)
        if len(entries) > 1:
            self.forget(before)
            return self._rows_or_block(node, self.joins.scope(node, entries, written, scopes), env)
        return self._rows_or_block(node, private[0][1], env)

    def _rows_or_block(
        self, node: exp.Select, scope: Scope, env: Environment, aliases: Mapping[str, exp.Expr] | None = None
    ) -> Scope | None:
        scope = self.correlated.as_columns(node, scope)
        if has_levels(node):
            found = levels(self.text, node, scope, self.services.namer.names(node, scope))
            self.tree = found.root or self.tree
            for select in found.selects:
                rows = self._rows_or_block(select, scope, env, found.aliases)
                if rows is not None:
                    raise self._rows(select, rows)
            return None
        lookup = partial(self._lookup, env=env)
        units = unit_rows(self.text, node, scope, self.services, lookup, self.keys)
        if units is not None:
            return units
        distinct = node.args.get("distinct")
        if node.args.get("group") is None and not aggregates_itself(node):
            if distinct is None:
                rows, remarks = projection(self.text, node, scope, lookup)
                self.remarks += remarks
                return rows
            if distinct.args.get("on") is not None or any(i.find(exp.Star) for i in node.expressions):
                raise self._rows(node, scope)
        if not scope.branches or not aggregates_itself(node):
            check_usable(self.text, node, scope)
        position, name = len(self.blocks), f"{RELEASED_PREFIX}{len(self.blocks) + 1}"
        self.blocks.append(_PENDING)
        nested = partial(self._nested, env=env)
        lowering = BlockLowering(self.text, name, node, scope, self.services, lookup, nested, self.keys, aliases)
        lowered = lowering.lower()
        self.remarks += lowering.remarks
        self.blocks[position] = lowered.block
        self.asked.append(lowered.asked)
        self.selects[id(node)] = name
        if lowered.direct is not None and node.parent is None:
            self.direct = lowered.direct
        elif lowered.direct is not None:
            self._materialise(node, lowered.direct, name)
        return None

    def _materialise(self, node: exp.Select, direct: tuple[DirectColumn, ...], name: str) -> None:
        """A direct block inside a larger statement is written out as a SELECT over its released table."""
        items = [exp.alias_(exp.column(d.source, table=name), d.name, quoted=True, copy=False) for d in direct]
        node.set("expressions", items)
        node.set("from_", exp.From(this=exp.to_table(name)))
        node.set("where", None)
        node.set("group", None)

    def _subqueries(self, node: exp.Expr, env: Environment, done: list[exp.Expr] | None = None) -> None:
        """Lowers the queries inside the expressions of ``node``, but not the FROM entries in ``done``."""
        finished = {id(d) for d in done or ()}
        stack: list[exp.Expr] = [c for c in node.iter_expressions() if not isinstance(c, exp.With)]
        while stack:
            child = stack.pop()
            if id(child) in finished:
                continue
            if isinstance(child, exp.Query) and not isinstance(child, exp.Table):
                self._nested(child, env)
            else:
                stack.extend(child.iter_expressions())

    def _nested(self, query: exp.Expr, env: Environment) -> None:
        scope = self.query(query, env)
        if scope is not None:
            raise self._rows(query, scope)

    def _lookup(self, query: exp.Expr, env: Environment) -> list[exp.Expr]:
        """The values of a query over public tables, as literals."""
        before, written = len(self.blocks), query.copy()
        reason = "a condition on private rows reads a private table"
        private = refusal(self.text, query, reason, "use values that are public")  # lowering takes its place away
        scope = self.query(query, env)
        if scope is not None or (len(self.blocks) > before and not self.keys.in_steps):
            raise private
        reads_cte = any(t.name.lower() in env for t in query.find_all(exp.Table))
        if len(self.blocks) > before or (reads_cte and self.keys.in_steps):
            self.forget(before)
            return self.inner.values(query, written)
        if reads_cte:
            raise refusal(self.text, query, "a condition on private rows reads a CTE", "write the subquery in place")
        tables = sorted(self.public_tables)
        check_outer(self.text, query, [t.lower() for t in tables])
        inner = query.this if isinstance(query, exp.Subquery) else query
        try:
            result = self.public.run(to_sql(inner), {}, tables)
        except ProgrammingError:
            raise refusal(
                self.text,
                query,
                "the subquery does not stand alone",
                "it may name columns of public tables, and of the rows around it by the name before the dot",
            ) from None
        if result.num_columns != 1:
            raise refusal(self.text, query, "the subquery has several columns", "select one column")
        return literals(result.column(0))


_PENDING = Block("", "", (), (), (), ())


def _alike(node: exp.Expr) -> bool:
    """Whether every operation of the chain makes one row of equal ones."""
    while isinstance(node, exp.SetOperation):
        if node.args.get("distinct") is False or node.args.get("by_name"):
            return False
        node = node.this
    return True


def _is_main(node: exp.Expr | None, name: str) -> bool:
    return node is None or node.name.lower() == name
