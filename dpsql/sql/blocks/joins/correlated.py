"""Subqueries over public tables that name a column of the private rows around them: look-ups written without a join.

What such a subquery yields depends on the row by these columns alone, so it is one more column of the row. DuckDB
computes it for every declared value, whatever stands inside; where it fails, it fails for a declared value.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from dpsql.dialect.quoting import written
from dpsql.dialect.types import natural_values
from dpsql.errors import DataError, ProgrammingError, UnsupportedQuery
from dpsql.policy import Policy
from dpsql.sql.aggregates.aggregates import is_aggregate
from dpsql.sql.blocks.joins.cells import CELL, CELLS, ROW, Keys, is_key
from dpsql.sql.blocks.joins.joins import columns_of
from dpsql.sql.blocks.levels import group_target, has_levels
from dpsql.sql.blocks.outer import check_outer
from dpsql.sql.expressions.bound import Bound
from dpsql.sql.expressions.names import Scope, quoted, unknown
from dpsql.sql.expressions.operators import unwrap
from dpsql.sql.expressions.remarks import null_remarks
from dpsql.sql.public_sql import PublicSql
from dpsql.sql.statement import Remark
from dpsql.sql.text.limits import MAX_LIST_ITEMS
from dpsql.sql.text.parse import to_sql
from dpsql.sql.text.position import place, refusal

_HINT = "join the public table: FROM the private one LEFT JOIN the public one ON ..."
_ONE = "take MIN or MAX of it, or ORDER BY ... LIMIT 1, so that every declared value finds one row at most"
_CLAUSES = ("expressions", "where", "group", "having", "order", "qualify")


class Correlated:
    """The correlated subqueries of one statement. ``is_cte``: whether a name is that of a CTE.

    ``remarks``: that NOT EXISTS holds for NULL, which stands for values that are not declared.
    """

    def __init__(self, text: str, policy: Policy, public: PublicSql, is_cte: Callable[[str], bool]) -> None:
        self._text, self._public, self._is_cte = text, public, is_cte
        self._tables = {t.lower(): t for t in policy.public_tables}
        self.remarks: list[Remark] = []

    def as_columns(self, select: exp.Select, scope: Scope) -> Scope:
        """The rows of the SELECT with a column for each of its correlated subqueries, which it then names instead.

        A column that depends on groups alone becomes a group. Raises UnsupportedQuery for what is no function of a
        declared value.
        """
        names = dict(scope.names)
        made: list[tuple[exp.Column, list[Bound]]] = []
        for node in list(_subqueries(select)):
            mentioned = [] if scope.branches else self._mentioned(node, scope)
            if not mentioned or (isinstance(node, exp.Exists) and not all(_is_keyed(scope, b) for _, b in mentioned)):
                continue  # EXISTS by a text column is a list of its values
            if isinstance(node, exp.Exists) and isinstance(_around(node), exp.Not):
                self.remarks += null_remarks(scope.table, [bound for _, bound in mentioned])
            text = to_sql(node, normalize_functions="lower")
            if text.lower() not in names:
                names[text.lower()] = (text, self._column(node, scope, mentioned))
            column = exp.column(exp.to_identifier(text, quoted=True))
            column.this.meta.update(mentioned[0][0].this.meta)
            node.replace(column)
            made.append((column, [bound for _, bound in mentioned]))
        if not made:
            return scope
        found = replace(scope, names=names, base=False)
        self._group(select, found, made)
        return found

    def _mentioned(self, node: exp.Expr, scope: Scope) -> list[tuple[exp.Column, Bound]]:
        """The columns of the rows around that ``node`` names, where it names some inside a query; else none."""
        queries = list(node.find_all(exp.Select))
        inside = {t.alias_or_name.lower(): self._columns(t) for q in queries for t in _entries(q)}
        found = []
        correlated = False
        for column in node.find_all(exp.Column):
            within = any(_is_in(column, q) for q in queries)
            if within and not self._is_outer(column, scope, inside):
                continue
            resolved = scope.resolve(self._text, column)
            if resolved is not None:
                found.append((column, resolved[1]))
                correlated |= within
        return found if correlated else []

    def _columns(self, entry: exp.Expr) -> dict[str, str] | None:
        """The columns of a public table by lower-cased name; ``None`` for any other entry of FROM."""
        name = entry.name.lower()
        if not isinstance(entry, exp.Table) or self._is_cte(name) or name not in self._tables:
            return None
        table = self._tables[name]
        rows = self._public.run(f"SELECT * FROM {quoted(table)} LIMIT 0", {}, [table])
        return {c.lower(): c for c in rows.column_names}

    def _is_outer(self, column: exp.Column, scope: Scope, inside: Mapping[str, dict[str, str] | None]) -> bool:
        """Whether a column inside a query is one of the rows around it. UnknownName for one that ``inside`` lacks."""
        qualifier, name = column.text("table").lower(), column.name.lower()
        if not qualifier:
            return name in scope.names and all(known is not None and name not in known for known in inside.values())
        known = inside.get(qualifier)
        if known is not None and name not in known and isinstance(column.this, exp.Identifier):
            raise unknown(self._text, column, "column", column.name, known.values(), qualifier)
        return qualifier not in inside and (qualifier in scope.by_source or qualifier == scope.qualifier)

    def _column(self, node: exp.Expr, scope: Scope, mentioned: Sequence[tuple[exp.Column, Bound]]) -> Bound:
        """What the subquery is of a row."""
        tables = self._read_tables(node)
        check_outer(self._text, node, [t.lower() for t in tables])
        keys = Keys()
        over = exp.paren(node)  # a copy, in whose columns those of the rows around are found by their place
        of_row = {id(column): self._key(column, bound, scope) for column, bound in mentioned}
        for column, copied in list(zip(node.find_all(exp.Column), over.find_all(exp.Column), strict=True)):
            if id(column) in of_row:
                copied.replace(keys.column(of_row[id(column)]))
        cells = keys.cells(scope.table)
        if cells.size > MAX_LIST_ITEMS:
            reason = f"this subquery is by {' and '.join(cells.columns)}, which have {cells.size:,} combinations"
            raise refusal(self._text, node, reason, f"at most {MAX_LIST_ITEMS:,}: name fewer columns inside it")
        sql = f"SELECT {ROW}.{CELL}, {to_sql(over)} AS v FROM {keys.rows}"
        rows = self._run(node, sql, cells.rows, tables)
        kinds = columns_of(rows)
        if "v" not in kinds:
            raise refusal(self._text, node, "the subquery has no value that can be written down", _HINT)
        values = dict(zip(*map(natural_values, rows.columns), strict=True))
        return cells.function(values, kinds["v"][1])

    def _key(self, column: exp.Column, bound: Bound, scope: Scope) -> Bound:
        name = next((c for c in sorted(bound.columns) if not is_key(scope.table, c)), None)
        if bound.unit or name is not None:
            reason = f"a subquery by {name or column.name}, whose values are not listed one by one in the policy"
            hint = f"select by it: WHERE {written(name or column.name)} IN (SELECT ... FROM the public table)"
            raise refusal(self._text, column, reason, hint)
        return bound

    def _read_tables(self, node: exp.Expr) -> list[str]:
        """The public tables that it reads. Raises UnsupportedQuery for any other."""
        found = set()
        for table in node.find_all(exp.Table):
            name = table.name.lower()
            if self._is_cte(name) or name not in self._tables or table.args.get("db") is not None:
                reason = f"a correlated subquery over {table.name[:80]}, which is no public table"
                raise refusal(
                    self._text, table, reason, "name public tables in it, or count in a subquery of FROM and join that"
                )
            found.add(self._tables[name])
        return sorted(found)

    def _run(self, node: exp.Expr, sql: str, cells: pa.Table, tables: Sequence[str]) -> pa.Table:
        try:
            return self._public.run(sql, {CELLS: cells}, tables)
        except UnsupportedQuery:
            raise
        except DataError as error:
            line, column = place(self._text, node)
            hint = _ONE if "More than one row" in str(error) else error.hint
            raise DataError(f"line {line}, column {column}: {error}", hint=hint) from None
        except ProgrammingError as error:
            reason = str(error)
        raise refusal(self._text, node, f"the subquery does not stand for one value: {reason}", _HINT)

    def _group(self, select: exp.Select, scope: Scope, made: Sequence[tuple[exp.Column, list[Bound]]]) -> None:
        """Adds to GROUP BY the columns that are functions of what stands there, where they are named in the result."""
        group = select.args.get("group")
        if group is None or group.args.get("all") or has_levels(select):
            return
        targets = [unwrap(group_target(self._text, e, select, scope)) for e in group.expressions]
        grouped = set()
        for target in targets:
            resolved = scope.resolve(self._text, target) if isinstance(target, exp.Column) else None
            if resolved is not None:
                grouped.add(resolved[1].sql)
        for column, keys in made:
            if {k.sql for k in keys} <= grouped and _is_shown(column, select):
                group.append("expressions", column.copy())


def _subqueries(select: exp.Select) -> Iterator[exp.Expr]:
    """The outermost expressions of the SELECT that are or hold a query: scalar subqueries, IN and EXISTS."""
    stack: list[exp.Expr] = []
    for key in _CLAUSES:
        value = select.args.get(key)
        stack += value if isinstance(value, list) else [value] if value is not None else []
    while stack:
        node = stack.pop()
        if isinstance(node, exp.Subquery | exp.Exists) or (isinstance(node, exp.In) and node.args.get("query")):
            yield node
        elif not isinstance(node, exp.Query):
            stack += list(node.iter_expressions())


def _is_keyed(scope: Scope, bound: Bound) -> bool:
    return all(is_key(scope.table, c) for c in bound.columns)


def _entries(query: exp.Select) -> list[exp.Expr]:
    """What stands in FROM."""
    clause = query.args.get("from_")
    return [] if clause is None else [clause.this, *(j.this for j in query.args.get("joins") or ())]


def _around(node: exp.Expr) -> exp.Expr | None:
    """What stands around a node and its parentheses."""
    around = node.parent
    while type(around) is exp.Paren:
        around = around.parent
    return around


def _is_in(node: exp.Expr, query: exp.Expr) -> bool:
    around: exp.Expr | None = node
    while around is not None:
        if around is query:
            return True
        around = around.parent
    return False


def _is_shown(column: exp.Expr, select: exp.Select) -> bool:
    """Whether it stands outside of WHERE, GROUP BY and aggregates."""
    around = column.parent
    while around is not None and around is not select:
        if is_aggregate(around) or isinstance(around, exp.Where | exp.Group):
            return False
        around = around.parent
    return True
