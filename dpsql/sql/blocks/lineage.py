"""Which released numbers an output column of the outer statement is computed from.

A number without an error bar reads as exact, so the question is answered on the safe side: a column depends on all that
its expression, its group or its window could read, and a statement that is not understood depends on everything.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from dpsql.sql.aggregates.aggregates import is_aggregate
from dpsql.sql.expressions.operators import unwrap
from dpsql.sql.statement import HIGH, LOW, ROW, Block, Dependence

PUBLIC = Dependence()
_RANKS = frozenset({"cume_dist", "dense_rank", "ntile", "percent_rank", "rank", "row_number"})
_OTHER_ROWS = ("group", "having", "distinct", "qualify", "joins", "laterals")


class NotUnderstoodError(Exception):
    """The statement has a form whose columns are not followed."""


@dataclass(frozen=True)
class Relation:
    """What a query yields: its columns in order, and what decides which rows there are."""

    columns: tuple[tuple[str, Dependence], ...]
    rows: Dependence = PUBLIC

    def renamed(self, alias: object) -> "Relation":
        names = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
        if not names:
            return self
        given = [n.name for n in names] + [n for n, _ in self.columns[len(names) :]]
        return Relation(tuple(zip(given, (d for _, d in self.columns), strict=True)), self.rows)


@dataclass(frozen=True)
class Names:
    """What column names mean inside one SELECT: its FROM entries, its aliases, and the SELECT around it."""

    entries: tuple[tuple[str, Relation], ...]
    aliases: Mapping[str, Dependence] = field(default_factory=dict)
    outer: "Names | None" = None

    def find(self, column: exp.Column) -> Dependence:
        name, table = column.name.lower(), column.text("table").lower()
        names: Names | None = self
        while names is not None:
            found = [d for alias, r in names.entries if table in ("", alias) for n, d in r.columns if n.lower() == name]
            if not table and name in names.aliases:
                found.append(names.aliases[name])
            if found:
                return together(found) if len(found) > 1 else found[0]
            names = names.outer
        raise NotUnderstoodError(name)


def together(parts: Iterable[Dependence]) -> Dependence:
    """What is computed from all of the parts.

    >>> together([Dependence(frozenset({("b", "a0")})), Dependence(local=False)])
    Dependence(sources=frozenset({('b', 'a0')}), local=False, rank=False, ends='')
    """
    found = list(parts)
    ends = {d.ends for d in found if d.sources}
    sources, local = frozenset[tuple[str, str]]().union(*(d.sources for d in found)), all(d.local for d in found)
    return Dependence(sources, local, ends="" if ends <= {""} else "all" if ends == {"all"} else "some")


class Lineage:
    """Follows the columns of one outer statement. ``public_columns`` lists the columns of a public table."""

    def __init__(self, blocks: Sequence[Block], public_columns: Callable[[str], Sequence[str]]) -> None:
        self._blocks = {b.name.lower(): b for b in blocks}
        self._public_columns = public_columns
        self._reads: dict[str, int] = {}
        self.dependent: list[exp.Expr] = []
        """Conditions on released numbers that decide which rows a SELECT keeps."""

    def outputs(self, tree: exp.Expr) -> tuple[Dependence, ...]:
        """One entry per output column. Raises NotUnderstoodError."""
        relation = self._query(tree, {}, None)
        alone = all(count <= 1 for count in self._reads.values())
        return tuple(replace(d, local=d.local and alone) for _, d in relation.columns)

    def _query(self, node: exp.Expr, ctes: Mapping[str, Relation], outer: Names | None) -> Relation:
        if isinstance(node, exp.Subquery):
            inner = self._query(node.this, self._with(node, ctes, outer), outer)
            return inner.renamed(node.args.get("alias"))
        if isinstance(node, exp.Table):
            return self._table(node, ctes)
        if isinstance(node, exp.SetOperation):
            return self._set_operation(node, self._with(node, ctes, outer), outer)
        if isinstance(node, exp.Values):
            return self._values(node, ctes, outer)
        if isinstance(node, exp.Select):
            return self._select(node, self._with(node, ctes, outer), outer)
        raise NotUnderstoodError(type(node).__name__)

    def _with(self, node: exp.Expr, ctes: Mapping[str, Relation], outer: Names | None) -> Mapping[str, Relation]:
        clause = node.args.get("with_")
        if clause is None:
            return ctes
        inner = dict(ctes)
        for cte in clause.expressions:
            inner[cte.alias.lower()] = self._query(cte.this, inner, outer).renamed(cte.args.get("alias"))
            self._reads[f"with {cte.alias.lower()}"] = 0
        return inner

    def _table(self, node: exp.Table, ctes: Mapping[str, Relation]) -> Relation:
        name = node.name.lower()
        alias = node.args.get("alias")
        known = ctes.get(name)
        if known is not None:
            self._reads[f"with {name}"] += 1
            return known.renamed(alias)
        block = self._blocks.get(name)
        if block is None:
            return Relation(tuple((c, PUBLIC) for c in self._public_columns(node.name))).renamed(alias)
        self._reads[name] = self._reads.get(name, 0) + 1
        columns = [(c, PUBLIC) for c in (ROW, *block.group_columns)]
        for aggregate in block.aggregates:
            own = Dependence(frozenset({(block.name, aggregate.column)}))
            columns.append((aggregate.column, own))
            columns += [(aggregate.column + end, replace(own, ends="all")) for end in (LOW, HIGH)]
        return Relation(tuple(columns)).renamed(alias)

    def _set_operation(self, node: exp.SetOperation, ctes: Mapping[str, Relation], outer: Names | None) -> Relation:
        if node.args.get("by_name") or node.args.get("on"):
            raise NotUnderstoodError("BY NAME")
        sides, left = [node.args["expression"]], node.this
        distinct = [bool(node.args.get("distinct")) or not isinstance(node, exp.Union)]
        while isinstance(left, exp.SetOperation) and left.args.get("with_") is None and not left.args.get("by_name"):
            distinct.append(bool(left.args.get("distinct")) or not isinstance(left, exp.Union))
            sides.append(left.args["expression"])
            left = left.this
        found = [self._query(side, ctes, outer) for side in (left, *reversed(sides))]
        if len({len(r.columns) for r in found}) != 1:
            raise NotUnderstoodError("sides of different width")
        columns = [
            (same[0][0], together([d for _, d in same])) for same in zip(*(r.columns for r in found), strict=True)
        ]
        rows = [r.rows for r in found]
        if any(distinct):
            rows += [d for _, d in columns]
            columns = [(n, replace(d, local=False)) for n, d in columns]
        if node.args.get("limit") is not None or node.args.get("offset") is not None:
            rows += [d for _, d in columns]
        return Relation(tuple(columns), together(rows))

    def _values(self, node: exp.Values, ctes: Mapping[str, Relation], outer: Names | None) -> Relation:
        width = max((len(row.expressions) for row in node.expressions), default=0)
        own = self._expression(node.expressions, Names((), outer=outer), ctes, PUBLIC)
        return Relation(tuple((f"col{i}", own) for i in range(width))).renamed(node.args.get("alias"))

    def _select(self, node: exp.Select, ctes: Mapping[str, Relation], outer: Names | None) -> Relation:
        entries, rows, merged = self._entries(node, ctes, outer)
        names = Names(entries, outer=outer)
        where = node.args.get("where")
        if where is not None:
            rows = [*rows, *self._condition(where.this, names, ctes)]
        before = together(rows)
        counted = _aggregates(node)
        if counted:
            before = replace(before, local=False)
        if node.args.get("group") is not None:
            rows.append(self._expression(node.args["group"].expressions, names, ctes, before))
        columns: list[tuple[str, Dependence]] = []
        aliases: dict[str, Dependence] = {}
        for item in node.expressions:
            inner = unwrap(item.this if isinstance(item, exp.Alias) else item)
            star = inner if isinstance(inner, exp.Star) else inner.this if isinstance(inner, exp.Column) else None
            if isinstance(star, exp.Star):
                columns += _star(star, inner, entries, merged)
                continue
            own = self._item(inner, Names(entries, aliases, outer), ctes, before, counted=counted)
            columns.append((item.alias_or_name, own))
            name = item.alias_or_name.lower()
            aliases[name] = together([aliases[name], own]) if name in aliases else own
        names = Names(entries, aliases, outer)
        for key in ("having", "qualify"):
            if node.args.get(key) is not None:
                rows.append(self._expression([node.args[key].this], names, ctes, before))
        if node.args.get("distinct") is not None:
            rows += [d for _, d in columns]
            columns = [(n, replace(d, local=False)) for n, d in columns]
        if node.args.get("limit") is not None or node.args.get("offset") is not None:
            rows += [d for _, d in columns]
            if node.args.get("order") is not None:
                rows.append(self._expression(node.args["order"].expressions, names, ctes, before))
        return Relation(tuple(columns), together(rows))

    def _condition(self, node: exp.Expr, names: Names, ctes: Mapping[str, Relation]) -> list[Dependence]:
        """What the conjuncts read; those that read released numbers are noted in ``dependent``."""
        out = []
        stack = [node]
        while stack:
            conjunct = unwrap(stack.pop())
            if isinstance(conjunct, exp.And):
                stack += [conjunct.this, conjunct.expression]
                continue
            own = self._expression([conjunct], names, ctes, PUBLIC)
            if own.sources:
                self.dependent.append(conjunct)
            out.append(own)
        return out

    def _entries(
        self, node: exp.Select, ctes: Mapping[str, Relation], outer: Names | None
    ) -> tuple[tuple[tuple[str, Relation], ...], list[Dependence], frozenset[str]]:
        """FROM's entries by alias, what decides which of their rows there are, the names that USING merges."""
        clause = node.args.get("from_")
        if clause is None:
            return (), [], frozenset()
        joins = [*(clause.this.args.get("joins") or []), *(node.args.get("joins") or [])]
        entries, rows, merged = [], [], set[str]()
        for entry, join in [(clause.this, None), *((j.this, j) for j in joins)]:
            relation = self._query(entry, ctes, outer)
            rows.append(relation.rows)
            entries.append((entry.alias_or_name.lower(), relation))
            if join is None:
                continue
            if join.args.get("method") or join.text("kind").upper() in ("SEMI", "ANTI"):
                raise NotUnderstoodError("a join of another kind")
            merged |= {u.name.lower() for u in join.args.get("using") or ()}
            if join.args.get("on") is not None:
                rows.append(self._expression([join.args["on"]], Names(tuple(entries), outer=outer), ctes, PUBLIC))
        return tuple(entries), rows, frozenset(merged)

    def _item(
        self, node: exp.Expr, names: Names, ctes: Mapping[str, Relation], rows: Dependence, *, counted: bool
    ) -> Dependence:
        own = names.find(node) if isinstance(node, exp.Column) else self._expression([node], names, ctes, rows)
        if isinstance(node, exp.Window):
            own = replace(own, rank=_function(node) in _RANKS)
        return replace(own, local=False) if counted else own

    def _expression(
        self, nodes: Iterable[exp.Expr], names: Names, ctes: Mapping[str, Relation], rows: Dependence
    ) -> Dependence:
        """What expressions read; an aggregate or a window also reads which ``rows`` there are."""
        found: list[Dependence] = []
        stack = list(nodes)
        while stack:
            node = stack.pop()
            if isinstance(node, exp.Query) and not isinstance(node, exp.Table):
                inner = self._query(node, ctes, names)
                found += [d for _, d in inner.columns] + [inner.rows]
                scalar = isinstance(node, exp.Subquery) and not isinstance(node.parent, (exp.In, exp.Exists))
                found.append(Dependence(local=scalar and not inner.rows.sources))
                continue
            if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
                found.append(names.find(node))
                continue
            if isinstance(node, exp.Window) or is_aggregate(node):
                found.append(replace(rows, local=False))
            stack.extend(c for c in node.iter_expressions() if not isinstance(c, (exp.Identifier, exp.DataType)))
        return together(found)


