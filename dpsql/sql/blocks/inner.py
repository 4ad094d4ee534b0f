"""Statements inside a statement: what reads private rows there is released first, and public afterwards.

The statement around depends on released values only, so that it is a question chosen after an answer, as any next
statement is.
"""

from collections.abc import Callable

import pyarrow as pa
from sqlglot import exp

from dpsql.sql.text.limits import MAX_LIST_ITEMS
from dpsql.sql.text.parameters import literals
from dpsql.sql.text.parse import to_sql
from dpsql.sql.text.position import refusal


class Inner:
    """The statements inside one. ``answered`` gives the rows of a statement by its text."""

    def __init__(self, text: str, answered: Callable[[str], pa.Table]) -> None:
        self._text, self._answered = text, answered
        self._ctes: dict[str, exp.Expr] = {}
        self._twice: set[str] = set()
        self.asked = False

    def add(self, cte: exp.Expr) -> None:
        """A CTE as it was written, before it is lowered."""
        name = cte.alias.lower()
        if name in self._ctes and self._ctes[name] != cte:
            self._twice.add(name)
        self._ctes[name] = cte

    def names(self, name: str) -> bool:
        """Whether a CTE has this name."""
        return name.lower() in self._ctes

    def rows(self, entry: exp.Expr) -> pa.Table:
        """The rows of an entry of FROM, as it was written."""
        return self._answered(
            self._alone(exp.Select(expressions=[exp.Star()], from_=exp.From(this=entry.copy())), entry)
        )

    def columns(self, entry: exp.Expr) -> list[str]:
        """The names of an entry's columns, which are public."""
        query = exp.Select(expressions=[exp.Star()], from_=exp.From(this=entry.copy()))
        query.set("limit", exp.Limit(expression=exp.Literal.number(0)))
        return list(self._answered(self._alone(query, entry)).column_names)

    def values(self, node: exp.Expr, query: exp.Expr) -> list[exp.Expr]:
        """The values of the only column of ``query``, as literals; ``node`` is where it stands."""
        inner = query.this if isinstance(query, exp.Subquery) else query
        found = self._answered(self._alone(inner, node))
        if found.num_columns != 1:
            raise refusal(self._text, node, "the subquery has several columns", "select one column")
        if found.num_rows > MAX_LIST_ITEMS:
            raise refusal(self._text, node, f"more than {MAX_LIST_ITEMS:,} values", "cut them with LIMIT")
        return literals(found.column(0))

    def _alone(self, query: exp.Expr, node: exp.Expr) -> str:
        """A query as a statement of its own, behind the CTEs that it names."""
        self.asked = True
        used: dict[str, exp.Expr] = {}
        wanted = [t.name.lower() for t in query.find_all(exp.Table)]
        while wanted:
            name = wanted.pop()
            if name in self._twice:
                raise refusal(self._text, node, f"two CTEs are called {name[:80]}", "give each a name of its own")
            if name in self._ctes and name not in used:
                used[name] = self._ctes[name]
                wanted += [t.name.lower() for t in used[name].find_all(exp.Table)]
        if not used:
            return to_sql(query)
        ordered = [cte for name, cte in self._ctes.items() if name in used]
        return to_sql(exp.With(expressions=ordered)) + " " + to_sql(query)


def used_ctes(node: exp.Expr, clause: exp.With) -> list[exp.Expr]:
    """The CTEs that the statement reads, directly or through others: what nobody reads is not asked."""
    around = [c for c in node.iter_expressions() if c is not clause]
    wanted = {t.name.lower() for c in around for t in c.find_all(exp.Table)}
    used: list[exp.Expr] = []
    for cte in reversed(clause.expressions):  # a CTE sees the ones before it
        if cte.alias.lower() in wanted:
            used.append(cte)
            wanted |= {t.name.lower() for t in cte.this.find_all(exp.Table)}
    return used[::-1]
