"""Evaluating bound expressions over the public values of their columns, with caches. Everything here is public.

Every expression is decided by DuckDB over all public values of its columns at once. Evaluating is the dearest part of a
new statement, so predicates are asked together and results are kept.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import ceil, floor, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsql.dialect.quoting import written
from dpsql.domain import DateDomain, NumberDomain, TableDomain, TextDomain, Value, cell_values
from dpsql.errors import DataError, UnsupportedQuery
from dpsql.memo import Memo
from dpsql.query import Weights
from dpsql.sql.counting.bins.points import is_unknown, points_of
from dpsql.sql.counting.pieces import GridAxis, Signed, ValueClasses
from dpsql.sql.counting.values.excluding import excluding
from dpsql.sql.expressions import number_predicates
from dpsql.sql.expressions.bound import Bound, Listed, Outside, constant_of
from dpsql.sql.expressions.changes.steps import ANYWHERE, NO_STEPS, Steps
from dpsql.sql.expressions.names import steps_of
from dpsql.sql.expressions.string_predicates import truth_table
from dpsql.sql.expressions.text_classes import Candidates, Indices, text_classes
from dpsql.sql.public_sql import GridColumn, PublicSql, Truth
from dpsql.sql.text.limits import MAX_CELLS

CACHED_CELLS = 1 << 23  # 64 MB of weights
OFTEN = 4.0
"""Places at which each group of unknown steps is seen on average, where hardly any is missed: parities, cents."""
_EXACT = 1 << 53  # whole numbers that a float can be any of
NO_CLASSES: Mapping[str, ValueClasses] = {}
_Key = tuple[object, ...]


@dataclass(frozen=True, eq=False)
class Codes:
    """An expression's value in each cell of its columns' grid, as indices into ``values``.

    -1 stands for strings that no candidate settles. ``values`` are distinct, in order of first appearance, NULL last.
    """

    codes: Weights
    values: tuple[Value, ...]
    sql_type: str


@dataclass(frozen=True, eq=False)
class Numbers:
    """A numeric expression's value in each cell; NULL, and strings that no candidate settles, count as 0.

    ``low`` and ``high``: the least and greatest value without those zeros; ``None`` when it is NULL everywhere.
    ``center``: the whole number nearest to 0 that they are all beyond, or 0; ``distances``: the values less that.
    """

    numbers: Signed
    sql_type: str
    low: float | None = None
    high: float | None = None
    center: int = 0
    distances: Signed | None = None


class Grids:
    """Axes of one table under one set of candidates."""

    def __init__(
        self,
        table: TableDomain,
        candidates: Candidates,
        steps: Steps = NO_STEPS,
        classes: Mapping[str, ValueClasses] = NO_CLASSES,
        *,
        passed: bool = True,
    ) -> None:
        self.table = table
        self.candidates, self.classes = candidates, classes
        self.steps, self.passed = steps, passed
        self._axes: dict[str, GridAxis] = {}

    def axis(self, column: str) -> GridAxis:
        axis = self._axes.get(column)
        if axis is None:
            domain = self.table.by_name[column.lower()]
            if isinstance(domain, TextDomain):
                strings = text_classes(column, self.candidates.get(column, frozenset()))
                axis = GridAxis(column, strings.size, strings)
            else:
                points = points_of(domain, self.steps[column], passed=self.passed) if column in self.steps else None
                classes = self.classes.get(column)
                size = domain.size if classes is None else len(classes.values)
                axis = GridAxis(column, size if points is None else len(points.values), None, points, classes)
            self._axes[column] = axis
        return axis

    def ordered(self, columns: frozenset[str]) -> tuple[GridAxis, ...]:
        """Axes of the columns in table order."""
        if len(columns) == 1:
            return tuple(self.axis(c) for c in columns)
        order = self.table.order
        return tuple(self.axis(c) for c in sorted(columns, key=lambda c: order[c]))

    def check(self, columns: frozenset[str]) -> tuple[GridAxis, ...]:
        """The ordered axes. Raises UnsupportedQuery when their grid is too large."""
        axes = self.ordered(columns)
        cells = prod(a.size for a in axes)
        if cells > MAX_CELLS:
            names = ", ".join(a.name for a in axes)
            hint = "use fewer columns in one condition, or separate conditions joined by AND"
            dates = [a.name for a in axes if isinstance(self.table.by_name[a.name.lower()], DateDomain)]
            if len(dates) > 1:
                hint = (
                    f"take parts of dates, as in year({dates[1]}) - year({dates[0]}), or let the owner derive a column"
                )
            raise UnsupportedQuery(
                f"the columns {names} are tied together and span {cells:,} cells, more than {MAX_CELLS:,}", hint=hint
            )
        return axes

    def key(self, bound: Bound) -> _Key:
        """What the value of ``bound`` depends on."""
        points = bound.columns & self.steps.keys() if self.steps else ()
        classes = bound.columns & self.classes.keys() if self.classes else ()
        if not bound.outside and not points and not classes:
            return (self.table.name, bound.sql, bound.columns)
        axes = [self.axis(t) for t in sorted((*bound.outside, *points, *classes))]
        parts = [a.points or a.classes if a.text is None else a.text for a in axes]
        return (self.table.name, bound.sql, bound.columns, *(p.key for p in parts if p is not None))

    def settled(self, bound: Bound, axis: GridAxis) -> Indices | None:
        """The entries of an axis on which ``bound`` has one value; ``None`` for all of them."""
        if axis.text is None:
            return None
        other = bound.outside.get(axis.name) is not Outside.UNKNOWN
        starts = not axis.text.starts or bound.inside(axis.name) is not Outside.UNKNOWN
        return None if other and starts else axis.text.entries(starts=starts, other=other)

    def unsettled(self, bound: Bound, but: AbstractSet[str] = frozenset()) -> npt.NDArray[np.bool_] | None:
        """Where on the grid of its columns the value of ``bound`` depends on the string; ``None``: nowhere.

        Strings of the columns ``but`` are taken to be listed.
        """
        axes = self.ordered(bound.columns)
        entries = [None if a.name in but else self.settled(bound, a) for a in axes]
        if all(e is None for e in entries):
            return None
        known = np.zeros([a.size for a in axes], dtype=bool)
        known[np.ix_(*(np.arange(a.size) if e is None else e for a, e in zip(axes, entries, strict=True)))] = True
        return ~known


class Evaluator:
    """Asks PublicSql, and remembers."""

    def __init__(self, public: PublicSql) -> None:
        self._public = public
        self._truths: Memo[Truth] = Memo(CACHED_CELLS)
        self._codes: Memo[Codes] = Memo(CACHED_CELLS)
        self._numbers: Memo[Numbers] = Memo(CACHED_CELLS)
        self._failed: Memo[bool] = Memo()
        self._columns: dict[tuple[str, str], GridColumn] = {}

    def truths(self, grids: Grids, predicates: Sequence[Bound]) -> list[Truth]:
        """Where each predicate is TRUE on the grid of its columns; as few questions to DuckDB as there are grids."""
        keys = [grids.key(p) for p in predicates]
        found: dict[_Key, Truth] = {}
        missing: dict[tuple[object, ...], dict[_Key, Bound]] = {}
        for key, p in zip(keys, predicates, strict=True):
            if key in found:
                continue
            weights = self._truths.get(key)
            if weights is not None:
                found[key] = weights
            elif (decided := _decided(grids, p)) is not None:
                found[key] = self._keep(key, decided > 0)
            else:
                unknown = [(t, o is Outside.UNKNOWN, p.inside(t) is Outside.UNKNOWN) for t, o in p.outside.items()]
                missing.setdefault((p.columns, *sorted(unknown)), {})[key] = p
        for asked in missing.values():
            grid = self._grid(grids, next(iter(asked.values())))
            answers = self._public.truth(grid.columns, [p.sql for p in asked.values()])
            for key, weights in zip(asked, answers, strict=True):
                found[key] = self._keep(key, grid.placed(weights, False))
        return [found[k] for k in keys]

    def _keep(self, key: _Key, truth: Truth) -> Truth:
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
        classes = grids.axis(name).text if expression.text is not None else None
        if expression.text is not None and classes is not None:
            return Codes(*classes.codes(expression.text.start), "VARCHAR")
        domain = grids.table.by_name.get(name.lower())
        if domain is not None and not isinstance(domain, TextDomain) and expression.sql == _quoted(name):
            values = cell_values(domain)
            _check_groups(grids, expression, 1.0)
            return Codes(np.arange(len(values)), values, domain.sql_type)
        grid = self._grid(grids, expression)
        found = self._public.codes(grid.columns, expression.sql)
        out, values_found = found.codes, list(found.values)
        if not (expression.branches or all(v is None or isinstance(v, bool) for v in values_found)):
            _check_groups(grids, expression, out.size / max(len(values_found), 1))
        if any(is_unknown(grids.axis(x).points, breaks) for x, breaks in expression.steps.items()):
            values_found += _between(values_found, expression)
        if None in values_found:
            null = values_found.index(None)
            last = len(values_found) - 1
            out = np.where(out == null, last, np.where(out > null, out - 1, out))
            values_found = [*values_found[:null], *values_found[null + 1 :], None]
        return Codes(grid.placed(out, -1), tuple(values_found), found.sql_type)

    def numbers(self, grids: Grids, expression: Bound) -> Numbers:
        """The value of a numeric expression in each cell; of one that has none in some, where it is ``guarded``."""
        key = grids.key(expression)
        numbers = self._numbers.get(key)
        if numbers is None and expression.guarded is not None and self._failed.get(key):
            return self.numbers(grids, expression.guarded)
        if numbers is None:
            try:
                numbers = self._find_numbers(grids, expression)
            except DataError:
                if expression.guarded is None:
                    raise
                self._failed.put(key, True)
                return self.numbers(grids, expression.guarded)
            self._numbers.put(key, numbers, numbers.numbers.size * (1 if numbers.distances is None else 2) + 64)
        return numbers

    def _find_numbers(self, grids: Grids, expression: Bound) -> Numbers:
        grid = self._grid(grids, expression)
        found = self._public.numbers(grid.columns, expression.sql)
        if not np.isfinite(found.numbers).all():
            raise DataError(
                "a summed expression is infinite or not a number on declared values",
                hint=excluding(grids.table, grid.columns, np.isfinite(found.numbers)),
            )
        padded, known = grid.placed(found.numbers, 0), found.numbers[found.known]
        if not len(known):
            return Numbers(padded, found.sql_type)
        low, high = float(known.min()), float(known.max())
        center = floor(low) if low >= 1 else ceil(high) if high <= -1 else 0
        if not 0 < abs(center) <= _EXACT:
            return Numbers(padded, found.sql_type, low, high)
        moved = np.where(found.known, found.numbers - center, 0)
        return Numbers(padded, found.sql_type, low, high, center, grid.placed(moved, 0))

    def _grid(self, grids: Grids, expression: Bound) -> "_Grid":
        axes = grids.check(expression.columns)
        entries = [grids.settled(expression, a) for a in axes]
        columns = [self._grid_column(grids, a, e) for a, e in zip(axes, entries, strict=True)]
        return _Grid(axes, columns, entries)

    def _grid_column(self, grids: Grids, axis: GridAxis, entries: Indices | None) -> GridColumn:
        if axis.text is not None:
            strings = axis.text.representatives
            return GridColumn(axis.name, "VARCHAR", strings if entries is None else tuple(strings[i] for i in entries))
        if axis.points is not None:
            sql_type = grids.table.finite_domain(axis.name).sql_type
            return GridColumn(axis.name, sql_type, axis.points.values)
        if axis.classes is not None:
            return GridColumn(axis.name, grids.table.finite_domain(axis.name).sql_type, axis.classes.values)
        key = (grids.table.name, axis.name)
        column = self._columns.get(key)
        if column is None:
            domain = grids.table.finite_domain(axis.name)
            column = self._columns[key] = GridColumn(axis.name, domain.sql_type, cell_values(domain))
        return column


@dataclass(frozen=True, eq=False)
class _Grid:
    """The cells in which an expression is evaluated: for each axis some entries, or all (``None``)."""

    axes: Sequence[GridAxis]
    columns: Sequence[GridColumn]
    entries: Sequence[Indices | None]

    def placed(self, cells: npt.NDArray[Any], fill: int) -> npt.NDArray[Any]:
        """The row-major ``cells`` as an array over whole axes; ``fill`` where nothing was evaluated."""
        array = cells.reshape([len(c.values) for c in self.columns])
        if all(e is None for e in self.entries):
            return array
        out = np.full([a.size for a in self.axes], fill, dtype=array.dtype)
        chosen = [np.arange(a.size) if e is None else e for a, e in zip(self.axes, self.entries, strict=True)]
        out[np.ix_(*chosen)] = array
        return out


def _decided(grids: Grids, predicate: Bound) -> Weights | None:
    """The truth of a predicate that needs no evaluation."""
    if predicate.listed is not None:
        return _listed_truth(grids, predicate.listed)
    compared = predicate.compared
    if compared is None:
        return None
    axis = grids.axis(compared.column)
    if axis.points is not None:
        return number_predicates.truth_at(compared, axis.points.values)
    return _of_classes(axis, number_predicates.truth_table(compared, grids.table.finite_domain(compared.column)))


def _of_classes(axis: GridAxis, truth: Weights | None) -> Weights | None:
    """What holds for each value, for each class of an axis."""
    return truth if axis.classes is None or truth is None else truth[axis.classes.first]


def _between(found: Sequence[Value], expression: Bound) -> list[Value]:
    """Values that an expression may have between the points, and at none of them: of a condition, or of a CASE between
    constants of the type of those that were found."""
    there = [v for v in found if v is not None]
    known = [constant_of(value) for _, value in expression.branches]
    if expression.branches and expression.branches[-1][0] is not None:
        known.append(None)
    if not known and all(isinstance(v, bool) for v in there):
        known = [True, False]
    kinds = {type(v) for v in there or known}
    more: list[Value] = [v for v in dict.fromkeys(known) if v is not None and v not in there and type(v) in kinds]
    return [*more, None] if None in known and None not in found else more


def _check_groups(grids: Grids, expression: Bound, often: float) -> None:
    """UnsupportedQuery for groups of a binned column's own values, or of as many steps: more than anybody lists. Those
    that are looked at would not be all where each was seen less than so ``often``, on average."""
    for column, breaks in expression.steps.items():
        domain = grids.table.finite_domain(column)
        number = isinstance(domain, NumberDomain)
        fine = number and often < OFTEN and is_unknown(grids.axis(column).points, breaks)
        if not fine and (ANYWHERE not in breaks or not (number or expression.sql == _quoted(column))):
            continue
        if isinstance(domain, NumberDomain | DateDomain):
            name = written(column)
            hint = f"group by steps of it, as in GROUP BY {steps_of(domain, name)}"
            if number and " // " in expression.sql:
                hint += f"; {column} is a DOUBLE here, which // does not round"
            elif number and expression.straight is None and expression.sql != _quoted(column):
                hint = (
                    f"group by ranges of it, as in GROUP BY CASE WHEN {name} < a THEN 1 WHEN {name} < b THEN 2 ... END"
                )
            if expression.straight is not None and expression.sql != _quoted(column):
                hint += f"; MAX, MEDIAN and their like of {name} itself can be multiplied and moved"
            if len(expression.columns) > 1:
                hint = "group by conditions, or write COUNT(*) FILTER (WHERE ...) for each group"
            raise UnsupportedQuery(f"{column} has more values than can be groups", hint=hint)


def _listed_truth(grids: Grids, listed: Listed) -> Weights | None:
    axis = grids.axis(listed.column)
    if axis.text is not None:
        return truth_table(listed, axis.text.representatives)
    return _of_classes(axis, truth_table(listed, cell_values(grids.table.finite_domain(listed.column))))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def spread(array: npt.NDArray[Any], own: Sequence[GridAxis], whole: Sequence[GridAxis]) -> npt.NDArray[Any]:
    """``array`` over ``own`` axes as a view that broadcasts over ``whole`` (both in table order).

    >>> a, b = GridAxis("a", 2), GridAxis("b", 3)
    >>> spread(np.arange(3), [b], [a, b]).shape
    (1, 3)
    """
    names = {a.name for a in own}
    return array.reshape([a.size if a.name in names else 1 for a in whole])
