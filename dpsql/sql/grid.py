"""Evaluating bound expressions over the public values of their columns, with caches. Everything here is public."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsql.domain import TableDomain, TextDomain, Value, cell_values
from dpsql.errors import DataError, UnsupportedQuery
from dpsql.query import Weights
from dpsql.sql import compared as numeric
from dpsql.sql.bound import Bound, Candidates, Listed, Outside
from dpsql.sql.cache import Lru
from dpsql.sql.limits import MAX_CELLS
from dpsql.sql.public_sql import GridColumn, PublicSql
from dpsql.sql.strings import truth_table
from dpsql.sql.support import Axis, Signed, other_string, text_axis

CACHED_CELLS = 1 << 23  # 64 MB of weights
_Key = tuple[object, ...]


@dataclass(frozen=True, eq=False)
class Codes:
    """An expression's value in each cell of its columns' grid, as indices into ``values``; -1 for *other* strings.

    ``values`` are distinct, in order of first appearance, NULL last.
    """

    codes: Weights
    values: tuple[Value, ...]
    sql_type: str


@dataclass(frozen=True, eq=False)
class Numbers:
    """A numeric expression's value in each cell; NULL and *other* strings count as 0.

    ``low`` and ``high``: the least and greatest value without those zeros; ``None`` when it is NULL everywhere.
    """

    numbers: Signed
    sql_type: str
    low: float | None = None
    high: float | None = None


class Grids:
    """Axes of one table under one set of candidate strings."""

    def __init__(self, table: TableDomain, candidates: Candidates) -> None:
        self.table = table
        self._candidates = candidates
        self._axes: dict[str, Axis] = {}

    def axis(self, column: str) -> Axis:
        axis = self._axes.get(column)
        if axis is None:
            domain = self.table.by_name[column.lower()]
            if isinstance(domain, TextDomain):
                axis = text_axis(column, sorted(self._candidates.get(column, frozenset())))
            else:
                axis = Axis(column, domain.size)
            self._axes[column] = axis
        return axis

    def ordered(self, columns: frozenset[str]) -> tuple[Axis, ...]:
        """Axes of the columns in table order."""
        if len(columns) == 1:
            return tuple(self.axis(c) for c in columns)
        order = self.table.order
        return tuple(self.axis(c) for c in sorted(columns, key=lambda c: order[c]))

    def check(self, columns: frozenset[str]) -> tuple[Axis, ...]:
        """The ordered axes. Raises UnsupportedQuery when their grid is too large."""
        axes = self.ordered(columns)
        cells = prod(a.size for a in axes)
        if cells > MAX_CELLS:
            names = ", ".join(a.name for a in axes)
            raise UnsupportedQuery(
                f"the columns {names} are tied together and span {cells:,} cells, more than {MAX_CELLS:,}",
                hint="use fewer columns in one condition, or separate conditions joined by AND",
            )
        return axes

    def key(self, bound: Bound) -> _Key:
        """What the value of ``bound`` depends on."""
        if not bound.outside:
            return (self.table.name, bound.sql)
        return (self.table.name, bound.sql, *(self.axis(t).strings for t in sorted(bound.outside)))


class Evaluator:
    """Asks PublicSql, and remembers."""

    def __init__(self, public: PublicSql) -> None:
        self._public = public
        self._truths: Lru[Weights] = Lru(CACHED_CELLS)
        self._codes: Lru[Codes] = Lru(CACHED_CELLS)
        self._numbers: Lru[Numbers] = Lru(CACHED_CELLS)
        self._columns: dict[tuple[str, str], GridColumn] = {}

    def truths(self, grids: Grids, predicates: Sequence[Bound]) -> list[Weights]:
        """Where each predicate is TRUE on the grid of its columns; as few questions to DuckDB as there are grids."""
        keys = [grids.key(p) for p in predicates]
        found: dict[_Key, Weights] = {}
        missing: dict[tuple[frozenset[str], tuple[str, ...]], dict[_Key, Bound]] = {}
        for key, p in zip(keys, predicates, strict=True):
            if key in found:
                continue
            weights = self._truths.get(key)
            if weights is not None:
                found[key] = weights
            elif (decided := _decided(grids, p)) is not None:
                found[key] = self._keep(key, decided)
            else:
                unknown = tuple(sorted(t for t, o in p.outside.items() if o is Outside.UNKNOWN))
                missing.setdefault((p.columns, unknown), {})[key] = p
        for (columns, unknown), asked in missing.items():
            axes = grids.check(columns)
            grid = [self._grid_column(grids, a, other=a.name not in unknown) for a in axes]
            shape = [len(g.values) for g in grid]
            answers = self._public.truth(grid, [p.sql for p in asked.values()])
            for key, weights in zip(asked, answers, strict=True):
                padded = _pad(weights.reshape(shape), axes, 0)
                found[key] = self._keep(key, padded)
        return [found[k] for k in keys]

    def _keep(self, key: _Key, truth: Weights) -> Weights:
        truth.setflags(write=False)
        self._truths.put(key, truth, truth.size + 64)
        return truth

    def codes(self, grids: Grids, expression: Bound) -> Codes:
        """The distinct values of a group expression and where they stand."""
        key = grids.key(expression)
        codes = self._codes.get(key)
        if codes is None:
            codes = self._find_codes(grids, expression)
            self._codes.put(key, codes, codes.codes.size + 64)
        return codes

    def _find_codes(self, grids: Grids, expression: Bound) -> Codes:
        name = next(iter(expression.columns)) if len(expression.columns) == 1 else ""
        domain = grids.table.by_name.get(name.lower())
        if domain is not None and expression.sql == _quoted(name):
            if isinstance(domain, TextDomain):
                axis = grids.axis(name)
                codes = np.arange(axis.size)
                codes[-1] = -1
                return Codes(codes, (*(axis.strings or ()), None), domain.sql_type)
            values = cell_values(domain)
            return Codes(np.arange(len(values)), values, domain.sql_type)
        cells, sql_type, axes, shape = self._values(grids, expression)
        index: dict[object, int] = {}
        values_found: list[Value] = []
        out = np.empty(len(cells), dtype=np.int64)
        for i, v in enumerate(cells):
            key: object = "nan" if isinstance(v, float) and isnan(v) else (v,)
            try:
                code = index.setdefault(key, len(values_found))
            except TypeError:
                raise UnsupportedQuery(
                    f"GROUP BY a {sql_type} is not answered", hint="group by numbers, strings, dates or booleans"
                ) from None
            if code == len(values_found):
                values_found.append(v)
            out[i] = code
        if None in values_found:
            null = index[(None,)]
            last = len(values_found) - 1
            out = np.where(out == null, last, np.where(out > null, out - 1, out))
            values_found = [*values_found[:null], *values_found[null + 1 :], None]
        return Codes(_pad(out.reshape(shape), axes, -1), tuple(values_found), sql_type)

    def numbers(self, grids: Grids, expression: Bound) -> Numbers:
        """The value of a numeric expression in each cell."""
        key = grids.key(expression)
        numbers = self._numbers.get(key)
        if numbers is None:
            numbers = self._find_numbers(grids, expression)
            self._numbers.put(key, numbers, numbers.numbers.size + 64)
        return numbers

    def _find_numbers(self, grids: Grids, expression: Bound) -> Numbers:
        cells, sql_type, axes, shape = self._values(grids, expression)
        given = [0 if v is None else v for v in cells]
        numbers = [v for v in given if isinstance(v, (int, float))]
        if len(numbers) < len(given):
            raise DataError(f"SUM and AVG need numbers, not {sql_type}", hint="cast the expression to a number")
        if all(isinstance(v, int) and abs(v) < 2**62 for v in numbers):
            array: Signed = np.array(numbers, dtype=np.int64)
        else:
            array = np.array(numbers, dtype=np.float64)
            if not np.isfinite(array).all():
                raise DataError(
                    "a summed expression is infinite or not a number on declared values",
                    hint="exclude those values with CASE WHEN",
                )
        padded = _pad(array.reshape(shape), axes, 0)
        known = array[[v is not None for v in cells]]
        if not len(known):
            return Numbers(padded, sql_type)
        return Numbers(padded, sql_type, float(known.min()), float(known.max()))

    def _values(self, grids: Grids, expression: Bound) -> tuple[list[Value], str, tuple[Axis, ...], tuple[int, ...]]:
        axes = grids.check(expression.columns)
        unknown = {t for t, o in expression.outside.items() if o is Outside.UNKNOWN}
        grid = [self._grid_column(grids, a, other=a.name not in unknown) for a in axes]
        cells, sql_type = self._public.values(grid, expression.sql)
        return cells, sql_type, axes, tuple(len(g.values) for g in grid)

    def _grid_column(self, grids: Grids, axis: Axis, *, other: bool) -> GridColumn:
        if axis.strings is not None:
            tail = (None, other_string(axis.strings)) if other else (None,)
            return GridColumn(axis.name, "VARCHAR", (*axis.strings, *tail))
        key = (grids.table.name, axis.name)
        column = self._columns.get(key)
        if column is None:
            domain = grids.table.finite_domain(axis.name)
            column = self._columns[key] = GridColumn(axis.name, domain.sql_type, cell_values(domain))
        return column


def _decided(grids: Grids, predicate: Bound) -> Weights | None:
    """The truth of a predicate that needs no evaluation."""
    if predicate.listed is not None:
        return _listed_truth(grids, predicate.listed)
    compared = predicate.compared
    return None if compared is None else numeric.truth_table(compared, grids.table.finite_domain(compared.column))


def _listed_truth(grids: Grids, listed: Listed) -> Weights:
    axis = grids.axis(listed.column)
    if axis.strings is not None:
        return truth_table(listed, (*axis.strings, None), other=True)
    return truth_table(listed, cell_values(grids.table.finite_domain(listed.column)), other=False)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _pad(array: npt.NDArray[Any], axes: Sequence[Axis], fill: int) -> npt.NDArray[Any]:
    """Adds the *other* entry to text axes on which the expression was evaluated without it."""
    width = [(0, a.size - n) for a, n in zip(axes, array.shape, strict=True)]
    return np.pad(array, width, constant_values=fill) if any(w != (0, 0) for w in width) else array


def spread(array: Signed, own: Sequence[Axis], whole: Sequence[Axis]) -> Signed:
    """``array`` over ``own`` axes as a view that broadcasts over ``whole`` (both in table order).

    >>> a, b = Axis("a", 2), Axis("b", 3)
    >>> spread(np.arange(3), [b], [a, b]).shape
    (1, 3)
    """
    names = {a.name for a in own}
    return array.reshape([a.size if a.name in names else 1 for a in whole])
