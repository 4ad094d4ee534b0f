"""Two private tables joined by their unit, read as the view of both that the owner has declared.

How many rows of a join one person has is not known from the two tables; of a view it is declared. So a join is answered
where it is a view's, and in its words.
"""

from collections.abc import Iterator, Mapping

from sqlglot import exp

from dpsql.dialect.quoting import written
from dpsql.domain import TableDomain
from dpsql.errors import UnsupportedQuery
from dpsql.policy import Policy
from dpsql.sql.expressions.names import Scope, unknown
from dpsql.sql.expressions.operators import flatten, unwrap
from dpsql.sql.text.position import refusal

_PLAIN = ("", "INNER", "CROSS")


def as_declared_view(text: str, select: exp.Select, policy: Policy, env: Mapping[str, Scope | None]) -> list[exp.Join]:
    """Puts the view in the place of its two tables in FROM; gives the joins that are left.

    ``env``: names that hide tables. UnsupportedQuery for joins of the two tables that are not the view's, UnknownName
    for a column behind the name of a table that does not have it.
    """
    joins: list[exp.Join] = select.args.get("joins") or []
    places = [select.args["from_"], *joins]
    private = [(place, t) for place in places if (t := _private(place.this, policy, env)) is not None]
    if len(private) != 2:
        return joins
    (first, left), (second, right) = private
    view = policy.join_of(left.name, right.name)
    if view is None:
        return joins
    reading = _Reading(text, view, {_alias(first.this): left, _alias(second.this): right})
    reading.take_condition(select, second)
    joins.remove(second)
    select.set("joins", joins)
    first.set("this", reading.table(first.this))
    for column in list(_columns(select)):
        reading.rename(column)
    return joins


def _private(entry: exp.Expr, policy: Policy, env: Mapping[str, Scope | None]) -> TableDomain | None:
    if not isinstance(entry, exp.Table) or entry.name.lower() in env or entry.args.get("joins"):
        return None
    return policy.by_name.get(entry.name.lower())


class _Reading:
    def __init__(self, text: str, view: TableDomain, tables: Mapping[str, TableDomain]) -> None:
        self._text, self._view, self._tables = text, view, tables

    def take_condition(self, select: exp.Select, join: exp.Join) -> None:
        """Takes the equality of the units away; what else ON says moves to WHERE."""
        words = " ".join(w.upper() for k in ("method", "side", "kind") if (w := join.args.get(k) or ""))
        if words not in _PLAIN:
            raise self._refused(join, f"{words} JOIN of {self._names()} is not answered")
        using = [i.name.lower() for i in join.args.get("using") or ()]
        if using:
            if using != [self._unit]:
                raise self._refused(join, f"{self._names()} are joined by {', '.join(using)[:80]}")
            return
        on, where = join.args.get("on"), select.args.get("where")
        conjuncts = [] if on is None else flatten(on, exp.And)
        rest = [] if where is None else flatten(where.this, exp.And)
        found = next((c for c in (*conjuncts, *rest) if self._joins(unwrap(c))), None)
        if found is None:
            raise self._refused(join, f"{self._names()} are not joined by {self._view.unit}")
        left = [c for c in (*rest, *conjuncts) if c is not found]
        select.set("where", exp.Where(this=exp.and_(*left, copy=False)) if left else None)

    def table(self, entry: exp.Expr) -> exp.Table:
        """The view as an entry of FROM, where the first table stood."""
        found = exp.Table(this=exp.to_identifier(self._view.name, quoted=True))
        found.this.meta.update(entry.this.meta)
        return found

    def rename(self, column: exp.Column) -> None:
        """Names the view where a column's name stands behind one of its tables'."""
        name, qualifier = column.name.lower(), column.args.get("table")
        table = None if qualifier is None else self._tables.get(qualifier.name.lower())
        if qualifier is not None and table is None:
            return
        if name != self._unit and all(name in t.by_name for t in self._tables.values()):
            reason = f"{column.name[:80]} is a column of {self._names()}, and one of their view"
            raise refusal(
                self._text, column, reason, f"ask {written(self._view.name)}, whose columns \\d {self._view.name} lists"
            )
        if table is None:
            return
        if isinstance(column.this, exp.Star) or (name != self._unit and name not in table.by_name):
            raise unknown(self._text, column, "column", column.name, [c.name for c in table.columns], table.name)
        column.set("table", exp.to_identifier(self._view.name, quoted=True))

    def _joins(self, condition: exp.Expr) -> bool:
        if not isinstance(condition, exp.EQ):
            return False
        sides = [unwrap(condition.this), unwrap(condition.expression)]
        qualifiers = {s.table.lower() for s in sides if isinstance(s, exp.Column) and s.name.lower() == self._unit}
        return qualifiers == set(self._tables)

    def _refused(self, join: exp.Join, reason: str) -> UnsupportedQuery:
        hint = f"{self._view.name} is their inner join: write JOIN ... USING ({written(self._view.unit or '')})"
        return refusal(self._text, join.this, reason, hint)

    def _names(self) -> str:
        return " and ".join(t.name for t in self._tables.values())

    @property
    def _unit(self) -> str:
        return (self._view.unit or "").lower()


def _alias(entry: exp.Expr) -> str:
    return (entry.alias or entry.name).lower()


def _columns(select: exp.Select) -> Iterator[exp.Column]:
    """The columns of a SELECT that are not those of a SELECT within it."""
    for node in select.walk(prune=lambda n: n is not select and isinstance(n, exp.Query)):
        if isinstance(node, exp.Column):
            yield node
