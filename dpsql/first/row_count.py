"""The row count of a table: measured once, before anything else is answered. The fold, and the one who measures.

Under add-remove neighbours the number of rows is as private as any other count, and the model scales with it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpsql.domain import TableDomain
from dpsql.errors import BudgetExhausted
from dpsql.first.bench import Bench
from dpsql.first.payload import ROW_COUNT, encode_measurement
from dpsql.first.payment import pay_first
from dpsql.first.touch import Columns, FirstTouch, Released
from dpsql.first.turns import Step, Turns
from dpsql.hypothesis import Measurement
from dpsql.mechanism import public_row_count
from dpsql.planning import TablePlan
from dpsql.policy import Neighbors

NO_COLUMNS: Columns = ()


class RowCount(FirstTouch):
    """Whether a table's row count, the contingency over no columns, is measured. ``share``: what
    one measurement spends.

    One that is lost with its reservation is measured again, for nothing is answered without it. A public row count has
    a share of no units, and nothing to do. Public.
    """

    purpose = "row count"

    def __init__(self, plan: TablePlan) -> None:
        super().__init__()
        self.table = plan.name
        self.share = plan.row_count
        self._measured = plan.row_count_is_public

    @property
    def is_known(self) -> bool:
        """Whether the row count is released, or public."""
        return self._measured

    @property
    def planned_units(self) -> int:
        return self.share.units

    def others_at_work(self) -> bool:
        """Whether the measurement is under way."""
        return self._is_under_way(NO_COLUMNS)

    def unbegun_units(self) -> int:
        """Units that stay set aside while the row count is not known and nobody has begun it."""
        return 0 if self._is_begun(NO_COLUMNS) else self.share.units

    def _is_done(self, columns: Columns) -> bool:
        return self._measured

    def _learn(self, reservation: int, released: Sequence[Released]) -> None:
        self._measured = True
        self._complete += released

    def _lose(self, columns: frozenset[Columns]) -> None:
        """It is to be begun again."""


def check_row_count(touch: RowCount, bench: Bench, turns: Turns) -> None:
    """BudgetExhausted when the row count is unknown, nobody is measuring it and it cannot be paid any more."""
    if not touch.is_known and not turns.can_pay(touch.unbegun_units):
        raise _exhausted(touch, bench, turns)


def measure_row_count(touch: RowCount, bench: Bench, turns: Turns) -> float:
    """Measure the row count unless it is known; what that charged, in epsilon.

    BudgetExhausted when it cannot be paid any more.
    """

    def next_step() -> Step | None:
        units = touch.unbegun_units()
        return Step(units, lambda: _measure(touch, bench, turns)) if units else None

    charged = turns.take(f"{touch.table} for the first time", next_step, touch.others_at_work)
    if touch.unbegun_units():
        raise _exhausted(touch, bench, turns)
    return charged


def _measure(touch: RowCount, bench: Bench, turns: Turns) -> float:
    """One reservation and its release; what was charged, 0.0 when another session was faster."""
    name, share = touch.table, touch.share
    rows = bench.engine.contingency(name, ())

    def draw() -> dict[str, Any]:
        return encode_measurement(ROW_COUNT, bench.measured(rows, share.sigma, name))

    return pay_first(touch, name, share.units, draw, bench, turns)


def _exhausted(touch: RowCount, bench: Bench, turns: Turns) -> BudgetExhausted:
    return BudgetExhausted(
        f"the privacy budget does not cover the row count of {touch.table}",
        requested=bench.plan.as_epsilon(touch.share.units),
        remaining=bench.plan.as_epsilon(turns.affordable()),
    )


def published_row_count(table: TableDomain, bench: Bench, neighbors: Neighbors) -> Measurement:
    """The exact number of rows of a table whose owner declares it public; charges nothing, draws nothing."""
    rows = bench.engine.contingency(table.name, NO_COLUMNS)
    stored = bench.engine.is_base_table(table.name)
    exact = np.array(public_row_count(rows, neighbors, table, is_base_table=stored))
    return Measurement(table.name, (), exact, 0.0)
