"""A private table joined with relations: its rows with more columns, each a function of declared ones.

A row that finds one row of a relation is one row of the join; one that finds none is none, or has NULL there; one that
finds several is counted on several sides, as those of a UNION ALL are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pyarrow as pa
from sqlglot import exp

from dpsql.dialect.quoting import written
from dpsql.dialect.types import natural_values
from dpsql.errors import DataError
from dpsql.sql.blocks.joins.cells import CELL, CELLS, ROW, Cells, Keys, is_key
from dpsql.sql.blocks.joins.optional import check_optional
from dpsql.sql.blocks.joins.parts import Part, parts_of
from dpsql.sql.blocks.joins.sources import Sources
from dpsql.sql.blocks.outer import check_outer
from dpsql.sql.blocks.unions import MAX_SIDES, unlisted_key
from dpsql.sql.expressions.bound import Bound
from dpsql.sql.expressions.names import Scope, quoted
from dpsql.sql.expressions.operators import flatten, unwrap
from dpsql.sql.expressions.remarks import null_remarks, remark
from dpsql.sql.public_sql import PublicSql
from dpsql.sql.statement import Remark
from dpsql.sql.text.limits import MAX_LIST_ITEMS
from dpsql.sql.text.parameters import literal
from dpsql.sql.text.parse import to_sql
from dpsql.sql.text.position import refusal

Names = Mapping[str, tuple[str, Bound]]
SEVERAL = "a join in which a row finds several others"


@dataclass(frozen=True, eq=False)
class Found:
    """What the relations of a part are for each combination of ``cells``: ``sides[i][cell]`` is the i-th row found.

    ``columns``: (relation, lower-cased name, name, type) of each value of a row.
    """

    cells: Cells
    columns: tuple[tuple[int, str, str, str], ...]
    sides: tuple[Mapping[int, tuple[Any, ...]], ...]

    def names(self, side: int) -> dict[tuple[int, str], tuple[str, Bound]]:
        """The relations' columns as expressions of the private row, by relation and lower-cased name."""
        rows = self.sides[side]
        return {
            (number, lower): (name, self.cells.function({c: row[i] for c, row in rows.items()}, kind))
            for i, (number, lower, name, kind) in enumerate(self.columns)
        }

    def condition(self, side: int) -> Bound | None:
        """That a row finds so many; ``None`` where every one does."""
        return self.cells.among(sorted(self.sides[side]))


