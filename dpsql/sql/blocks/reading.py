"""Reading a whole statement: parse, bind parameters, lower its blocks, check and try out what is left of it.

This is the one way from text to a lowered statement; what ``dpsql.sql.shapes`` remembers was read here.
"""

from datetime import datetime
from typing import NamedTuple

import pyarrow as pa
from sqlglot import exp

from dpsql.dialect.types import is_number, released_type, type_name
from dpsql.domain import Parameters, TableDomain
from dpsql.policy import Policy
from dpsql.sql.blocks.block import Asked, Services
from dpsql.sql.blocks.late_intervals import check_late, late_intervals
from dpsql.sql.blocks.naming import empty_select
from dpsql.sql.blocks.outer import check_outer
from dpsql.sql.blocks.redraw import redraw
from dpsql.sql.blocks.row_numbers import number_rows
from dpsql.sql.blocks.trial import try_out
from dpsql.sql.blocks.walk import Walk
from dpsql.sql.catalog import Definitions, with_definitions
from dpsql.sql.counting.fulfilled import settled
from dpsql.sql.counting.key_source import KeyLookup
from dpsql.sql.expressions.expansion import check_growth
from dpsql.sql.expressions.functions import COUNTS
from dpsql.sql.expressions.names import quoted
from dpsql.sql.public_sql import PublicSql
from dpsql.sql.statement import Remark, Statement
from dpsql.sql.text.clock import bind_clock
from dpsql.sql.text.parameters import bind
from dpsql.sql.text.parse import parse, to_sql, with_zeros


class Read(NamedTuple):
    """A lowered statement, and what its blocks ask, in the order in which they are finished."""

    statement: Statement
    asked: tuple[Asked, ...] = ()


class Reader:
    """Reads statements of one policy. ``definitions``: names that the session gives to queries."""

    def __init__(
        self, policy: Policy, public: PublicSql, services: Services, definitions: Definitions | None = None
    ) -> None:
        self._policy = policy
        self._public = public
        self._services = services
        self._definitions = definitions or {}

    def read(self, text: str, parameters: Parameters, keys: KeyLookup, moment: datetime | None = None) -> Read:
        """The lowered statement. Raises ``dpsql.errors``, and RecursionError for what is nested too deeply.

        ``moment``: what clock functions stand for; without it they are refused.
        """
        found = self._read(text, parameters, keys, moment)
        self.check(text)
        return found

    def check(self, text: str) -> None:
        """Raises SqlSyntaxError for what sqlglot reads and DuckDB does not: nobody can say what it means."""
        self._public.read(with_zeros(text))

    def _read(self, text: str, parameters: Parameters, keys: KeyLookup, moment: datetime | None = None) -> Read:
        tree: exp.Expr = parse(text)
        if parameters is not None or "?" in text or "$" in text:
            bind(tree, parameters)
        tree = with_definitions(tree, self._definitions)
        notices = () if moment is None else bind_clock(tree, moment)
        check_growth(text, tree)
        if isinstance(tree, exp.Select) and _empty(tree):
            return Read(self._schema_probe(text, tree))
        walk = self._walk(text, keys)
        scope = walk.query(tree, {})
        if scope is not None:
            raise walk.rows_refusal(tree, scope)
        tree = walk.tree or tree
        _forget_unread(tree, walk)
        blocks = tuple(walk.blocks)
        first = tuple(keys.first)
        if walk.direct is not None:
            awaited, grouped, remarks = keys.awaited, tuple(keys.asked), self._remarks(walk)
            direct = Statement(
                text, blocks, walk.direct, None, awaited=awaited, grouped=grouped, remarks=remarks, notices=notices,
                first=first,
            )  # fmt: skip
            return Read(direct, tuple(walk.asked))
        late = late_intervals(text, tree)
        check_outer(text, tree, [*(b.name for b in blocks), *(t.lower() for t in walk.public_tables)])
        row, outer_columns = number_rows(tree, blocks, walk.selects)
        outer = to_sql(tree)
        read = {t.name.lower() for t in tree.find_all(exp.Table)}
        public_tables = tuple(sorted(t for t in walk.public_tables if t.lower() in read))
        dry = try_out(self._public, outer, blocks, public_tables)
        numeric = [is_number(t) for t in dry.schema.types][row is not None :]
        check_late(late, numeric)
        drawn = redraw(tree, blocks, self._public_columns, outer_columns, numeric, numbered=row is not None)
        statement = Statement(
            text,
            blocks,
            None,
            outer,
            row,
            outer_columns,
            public_tables,
            awaited=keys.awaited,
            grouped=tuple(keys.asked),
            remarks=self._remarks(walk),
            redraw=drawn.redraw,
            counts_rows=drawn.counts_rows,
            late=late,
            notices=notices,
            first=first,
        )
        return Read(statement, tuple(walk.asked))

    def _walk(self, text: str, keys: KeyLookup) -> Walk:
        return Walk(text, self._policy, self._public, self._services, keys, lambda inner: self._answered(inner, keys))

    def _remarks(self, walk: Walk) -> tuple[Remark, ...]:
        return settled(self._services.evaluator, [*walk.joins.remarks, *walk.correlated.remarks, *walk.remarks])

    def _answered(self, text: str, keys: KeyLookup) -> pa.Table:
        """The rows of a statement inside another: of a public one, or as they were released; none before that."""
        statement = self._read(text, None, keys.alone()).statement
        if not statement.blocks:
            rows = self._public.run(statement.outer_sql or "", {}, statement.public_tables)
            return rows if statement.row_column is None else rows.drop_columns([statement.row_column])
        if not statement.awaited and not any(b.aggregates for b in statement.blocks):
            return self._groups(statement)
        known = keys.rows(text)
        if known is not None:
            return known
        return pa.table({name: pa.array([], released_type(kind)) for name, kind in self.columns(statement)})

    def _groups(self, statement: Statement) -> pa.Table:
        """The rows of a statement that asks no number: its groups are public."""
        if statement.direct is not None:
            (block,) = statement.blocks
            places = {name: i for i, name in enumerate(block.group_columns)}
            found = [[group[places[c.source]] for group in block.groups] for c in statement.direct]
            kinds = [released_type(kind) for _, kind in self.columns(statement)]
            columns = [pa.array(values, kind) for values, kind in zip(found, kinds, strict=True)]
            return pa.Table.from_arrays(columns, names=[c.name for c in statement.direct])
        dry = try_out(self._public, statement.outer_sql or "", statement.blocks, statement.public_tables)
        return dry if statement.row_column is None else dry.drop_columns([statement.row_column])

    def columns(self, statement: Statement) -> list[tuple[str, str]]:
        """Names and DuckDB types of a lowered statement's columns: they depend on nothing private."""
        if statement.direct is not None:
            (block,) = statement.blocks
            types = dict(zip(block.group_columns, block.group_types, strict=True))
            kinds = types | {a.column: a.sql_type for a in block.aggregates}
            return [(c.name, kinds[c.source]) for c in statement.direct]
        dry = try_out(self._public, statement.outer_sql or "", statement.blocks, statement.public_tables)
        shown = list(zip(dry.schema.names, dry.schema.types, strict=True))[statement.row_column is not None :]
        return [(name, type_name(kind)) for name, kind in shown]

    def _public_columns(self, table: str) -> list[str]:
        """The columns of a public table, in order."""
        return list(self._public.run(f"FROM {quoted(table)} LIMIT 0", {}, [table]).column_names)

    def _schema_probe(self, text: str, tree: exp.Select) -> Statement:
        """LIMIT 0 and WHERE FALSE: no row is wanted, so private tables are empty and the answer is public."""
        for table in list(tree.find_all(exp.Table)):
            domain = self._policy.by_name.get(table.name.lower()) if isinstance(table.this, exp.Identifier) else None
            shadowed = any(c.alias.lower() == table.name.lower() for c in tree.find_all(exp.CTE))
            if domain is None or shadowed:
                continue
            empty = exp.Subquery(
                this=parse(empty_select(domain, units=_counts_units(table, domain))),
                alias=exp.TableAlias(this=exp.to_identifier(table.alias or domain.name, quoted=True)),
            )
            table.replace(empty)
        walk = self._walk(text, KeyLookup(None))
        walk.query(tree, {})
        check_outer(text, tree, [t.lower() for t in walk.public_tables])
        outer = to_sql(tree)
        public_tables = tuple(sorted(walk.public_tables))
        try_out(self._public, outer, (), public_tables)
        return Statement(text, (), None, outer, public_tables=public_tables)


