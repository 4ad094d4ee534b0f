"""Whether a table's row count is measured: the contingency over no columns. Public."""

from collections.abc import Sequence

from dpsql.hypothesis import Measurement
from dpsql.session.first_touch import Columns, FirstTouch

NO_COLUMNS: Columns = ()


class TotalProgress(FirstTouch):
    """The row count of one table. ``cost``: units for one measurement.

    One that is lost with its reservation is measured again, for nothing is answered without it.
    """

    purpose = "row count"

    def __init__(self, cost: int) -> None:
        super().__init__()
        self.cost = cost
        self._measured = False

    def others_at_work(self) -> bool:
        """Whether the measurement is under way."""
        return self._is_under_way(NO_COLUMNS)

    def pending_units(self) -> int:
        """Units that stay set aside while the row count is not known and nobody has begun it."""
        return 0 if self._is_begun(NO_COLUMNS) else self.cost

    def _is_done(self, columns: Columns) -> bool:
        return self._measured

    def _learn(self, measurements: Sequence[Measurement]) -> None:
        self._measured = True

    def _lose(self, columns: frozenset[Columns]) -> None:
        """It becomes pending again."""
