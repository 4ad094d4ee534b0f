"""The contingencies of a table's warm start: which are measured, under way or missing, and the steps that measure them.

The fold over the ledger's events comes first; below it stands what draws noise, one reservation after another, each
durable before the next.
"""

from collections.abc import Callable, Iterable
from math import floor
from typing import Any

import numpy as np

from dpsql.domain import DateDomain, IntegerDomain, NumberDomain, TableDomain
from dpsql.errors import InternalError
from dpsql.first.bench import Bench
from dpsql.first.payload import CONTINGENCY, POSITIONS, VALUES, encode_measurements
from dpsql.first.payment import pay_first
from dpsql.first.portioned import Portioned
from dpsql.first.row_count import RowCount
from dpsql.first.touch import Columns
from dpsql.first.turns import Step, Turns
from dpsql.first.waiting_pairs import WaitingPairs
from dpsql.hypothesis import Axis, Measurement, atoms
from dpsql.hypothesis.partition import compact, merged, part_sums, triple_parts
from dpsql.ledger.event import Payload
from dpsql.memo import Memo
from dpsql.planning import PlannedContingency, TablePlan, planned_contingencies
from dpsql.planning.contingencies import (
    EAGER_COLUMNS,
    INSIDE,
    ONE_WAY_SHARE,
    PARTS,
    is_long_date,
    planned_alone,
    planned_in_longer_units,
    range_parts,
    triple_cells,
)
from dpsql.planning.portions import Portion
from dpsql.private import Private
from dpsql.query import Counts, Estimates

_REMEMBERED = 4096

Progress = Callable[[str, str, int, int], None]
"""Called with a table's name, what is being done, how much of it so far, and how much there will be."""


