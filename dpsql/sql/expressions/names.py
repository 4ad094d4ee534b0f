"""Names: which columns a block can see, and suggestions for those that it cannot.

Analysts see declared columns only. A name that is not one of them must not even betray whether the table has it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from math import floor, log10

from sqlglot import exp

from dpsql.dialect.quoting import written
from dpsql.domain import CategoryDomain, DateDomain, IntegerDomain, NumberDomain, TableDomain, TextDomain
from dpsql.errors import UnknownName
from dpsql.query import UnitTable
from dpsql.sql.expressions.bound import Bound, Outside, Text
from dpsql.sql.expressions.changes.placed import MOST_LINES
from dpsql.sql.expressions.changes.steps import NO_STEPS, UNKNOWN
from dpsql.sql.expressions.changes.straight import Straight
from dpsql.sql.expressions.operators import PARTS
from dpsql.sql.text.position import place, refusal
from dpsql.sql.text.spellings import DATABASE, SCHEMA

_FEWEST, _SOME, _MOST = 4, 20, 200
"""Steps of a number column that a hint names: tens, while they are some, else powers of ten that make at least 20."""
FIRST_NAMES = 8
"""Columns of a table that a hint names."""


@dataclass(frozen=True, eq=False)
class Scope:
    """The rows that a block reads: a private table, or a projection and selection of one.

    ``names`` maps an output column's lower-cased name to (its name, its meaning in declared columns); ``qualifier`` is
    the lower-cased name that may stand before the dot; ``condition`` holds the conjuncts of inner WHERE clauses.
    ``base`` is false for a derived table. ``branches``: the sides of a UNION ALL, with columns in the same places.
    ``by_source``: of a join, the columns behind each name before the dot; ``ambiguous`` are in several of them.
    ``unlisted``: columns of the private table that find these rows and whose values are not known one by one.
    ``unit`` is the lower-cased name of the privacy unit's column where it is no output column and can be counted all
    the same.
    """

    table: TableDomain
    qualifier: str
    names: Mapping[str, tuple[str, Bound]]
    condition: tuple[Bound, ...] = ()
    base: bool = True
    refused: str | None = field(default=None)
    branches: "tuple[Scope, ...]" = ()
    by_source: Mapping[str, Mapping[str, tuple[str, Bound]]] = field(default_factory=dict)
    ambiguous: frozenset[str] = frozenset()
    unlisted: tuple[str, ...] = ()
    unit: str | None = None

    def is_unit(self, node: exp.Expr) -> bool:
        """Whether a node names the column of privacy units."""
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
            return False
        name = node.name.lower()
        if name == self.unit and self._is_mine(node):
            return True
        found = self.names.get(name)
        return found is not None and found[1].unit and self._is_mine(node)

    def _is_mine(self, node: exp.Column) -> bool:
        """Whether what stands before the dots, if anything does, is this table."""
        parts = [node.args.get(k) for k in ("table", "db", "catalog")]
        known = [self.qualifier, SCHEMA, DATABASE]
        return all(p is None or p.name.lower() == k for p, k in zip(parts, known, strict=True))

    def resolve(self, text: str, node: exp.Column) -> tuple[str, Bound] | None:
        """Name and meaning of a column reference; ``None`` when an unqualified name is not here, or it is the
        unit's column and has no values."""
        parts = [node.args.get("table"), node.args.get("db"), node.args.get("catalog")]
        if parts[0] is not None:
            qualifier = parts[0].name.lower()
            schema = parts[1].name.lower() if parts[1] is not None else SCHEMA
            database = parts[2].name.lower() if parts[2] is not None else DATABASE
            names = self.by_source.get(qualifier) if self.by_source else self.names
            if (
                names is None
                or (not self.by_source and qualifier != self.qualifier)
                or schema != SCHEMA
                or database != DATABASE
            ):
                line, column = place(text, node)
                seen = " and ".join(self.by_source) or self.qualifier
                raise UnknownName(
                    f"{parts[0].name[:80]!r} is not the table that is counted here",
                    name=parts[0].name,
                    suggestions=list(self.by_source) or [self.qualifier],
                    line=line,
                    column=column,
                    hint=_stands_alone(node) or f"only columns of {seen} can be named here",
                )
            found = names.get(node.name.lower())
            if found is None and not self.is_unit(node):
                raise unknown_column(text, node, self)
            return found
        if node.name.lower() in self.ambiguous:
            reason = f"{node.name[:80]} is a column of several tables here"
            raise refusal(text, node, reason, "write the table's name and a dot before it")
        return self.names.get(node.name.lower())

    def starred(self, text: str, node: exp.Expr) -> Mapping[str, tuple[str, Bound]]:
        """The columns that ``*`` or, of a join, ``name.*`` stands for."""
        qualifier = node.args.get("table")
        if qualifier is None or not self.by_source:
            return self.names
        names = self.by_source.get(qualifier.name.lower())
        if names is None:
            raise unknown(text, node, "table", qualifier.name, self.by_source)
        return names


