"""What a question asks about values, as one more condition beside those on cells. Public, but for the counts of rows.

A row is in its stretch of values, or is not; of a sum it is in by the share of the range that it counts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpsql.domain import FIXED_POINT
from dpsql.first import Bench
from dpsql.hypothesis import Axis
from dpsql.planning.measured_axes import told_apart
from dpsql.private import Private, together
from dpsql.query import Counts, Factor, Interval, LinearQuery


@dataclass(frozen=True, eq=False)
class Stretch:
    """The rows of ``table`` in all of ``intervals`` and all of ``factors``, 0 or 1 over single columns of these; with
    ``value``, each counts by where it stands in that column's range. With a ``reach``, which holds the
    share of every row that is in, in 1 / FIXED_POINT, it counts by where it stands there, and others are not counted;
    there are no ``factors`` then.
    """

    table: str
    factors: tuple[Factor, ...]
    intervals: tuple[Interval, ...]
    value: str | None = None
    reach: tuple[int, int] | None = None

    @classmethod
    def of(cls, query: LinearQuery) -> "Stretch | None":
        """The query's; ``None`` where a condition ties a column that it looks at to another."""
        columns = {i.column for i in query.intervals} | {query.value}
        own = tuple([f for f in query.factors if columns & set(f.columns)])
        tied = any(len(f.columns) > 1 for f in own)
        return None if tied else cls(query.table, own, query.intervals, query.value)

    @property
    def whole_row(self) -> int:
        """What all of a row is in ``counted``."""
        low, high = (0, FIXED_POINT) if self.reach is None else self.reach
        return 1 if self.value is None else high - low

    def is_of(self, factors: Sequence[Factor]) -> bool:
        """Whether all of its own are among these."""
        return len(self.beside(factors)) + len(self.factors) == len(factors)

    def beside(self, factors: Sequence[Factor]) -> tuple[Factor, ...]:
        """Those of some factors that are not its own."""
        own = {f.digest for f in self.factors}
        return tuple([f for f in factors if f.digest not in own])

    def asked(self, query: LinearQuery) -> LinearQuery:
        """A count of cells as a question about the same values; ``query`` has the stretch's own factors."""
        return replace(query, intervals=self.intervals, value=self.value)

    def counted(self, axes: tuple[Axis, ...], bench: Bench) -> Private[Counts]:
        """The rows over the parts of ``axes``, outside and inside: int64, shape (*parts, 2), in ``whole_row``. Private.

        Raises EngineError.
        """
        if self.value is not None and self.reach is not None:
            # one look, each row kept in reach: of two looks one could see a row that the other does not
            both = bench.in_reach(self.table, axes, self.value, self.intervals, self.reach)
            return both.map(self._in_reach)
        told = tuple(told_apart([LinearQuery(self.table, self.factors)]))
        parts = (*axes, *told)
        if self.value is None:
            inside = bench.counted(self.table, parts, intervals=self.intervals)
        else:
            inside = bench.shares(self.table, parts, self.value, self.intervals)
        return together([bench.counted(self.table, axes), inside]).map(self._both(told))

    def _in_reach(self, both: Counts) -> Counts:
        rows, inside = both[..., 0], both[..., 1]
        return np.stack([rows * self.whole_row - inside, inside], axis=-1)

    def _both(self, told: Sequence[Axis]) -> Callable[[tuple[Counts, ...]], Counts]:
        taken = [axis.coarse_weights(f.weights) for axis, f in zip(told, self.factors, strict=True)]
        of_parts = [weights for weights in taken if weights is not None]  # all: the axes tell the factors' values apart

        def both(rows: tuple[Counts, ...]) -> Counts:
            whole, inside = rows
            for weights in reversed(of_parts):
                inside = np.asarray(inside @ weights, dtype=np.int64)
            return np.stack([whole * self.whole_row - inside, inside], axis=-1)

        return both
