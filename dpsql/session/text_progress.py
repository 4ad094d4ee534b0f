"""Which text columns have released their frequent keys: a fold over the ledger's events. Public."""

from collections.abc import Mapping, Sequence

from dpsql.hypothesis import Measurement
from dpsql.session.text_plan import TextStart


class TextProgress:
    """The first touches of one table's text columns: made, under way in some session, or lost with a reservation.

    A first touch is made once for good: its delta is spent when its reservation is opened and not freed.
    """

    def __init__(self, starts: Mapping[str, TextStart]) -> None:
        self.starts = dict(starts)
        self.charged = 0
        self._shown: dict[str, Measurement] = {}
        self._open: dict[int, tuple[int, str]] = {}
        self._gone: set[str] = set()

    @property
    def units(self) -> int:
        """Units for all first touches together."""
        return sum(start.units for start in self.starts.values())

    # --- the fold ----------------------------------------------------------------------------------------------

    def reserved(self, reservation: int, cost: int, columns: Sequence[Sequence[str]]) -> None:
        ((column,),) = columns
        self._open[reservation] = (cost, column)
        self.charged += cost

    def freed(self, reservation: int) -> None:
        cost, _ = self._open.pop(reservation, (0, ""))
        self.charged -= cost

    def burnt(self, reservation: int) -> None:
        """The keys under a reservation are lost; its units and its delta stay spent."""
        _, column = self._open.pop(reservation, (0, ""))
        if column and column not in self._shown:
            self._gone.add(column)

    def released(self, reservation: int, measurements: Sequence[Measurement]) -> None:
        for keys in measurements:
            if keys.keys and not keys.axes:
                (column,) = keys.text_columns
                self._shown[column] = keys
        self.burnt(reservation)

    # --- what is left to do ------------------------------------------------------------------------------------

    def is_open(self, reservation: int) -> bool:
        """Whether what this reservation pays for is neither made nor lost."""
        return reservation in self._open

    def opened_before(self, reservation: int) -> bool:
        """Whether the first touch under the reservation is also under an earlier one, or made, or lost."""
        _, mine = self._open[reservation]
        earlier = {column for n, (_, column) in self._open.items() if n < reservation}
        return mine in earlier or mine in self._gone or mine in self._shown

    def others_at_work(self, column: str) -> bool:
        """Whether the column's first touch is under way."""
        return any(column == under_way for _, under_way in self._open.values())

    def pending(self, column: str) -> TextStart | None:
        """The column's first touch when nobody has begun it."""
        return None if self._begun(column) else self.starts.get(column)

    def pending_units(self) -> int:
        """Units that stay set aside for first touches that nobody has begun."""
        return sum(start.units for column, start in self.starts.items() if not self._begun(column))

    def keys(self, column: str) -> tuple[str, ...] | None:
        """The column's released keys, in a fixed order; ``None`` before its first touch. Empty when that was lost."""
        if column in self._shown:
            return tuple(k for (k,) in self._shown[column].keys if k is not None)
        return () if column in self._gone else None

    def _begun(self, column: str) -> bool:
        return column in self._shown or column in self._gone or self.others_at_work(column)
