"""``GROUP BY unit``: what a subquery or CTE with a row for each unit means to the block that counts these rows.

Nobody sees a unit. How many units have 1, 2, .. rows is asked for once; everything around is a question about a table
of these numbers (``dpsql.query.UnitTable``).
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256

from sqlglot import exp

from dpsql.dialect.quoting import written
from dpsql.domain import FiniteDomain, IntegerDomain, TextDomain, Value, cell_values
from dpsql.errors import UnsupportedQuery
from dpsql.query import DistinctCount, Form, UnitTable
from dpsql.query.unit_table import NUMBER
from dpsql.sql.aggregates.aggregates import aggregation, is_aggregate
from dpsql.sql.blocks.block import Asked, Services
from dpsql.sql.blocks.levels import group_target
from dpsql.sql.blocks.naming import simple_name
from dpsql.sql.counting.key_source import KeyLookup
from dpsql.sql.expressions.bind import Binder, Lookup
from dpsql.sql.expressions.bound import Bound
from dpsql.sql.expressions.names import Scope, check_usable, quoted, table_scope, unit_of
from dpsql.sql.expressions.operators import flatten, unwrap
from dpsql.sql.text.limits import MAX_UNIT_CELLS
from dpsql.sql.text.parse import to_sql
from dpsql.sql.text.position import refusal

_OTHER_CLAUSES = {"limit": "LIMIT", "offset": "OFFSET", "qualify": "QUALIFY", "windows": "WINDOW", "sample": "SAMPLE"}
_HINT = (
    "count them by their rows: SELECT n, COUNT(*) FROM (SELECT {unit}, COUNT(*) AS n FROM {table} GROUP BY {unit}) "
    "GROUP BY n"
)


def unit_rows(
    text: str, select: exp.Select, scope: Scope, services: Services, lookup: Lookup, keys: KeyLookup
) -> Scope | None:
    """Rows of which each is a unit; ``None`` for a SELECT that does not group by the unit.

    UnsupportedQuery for groups, conditions and limits that no count of units by their rows can tell.
    """
    nodes = _groups(text, select, scope)
    if not any(scope.is_unit(n) for n in nodes) or scope.table.unit is None:
        return None
    check_usable(text, select, scope)
    return _Reading(text, select, scope, services, lookup, keys).read([n for n in nodes if not scope.is_unit(n)])


def _groups(text: str, select: exp.Select, scope: Scope) -> list[exp.Expr]:
    """What the SELECT groups by, positions and aliases resolved; DISTINCT groups by its columns."""
    group, items = select.args.get("group"), [i.this if isinstance(i, exp.Alias) else i for i in select.expressions]
    if group is None:
        distinct = select.args.get("distinct")
        plain = distinct is not None and distinct.args.get("on") is None
        return [unwrap(i) for i in items] if plain and not any(is_aggregate(n) for i in items for n in i.walk()) else []
    if group.args.get("all"):
        return [unwrap(i) for i in items if not any(is_aggregate(n) for n in i.walk())]
    return [unwrap(group_target(text, n, select, scope)) for n in group.expressions]


class _Reading:
    def __init__(
        self, text: str, select: exp.Select, scope: Scope, services: Services, lookup: Lookup, keys: KeyLookup
    ) -> None:
        self._text, self._select, self._scope, self._services, self._keys = text, select, scope, services, keys
        self._aliases = {i.alias.lower(): i.this for i in select.expressions if isinstance(i, exp.Alias)}
        self._lookup = lookup
        self._binder = Binder(text, scope, self._aliases, lookup)

    def read(self, others: Sequence[exp.Expr]) -> Scope:
        """The table of units and the names of its columns; the condition is what HAVING says of the number of rows."""
        bounds = [self._binder.bind(n) for n in others]
        domains = {b.sql: self._domain(n, b) for n, b in zip(others, bounds, strict=True)}
        self._check_used()
        numbered = self._select.args.get("having") is not None or any(self._counts(n) for n in self._items())
        table = self._table(bounds, list(domains.values()), numbered=numbered)
        names, refused = self._names(table, domains)
        having = self._select.args.get("having")
        condition: Sequence[Bound] = ()
        if having is not None:
            inside = table_scope(table, self._scope.qualifier)
            own = {**inside.names, **{n: found for n, found in names.items() if not found[1].unit}}
            binder = Binder(self._text, Scope(table, self._scope.qualifier, own, base=False), {}, self._lookup)
            condition = binder.conjuncts(self._in_numbers(having.this.copy()))
        return Scope(table, self._scope.qualifier, names, tuple(condition), False, refused)

    def _items(self) -> list[exp.Expr]:
        return [unwrap(i.this if isinstance(i, exp.Alias) else i) for i in self._select.expressions]

    def _check_used(self) -> None:
        """UnsupportedQuery where the statement around reads a sum, or the like, of each unit."""
        other = {
            i.alias.lower()
            for i, n in zip(self._select.expressions, self._items(), strict=True)
            if i.alias and is_aggregate(n) and not self._counts(n)
        }
        inside = {id(c) for c in self._select.find_all(exp.Column)}
        read = (c for c in self._select.root().find_all(exp.Column) if id(c) not in inside and c.name.lower() in other)
        for column in read:
            raise self._only_rows(column)

    def _only_rows(self, node: exp.Expr) -> UnsupportedQuery:
        reason = f"of each {self._scope.table.unit} only the number of rows is answered"
        return refusal(self._text, node, reason, "count units by COUNT(*), or sum over all of them")

    def _domain(self, node: exp.Expr, bound: Bound) -> FiniteDomain:
        """The column that the units are grouped by as well."""
        column = next(iter(bound.columns)) if len(bound.columns) == 1 else ""
        domain = self._scope.table.by_name.get(column.lower())
        binned = bound.steps.get(column) is not None
        if domain is None or isinstance(domain, TextDomain) or binned or bound.sql != quoted(domain.name):
            unit = self._scope.table.unit
            reason = f"rows of each {unit} by an expression of other columns are not answered"
            raise refusal(self._text, node, reason, "group by columns with declared values, as they are")
        return domain

    def _counts(self, node: exp.Expr) -> bool:
        """Whether a node is the number of rows of a unit."""
        if not isinstance(node, exp.Anonymous) or node.name.lower() not in ("count", "count_star"):
            return False
        inner = node.expressions[0] if len(node.expressions) == 1 else None
        if inner is not None and self._scope.is_unit(unwrap(inner)):
            return True
        if isinstance(inner, exp.Distinct):
            return False
        found = aggregation(self._binder, node).numerator
        return len(found) == 1 and not found[0].conjuncts

    def _in_numbers(self, node: exp.Expr) -> exp.Expr:
        """A condition of HAVING with the number of rows as a column."""
        holder = exp.Paren(this=node)
        for found in list(holder.find_all(exp.Column, exp.Anonymous, exp.Filter)):
            target = self._aliases.get(found.name.lower(), found) if isinstance(found, exp.Column) else found
            if self._counts(unwrap(target)):
                found.replace(exp.column(exp.to_identifier(NUMBER, quoted=True)))
            elif is_aggregate(target):
                raise self._only_rows(found)
        inner: exp.Expr = holder.this
        return inner

    def _names(
        self, table: UnitTable, domains: Mapping[str, FiniteDomain]
    ) -> tuple[dict[str, tuple[str, Bound]], str | None]:
        """The output columns; those that only the rows themselves could tell are left out."""
        names: dict[str, tuple[str, Bound]] = {}
        columns = table_scope(table, self._scope.qualifier).names
        for item, node in zip(self._select.expressions, self._items(), strict=True):
            name = simple_name(item, self._scope) or to_sql(item).lower()
            if self._scope.is_unit(node):
                found = unit_of(self._scope.table)
            elif self._counts(node):
                found = columns[NUMBER][1]
            elif is_aggregate(node):
                continue
            else:
                bound = self._binder.bind(node)
                domain = domains.get(bound.sql)
                if domain is None and bound.columns:
                    reason = "this column is neither in GROUP BY nor the same for all rows of a group"
                    raise refusal(self._text, node, reason, "add it to GROUP BY, or leave it out")
                found = bound if domain is None else columns[domain.name.lower()][1]
            names.setdefault(name.lower(), (name, found))
        return names, next((w for k, w in _OTHER_CLAUSES.items() if self._select.args.get(k)), None)

    def _table(self, groups: Sequence[Bound], domains: Sequence[FiniteDomain], *, numbered: bool) -> UnitTable:
        of = self._scope.table
        most = of.max_rows_per_unit if numbered else 1
        counts, places, matched = self._selections(groups, domains)
        if len(counts) * most > MAX_UNIT_CELLS:
            reason = f"1 to {most:,} rows of each {of.unit} in {len(counts):,} groups are too many numbers"
            raise refusal(self._text, self._select, reason, f"at most {MAX_UNIT_CELLS:,}: group by fewer columns")
        told = sha256("".join(c.digest for c in counts).encode()).hexdigest()[:8]
        number = (IntegerDomain(NUMBER, 1, most, nullable=False),) if numbered else ()
        name = f"{of.name} by {of.unit} #{told}{most:x}"
        return UnitTable(name, (*domains, *number), of=of, counts=counts, places=places, most=most, matched=matched)

    def _selections(
        self, groups: Sequence[Bound], domains: Sequence[FiniteDomain]
    ) -> tuple[tuple[DistinctCount, ...], tuple[int, ...], tuple[str, ...]]:
        """The units of each cell of the groups that the condition leaves, the cell's number, matched text columns."""
        of, where = self._scope.table, self._select.args.get("where")
        kept = [] if where is None else [c for c in flatten(where.this, exp.And) if not self._is_known(unwrap(c))]
        own = [b for c in kept for b in self._binder.conjuncts(c)]
        asked = Asked("", self._scope, tuple(groups), (), needs_intervals=False)
        lowering = asked.lowering(self._text, (*self._scope.condition, *own), self._services, self._keys)
        forms: Sequence[Form] = lowering.counts() if lowering.groups else ()
        found = [(f, _number(domains, g)) for f, g in zip(forms, lowering.groups, strict=True) if not f.is_public]
        counts = tuple(DistinctCount(of.name, of.unit or "", form) for form, _ in found)
        return counts, tuple(place for _, place in found), lowering.matched

    def _is_known(self, node: exp.Expr) -> bool:
        """Whether a condition says that there is a unit, as there is of all that are counted."""
        inner = unwrap(node.this) if isinstance(node, exp.Not) else node
        null = isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null)
        return null and inner is not node and self._scope.is_unit(unwrap(inner.this))


def _number(domains: Sequence[FiniteDomain], values: Sequence[Value]) -> int:
    out = 0
    for domain, value in zip(domains, values, strict=True):
        out = out * domain.size + cell_values(domain).index(value)
    return out


def lists_units(text: str, node: exp.Expr, table: UnitTable) -> UnsupportedQuery:
    """The refusal of a statement that would show units."""
    hint = _HINT.format(unit=written(table.of.unit or ""), table=written(table.of.name))
    return refusal(text, node, f"this lists each {table.of.unit} of {table.of.name}", hint)
