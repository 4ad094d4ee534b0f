"""A group that is one value of a column of a large grid: only its part of the grid is looked at, the rest is 0."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsql.domain import TableDomain
from dpsql.query import SPLIT_CELLS, Counts, Factor
from dpsql.sql.counting.pieces import GridAxis, QueryPiece


@dataclass(frozen=True)
class Slab:
    """The part of a grid that has one cell along some of its axes: ``at``, ``None`` along the others."""

    whole: tuple[GridAxis, ...]
    at: tuple[int | None, ...]

    @property
    def axes(self) -> tuple[GridAxis, ...]:
        """Those of the part."""
        return tuple([a if i is None else GridAxis(a.name, 1) for a, i in zip(self.whole, self.at, strict=True)])

    @property
    def size(self) -> int:
        """Its cells."""
        return prod([a.size for a in self.axes])

    def of(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The part of an array that broadcasts over the whole grid."""
        places = zip(self.at, array.shape, strict=True)
        return array[tuple([slice(None) if i is None or size == 1 else slice(i, i + 1) for i, size in places])]

    def placed(self, table: TableDomain, found: Sequence[QueryPiece]) -> tuple[QueryPiece, ...]:
        """Pieces of the part as those of the grid: the same as the normal form splits off a smaller grid."""
        own = []
        for axis, i in zip(self.whole, self.at, strict=True):
            if i is not None and axis.size > 1:
                weights = np.zeros(axis.size, dtype=np.int64)
                weights[i] = 1
                own.append(Factor((axis.name,), weights))
        return tuple([replace(p, query=replace(p.query, factors=_sorted(table, p, own))) for p in found])


def slab_of(axes: Sequence[GridAxis], cells: Counts) -> Slab:
    """The smallest that holds some cells, by their places in the flat grid; all of a grid that is small enough for the
    normal form to find products in, or whose columns are taken by classes.
    """
    shape = [a.size for a in axes]
    at: list[int | None] = [None] * len(axes)
    if prod(shape) > SPLIT_CELLS and all(a.classes is None for a in axes):
        for i, (axis, places) in enumerate(zip(axes, np.unravel_index(cells, shape), strict=True)):
            if axis.text is None and axis.points is None and (places == places[0]).all():
                at[i] = int(places[0])
    return Slab(tuple(axes), tuple(at))


def _sorted(table: TableDomain, piece: QueryPiece, more: Sequence[Factor]) -> tuple[Factor, ...]:
    return tuple(sorted([*piece.query.factors, *more], key=lambda f: [table.order[x] for x in f.columns]))
