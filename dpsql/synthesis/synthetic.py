"""A synthetic table as it is made: for each row its cell in every finite column and its key in every text column."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dpsql.domain import TableDomain
from dpsql.query import LinearQuery

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Noisy:
    """A noisy ``answer`` (counts) to ``query`` that a run paid for; ``sd``: of its noise. Public."""

    query: LinearQuery
    answer: float
    sd: float


@dataclass(frozen=True, eq=False)
class Synthetic:
    """Rows of ``table``. Public: it is made from released numbers alone.

    ``codes``: int64 of shape (rows, finite columns in the table's order), each a cell of its column. ``keys``: for each
    text column that is filled, one key per row, ``None`` for NULL. ``scale``: how many rows of the private table a row
    here stands for. ``notes``: what a reader must know of how they were made, one sentence each. ``answers``:
    what the rows were fitted to, of methods that measure queries; a query may be there several times.
    """

    table: TableDomain
    codes: Codes
    keys: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    scale: float = 1.0
    notes: tuple[str, ...] = ()
    answers: tuple[Noisy, ...] = ()

    def count(self, query: LinearQuery) -> float:
        """The query on these rows, in counts of the private table. Not for queries of strings or sums of values."""
        position = {column.name: i for i, column in enumerate(self.table.finite)}
        weights = np.ones(len(self.codes))
        for factor in query.factors:
            cells = tuple(self.codes[:, position[c]] for c in factor.columns)
            weights *= factor.weights[cells] / factor.unit
        return float(weights.sum()) * self.scale