class Lookups:
    """The join of one SELECT. ``released``: rows of statements that were answered before, by the names in relations.

    ``remarks``: what it asks beyond declared values: keys of relations, and NULL that finds something.
    """

    def __init__(
        self,
        text: str,
        select: exp.Select,
        sources: Sources,
        public: PublicSql,
        public_tables: Sequence[str],
        released: Mapping[str, pa.Table],
    ) -> None:
        self._text, self._select, self._sources = text, select, sources
        self._public, self._public_tables, self._released = public, public_tables, released
        self.remarks: list[Remark] = []

    def scope(self) -> Scope:
        """The rows of the join. Afterwards the SELECT's WHERE is what is left to be fulfilled."""
        if self._sources.optional:
            check_optional(self._text, self._select, self._sources)
        where = self._select.args.get("where")
        conjuncts = [] if where is None else _conjuncts(where.this)
        parts, rest = parts_of(self._text, self._sources, conjuncts)
        self._select.set("where", exp.Where(this=exp.and_(*rest, copy=False)) if rest else None)
        self._select.set("joins", None)
        found = [self._found(part) for part in parts]
        self._remark(parts, found)
        if self._sources.optional and self._select.args.get("group") is not None:
            self._check_all_found(parts[0])
        chosen = list(product(*[range(len(f.sides)) for f in found]))
        if len(chosen) > MAX_SIDES:
            hint = "group by the key in a subquery and join its result"
            raise refusal(self._text, self._select, f"a row finds more than {MAX_SIDES} rows in this join", hint)
        if len(chosen) == 1:
            return self._rows([(f, 0) for f in found])
        sides = tuple(self._rows(list(zip(found, numbers, strict=True))) for numbers in chosen)
        unlisted = self._unlisted(rest)
        return replace(sides[0], condition=(), refused=SEVERAL, branches=sides, unlisted=unlisted)

    def _unlisted(self, conditions: Sequence[exp.Expr]) -> tuple[str, ...]:
        """The private columns by which rows of relations are found, as far as their values are not known one by one."""
        keys = [pair[0] for c in conditions if (pair := self._pair(unwrap(c))) is not None]
        table = self._sources.private.table
        return tuple(sorted({name for key in keys for name in key.columns if not is_key(table, name)}))

    def _remark(self, parts: Sequence[Part], found: Sequence[Found]) -> None:
        """What of the join rests on values that are not declared: they count as NULL, and find what NULL finds."""
        table = self._sources.private.table
        for f in found:
            some = [rows for rows in f.sides if len(rows) < f.cells.size]
            nulls = frozenset(name for rows in some for name in f.cells.with_null(rows))
            self.remarks += null_remarks(table, (Bound("", nulls),))
        conditions = [c for part in parts for c in part.conditions]
        for condition in [*conditions, *(c for cs in self._sources.matched.values() for c in cs)]:
            pair = self._pair(unwrap(condition))
            if pair is not None:
                key, number, name = pair
                own = [c for c in conditions if self._is_of(number, c)]
                found_beyond = remark(table, "IN", key, self._values(number, name, own))
                self.remarks += [] if found_beyond is None else [found_beyond]

    def _pair(self, node: exp.Expr) -> tuple[Bound, int, str] | None:
        """The private key, and the relation's number and column, of an equality of two columns."""
        both = (unwrap(node.this), unwrap(node.expression)) if type(node) is exp.EQ else ()
        sides = [side for side in both if isinstance(side, exp.Column)]
        if len(sides) < 2:
            return None
        owners = [self._sources.owner(self._text, side) for side in sides]
        for own, other in ((0, 1), (1, 0)):
            number = owners[other]
            if owners[own] == -1 and number is not None and number >= 0:
                return self._sources.meaning(self._text, sides[own]), number, sides[other].name
        return None

    def _is_of(self, number: int, condition: exp.Expr) -> bool:
        """Whether a condition is about one relation alone."""
        return {self._sources.owner(self._text, c) for c in condition.find_all(exp.Column)} == {number}

    def _values(self, number: int, name: str, conditions: Sequence[exp.Expr]) -> list[Bound]:
        """The values of a relation's column in its rows that fulfil these conditions; none where they are too many, or
        some have no form here."""
        column = quoted(self._sources.relations[number].columns[name.lower()][0])
        where = " AND ".join(self._over_cells(c, Keys()) for c in conditions)
        sql = f"SELECT DISTINCT {column} FROM {self._sources.relations[number].sql} AS {_name(number)}"
        sql += f"{' WHERE ' + where if where else ''} ORDER BY ALL LIMIT {MAX_LIST_ITEMS + 1}"
        try:
            rows = natural_values(self._public.run(sql, self._released, self._public_tables).column(0))
            known = [(v, to_sql(literal(v))) for v in rows if v is not None] if len(rows) <= MAX_LIST_ITEMS else []
        except DataError:  # days without an end, which the join itself may never find
            return []
        return [Bound(text, literal=v if isinstance(v, str) else None) for v, text in known]

    def _rows(self, chosen: Sequence[tuple[Found, int]]) -> Scope:
        """The rows of the join that find one certain row of each part."""
        private = self._sources.private
        told = {key: value for f, side in chosen for key, value in f.names(side).items()}
        by_source: dict[str, Names] = {private.qualifier: private.names}
        names: dict[str, tuple[str, Bound]] = dict(private.names)
        for number, relation in enumerate(self._sources.relations):
            own = {lower: value for (i, lower), value in told.items() if i == number}
            by_source[relation.qualifier] = own
            for lower, value in own.items():
                names.setdefault(lower, value)
        several = {n for n in names if len(self._sources.holders(n)) > 1 and n not in self._sources.shared}
        for name, number in self._sources.shared.items():
            if number >= 0 and (number, name) in told:
                names[name] = told[number, name]
        conditions = [f.condition(side) for f, side in chosen]
        condition = (*private.condition, *[c for c in conditions if c is not None])
        return replace(
            private, names=names, condition=condition, base=False, by_source=by_source, ambiguous=frozenset(several)
        )

    def _found(self, part: Part) -> Found:
        if not part.keyed and part.spare:
            found = self._looked_up(part, part.conditions, 1)
            found = found or self._looked_up(part, [*part.conditions, *part.spare], MAX_SIDES)
        else:
            found = self._looked_up(part, part.conditions, MAX_SIDES)
        if found is None:
            entry = self._sources.relations[part.relations[0]].entry
            hint = "group by the key in a subquery and join its result"
            raise refusal(self._text, entry, f"a row finds more than {MAX_SIDES} rows in this join", hint)
        return found

    def _looked_up(self, part: Part, conditions: Sequence[exp.Expr], most: int) -> Found | None:
        """What the relations of a part are; ``None`` where some row finds more than ``most`` rows."""
        keys = Keys()
        joined = "".join(self._joined(number, keys) for number in part.relations)
        where = " AND ".join(self._over_cells(c, keys) for c in conditions)
        cells = keys.cells(self._sources.private.table)
        self._check_size(cells, conditions)
        columns = self._columns(part.relations)
        items = "".join(f", {_name(number)}.{quoted(name)}" for number, _, name, _ in columns)
        sql = f"SELECT {ROW}.{CELL}{items} FROM {keys.rows}{joined}{' WHERE ' + where if where else ''}"
        sql += f" LIMIT {cells.size * most + 1}"
        tables = {CELLS: cells.rows, **self._released}
        rows = self._public.run(sql, tables, self._public_tables)
        sides = _sides(rows)
        return Found(cells, tuple(columns), sides) if len(sides) <= most else None

    def _check_all_found(self, part: Part) -> None:
        """Refuses groups of rows of a relation that no private row can find: they would be missing."""
        keys = Keys()
        by_key = [c for c in part.conditions if self._is_keyed(c)]
        chosen = " AND ".join(self._over_cells(c, keys) for c in part.conditions if c not in by_key) or "TRUE"
        found = " AND ".join(self._over_cells(c, keys) for c in by_key) or "TRUE"
        entry = f"{self._sources.relations[0].sql} AS {_name(0)}"
        columns = [c for condition in by_key for c in condition.find_all(exp.Column)]
        shown = [self._over_cells(c, keys) for c in columns if self._sources.owner(self._text, c) == 0]
        sql = f"SELECT {', '.join(['SUM(COUNT(*)) OVER ()', *dict.fromkeys(shown)])} FROM {entry} WHERE {chosen}"
        sql += f" AND NOT EXISTS (SELECT 1 FROM {keys.rows} WHERE {found})"
        sql += " GROUP BY ALL HAVING COUNT(*) > 0 ORDER BY ALL LIMIT 3"
        tables = {CELLS: keys.cells(self._sources.private.table).rows, **self._released}
        missing = self._public.run(sql, tables, self._public_tables)
        if missing.num_rows:
            relation, table = self._sources.relations[0], self._sources.private.table.name
            rows, *values = map(natural_values, missing.columns)
            many = "a row has a key" if rows[0] == 1 else f"{int(rows[0]):,} rows have keys"
            such = "; ".join(" and ".join(map(_shown, key)) for key in zip(*values, strict=True))
            reason = f"in {relation.qualifier} {many} that no row of {table} is declared to have"
            raise refusal(
                self._text, relation.entry, f"{reason}{such and f': {such}'}", self._keeping(by_key, part.conditions)
            )

    def _keeping(self, by_key: Sequence[exp.Expr], conditions: Sequence[exp.Expr]) -> str:
        """What to write where rows are to be kept, or left out, whose key is not declared."""
        hint = "write JOIN, which leaves them out; or keep them beside counts:"
        alone = list(by_key) == list(conditions) and self._sources.private.base
        if len(by_key) != 1 or self._pair(unwrap(by_key[0])) is None or not alone:
            return f"{hint} group by the key in a subquery, and LEFT JOIN that"
        sides = {self._sources.owner(self._text, c): c.name for c in by_key[0].find_all(exp.Column)}
        relation, own = self._sources.relations[0].qualifier, written(sides[-1])
        counts = f"SELECT {own}, COUNT(*) AS n FROM {written(self._sources.private.table.name)} GROUP BY {own}"
        return (
            f"{hint} {written(relation)} LEFT JOIN ({counts}) AS counted "
            f"ON counted.{own} = {written(relation)}.{written(sides[0])}"
        )

    def _is_keyed(self, condition: exp.Expr) -> bool:
        return any(self._sources.owner(self._text, c) == -1 for c in condition.find_all(exp.Column))

    def _joined(self, number: int, keys: Keys) -> str:
        entry = f"{self._sources.relations[number].sql} AS {_name(number)}"
        matched = self._sources.matched.get(number)
        if matched is None:
            return f" CROSS JOIN {entry}"
        return f" LEFT JOIN {entry} ON {' AND '.join(self._over_cells(c, keys) for c in matched)}"

    def _over_cells(self, condition: exp.Expr, keys: Keys) -> str:
        """A condition with the private row's values and the relations' columns under their names here."""
        check_outer(self._text, condition, [])
        copy = exp.paren(condition, copy=True)
        for column in list(copy.find_all(exp.Column)):
            number = self._sources.owner(self._text, column)
            if number is not None and number >= 0:
                name, _ = self._sources.relations[number].columns[column.name.lower()]
                column.replace(exp.column(exp.to_identifier(name, quoted=True), table=_name(number)))
                continue
            bound = self._sources.meaning(self._text, column)
            self._check_key(condition, bound)
            column.replace(keys.column(bound))
        return to_sql(copy)

    def _check_key(self, node: exp.Expr, bound: Bound) -> None:
        table = self._sources.private.table
        name = next((c for c in sorted(bound.columns) if not is_key(table, c)), None)
        if name is not None:
            reason = unlisted_key((name,))
            hint = f"select by it: WHERE {written(name)} IN (SELECT ... FROM the public table)"
            raise refusal(self._text, node, reason, hint)

    def _check_size(self, cells: Cells, conditions: Sequence[exp.Expr]) -> None:
        if cells.size > MAX_LIST_ITEMS:
            reason = f"this join is by {' and '.join(cells.columns)}, which have {cells.size:,} combinations"
            hint = f"at most {MAX_LIST_ITEMS:,}: join by one column, or group by the key and join the result"
            raise refusal(self._text, conditions[0] if conditions else self._select, reason, hint)

    def _columns(self, relations: Sequence[int]) -> list[tuple[int, str, str, str]]:
        """Of these relations, the columns that the SELECT may mention."""
        named = {c.name.lower() for c in self._select.find_all(exp.Column)}
        whole = any(not isinstance(s.parent, exp.Anonymous) for s in self._select.find_all(exp.Star))
        return [
            (number, lower, name, kind)
            for number in relations
            for lower, (name, kind) in self._sources.relations[number].columns.items()
            if whole or lower in named
        ]


def _shown(value: Any) -> str:
    """A value of a public table, shortened."""
    text = f"{value}"[:40]
    return "NULL" if value is None else f"'{text}'" if isinstance(value, str) else text


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    return [unwrap(c) for c in flatten(node, exp.And)]


def _name(number: int) -> str:
    return f"_source_{number}"


def _sides(rows: pa.Table) -> tuple[Mapping[int, tuple[Any, ...]], ...]:
    """The first, second ... row that each combination finds, in an order of their values."""
    by_cell: dict[int, list[tuple[Any, ...]]] = {}
    for cell, *row in zip(*map(natural_values, rows.columns), strict=True):
        by_cell.setdefault(cell, []).append(tuple(row))
    for found in by_cell.values():
        found.sort(key=repr)
    most = max(map(len, by_cell.values()), default=1)
    return tuple({c: found[i] for c, found in by_cell.items() if len(found) > i} for i in range(most))