class WarmStart(Portioned):
    """Which contingencies are measured, under way in some session, or missing. Public.

    ``plan``: the table's purse, the precision that it buys, and how columns are cut. What was lost with a reservation
    is missing again. ``row_count``: what measuring it more than once has cost comes out of this purse. Tables without a
    warm start have an empty one. ``touched_later``: whether pairs are measured only when a question touches them or
    enough others; ``pairs``: which those are.
    """

    purpose = "warm start"

    def __init__(self, plan: TablePlan, row_count: RowCount | None = None) -> None:
        super().__init__()
        self.plan = plan
        self.measured: dict[Columns, Measurement] = {}
        self.is_unpaid = False
        """Whether this session has found that the budget does not cover what is missing."""
        self._row_count_touch = row_count
        self._names = list(plan.measured_columns)
        self.touched_later = plan.cuts_columns and len(self._names) > EAGER_COLUMNS
        also = {"long_ranges": plan.rules.parts_first, "calendar": plan.rules.calendar}
        self._alone = planned_alone(plan.table, **also) if self._names else ()
        self._for_pairs = 1.0 - sum(p.share for p in self._alone)
        self.pairs = WaitingPairs(self._names, plan.first_touch, together=plan.rules.pairs_together)
        self._planned: tuple[PlannedContingency, ...] | None = None if self._names else ()
        self._row_count = 0.0
        self._waiting: Memo[list[Portion]] = Memo(_REMEMBERED)
        self._all_measured = False  # what is planned; it stays so

    # --- the fold ----------------------------------------------------------------------------------------------

    def know_row_count(self, rows: float) -> None:
        """The number of rows that the choice of contingencies is made for; the first one stays."""
        self._changed()
        if self._planned is None:
            self._row_count, plan = rows, self.plan
            chosen = planned_contingencies(
                plan.table,
                rows,
                plan.precision,
                differences=plan.differences,
                long_ranges=plan.rules.parts_first,
                calendar=plan.rules.calendar,
                beside=plan.rules.whole_tables,
                triples=plan.rules.coarse_triples,
                calendar_pairs=plan.rules.calendar_pairs,
            )
            ones = [p for p in chosen if len(p.columns) == 1]
            longer = planned_in_longer_units(plan.table, chosen) if plan.rules.calendar_pairs else ()
            self._planned = (*ones, *self._alone, *(p for p in chosen if len(p.columns) > 1), *longer)
            self._give_up_if_empty()

    def reserved(self, reservation: int, cost: int, payload: Payload) -> None:
        super().reserved(reservation, cost, payload)
        self.pairs.begin(tuple(c) for c in payload["columns"])

    def freed(self, reservation: int) -> None:
        super().freed(reservation)
        self._forget_lost()

    def _lose(self, columns: frozenset[Columns]) -> None:
        self._forget_lost()  # before the purse is looked at, which has to replace them
        super()._lose(columns)

    def _forget_lost(self) -> None:
        self.pairs.keep(self._done | self._in_part())

    def _named(self, kind: str, measurement: Measurement) -> Columns:
        if kind in (POSITIONS, VALUES):
            return *measurement.scope, INSIDE
        coarse = any(not a.is_identity and not a.difference for a in measurement.axes)
        parts = coarse and (len(measurement.axes) == 1 or not self.plan.cuts_columns)
        return (*measurement.scope, PARTS) if parts else measurement.scope

    def _know(self, columns: Columns, measurement: Measurement) -> None:
        if INSIDE not in columns:
            self.measured[columns] = measurement

    def _changed(self) -> None:
        self._waiting.clear()

    # --- what is left to do ------------------------------------------------------------------------------------

    @property
    def planned_units(self) -> int:
        return self.plan.warm_units

    def others_at_work(self, asked: Columns) -> bool:
        """Whether a contingency that the question waits for is under way elsewhere."""
        return bool(self._open) and any(self._is_under_way(p.columns) for p in self._wanted(asked))

    def keeps_waiting(self, asked: Columns) -> bool:
        """Whether a question about ``asked`` waits for what the budget may still pay."""
        return not self.is_unpaid and bool(self.waiting_portions(asked))

    def is_ready(self, asked: Columns) -> bool:
        """Whether all that a question about ``asked`` waits for is measured, or given up."""
        return not self.waiting_portions(asked) and not self.others_at_work(asked)

    def beside(self, asked: Columns) -> tuple[Columns, ...]:
        """Pairs that a question about ``asked`` measures beside its own, unless others are measuring some."""
        return self.beside_any([asked])

    def beside_any(self, scopes: Iterable[Columns]) -> tuple[Columns, ...]:
        """The same of several questions together."""
        if not self.touched_later or any(len(c) == 2 for _, columns in self._open.values() for c in columns):
            return ()
        own = list(dict.fromkeys([pair for scope in scopes for pair in self.pairs.of(scope)]))
        return self.pairs.beside(own, self._is_begun, self._row_count)

    def waiting_portions(self, asked: Columns, beside: tuple[Columns, ...] = ()) -> list[Portion]:
        """The next reservation of what a question about ``asked`` waits for, or for pairs ``beside`` that, and nobody
        has begun; none when it is all.

        Columns alone come first: on them depends how the others are cut. Then in the plan's order.
        """
        key = (asked, beside) if self.touched_later else ((), ())
        known = self._waiting.get(key)
        return self._waiting.put(key, self._next(asked, beside)) if known is None else known

    def _next(self, asked: Columns, beside: tuple[Columns, ...]) -> list[Portion]:
        wanted = [p for p in self._wanted(asked, beside) if not self._is_begun(p.columns)]
        first = [p for p in wanted if len(p.columns) == 1] or wanted
        return self._next_portions(self._want(p.columns, self._units(p)) for p in first)

    def unbegun_units(self) -> int:
        """Units that stay set aside for what nobody has begun."""
        if self._planned is None:
            return max(0, self.purse().left)
        if self.touched_later and not self._given_up and self._pairs_begun() < self.pairs.number:
            return max(0, self.purse().left)  # what pairs that come later cost depends on their order
        return super().unbegun_units()

    def next_units(self, asked: Columns) -> int:
        """Units that a question about ``asked`` would spend on contingencies; 0 when it waits for none."""
        if not asked or not self.touched_later:
            return self.unbegun_units() if asked else 0
        alone = ONE_WAY_SHARE * self._for_pairs + (1.0 - self._for_pairs) if self._planned is None else 0.0
        missing = sum(self._missing(p.columns, self._units(p)) for p in self._wanted(asked, self.beside(asked)))
        return self.purse().scaled(floor(self.planned_units * alone) + missing)

    def units_of(self, scopes: Iterable[Columns]) -> int:
        """The same of several questions together, at most: pairs that two of them share are counted twice, and what
        only all of them touch is enough for others may be measured with the last."""
        asked = list(dict.fromkeys(scope for scope in scopes if scope))
        if len(asked) > 1 and self.beside_any(asked):
            return self.unbegun_units()
        return sum(self.next_units(scope) for scope in asked)

    def count(self, asked: Columns, beside: tuple[Columns, ...] = ()) -> tuple[int, int]:
        """(contingencies measured, contingencies planned or wanted by the question) for a line of progress."""
        wanted = self._wanted(asked, beside)
        return sum(self._is_done(p.columns) for p in wanted), len(wanted)

    def _units(self, planned: PlannedContingency) -> int:
        return floor(self.planned_units * planned.share)

    def _needed(self) -> int:
        if self._given_up:
            return 0
        planned = self.planned_units if self._planned is None else 0
        if not self._all_measured:
            planned += sum(self._missing(p.columns, self._units(p)) for p in self._planned or ())
            self._all_measured = self._planned is not None and all(p.columns in self._done for p in self._planned)
        if self.touched_later and self._planned is not None:
            later = self.pairs.later_shares(self._pairs_begun()) * self._for_pairs
            planned += floor(self.planned_units * later)
            pairs = (c for c in self._in_part() if len(c) > 1 and INSIDE not in c and PARTS not in c)
            planned += sum(self._missing(columns, 0) for columns in pairs)
        return planned

    def _overdraft(self) -> int:
        touch = self._row_count_touch
        return 0 if touch is None else max(0, touch.spent - touch.planned_units)

    def _wanted(self, asked: Columns, beside: tuple[Columns, ...] = ()) -> list[PlannedContingency]:
        planned = list(self._planned or ())
        if not self.touched_later:
            return planned
        own, number, in_part = self.pairs.of(asked), self._pairs_begun(), self._in_part()
        after = self.pairs.after(own)
        for pair in (*own, *beside):
            if not self._is_begun(pair):
                number += pair not in in_part
                planned.append(PlannedContingency(pair, self.pairs.share(number, after) * self._for_pairs))
            elif not self._given_up:
                planned.append(PlannedContingency(pair, 0.0))
        return planned

    def _pairs_begun(self) -> int:
        if self.plan.rules.pairs_together:
            return len(self.pairs)
        return sum(len(columns) > 1 for columns in self._done | self._in_part())  # vectors of one column, too

    # --- the parts that are measured ---------------------------------------------------------------------------

    def axes(self, portion: Portion) -> tuple[Axis, ...]:
        """Every cell, or planned differences; in wide tables a pair's parts are atoms of the released 1-ways, those of
        three columns together unions of these.

        All portions of a contingency have the parts of the first.
        """
        first, columns = self._first_portion(portion.columns), portion.columns
        if first is not None:
            return first.axes
        table = self.plan.table
        if INSIDE in columns:
            cells = 2 * len(_marks(table, columns[0])) if self.plan.rules.by_value else table.shape(columns[:1])[0]
            return (Axis.cells(columns[:1], (cells,)),)
        if PARTS in columns:
            return _axes_in_parts(table, columns[:-1])
        if not self.plan.cuts_columns or len(columns) == 1:
            differences = next((p.differences for p in self._planned or () if p.columns == columns), ())
            return tuple(
                Axis.difference_of(c) if c in differences else Axis.cells((c,), table.shape((c,))) for c in columns
            )
        share = (portion.units + portion.rest) / self.planned_units
        sigma = PlannedContingency(columns, share).sigma(self.plan.precision)
        if len(columns) == 2:
            return tuple(self._atoms(c, sigma) for c in columns)
        pair = next(p for p in self._planned or () if p.columns == columns[:2])  # all pairs have equal shares
        finest = [self._atoms(c, pair.sigma(self.plan.precision)) for c in columns]
        most = triple_parts([a.size for a in finest], triple_cells(self._row_count, sigma))
        return tuple(self._unions(a, most) for a in finest)

    def _atoms(self, column: str, pair_sigma: float) -> Axis:
        values, noise = self._released(column)
        domain = self.plan.table.finite_domain(column)
        long = any(p.columns == (column, PARTS) for p in self._alone)
        wholes = range_parts(domain) if long and isinstance(domain, DateDomain) else None
        labels = atoms(values, noise, pair_sigma, self._row_count, ordered=domain.ordered, wholes=wholes)
        return Axis((column,), labels, int(labels.max()) + 1)

    def _released(self, column: str) -> tuple[Estimates, float]:
        """Counts of a column's cells with the sd of their noise; without them (they were given up), cells are taken to
        weigh the same."""
        one, size = self.measured.get((column,)), self.plan.table.finite_domain(column).size
        if one is None:
            return np.full(size, self._row_count / size), 0.0
        return one.values.astype(np.float64), one.sigma

    def _unions(self, axis: Axis, most: int) -> Axis:
        """At most so many unions of the parts of a column."""
        (column,) = axis.columns
        values, noise = self._released(column)
        masses = part_sums(axis.labels, np.maximum(values, noise))
        labels = compact(merged(masses, most, self.plan.table.finite_domain(column).ordered)[axis.labels])
        return Axis((column,), labels, int(labels.max()) + 1)


