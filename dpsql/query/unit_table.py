"""A table of units: one row for each unit that has some of a table's rows, and how many it has of them. Public.

Nobody stores it. How many of its rows are in each cell is what one release of counts of different values says, so that
every question about it is a sum of released numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod, sqrt

import numpy as np

from dpsql.domain import TableDomain
from dpsql.errors import InternalError
from dpsql.query.distinct import DistinctCount
from dpsql.query.linear import Estimates, LinearQuery

NUMBER = "number of rows"
"""The last column of such a table: from 1 to the most rows that count of a unit."""


@dataclass(frozen=True, eq=False)
class UnitTable(TableDomain):
    """``of``: the table whose units these are. Its ``columns`` are groups of that table's rows, then NUMBER.

    ``counts``: the units with rows in each cell of the groups that ``places`` names, by number in row-major order; in
    all others there is none. ``most``: how many rows count of a unit. Where it is 1 there is no column NUMBER: a unit
    is there or not. ``matched``: text columns of which a condition counts rows with released strings alone.
    """

    of: TableDomain = field(kw_only=True)
    counts: tuple[DistinctCount, ...] = field(kw_only=True)
    places: tuple[int, ...] = field(kw_only=True)
    most: int = field(kw_only=True)
    matched: tuple[str, ...] = field(default=(), kw_only=True)

    @cached_property
    def _shape(self) -> tuple[int, ...]:
        return self.shape(tuple(c.name for c in self.finite))

    def weights(self, query: LinearQuery) -> Estimates:
        """How much each of the released numbers, in the order in which they are asked for, counts for a query."""
        if query.keyed is not None or query.is_by_value:
            raise InternalError("a question about units that asks for more than cells")
        names = [c.name for c in self.finite]
        out = np.ones(self._shape)
        for factor in query.factors:
            order = sorted(factor.columns, key=names.index)
            own = factor.weights.transpose([factor.columns.index(c) for c in order]) / factor.unit
            out = out * own.reshape([n if c in order else 1 for c, n in zip(names, self._shape, strict=True)])
        return out.reshape(prod(self._shape) // self.most, self.most)[list(self.places)].reshape(-1)

    def told(self, query: LinearQuery, values: Sequence[int]) -> float:
        """The query's value, from the released numbers."""
        return float(self.weights(query) @ np.array(values, dtype=np.float64))

    def sd(self, query: LinearQuery, sd: float) -> float:
        """Noise (counts) in the query's value, where each number has independent noise of ``sd``."""
        return sd * sqrt(float((self.weights(query) ** 2).sum()))