def is_plain(node: exp.Select) -> bool:
    """Whether each row of the SELECT comes from one row of FROM, whatever the others are."""
    return (
        not any(node.args.get(k) for k in _OTHER_ROWS)
        and not _aggregates(node)
        and not any(i.find(exp.Window) for i in node.expressions)
    )


def _aggregates(node: exp.Select) -> bool:
    if node.args.get("group") is not None or node.args.get("having") is not None:
        return True
    stack: list[exp.Expr] = list(node.expressions)
    while stack:
        child = stack.pop()
        if isinstance(child, exp.Window):
            stack.extend(c for c in child.iter_expressions() if c is not child.this)
            stack.extend(child.this.iter_expressions())
        elif is_aggregate(child):
            return True
        elif not isinstance(child, exp.Query):
            stack.extend(child.iter_expressions())
    return False


def _star(
    star: exp.Star, node: exp.Expr, entries: Sequence[tuple[str, Relation]], merged: frozenset[str]
) -> list[tuple[str, Dependence]]:
    """The columns that a star stands for; those of USING once."""
    excluded = star.args.get("except_") or ()
    if any(v for k, v in star.args.items() if k != "except_") or any(n.text("table") for n in excluded):
        raise NotUnderstoodError("* REPLACE")
    left_out = {n.name.lower() for n in excluded}
    wanted = node.text("table").lower() if isinstance(node, exp.Column) else ""
    out: list[tuple[str, Dependence]] = []
    for alias, relation in entries:
        if wanted in ("", alias):
            seen = {n.lower() for n, _ in out} & merged if not wanted else frozenset[str]()
            out += [(n, d) for n, d in relation.columns if n.lower() not in seen | left_out]
    return out


def _function(node: exp.Window) -> str:
    function = node.this
    while isinstance(function, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)):
        function = function.this
    return str(function.name).lower()
