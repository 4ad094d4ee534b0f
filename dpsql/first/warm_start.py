"""The contingencies of a table's warm start: which are measured, under way or missing, and the steps that measure them.

The fold over the ledger's events comes first; below it stands what draws noise, one reservation after another, each
durable before the next.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from math import comb, floor
from typing import Any

import numpy as np

from dpsql.domain import IntegerDomain, NumberDomain, TableDomain, marks_of
from dpsql.errors import InternalError
from dpsql.first.bench import Bench
from dpsql.first.payload import CONTINGENCY, POSITIONS, VALUES, encode_measurements
from dpsql.first.portioned import Portioned
from dpsql.first.release import release_first
from dpsql.first.row_count import RowCount
from dpsql.first.touch import Columns
from dpsql.first.turns import Step, Turns
from dpsql.hypothesis import Axis, Measurement, atoms
from dpsql.hypothesis.partition import compact, merged, part_sums
from dpsql.ledger.event import Payload
from dpsql.memo import Memo
from dpsql.planning import PlannedContingency, TablePlan, planned_contingencies
from dpsql.planning.contingencies import (
    EAGER_COLUMNS,
    INSIDE,
    ONE_WAY_SHARE,
    PARTS,
    TOUCHED,
    first_touch_share,
    later_shares,
    planned_alone,
    range_parts,
    triple_cells,
    triple_parts,
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
    warm start have an empty one. ``touched_later``: whether pairs are measured only when a question touches them, and
    all others when those that were have touched ``TOUCHED`` of the columns: one who asks about so many is going to ask
    about others, and models of few columns are better for the pairs beside them.
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
        self._alone = planned_alone(plan.table, long_ranges=plan.rules.parts_first) if self._names else ()
        self._for_pairs = 1.0 - sum(p.share for p in self._alone)
        self._pairs: dict[Columns, None] = {}  # that are begun, in their order
        self._number_of_pairs = comb(len(self._names), 2)
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
                beside=plan.rules.whole_tables,
                triples=plan.rules.coarse_triples,
            )
            ones = [p for p in chosen if len(p.columns) == 1]
            self._planned = (*ones, *self._alone, *(p for p in chosen if len(p.columns) > 1))
            self._give_up_if_empty()

    def reserved(self, reservation: int, cost: int, payload: Payload) -> None:
        super().reserved(reservation, cost, payload)
        columns = [tuple(c) for c in payload["columns"]]
        self._pairs |= dict.fromkeys([c for c in columns if len(c) == 2 and set(c) <= set(self._names)])

    def freed(self, reservation: int) -> None:
        super().freed(reservation)
        self._forget_lost()

    def burnt(self, reservation: int) -> None:
        super().burnt(reservation)
        self._forget_lost()

    def _forget_lost(self) -> None:
        begun = self._done | self._in_part()
        self._pairs = {c: None for c in self._pairs if c in begun}

    def _named(self, kind: str, measurement: Measurement) -> Columns:
        if kind in (POSITIONS, VALUES):
            return *measurement.scope, INSIDE
        axis = measurement.axes[0]
        parts = len(measurement.axes) == 1 and not axis.is_identity and not axis.difference and self.plan.cuts_columns
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

    def waiting_portions(self, asked: Columns) -> list[Portion]:
        """The next reservation of what a question about ``asked`` waits for and nobody has begun; none when it is all.

        Columns alone come first: on them depends how the others are cut. Then in the plan's order.
        """
        key = asked if self.touched_later else ()
        known = self._waiting.get(key)
        return self._waiting.put(key, self._next(asked)) if known is None else known

    def _next(self, asked: Columns) -> list[Portion]:
        wanted = [p for p in self._wanted(asked) if not self._is_begun(p.columns)]
        first = [p for p in wanted if len(p.columns) == 1] or wanted
        return self._next_portions(self._want(p.columns, self._units(p)) for p in first)

    def unbegun_units(self) -> int:
        """Units that stay set aside for what nobody has begun."""
        if self._planned is None:
            return max(0, self.purse().left)
        if self.touched_later and not self._given_up and self._pairs_begun() < self._number_of_pairs:
            return max(0, self.purse().left)  # what pairs that come later cost depends on their order
        return super().unbegun_units()

    def next_units(self, asked: Columns) -> int:
        """Units that a question about ``asked`` would spend on contingencies; 0 when it waits for none."""
        if not asked or not self.touched_later:
            return self.unbegun_units() if asked else 0
        ones = floor(self.planned_units * ONE_WAY_SHARE) if self._planned is None else 0
        missing = sum(self._missing(p.columns, self._units(p)) for p in self._wanted(asked))
        return self.purse().scaled(ones + missing)

    def units_of(self, scopes: Iterable[Columns]) -> int:
        """The same of several questions together, at most: pairs that two of them share are counted twice."""
        asked = [scope for scope in scopes if scope]
        own = [pair for scope in asked for pair in self._pairs_in(scope)]
        if self.touched_later and self._together(own) is not None:
            return self.unbegun_units() if any(self.next_units(scope) for scope in asked) else 0
        return sum(self.next_units(scope) for scope in asked)

    def count(self, asked: Columns) -> tuple[int, int]:
        """(contingencies measured, contingencies planned or wanted by the question) for a line of progress."""
        wanted = self._wanted(asked)
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
            number, together = self._pairs_begun(), self._together(())
            later = later_shares(number, len(self._names), self.plan.first_touch, together) * self._for_pairs
            planned += floor(self.planned_units * later)
            pairs = (c for c in self._in_part() if len(c) > 1 and INSIDE not in c and PARTS not in c)
            planned += sum(self._missing(columns, 0) for columns in pairs)
        return planned

    def _overdraft(self) -> int:
        touch = self._row_count_touch
        return 0 if touch is None else max(0, touch.spent - touch.planned_units)

    def _wanted(self, asked: Columns) -> list[PlannedContingency]:
        planned = list(self._planned or ())
        if not self.touched_later:
            return planned
        own = self._pairs_in(asked)
        number, together = self._pairs_begun(), self._together(own)
        in_part = self._in_part()
        for pair in own if together is None else self._with_others(own):
            if not self._is_begun(pair):
                number += pair not in in_part
                share = first_touch_share(number, len(self._names), self.plan.first_touch, together) * self._for_pairs
                planned.append(PlannedContingency(pair, share))
            elif not self._given_up:
                planned.append(PlannedContingency(pair, 0.0))
        return planned

    def _pairs_in(self, asked: Columns) -> list[Columns]:
        return list(combinations([c for c in self._names if c in set(asked)], 2))

    def _with_others(self, own: Sequence[Columns]) -> Iterable[Columns]:
        """All pairs, these first, while some of them wait."""
        waits = any(pair not in self._done for pair in self._pairs) or len(self._pairs) < self._number_of_pairs
        return dict.fromkeys((*own, *combinations(self._names, 2))) if waits else own

    def _together(self, own: Iterable[Columns]) -> int | None:
        """After how many pairs all others are measured at once, where those begun and a question's ``own`` touch
        enough columns for that."""
        touched: set[str] = set()
        for number, pair in enumerate(dict.fromkeys((*self._pairs, *own)) if self.plan.rules.pairs_together else (), 1):
            touched |= set(pair)
            if len(touched) >= TOUCHED * len(self._names):
                return number
        return None

    def _pairs_begun(self) -> int:
        if self.plan.rules.pairs_together:
            return len(self._pairs)
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
            return (_range_axis(table, columns[0]),)
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
        ordered = self.plan.table.finite_domain(column).ordered
        labels = atoms(values, noise, pair_sigma, self._row_count, ordered=ordered)
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

    def next_step() -> Step | None:
        chosen = touch.waiting_portions(asked)

        def make() -> float:
            if on_progress is not None:
                on_progress(touch.plan.name, "contingencies", *touch.count(asked))
            return _measure(touch, chosen, bench, turns)

        return Step(sum(p.units for p in chosen), make) if chosen else None

    charged = turns.take(f"{touch.plan.name} for the first time", next_step, lambda: touch.others_at_work(asked))
    touch.is_unpaid = bool(touch.waiting_portions(asked))
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

    return release_first(touch, name, sum(p.units for p in chosen), draw, bench, turns, touch.portions_payload(chosen))


def _counts(bench: Bench, table: TableDomain, portion: Portion, axes: tuple[Axis, ...], kind: str) -> Private[Counts]:
    column = portion.columns[0]
    if kind == VALUES:
        return bench.engine.value_counts(table.name, column, _marks(table, column))
    return bench.positions(table.name, axes, column) if kind == POSITIONS else bench.counted(table.name, axes)


def _marks(table: TableDomain, column: str) -> tuple[float, ...]:
    domain = table.finite_domain(column)
    if not isinstance(domain, NumberDomain):
        raise InternalError("only numbers stand inside bins")
    return marks_of(domain.edges)


def _range_axis(table: TableDomain, column: str) -> Axis:
    domain = table.finite_domain(column)
    if not isinstance(domain, IntegerDomain):
        raise InternalError("only ranges of whole numbers are measured in parts")
    labels = range_parts(domain)
    return Axis((column,), labels, int(labels.max()) + 1)
