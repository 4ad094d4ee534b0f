"""Which text columns have released their frequent keys: a fold over the ledger's events. Public."""

from collections.abc import Mapping, Sequence

from dpsql.hypothesis import Measurement
from dpsql.session.first_touch import Columns, FirstTouch
from dpsql.session.text_plan import TextStart


class TextProgress(FirstTouch):
    """The first touches of one table's text columns: made, under way in some session, or lost with a reservation.

    A first touch is made once for good: its delta is spent when its reservation is opened and not freed.
    """

    purpose = "text start"

    def __init__(self, starts: Mapping[str, TextStart]) -> None:
        super().__init__()
        self.starts = dict(starts)
        self._shown: dict[str, Measurement] = {}
        self._gone: set[str] = set()

    @property
    def units(self) -> int:
        """Units for all first touches together."""
        return sum(start.units for start in self.starts.values())

    def _learn(self, measurements: Sequence[Measurement]) -> None:
        for keys in measurements:
            if keys.keys and not keys.axes:
                (column,) = keys.text_columns
                self._shown[column] = keys

    def _lose(self, columns: frozenset[Columns]) -> None:
        self._gone.update(column for (column,) in columns if column not in self._shown)

    def _is_done(self, columns: Columns) -> bool:
        (column,) = columns
        return column in self._shown or column in self._gone

    # --- what is left to do ------------------------------------------------------------------------------------

    def others_at_work(self, column: str) -> bool:
        """Whether the column's first touch is under way."""
        return self._is_under_way((column,))

    def pending(self, column: str) -> TextStart | None:
        """The column's first touch when nobody has begun it."""
        return None if self._is_begun((column,)) else self.starts.get(column)

    def pending_units(self) -> int:
        """Units that stay set aside for first touches that nobody has begun."""
        return sum(start.units for column, start in self.starts.items() if not self._is_begun((column,)))

    def keys(self, column: str) -> tuple[str, ...] | None:
        """The column's released keys, in a fixed order; ``None`` before its first touch. Empty when that was lost."""
        if column in self._shown:
            return tuple(k for (k,) in self._shown[column].keys if k is not None)
        return () if column in self._gone else None
