"""The contingencies of a table's warm start: which are measured, under way or lost, and the steps that measure them.

The fold over the ledger's events comes first; below it stands what draws noise, one chunk of contingencies after
another, each durable before the next.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate, combinations
from math import floor

import numpy as np

from dpsql.first.bench import Bench
from dpsql.first.payload import CONTINGENCY, encode_measurements
from dpsql.first.touch import Columns, FirstTouch
from dpsql.first.turns import Step, Turns
from dpsql.hypothesis import Axis, Measurement, atoms
from dpsql.memo import Memo
from dpsql.planning import PlannedContingency, TablePlan, planned_contingencies
from dpsql.planning.contingencies import EAGER_COLUMNS, ONE_WAY_SHARE, first_touch_share

CHUNK = 16
"""Contingencies that share one reservation: what a killed process loses at most."""
_REMEMBERED = 4096

Progress = Callable[[str, str, int, int], None]
"""Called with a table's name, what is being done, how much of it so far, and how much there will be."""


class WarmStart(FirstTouch):
    """Which contingencies are measured, under way in some session, or lost with a reservation that was burnt. Public.

    ``plan``: the table's purse, the precision that it buys, and how columns are cut. A contingency that was lost is not
    measured again: its share is spent. Tables without a warm start have an empty one. ``touched_later``: whether pairs
    are measured only when a question touches them.
    """

    purpose = "warm start"

    def __init__(self, plan: TablePlan) -> None:
        super().__init__()
        self.plan = plan
        self.measured: dict[Columns, Measurement] = {}
        self._names = list(plan.measured_columns)
        self.touched_later = plan.cuts_columns and len(self._names) > EAGER_COLUMNS
        self._gone: set[Columns] = set()
        self._planned: tuple[PlannedContingency, ...] | None = None if self._names else ()
        self._row_count = 0.0
        self._waiting: Memo[list[tuple[PlannedContingency, int]]] = Memo(_REMEMBERED)

    # --- the fold ----------------------------------------------------------------------------------------------

    def know_row_count(self, rows: float) -> None:
        """The number of rows that the choice of contingencies is made for; the first one stays."""
        self._waiting.clear()
        if self._planned is None:
            self._row_count, plan = rows, self.plan
            self._planned = planned_contingencies(plan.table, rows, plan.precision, differences=plan.differences)

    def reserved(self, reservation: int, cost: int, columns: Sequence[Sequence[str]]) -> None:
        self._waiting.clear()
        super().reserved(reservation, cost, columns)

    def freed(self, reservation: int) -> None:
        self._waiting.clear()
        super().freed(reservation)

    def _learn(self, measurements: Sequence[Measurement]) -> None:
        self.measured.update({m.scope: m for m in measurements})

    def _lose(self, columns: frozenset[Columns]) -> None:
        self._waiting.clear()
        self._gone.update(c for c in columns if c not in self.measured)

    # --- what is left to do ------------------------------------------------------------------------------------

    @property
    def planned_units(self) -> int:
        return self.plan.warm_units

    def others_at_work(self, asked: Columns) -> bool:
        """Whether a contingency that the question waits for is under way elsewhere."""
        return bool(self._open) and any(self._is_under_way(p.columns) for p in self._wanted(asked))

    def is_ready(self, asked: Columns) -> bool:
        """Whether all that a question about ``asked`` waits for is measured, or lost."""
        return not self.waiting_contingencies(asked) and not self.others_at_work(asked)

    def waiting_contingencies(self, asked: Columns) -> list[tuple[PlannedContingency, int]]:
        """What a question about ``asked`` waits for and nobody has begun, at most CHUNK, with costs in units.

        Columns alone come first: on them depends how the others are cut.
        """
        key = asked if self.touched_later else ()
        known = self._waiting.get(key)
        return self._waiting.put(key, self._next_chunk(asked)) if known is None else known

    def _next_chunk(self, asked: Columns) -> list[tuple[PlannedContingency, int]]:
        wanted = [p for p in self._wanted(asked) if not self._is_begun(p.columns)]
        first = [p for p in wanted if len(p.columns) == 1] or wanted[:CHUNK]
        return [(p, floor(self.planned_units * p.share)) for p in first]

    def unbegun_units(self) -> int:
        """Units that stay set aside for what nobody has begun."""
        if self._planned is None:
            return self.planned_units
        left = sum(floor(self.planned_units * p.share) for p in self._planned if not self._is_begun(p.columns))
        if self.touched_later:
            pairs = len(self._names) * (len(self._names) - 1) // 2
            if sum(1 for p in combinations(self._names, 2) if self._is_begun(p)) < pairs:
                return max(left, self.planned_units - self.charged_units)
        return left

    def next_units(self, asked: Columns) -> int:
        """Units that a question about ``asked`` would spend on contingencies; 0 when it waits for none."""
        if not asked or not self.touched_later:
            return self.unbegun_units() if asked else 0
        planned = list(self._wanted(asked))
        ones = floor(self.planned_units * ONE_WAY_SHARE) if self._planned is None else 0
        return ones + sum(floor(self.planned_units * p.share) for p in planned if not self._is_begun(p.columns))

    def count(self, asked: Columns) -> tuple[int, int]:
        """(contingencies measured, contingencies planned or wanted by the question) for a line of progress."""
        wanted = self._wanted(asked)
        return sum(p.columns in self.measured for p in wanted), len(wanted)

    def _is_done(self, columns: Columns) -> bool:
        return columns in self.measured or columns in self._gone

    def _wanted(self, asked: Columns) -> list[PlannedContingency]:
        planned = list(self._planned or ())
        if not self.touched_later:
            return planned
        ordered = [c for c in self._names if c in set(asked)]
        number = sum(1 for p in combinations(self._names, 2) if self._is_begun(p))
        for pair in combinations(ordered, 2):
            if not self._is_begun(pair):
                number += 1
                planned.append(PlannedContingency(pair, first_touch_share(number, len(self._names))))
            elif pair not in self._gone:
                planned.append(PlannedContingency(pair, 0.0))
        return planned

    # --- the parts that are measured ---------------------------------------------------------------------------

    def axes(self, planned: PlannedContingency) -> tuple[Axis, ...]:
        """Every cell, or planned differences; in wide tables a pair's parts are atoms of the released 1-ways."""
        table = self.plan.table
        if not self.plan.cuts_columns or len(planned.columns) == 1:
            return tuple(
                Axis.difference_of(c) if c in planned.differences else Axis.cells((c,), table.shape((c,)))
                for c in planned.columns
            )
        sigma = planned.sigma(self.plan.precision)
        return tuple(self._atoms(c, sigma) for c in planned.columns)

    def _atoms(self, column: str, pair_sigma: float) -> Axis:
        domain = self.plan.table.finite_domain(column)
        one = self.measured.get((column,))
        # without the released 1-way (it was lost), cells are taken to weigh the same
        values = np.full(domain.size, self._row_count / domain.size) if one is None else one.values.astype(np.float64)
        noise = 0.0 if one is None else one.sigma
        labels = atoms(values, noise, pair_sigma, self._row_count, ordered=domain.ordered)
        return Axis((column,), labels, int(labels.max()) + 1)


