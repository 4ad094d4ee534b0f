"""The rows of a SELECT whose FROM joins one private table with relations of public or released rows."""

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from dpsql.dialect.types import released_type, type_name
from dpsql.errors import UnsupportedQuery
from dpsql.policy import Policy
from dpsql.sql.blocks.inner import Inner
from dpsql.sql.blocks.joins.lookups import Lookups
from dpsql.sql.blocks.joins.sources import Relation, read_sources
from dpsql.sql.expressions.names import Scope, check_usable, quoted
from dpsql.sql.public_sql import PublicSql
from dpsql.sql.statement import Remark
from dpsql.sql.text.position import refusal

JOINED = "_released_join_"


class Joins:
    """Joins of one statement. ``inner`` gives the rows of what stands in FROM; ``remarks`` are as in ``Lookups``."""

    def __init__(self, text: str, policy: Policy, public: PublicSql, inner: Inner) -> None:
        self._text, self._policy, self._public, self._inner = text, policy, public, inner
        self.remarks: list[Remark] = []

    def scope(
        self,
        select: exp.Select,
        entries: Sequence[exp.Expr],
        written: Sequence[exp.Expr],
        scopes: Sequence[Scope | None],
    ) -> Scope:
        """The joined rows; the SELECT then has no joins, and in WHERE what is left to be fulfilled.

        ``entries``: of FROM, ``written`` before they were lowered; ``scopes``: what each yields, one of them private
        rows. Raises UnsupportedQuery for joins that mean nothing row by row.
        """
        joins = select.args.get("joins") or []
        if len(joins) < len(entries) - 1:
            raise refusal(self._text, entries[-1], "joins in parentheses are not answered", "write them one by one")
        released: dict[str, pa.Table] = {}
        tables: set[str] = set()
        ((where, private),) = [(i, s) for i, s in enumerate(scopes) if s is not None]
        check_usable(self._text, entries[where], private)
        pairs = [p for i, p in enumerate(zip(entries, written, strict=True)) if i != where]
        relations = [self._relation(entry, as_written, released, tables) for entry, as_written in pairs]
        sources = read_sources(self._text, joins, private, where, relations)
        lookups = Lookups(self._text, select, sources, self._public, sorted(tables), released)
        scope = lookups.scope()
        self.remarks += lookups.remarks
        return scope

    def _relation(
        self, entry: exp.Expr, written: exp.Expr, released: dict[str, pa.Table], tables: set[str]
    ) -> Relation:
        """A public table by its name; anything else by its rows, which go to ``released``."""
        name = next((t for t in self._policy.public_tables if t.lower() == entry.name.lower()), None)
        if isinstance(entry, exp.Table) and name is not None and not self._inner.names(entry.name):
            tables.add(name)
            sql = quoted(name)
            rows = self._public.run(f"SELECT * FROM {sql} LIMIT 0", {}, [name])
        else:
            rows = self._inner.rows(written)
            sql = f"{JOINED}{len(released)}"
            released[sql] = rows
        alias = (entry.alias or entry.name).lower()
        return Relation(alias, sql, columns_of(rows), entry)


def columns_of(rows: pa.Table) -> dict[str, tuple[str, str]]:
    """Name and DuckDB type by lower-cased name, of columns whose values can be written down."""
    out: dict[str, tuple[str, str]] = {}
    for name, arrow in zip(rows.schema.names, rows.schema.types, strict=True):
        kind = arrow.value_type if pa.types.is_dictionary(arrow) else arrow  # an ENUM is its strings
        try:
            released_type(type_name(kind))
        except UnsupportedQuery:
            continue
        out.setdefault(name.lower(), (name, type_name(kind)))
    return out