# --- measuring -----------------------------------------------------------------------------------------------------


def measure_contingencies(
    touch: WarmStart, asked: Columns, bench: Bench, turns: Turns, on_progress: Progress | None
) -> float:
    """Measure what a question about ``asked`` waits for; what that charged, in epsilon.

    What cannot be paid is done without.
    """

    beside = touch.beside(asked)

    def next_step() -> Step | None:
        chosen = touch.waiting_portions(asked, beside)

        def make() -> float:
            if on_progress is not None:
                on_progress(touch.plan.name, "contingencies", *touch.count(asked, beside))
            return _measure(touch, chosen, bench, turns)

        return Step(sum(p.units for p in chosen), make) if chosen else None

    charged = turns.take(f"{touch.plan.name} for the first time", next_step, lambda: touch.others_at_work(asked))
    touch.is_unpaid = bool(touch.waiting_portions(asked)) and not turns.held_back
    return charged


def _measure(touch: WarmStart, chosen: list[Portion], bench: Bench, turns: Turns) -> float:
    """One reservation and its release; what was charged, 0.0 when another session was faster."""
    plan, name = touch.plan, touch.plan.name
    axes = [touch.axes(p) for p in chosen]
    if not plan.cuts_columns:  # counted once; every contingency is then a sum over it
        bench.engine.contingency(name, tuple(c.name for c in plan.table.finite))
    inside = VALUES if plan.rules.by_value else POSITIONS
    kinds = [inside if INSIDE in p.columns else CONTINGENCY for p in chosen]
    counts = [_counts(bench, plan.table, *c) for c in zip(chosen, axes, kinds, strict=True)]

    def draw() -> dict[str, Any]:
        released = []
        for portion, parts, private, kind in zip(chosen, axes, counts, kinds, strict=True):
            sigma = bench.plan.release_sigma(portion.units, plan.l2_squared)
            value = None if kind == CONTINGENCY else portion.columns[0]
            released.append((kind, bench.measured(private, sigma, name, parts, value=value)))
        return encode_measurements(released)

    return pay_first(touch, name, sum(p.units for p in chosen), draw, bench, turns, touch.portions_payload(chosen))