@lru_cache(maxsize=256)
def table_scope(table: TableDomain, qualifier: str) -> Scope:
    """The scope of a private table under its name or alias."""
    names: dict[str, tuple[str, Bound]] = {}
    for c in table.columns:
        sql = quoted(c.name)
        if isinstance(c, TextDomain):
            text = Text(c.name, c.prefixes)
            unknown_outside = {c.name: Outside.UNKNOWN}
            bound = Bound(sql, frozenset((c.name,)), unknown_outside, {c.name: frozenset()}, text=text, strings=c.name)
        elif isinstance(c, CategoryDomain):
            bound = Bound(sql, frozenset((c.name,)), strings=c.name)
        else:
            numeric = c.name if isinstance(c, IntegerDomain | NumberDomain) else None
            binned = isinstance(c, NumberDomain | DateDomain) and c.is_binned
            steps = {c.name: UNKNOWN} if binned else NO_STEPS
            straight = Straight(c.name) if binned and isinstance(c, NumberDomain) else None
            own = frozenset((c.name,))
            times = own if isinstance(c, DateDomain) else frozenset[str]()
            few = isinstance(c, IntegerDomain) and c.high - c.low < MOST_LINES
            values = tuple(map(float, range(c.low, c.high + 1))) if isinstance(c, IntegerDomain) and few else ()
            bound = Bound(sql, own, numeric=numeric, steps=steps, straight=straight, times=times, voids=NO_STEPS)
            bound = bound._replace(values=values, monotone=own if straight else frozenset())
        names[c.name.lower()] = (c.name, bound)
    unit = None if table.unit is None else table.unit.lower()
    declared = names[unit][1] if unit is not None and unit in names else None
    return Scope(table, qualifier, names, unit=unit if declared is None or declared.text is not None else None)


def unit_of(table: TableDomain) -> Bound:
    """The column of privacy units, as an output column of a subquery: its values are counted, and never compared."""
    return Bound(quoted(table.unit or ""), unit=True)


