"""Whether a table's row count is measured: a fold over the ledger's events. Public."""

from collections.abc import Sequence

from dpsql.hypothesis import Measurement


class TotalProgress:
    """The row count of one table: measured, under way in some session, or neither.

    ``cost``: units for one measurement. One that was lost with its reservation is made again, for nothing is answered
    without it.
    """

    def __init__(self, cost: int) -> None:
        self.cost = cost
        self.charged = 0
        self._measured = False
        self._open: dict[int, int] = {}

    # --- the fold ----------------------------------------------------------------------------------------------

    def reserved(self, reservation: int, cost: int, columns: Sequence[Sequence[str]] = ()) -> None:
        self._open[reservation] = cost
        self.charged += cost

    def freed(self, reservation: int) -> None:
        self.charged -= self._open.pop(reservation, 0)

    def burnt(self, reservation: int) -> None:
        """What was drawn under a reservation is lost, and stays charged."""
        self._open.pop(reservation, None)

    def released(self, reservation: int, measurements: Sequence[Measurement]) -> None:
        self._measured = True
        self.burnt(reservation)

    # --- what is left to do ------------------------------------------------------------------------------------

    def is_open(self, reservation: int) -> bool:
        """Whether what this reservation pays for is neither measured nor lost."""
        return reservation in self._open

    def opened_before(self, reservation: int) -> bool:
        """Whether the row count is under way under an earlier reservation, or known."""
        return self._measured or any(other < reservation for other in self._open)

    def others_at_work(self) -> bool:
        """Whether the measurement is under way."""
        return bool(self._open)

    def pending_units(self) -> int:
        """Units that stay set aside while the row count is not known and nobody has begun it."""
        return 0 if self._measured or self._open else self.cost