def _counts(bench: Bench, table: TableDomain, portion: Portion, axes: tuple[Axis, ...], kind: str) -> Private[Counts]:
    column = portion.columns[0]
    if kind == VALUES:
        return bench.engine.value_counts(table.name, column, _marks(table, column))
    return bench.positions(table.name, axes, column) if kind == POSITIONS else bench.counted(table.name, axes)


def _marks(table: TableDomain, column: str) -> tuple[float, ...]:
    domain = table.finite_domain(column)
    if not isinstance(domain, NumberDomain):
        raise InternalError("only numbers stand inside bins")
    return domain.marks


def _axes_in_parts(table: TableDomain, columns: Columns) -> tuple[Axis, ...]:
    """The parts of a long range, or those of dates with all cells of other columns."""
    if len(columns) == 1:
        return (_range_axis(table, columns[0]),)
    long = {c for c in columns if is_long_date(table.finite_domain(c))}
    return tuple(_range_axis(table, c) if c in long else Axis.cells((c,), table.shape((c,))) for c in columns)


def _range_axis(table: TableDomain, column: str) -> Axis:
    domain = table.finite_domain(column)
    if not isinstance(domain, IntegerDomain | DateDomain):
        raise InternalError("only ranges of whole numbers and dates are measured in parts")
    labels = range_parts(domain)
    return Axis((column,), labels, int(labels.max()) + 1)