def quoted(name: str) -> str:
    """A quoted identifier.

    >>> quoted('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def steps_of(domain: NumberDomain | DateDomain, column: str) -> str:
    """Steps of a binned column's values that can be groups: its own unit, or round numbers.

    >>> steps_of(NumberDomain("price", (0.0, 5e6)), "price"), steps_of(NumberDomain("rate", (0.0, 1.0)), "rate")
    ('floor(price / 100000) * 100000', 'floor(rate * 100) / 100')
    """
    if isinstance(domain, DateDomain):
        return f"date_trunc('{domain.unit}', {column})"
    some = domain.edges[-1] / _SOME - domain.edges[0] / _SOME
    power = 1 if _FEWEST <= some * _SOME / 10 <= _MOST else floor(log10(some))
    step = format(10.0 ** abs(power), ".15g")
    if power == 0:
        return f"floor({column})"
    return f"floor({column} / {step}) * {step}" if power > 0 else f"floor({column} * {step}) / {step}"


def unknown(
    text: str,
    node: exp.Expr,
    kind: str,
    name: str,
    known: Iterable[str],
    within: str | None = None,
    otherwise: str | None = None,
) -> UnknownName:
    """The error for a name that is not declared (``within`` a table), with the closest public names.

    ``otherwise``: the hint where no name is close.
    """
    line, column = place(text, node)
    by_lower = {k.lower(): k for k in known}
    close = get_close_matches(name.lower(), list(by_lower), 3)
    return UnknownName(
        f"there is no {kind} {name[:80]!r}" + ("" if within is None else f" in {within}"),
        name=name,
        suggestions=[by_lower[c] for c in close],
        line=line,
        column=column,
        hint=f"did you mean {written(by_lower[close[0]])}?" if close else otherwise,
    )


def unknown_table(text: str, node: exp.Table, known: Sequence[str]) -> UnknownName:
    """The error for a table that is not there; it may be the schema or database before its dots that is not."""
    alone = next((k for k in known if k.lower() == node.name.lower()), None)
    if alone is None:
        return unknown(text, node, "table", node.name, known)
    whole = ".".join(part.name for part in node.parts)
    return unknown(text, node, "table", whole, (), otherwise=f"write the table's name alone: {written(alone)}")


_CURLED = "\u2018\u2019\u201c\u201d"
"""Quotes as word processors write them: DuckDB reads them as letters of a name."""


def unknown_column(text: str, node: exp.Column, scope: Scope) -> UnknownName:
    """The error for a column that is not there; it may have been meant as a string, or as a part of a date."""
    around, hint = node.parent, None
    shown = "'" + node.name.strip(_CURLED)[:80].replace("'", "''") + "'"
    compared = isinstance(around, (exp.EQ, exp.NEQ, exp.In)) and around.this is not node
    if node.args.get("table") is None and (node.this.args.get("quoted") or compared or node.name[:1] in _CURLED):
        hint = f"a string stands between single quotes: {shown}"
    elif isinstance(around, exp.Anonymous) and around.expressions[0] is node and node.name.upper() in PARTS:
        hint = f"write the part between quotes: {shown}"
    known = [n for n, _ in scope.names.values()]
    return unknown(
        text, node, "column", node.name, known, scope.table.name, hint or _stands_alone(node) or _columns(known)
    )


def _columns(known: Sequence[str]) -> str:
    """The columns that a table has, by their first names."""
    more = len(known) - FIRST_NAMES
    shown = ", ".join(written(name) for name in known[:FIRST_NAMES])
    return f"columns: {shown}" + (f" and {more:,} more" if more > 0 else "")


def _stands_alone(node: exp.Column) -> str | None:
    """What to write where a subquery in an expression may mean a column of the query around it; ``None`` elsewhere."""
    inner = node.find_ancestor(exp.Select)
    outer = None if inner is None else inner.find_ancestor(exp.Select)
    if inner is None or outer is None or outer.args.get("from_") is None:
        return None
    if not isinstance(inner.parent, exp.Subquery) or isinstance(inner.parent.parent, (exp.From, exp.Join, exp.CTE)):
        return None
    alone = "a subquery that counts private rows sees no column of the query around it"
    return f"{alone}: count them by groups in a subquery of FROM, join that, and sum its counts"


def check_usable(text: str, node: exp.Expr, scope: Scope) -> None:
    """Raises the refusal of a derived table that selects rows in a way that cannot be merged."""
    if scope.refused is not None:
        table, hint = scope.table, "inside, only project and filter rows; count them, then sort and limit the counts"
        rows = f"rows of the private table {table.name}"
        if isinstance(table, UnitTable):
            rows, hint = (
                f"single units of {table.of.name}",
                "inside, only group by the unit, and limit what is counted of it",
            )
        raise refusal(text, node, f"a subquery with {scope.refused} selects {rows}", hint)
