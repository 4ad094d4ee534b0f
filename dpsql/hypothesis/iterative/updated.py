"""What all constructions have in common: a fold of released answers. Public.

Replaying a ledger absorbs the same answers in the same order, so that live and replayed state are equal bit by bit.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

from dpsql.domain import TableDomain
from dpsql.hypothesis.measurement import Axis, Measurement
from dpsql.hypothesis.protocol import UpdateBound, one_by_one
from dpsql.query import Choices, Estimates, LinearQuery


class Updated(ABC):
    """An iterative database construction before its first update (``protocol.IterativeConstruction``).

    ``row_count``: n, at least 1; ``alpha``: counts, cut to (0, n], for no answer is off by more; ``planned``: k >= 1.
    ``bound``: B(alpha) of a table with n rows and k queries.
    """

    bound: ClassVar[UpdateBound]

    def __init__(self, table: TableDomain, row_count: float, alpha: float, planned: int) -> None:
        self.table = table
        self.row_count = max(float(row_count), 1.0)
        self.alpha = min(max(alpha, 1.0), self.row_count)
        self.planned = max(planned, 1)
        self.measurements: list[Measurement] = []

    def absorb(self, measurement: Measurement) -> None:
        """Update with the answer to one query; keep anything else, which says nothing of a query."""
        self.measurements.append(measurement)
        if measurement.query is not None:
            self.update(measurement.query, float(measurement.values))

    @property
    def remark(self) -> str | None:
        """What a reader of its answers must know; ``None`` where it is what its source says."""
        return None

    def coarse_axes(self, columns: tuple[str, ...], sigma: float) -> tuple[Axis, ...] | None:
        """``None``: it learns from the answer alone."""
        return None

    @abstractmethod
    def answer(self, query: LinearQuery) -> float:
        """q(D^t) in counts."""

    def answers(self, asked: Choices) -> Estimates:
        """``answer`` of each product."""
        return one_by_one(self, asked)

    @abstractmethod
    def update(self, query: LinearQuery, released: float) -> None:
        """D^(t+1) from D^t, the query and its released answer (counts)."""

    def update_bound(self, alpha: float) -> float:
        """B(alpha), ``alpha`` in counts."""
        return self.bound(self.table, self.row_count, alpha, self.planned)

    @abstractmethod
    def contingency(self, columns: tuple[str, ...]) -> Estimates:
        """Estimated counts over the cells of ``columns``, read-only."""