# --- measuring -----------------------------------------------------------------------------------------------------


def measure_contingencies(
    touch: WarmStart, asked: Columns, bench: Bench, turns: Turns, on_progress: Progress | None
) -> float:
    """Measure what a question about ``asked`` waits for; what that charged, in epsilon.

    Whatever is lost on the way is done without. OperationalError when another session takes too long over the same.
    """

    def next_step() -> Step | None:
        waiting = touch.waiting_contingencies(asked)
        if not waiting:
            return None
        left = turns.affordable()
        # after a loss not all of them may be: as many as are, or a step that waits
        fits = sum(whole <= left for whole in accumulate(units for _, units in waiting))
        chunk = waiting[:fits] or waiting

        def make() -> float:
            if on_progress is not None:
                on_progress(touch.plan.name, "contingencies", *touch.count(asked))
            return _measure(touch, chunk, bench, turns)

        return Step(sum(units for _, units in chunk), make)

    return turns.take(touch.plan.name, next_step, lambda: touch.others_at_work(asked))


def _measure(touch: WarmStart, chunk: list[tuple[PlannedContingency, int]], bench: Bench, turns: Turns) -> float:
    """One reservation and its release; what was charged, 0.0 when another session was faster."""
    plan, name, cost = touch.plan, touch.plan.name, sum(units for _, units in chunk)
    axes = [touch.axes(p) for p, _ in chunk]
    if not plan.cuts_columns:  # counted once; every contingency is then a sum over it
        bench.engine.contingency(name, tuple(c.name for c in plan.table.finite))
    counts = [bench.counted(name, a) for a in axes]
    payload = {"purpose": touch.purpose, "table": name, "columns": [list(p.columns) for p, _ in chunk]}
    reservation = turns.reserve_first(cost, payload, touch.opened_before)
    if reservation is None:
        return 0.0
    with bench.ledger.drawing(reservation):
        released = []
        for (_, units), parts, private in zip(chunk, axes, counts, strict=True):
            sigma = bench.plan.release_sigma(units, plan.l2_squared)
            released.append((CONTINGENCY, bench.measured(private, sigma, name, parts)))
        bench.ledger.release(reservation, encode_measurements(released))
        bench.paid.units += cost
    turns.follow()
    return bench.plan.as_epsilon(cost)