def _empty(tree: exp.Select) -> bool:
    """Whether the statement publicly has no row to show: LIMIT 0, or no row of FROM passes WHERE.

    Plain counts of no row are left to the ordinary way, which lists a public answer for each.
    """
    limit = tree.args.get("limit")
    if isinstance(limit, exp.Limit) and isinstance(limit.expression, exp.Literal) and limit.expression.this == "0":
        return True
    where = tree.args.get("where")
    condition = where.this if where is not None else None
    alone = tree.args.get("group") is None and not tree.args.get("joins")
    if alone and tree.expressions and all(_is_count(i) for i in tree.expressions):
        return False
    if isinstance(condition, exp.Boolean):
        return condition.this is False
    if isinstance(condition, exp.EQ):
        sides = (condition.this, condition.expression)
        return all(isinstance(s, exp.Literal) and not s.is_string and s.this.isdigit() for s in sides) and int(
            sides[0].this
        ) != int(sides[1].this)
    return False


def _counts_units(table: exp.Table, domain: TableDomain) -> bool:
    """Whether the SELECT around a private table mentions units, and only where they are counted or grouped by."""
    select = table.find_ancestor(exp.Select)
    if select is None or domain.unit is None or any(i.is_star for i in select.expressions):
        return False
    named = [c for c in select.find_all(exp.Column) if c.name.lower() == domain.unit.lower()]
    if named and select.args.get("group") is not None and select.parent_select is not None:
        return True
    return bool(named) and all(isinstance(c.find_ancestor(exp.Distinct, exp.Select), exp.Distinct) for c in named)


def _is_count(item: exp.Expr) -> bool:
    node = item.this if isinstance(item, exp.Alias) else item
    return isinstance(node, exp.Anonymous) and node.name.lower() in COUNTS


def _forget_unread(tree: exp.Expr, walk: Walk) -> None:
    """Leaves out CTEs that nothing reads any more, and their blocks: they are answered as statements before."""
    clause = tree.args.get("with_")
    if clause is None or not walk.inner.asked:
        return
    while True:
        read = {t.name.lower() for t in tree.find_all(exp.Table)}
        kept = [c for c in clause.expressions if c.alias.lower() in read]
        if len(kept) == len(clause.expressions):
            break
        clause.set("expressions", kept)
    if not kept:
        tree.set("with_", None)
    walk.keep(read)
