"""A text of known shape to its lowered statement: frame and conjuncts looked up, their product taken."""

from collections.abc import Iterable, Sequence
from itertools import chain
from operator import attrgetter

import numpy as np

from dpsql.domain import FiniteDomain, Parameters, TableDomain, cell_values
from dpsql.errors import Error
from dpsql.memo import Memo
from dpsql.query import Factor, Form, Interval, LinearQuery, Term
from dpsql.sql.blocks.block import Services
from dpsql.sql.blocks.reading import Reader
from dpsql.sql.counting.key_source import KeyLookup
from dpsql.sql.expressions.bound import Bound
from dpsql.sql.shapes.conditions import Condition, Conditions, weighed
from dpsql.sql.shapes.cut import cut, given, parameter_values, places
from dpsql.sql.shapes.frames import Frame, read_frame
from dpsql.sql.shapes.stretches import Stretches
from dpsql.sql.statement import Aggregate, Block, Statement

FRAMES = 512
PLACES = 2048
_POSITION = attrgetter("position")
_SEEN, _REFUSED = True, False
"""Instead of a frame: seen once, and not read yet, as most frames never return; to be read each time."""


class Shapes:
    """The shapes of one policy's statements that were read before."""

    def __init__(self, reader: Reader, services: Services) -> None:
        self._reader = reader
        self._services = services
        self._frames: Memo[Frame | bool] = Memo(FRAMES)
        self._conditions = Conditions(reader.check, services.evaluator)
        self._places: Memo[tuple[str, ...]] = Memo(PLACES)
        self._stretches = Stretches(services)

    def lower(self, text: str, parameters: Parameters) -> Statement | None:
        """The lowered statement; ``None`` for what the ordinary way has to read, and for all that it refuses."""
        pieces = cut(text)
        if pieces is None:
            return None
        head, conjuncts, tail = pieces
        frame = self._frames.get((head, tail))
        if not isinstance(frame, Frame):
            if frame is None:
                self._frames.put((head, tail), _SEEN)
            if frame is not _SEEN:
                return None
            frame = self._frames.put((head, tail), read_frame(head, tail, self._reader) or _REFUSED)
            if not isinstance(frame, Frame):
                return None
        if parameters is None:
            conditions = self._with_literals(frame, conjuncts)
        else:
            conditions = self._with_parameters(frame, conjuncts, parameters)
        if conditions is None:
            return None
        block = self._block(text, frame, conditions)
        remarks = [r for c in conditions for r in c.remarks]
        return None if block is None else frame.around(text, block, remarks)

    def _with_literals(self, frame: Frame, conjuncts: Sequence[str]) -> list[Condition] | None:
        out = []
        for text in conjuncts:
            key = (frame.scope, text)
            found = self._conditions.get(key)
            if found is None:
                taken = given(text, ())
                found = None if taken is None else self._conditions.read(key, taken, frame.scope)
                if found is None:
                    return None
            out.append(found)
        return out

    def _with_parameters(
        self, frame: Frame, conjuncts: Sequence[str], parameters: Parameters
    ) -> list[Condition] | None:
        found = []
        for text in conjuncts:
            here = self._places.get(text)
            found.append(self._places.put(text, places(text)) if here is None else here)
        values = parameter_values(list(chain.from_iterable(found)), parameters)
        if values is None:
            return None
        out = []
        position = 0
        for text, here in zip(conjuncts, found, strict=True):
            own = values[position : position + len(here)]
            position += len(here)
            key = (frame.scope, text, *map(type, own), *map(repr, own))
            known = self._conditions.get(key)
            if known is None:
                taken = given(text, own)
                known = None if taken is None else self._conditions.read(key, taken, frame.scope)
                if known is None:
                    return None
            out.append(known)
        return out

    def _block(self, text: str, frame: Frame, conditions: Sequence[Condition]) -> Block | None:
        if frame.aliases and any(c.lower() in frame.aliases for d in conditions for b in d.bounds for c in b.columns):
            return None
        by_column = self._by_column(frame.scope.table, conditions) if frame.counts else None
        if by_column is not None:
            return self._counted(frame, by_column)
        bounds = [b for c in conditions for b in c.bounds]
        try:
            asked = frame.asked
            return asked.block(asked.lowering(text, bounds, self._services, KeyLookup(None)))
        except Error:
            return None

    def _counted(self, frame: Frame, by_column: dict[str, Condition]) -> Block | None:
        """A count under conditions that are decided column by column is a product: no grid, no DuckDB."""
        table = frame.scope.table
        name = frame.asked.name
        if frame.group is None:
            form = self._form(table, by_column.values())
            if form is None:
                return None
            counted = (Aggregate("a0", "BIGINT", (form,)),)
            return Block(name, table.name, (), (), ((),), counted, frame.asked.needs_intervals)
        found = self._grouped(table, frame.group, by_column)
        if found is None:
            return None
        values = cell_values(frame.group)
        groups = tuple([(values[code],) for code in found])
        counted = (Aggregate("a0", "BIGINT", tuple(found.values())),)
        intervals = frame.asked.needs_intervals
        return Block(name, table.name, ("g0",), (frame.group.sql_type,), groups, counted, intervals)

    def _grouped(
        self, table: TableDomain, group: FiniteDomain, conditions: dict[str, Condition]
    ) -> dict[int, Form] | None:
        """A form for each value of one column that its conditions leave; none when another column's leave nothing."""
        own = conditions.get(group.name)
        if own is not None and own.weights is None:
            return None
        others = [c for name, c in conditions.items() if name != group.name]
        if any(c.factors is None for c in others):
            return {}
        left = range(group.size) if own is None or own.weights is None else np.flatnonzero(own.weights).tolist()
        out = {}
        for code in left:
            form = self._form(table, [*others, self._conditions.cell(table, group.name, code)])
            if form is None:
                return None
            out[code] = form
        return out

    def _form(self, table: TableDomain, conditions: Iterable[Condition]) -> Form | None:
        """The product of conditions on different columns; ``None`` when it touches too many cells."""
        chosen: list[Factor] = []
        intervals: list[Interval] = []
        for condition in sorted(conditions, key=_POSITION):
            if condition.factors is None:
                return Form(0.0)
            chosen += condition.factors
            intervals += condition.intervals
        query = LinearQuery(table.name, tuple(chosen), intervals=tuple(intervals))
        return None if query.cells > self._services.most_cells else Form(0.0, (Term(1.0, query),))

    def _by_column(self, table: TableDomain, conditions: Sequence[Condition]) -> dict[str, Condition] | None:
        """One condition for each column: the product of its conditions; ``None`` when one is not decided."""
        out: dict[str, Condition] = {}
        cut: dict[str, list[Bound]] = {}
        for condition in conditions:
            if condition.weights is None:
                for bound in condition.bounds:
                    if len(bound.columns) != 1 or not bound.steps:
                        return None
                    cut.setdefault(next(iter(bound.columns)), []).append(bound)
                continue
            before = out.get(condition.column)
            if before is not None and before.weights is not None:
                condition = weighed(table, (), condition.column, before.weights * condition.weights)
            out[condition.column] = condition
        for column, bounds in cut.items():
            stretch = None if column in out else self._stretches.of(table, column, bounds)
            if stretch is None:
                return None
            out[column] = stretch
        return out
