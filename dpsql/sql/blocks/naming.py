"""Names of output columns, exactly as DuckDB would give them. Public.

Programs read columns by name. DuckDB is asked for the names it would give, over empty tables.
"""

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from dpsql.dialect.types import released_type
from dpsql.domain import TableDomain
from dpsql.errors import Error
from dpsql.memo import Memo
from dpsql.sql.expressions.names import Scope, quoted
from dpsql.sql.public_sql import PublicSql
from dpsql.sql.text.parse import to_sql

COUNT_STAR = "count_star()"


def simple_name(item: exp.Expr, scope: Scope) -> str | None:
    """The name of an alias, a column or COUNT(*); ``None`` when DuckDB must be asked (it quotes its keywords)."""
    if isinstance(item, exp.Alias):
        return item.alias
    if isinstance(item, exp.Column):
        found = scope.names.get(item.name.lower())
        return item.name if found is None else found[0]
    if isinstance(item, exp.Anonymous) and isinstance(item.this, str):
        name = item.this.lower()
        arguments = item.expressions
        if name == "count" and (not arguments or type(arguments[0]) is exp.Star):
            return COUNT_STAR
    return None


def empty_table(table: TableDomain) -> pa.Table:
    """A private table's declared columns without a row."""
    return pa.table({c.name: pa.array([], type=released_type(c.sql_type)) for c in table.columns})


def empty_select(table: TableDomain, *, units: bool = False) -> str:
    """A SELECT that yields the declared columns, and with ``units`` the unit's, and no row."""
    kinds = [(c.name, c.sql_type) for c in table.columns]
    kinds += [(table.unit, "VARCHAR")] if units and table.unit is not None else []
    columns = ", ".join(f"CAST(NULL AS {kind}) AS {quoted(name)}" for name, kind in kinds)
    return f"SELECT {columns} WHERE FALSE"


_NAMES = 4096


class Namer:
    """Asks DuckDB for the names of expressions that have no simple name, over empty tables; remembers."""

    def __init__(self, public: PublicSql) -> None:
        self._public = public
        self._known: Memo[tuple[str, ...]] = Memo(_NAMES)

    def names(self, select: exp.Select, scope: Scope) -> list[str]:
        """One name for each item of a block's select list, before it is rewritten."""
        simple = [simple_name(item, scope) for item in select.expressions]
        asked = [item for item, name in zip(select.expressions, simple, strict=True) if name is None]
        if not asked:
            return [n for n in simple if n is not None]
        answers = iter(self._ask(select, asked, scope))
        return [next(answers) if n is None else n for n in simple]

    def _ask(self, select: exp.Select, asked: Sequence[exp.Expr], scope: Scope) -> tuple[str, ...]:
        plain = tuple(to_sql(item, normalize_functions="lower") for item in asked)
        if not scope.base or any(_opaque(item) for item in asked):
            return plain
        items = ", ".join(to_sql(i) for i in select.expressions)
        group = select.args.get("group")
        windows = select.args.get("windows")
        alias = scope.qualifier if scope.qualifier != scope.table.name.lower() else scope.table.name
        sql = f"SELECT {items} FROM {quoted(scope.table.name)} AS {quoted(alias)}"
        sql += "" if group is None else to_sql(group)
        if windows:
            sql += " WINDOW " + ", ".join(to_sql(w) for w in windows)
        key = (sql, scope.table.name)
        known = self._known.get(key)
        if known is None:
            try:
                table = self._public.run(sql + " LIMIT 0", {scope.table.name: empty_table(scope.table)})
            except Error:
                return plain  # DP_INTERVAL_LOW and the like exist only here
            wanted = {id(i) for i in asked}
            pairs = zip(select.expressions, table.column_names, strict=True)
            known = tuple(name for item, name in pairs if id(item) in wanted)
            self._known.put(key, known)
        return known


def _opaque(item: exp.Expr) -> bool:
    """Whether an item holds a query, or a star that is no argument: it is refused later, or named by its text."""
    stars = (n for n in item.find_all(exp.Star) if not isinstance(n.parent, exp.Anonymous))
    return item.find(exp.Query) is not None or next(stars, None) is not None
