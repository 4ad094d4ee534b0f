"""Vertices of an edge table, and their unordered pairs: i < j, in the order of the rows of the upper triangle.

An edge joins two vertices whichever column names which, and however many rows say so; a row whose two ends are one
vertex is no edge.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from dpsql.domain import CategoryDomain, FiniteDomain, IntegerDomain, TableDomain
from dpsql.errors import NotSupportedError
from dpsql.mechanism.randomized_response import Bits
from dpsql.query import Counts

Matrix = npt.NDArray[np.float64]
"""Over vertices, symmetric with a zero diagonal where nothing else is said; or one number for each pair."""

Entry = TypeVar("Entry", bound=np.generic)
MOST_VERTICES = 5_000
"""A matrix of so many is 200 MB."""


@dataclass(frozen=True)
class Vertices:
    """The two columns of an edge table, ``source`` and ``target``, and how many vertices they can name."""

    source: str
    target: str
    number: int

    @property
    def pairs(self) -> int:
        return self.number * (self.number - 1) // 2

    @cached_property
    def _above(self) -> Bits:
        return np.triu(np.ones((self.number, self.number), dtype=np.bool_), 1)

    def of_pairs(self, matrix: npt.NDArray[Entry]) -> npt.NDArray[Entry]:
        """The entries above the diagonal, shape (pairs,)."""
        return matrix[self._above]

    def matrix(self, weights: Matrix) -> Matrix:
        """The symmetric matrix with these weights of pairs and a zero diagonal."""
        out = np.zeros((self.number, self.number))
        out[self._above] = weights
        out += out.T
        return out

    def ends(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The vertices of the pairs at these positions, shape (positions, 2), the smaller one first."""
        begins = np.cumsum(np.arange(self.number - 1, -1, -1)) - np.arange(self.number - 1, -1, -1)
        first = np.searchsorted(begins, positions, side="right") - 1
        first = np.minimum(first, self.number - 2)
        return np.stack([first, positions - begins[first] + first + 1], axis=1)

    def adjacency(self, counts: Counts) -> Bits:
        """Which pairs have a row, in either direction; ``counts`` has shape (number, number). One row changes one."""
        return np.asarray(self.of_pairs(counts + counts.T) > 0, dtype=np.bool_)


def vertices_of(table: TableDomain) -> Vertices:
    """The vertices of an edge table. NotSupportedError for tables that are none, before anything is charged."""
    hint = "declare two columns of type integer or category with equal values, and no others; a view can leave some out"
    if table.text or len(table.finite) != 2:
        raise NotSupportedError(
            f"a graph is a table of two columns, the ends of its edges; {table.name} has others", hint=hint
        )
    source, target = table.finite
    if not (_can_be_vertex(source) and _can_be_vertex(target)) or source.values != target.values:
        raise NotSupportedError(f"{source.name} and {target.name} do not name the same vertices", hint=hint)
    if source.nullable or target.nullable:
        raise NotSupportedError(
            "an edge has two ends, and these may be NULL",
            hint="declare both columns nullable = false: rows with a NULL or another value are then not counted",
        )
    if not 2 <= source.size <= MOST_VERTICES:
        raise NotSupportedError(
            f"{source.size:,} vertices; a synthetic graph has 2 to {MOST_VERTICES:,}",
            hint="declare fewer vertices, or ask for cuts one by one in SQL",
        )
    return Vertices(source.name, target.name, source.size)


def _can_be_vertex(column: FiniteDomain) -> bool:
    return isinstance(column, IntegerDomain | CategoryDomain)
