"""How far a table's warm start has come: a fold over the ledger's events. Public."""

from collections.abc import Sequence
from itertools import combinations
from math import floor

import numpy as np

from dpsql.domain import TableDomain
from dpsql.hypothesis import Axis, Measurement, PlannedContingency, atoms, first_touch_share
from dpsql.hypothesis.warm_start import EAGER_COLUMNS, ONE_WAY_SHARE
from dpsql.session.first_touch import Columns, FirstTouch
from dpsql.session.planning import is_narrow
from dpsql.session.warm_plan import planned_contingencies

CHUNK = 16
"""Contingencies that share one reservation: what a killed process loses at most."""
_REMEMBERED = 4096


class WarmProgress(FirstTouch):
    """Which contingencies are measured, under way in some session, or lost with a reservation that was burnt.

    ``units``: the table's purse; ``precision``: the sum of 1/sigma^2 (sigma in counts) that it buys; ``differences``:
    whether columns of two values are measured as differences. A contingency that was lost is not measured again: its
    share is spent.
    """

    purpose = "warm start"

    def __init__(self, table: TableDomain, units: int, precision: float, *, differences: bool = False) -> None:
        super().__init__()
        self.table = table
        self.units = units
        self.measured: dict[Columns, Measurement] = {}
        self.precision = precision
        self.differences = differences
        self._names = [c.name for c in table.finite if c.size > 1]
        self._gone: set[Columns] = set()
        self._planned: tuple[PlannedContingency, ...] | None = None
        self._total = 0.0
        self._waiting: dict[Columns, list[tuple[PlannedContingency, int]]] = {}

    # --- the fold ----------------------------------------------------------------------------------------------

    def know_total(self, total: float) -> None:
        """The number of rows that the plan is made for; the first one stays."""
        self._waiting.clear()
        if self._planned is None:
            self._total = total
            self._planned = planned_contingencies(self.table, total, self.precision, differences=self.differences)

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
    def touched_later(self) -> bool:
        """Whether pairs are measured only when a question touches them."""
        return len(self._names) > EAGER_COLUMNS and not is_narrow(self.table)

    def others_at_work(self, asked: Columns) -> bool:
        """Whether a contingency that the question waits for is under way elsewhere."""
        return bool(self._open) and any(self._is_under_way(p.columns) for p in self._wanted(asked))

    def pending(self, asked: Columns) -> list[tuple[PlannedContingency, int]]:
        """What a question about ``asked`` waits for and nobody has begun, at most CHUNK, with costs in units.

        Columns alone come first: on them depends how the others are cut.
        """
        key = asked if self.touched_later else ()
        known = self._waiting.get(key)
        if known is None:
            if len(self._waiting) >= _REMEMBERED:
                self._waiting.clear()
            known = self._waiting[key] = self._pending(asked)
        return known

    def _pending(self, asked: Columns) -> list[tuple[PlannedContingency, int]]:
        wanted = [p for p in self._wanted(asked) if not self._is_begun(p.columns)]
        first = [p for p in wanted if len(p.columns) == 1] or wanted[:CHUNK]
        return [(p, floor(self.units * p.share)) for p in first]

    def pending_units(self) -> int:
        """Units that stay set aside for what nobody has begun."""
        if self._planned is None:
            return self.units
        left = sum(floor(self.units * p.share) for p in self._planned if not self._is_begun(p.columns))
        if self.touched_later:
            pairs = len(self._names) * (len(self._names) - 1) // 2
            if sum(1 for p in combinations(self._names, 2) if self._is_begun(p)) < pairs:
                return max(left, self.units - self.charged)
        return left

    def next_units(self, asked: Columns) -> int:
        """Units that a question about ``asked`` would spend on contingencies; 0 when it waits for none."""
        if not asked or not self.touched_later:
            return self.pending_units() if asked else 0
        planned = list(self._wanted(asked))
        ones = floor(self.units * ONE_WAY_SHARE) if self._planned is None else 0
        return ones + sum(floor(self.units * p.share) for p in planned if not self._is_begun(p.columns))

    def count(self, asked: Columns) -> tuple[int, int]:
        """(contingencies measured, contingencies planned or wanted by the question) for a progress line."""
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
        if is_narrow(self.table) or len(planned.columns) == 1:
            return tuple(
                Axis.difference_of(c) if c in planned.differences else Axis.cells((c,), self.table.shape((c,)))
                for c in planned.columns
            )
        sigma = planned.sigma(self.precision)
        return tuple(self._atoms(c, sigma) for c in planned.columns)

    def _atoms(self, column: str, pair_sigma: float) -> Axis:
        domain = self.table.finite_domain(column)
        one = self.measured.get((column,))
        # without the released 1-way (it was lost), cells are taken to weigh the same
        values = np.full(domain.size, self._total / domain.size) if one is None else one.values.astype(np.float64)
        noise = 0.0 if one is None else one.sigma
        labels = atoms(values, noise, pair_sigma, self._total, ordered=domain.ordered)
        return Axis((column,), labels, int(labels.max()) + 1)
