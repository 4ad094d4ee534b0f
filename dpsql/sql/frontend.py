"""The SQL front end: text and parameters to a lowered statement, or a refusal that costs nothing.

One door for every text: limits, parsing, binding and lowering in this order, with what was read before remembered.
"""

from collections.abc import Hashable, Mapping
from typing import NamedTuple

from sqlglot import exp

from dpsql.domain import Parameters
from dpsql.errors import UnsupportedQuery
from dpsql.memo import Memo
from dpsql.policy import Policy
from dpsql.sql.blocks.block import Services
from dpsql.sql.blocks.naming import Namer, empty_select
from dpsql.sql.blocks.outer import check_outer
from dpsql.sql.blocks.row_numbers import number_rows
from dpsql.sql.blocks.walk import Walk
from dpsql.sql.counting.evaluate import Evaluator
from dpsql.sql.counting.key_source import AskedKeys, KeyLookup, ReleasedKeys
from dpsql.sql.expressions.expansion import check_growth
from dpsql.sql.expressions.functions import COUNTS
from dpsql.sql.plain import PlainCounts
from dpsql.sql.public_sql import PublicSql
from dpsql.sql.statement import Block, Statement
from dpsql.sql.text.limits import check_text
from dpsql.sql.text.parameters import bind
from dpsql.sql.text.parse import parse, to_sql

STATEMENTS = 1024
HEAVY_CELLS = 1 << 22


class FrontEnd:
    """Lowers statements of one policy; equal texts and parameters are looked up. Everything it holds is public."""

    def __init__(self, policy: Policy, public: PublicSql) -> None:
        self._policy = policy
        self._public = public
        self._services = Services(Evaluator(public), Namer(public))
        self._plain = PlainCounts(policy)
        self._statements: Memo[_Lowered] = Memo(STATEMENTS)

    def lower(self, text: str, parameters: Parameters = None, *, keys: ReleasedKeys | None = None) -> Statement:
        """The lowered statement. Raises ``dpsql.errors`` only; touches no private row and charges nothing.

        ``keys`` gives the groups of GROUP BY a text column; without it such a statement is refused. While a column's
        keys are not released, the statement comes without groups and says in ``awaited`` what is missing: everything
        else that can be wrong with it has been found by then.

        Raises SqlSyntaxError, UnknownName, UnsupportedQuery with line and column; ProgrammingError and DataError for
        parameters that do not fit and for texts that are none.
        """
        key = _key(text, parameters)
        lookup = KeyLookup(keys)
        if key is not None:
            known = self._statements.get(key)
            if known is not None and lookup.agrees(known.asked):
                return known.statement
        plain = self._plain.lower(text) if parameters is None and isinstance(text, str) else None
        if plain is not None:
            if key is not None:
                self._statements.put(key, _Lowered(plain, {}), 1 + _heaviness(plain))
            return plain
        check_text(text)
        try:
            statement = self._lower(text, parameters, lookup)
        except RecursionError:
            raise UnsupportedQuery("the statement is nested too deeply", hint="split it into simpler ones") from None
        if key is not None:
            self._statements.put(key, _Lowered(statement, lookup.asked), 1 + _heaviness(statement))
        return statement

    def _lower(self, text: str, parameters: Parameters, keys: KeyLookup) -> Statement:
        tree: exp.Expr = parse(text)
        if parameters is not None or "?" in text or "$" in text:
            bind(tree, parameters)
        check_growth(text, tree)
        if isinstance(tree, exp.Select) and _empty(tree):
            return self._schema_probe(text, tree)
        walk = Walk(text, self._policy, self._public, self._services, keys)
        scope = walk.query(tree, {})
        if scope is not None:
            raise walk.rows_refusal(tree, scope)
        blocks = tuple(walk.blocks)
        if walk.direct is not None:
            return Statement(text, blocks, walk.direct, None, awaited=keys.awaited, grouped=tuple(keys.asked))
        check_outer(text, tree, [*(b.name for b in blocks), *(t.lower() for t in walk.public_tables)])
        row, outer_columns = number_rows(tree, blocks, walk.selects)
        outer = to_sql(tree)
        public_tables = tuple(sorted(walk.public_tables))
        self._dry_run(outer, blocks, public_tables)
        return Statement(
            text,
            blocks,
            None,
            outer,
            row,
            outer_columns,
            public_tables,
            awaited=keys.awaited,
            grouped=tuple(keys.asked),
        )

    def _dry_run(self, outer: str, blocks: tuple[Block, ...], public_tables: tuple[str, ...]) -> None:
        """Runs the outer statement over empty tables: what DuckDB refuses is refused before anything is asked."""
        self._public.run(outer, {b.name: b.schema.empty_table() for b in blocks}, public_tables)

    def _schema_probe(self, text: str, tree: exp.Select) -> Statement:
        """LIMIT 0 and WHERE FALSE: no row is wanted, so private tables are empty and the answer is public."""
        for table in list(tree.find_all(exp.Table)):
            domain = self._policy.by_name.get(table.name.lower()) if isinstance(table.this, exp.Identifier) else None
            shadowed = any(c.alias.lower() == table.name.lower() for c in tree.find_all(exp.CTE))
            if domain is None or shadowed:
                continue
            empty = exp.Subquery(
                this=parse(empty_select(domain)),
                alias=exp.TableAlias(this=exp.to_identifier(table.alias or domain.name, quoted=True)),
            )
            table.replace(empty)
        walk = Walk(text, self._policy, self._public, self._services, KeyLookup(None))
        walk.query(tree, {})
        check_outer(text, tree, [t.lower() for t in walk.public_tables])
        outer = to_sql(tree)
        public_tables = tuple(sorted(walk.public_tables))
        self._dry_run(outer, (), public_tables)
        return Statement(text, (), None, outer, public_tables=public_tables)


class _Lowered(NamedTuple):
    """A statement, and the released keys that it was lowered with."""

    statement: Statement
    asked: AskedKeys


def lower(text: str, parameters: Parameters, policy: Policy, public: PublicSql) -> Statement:
    """One statement without a front end's caches; see :meth:`FrontEnd.lower`."""
    return FrontEnd(policy, public).lower(text, parameters)


def _key(text: object, parameters: Parameters) -> Hashable | None:
    """Equal keys, equal statements; ``None`` when the parameters cannot be a key."""
    if not isinstance(text, str):
        return None
    if parameters is None:
        return text
    if isinstance(parameters, Mapping):
        pairs: list[tuple[object, object]] = [(repr(name), parameters[name]) for name in parameters]
    elif isinstance(parameters, (list, tuple)):
        pairs = list(enumerate(parameters))
    else:
        return None
    if not all(_simple(value) for _, value in pairs):
        return None
    return text, tuple((name, type(value), repr(value)) for name, value in pairs)


def _simple(value: object) -> bool:
    return value is None or type(value) in (int, float, str, bool)


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


def _is_count(item: exp.Expr) -> bool:
    node = item.this if isinstance(item, exp.Alias) else item
    return isinstance(node, exp.Anonymous) and node.name.lower() in COUNTS


def _heaviness(statement: Statement) -> int:
    """How many light statements one is worth in the cache."""
    terms = (
        t
        for b in statement.blocks
        for a in b.aggregates
        for f in (*a.numerator, *(a.denominator or ()))
        for t in f.terms
    )
    return sum(t.query.cells for t in terms) * STATEMENTS // HEAVY_CELLS
