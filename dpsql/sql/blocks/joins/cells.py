"""Functions of the declared values of a few columns, computed once for every combination by DuckDB. All public.

What a row's key finds in a public relation depends on the key alone. Here it becomes an expression of the key's
columns, and from there on is lowered like any other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import pyarrow as pa
from sqlglot import exp

from dpsql.dialect.types import released_type
from dpsql.domain import DateDomain, FiniteDomain, NumberDomain, TableDomain, TextDomain, Value, cell_values
from dpsql.sql.expressions.bound import NO_COLUMNS, Bound
from dpsql.sql.expressions.names import quoted
from dpsql.sql.expressions.operations import about
from dpsql.sql.text.parameters import literal
from dpsql.sql.text.parse import to_sql

CELLS, ROW, CELL = "_released_cells", "_released_row", "_cell"
"""The table of all combinations, its name in a join with its keys computed, and the column that numbers them."""


class Keys:
    """The expressions of a private row that a join compares: each becomes a column of ``ROW``.

    >>> keys = Keys()
    >>> keys.column(Bound('"a"', frozenset("a"))).sql(), keys.column(Bound('"a"', frozenset("a"))).sql()
    ('_released_row.k0', '_released_row.k0')
    """

    def __init__(self) -> None:
        self._bounds: dict[str, Bound] = {}

    def column(self, bound: Bound) -> exp.Column:
        """What stands for an expression in the join."""
        self._bounds.setdefault(bound.sql, bound)
        return exp.column(f"k{list(self._bounds).index(bound.sql)}", table=ROW)

    def cells(self, table: TableDomain) -> "Cells":
        """All combinations of the values of the columns that the keys mention."""
        found = frozenset(c for b in self._bounds.values() for c in b.columns)
        return Cells(table, tuple(sorted(found, key=lambda c: table.order[c])))

    @property
    def rows(self) -> str:
        """The relation ``ROW``: number of the combination, and its keys."""
        columns = "".join(f", {b.sql} AS k{i}" for i, b in enumerate(self._bounds.values()))
        return f"(SELECT {CELL}{columns} FROM {CELLS}) AS {ROW}"


@dataclass(frozen=True, eq=False)
class Cells:
    """All combinations of the values of finite ``columns`` of a table, numbered row-major; NULL is a value."""

    table: TableDomain
    columns: tuple[str, ...]

    @cached_property
    def _values(self) -> list[tuple[Value, ...]]:
        return [cell_values(self.table.finite_domain(c)) for c in self.columns]

    @property
    def size(self) -> int:
        """Their number; 1 without columns."""
        return prod(self.table.finite_domain(c).size for c in self.columns)

    @property
    def rows(self) -> pa.Table:
        """One row for each combination, behind its number."""
        found = list(product(*self._values))
        arrays = {CELL: pa.array(range(len(found)), pa.int64())}
        for i, name in enumerate(self.columns):
            kind = released_type(self.table.finite_domain(name).sql_type)
            arrays[name] = pa.array([row[i] for row in found], kind)
        return pa.table(arrays)

    def function(self, values: Mapping[int, Any], kind: str) -> Bound:
        """The expression of type ``kind`` that has these values, by number of the combination; NULL in all others."""
        if not self.columns:
            return _constant(values.get(0), kind)
        by_value: dict[str, list[int]] = {}
        for cell, value in values.items():
            if value is not None:
                by_value.setdefault(to_sql(literal(value)), []).append(cell)
        cases = " ".join(f"WHEN {self._any(cells)} THEN {value}" for value, cells in by_value.items())
        return self._bound(f"CAST(CASE {cases} END AS {kind})" if cases else f"CAST(NULL AS {kind})")

    def among(self, cells: Sequence[int]) -> Bound | None:
        """The condition that a row is in one of these combinations; ``None`` for all of them."""
        if len(cells) == self.size:
            return None
        return self._bound(self._any(cells)) if cells else Bound("FALSE")

    def with_null(self, cells: Iterable[int]) -> frozenset[str]:
        """The columns that are NULL in some of these combinations."""
        found, step = set(), self.size
        for name, values in zip(self.columns, self._values, strict=True):
            step //= len(values)
            if any(values[cell // step % len(values)] is None for cell in cells):
                found.add(name)
        return frozenset(found)

    def _bound(self, sql: str) -> Bound:
        return Bound(f"({sql})", frozenset(self.columns))

    def _any(self, cells: Sequence[int]) -> str:
        """A condition that is TRUE in these combinations and in no other."""
        by_first: dict[tuple[Value, ...], list[Value]] = {}
        sizes = [len(v) for v in self._values]
        for cell in cells:
            row: list[Value] = []
            for values, size in zip(reversed(self._values), reversed(sizes), strict=True):
                cell, code = divmod(cell, size)
                row.append(values[code])
            by_first.setdefault(tuple(row[:0:-1]), []).append(row[0])
        found = []
        for first, last in by_first.items():
            parts = [_in(name, [value]) for name, value in zip(self.columns, first, strict=False)]
            found.append(" AND ".join([*parts, _in(self.columns[-1], last)]))
        return "(" + " OR ".join(found) + ")"


def is_key(table: TableDomain, column: str) -> bool:
    """Whether a column's values are known one by one: finite, and not counted together in bins.

    >>> from dpsql.domain import BooleanDomain
    >>> is_key(TableDomain("t", (BooleanDomain("member"), TextDomain("name"))), "member")
    True
    """
    domain: FiniteDomain | TextDomain = table.by_name[column.lower()]
    if isinstance(domain, TextDomain):
        return False
    return not (isinstance(domain, NumberDomain | DateDomain) and domain.is_binned)


def _in(column: str, values: Sequence[Value]) -> str:
    name = quoted(column)
    listed = [to_sql(literal(v)) for v in values if v is not None]
    some = f"{name} IN ({', '.join(listed)})"
    if len(listed) == len(values):
        return some
    return f"({name} IS NULL OR {some})" if listed else f"{name} IS NULL"


def _constant(value: Any, kind: str) -> Bound:
    if value is None:
        return Bound(f"CAST(NULL AS {kind})", NO_COLUMNS)
    if isinstance(value, str):
        return Bound(to_sql(literal(value)), literal=value)
    sql = f"CAST({to_sql(literal(value))} AS {kind})"
    return Bound(sql, constant=None if isinstance(value, bool) else about(str(value)))
