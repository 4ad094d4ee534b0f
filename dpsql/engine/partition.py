"""Parts of a table's cells, by columns: what counts over a large grid are asked for in place of its cells.

A cut of a graph tells its vertices apart by two lists, and so 16 million pairs of vertices by four parts. What the
labels say comes from questions and released numbers; to an engine they are numbers of codes and nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpsql.domain import TableDomain
from dpsql.engine.scope import scope_of, text_columns_of
from dpsql.errors import InternalError
from dpsql.query import Regions


@dataclass(frozen=True, eq=False)
class Partition:
    """Parts 0 .. ``size - 1`` of the cells of ``columns``; ``labels``: the part of each cell, of the columns' shape.

    >>> Partition(("a",), np.array([0, 1, 1]), 2).flat.tolist()
    [0, 1, 1]
    """

    columns: tuple[str, ...]
    labels: npt.NDArray[np.int64]
    size: int

    @property
    def flat(self) -> npt.NDArray[np.int64]:
        """The labels, row-major."""
        return self.labels.reshape(-1)


def shape_of(table: TableDomain, partitions: Sequence[Partition]) -> tuple[int, ...]:
    """The sizes of partitions of disjoint finite columns of the table.

    UnknownName for other columns, InternalError for partitions that do not fit: a wrong part would be a wrong count.
    """
    scope_of(table, tuple(c for p in partitions for c in p.columns))
    for p in partitions:
        if p.labels.shape != table.shape(p.columns) or p.size < 1:
            raise InternalError(f"a partition that does not fit the columns of {table.name}")
        if p.labels.size and not (int(p.labels.min()) >= 0 and int(p.labels.max()) < p.size):
            raise InternalError(f"a partition of {table.name} with a part that it has not")
    return tuple(p.size for p in partitions)


def partitions_of(table: TableDomain, regions: Regions) -> tuple[Partition, ...]:
    """The partitions of the finite columns that tell regions apart; errors as ``shape_of``, and of text columns."""
    partitions = tuple(Partition(a.columns, a.labels, a.size) for a in regions.axes)
    shape = shape_of(table, partitions)
    text_columns_of(table, regions.text_columns)
    listed = (len(regions.keys) + 1,) if regions.text_columns else ()
    if regions.numbers.shape != listed + shape:
        raise InternalError(f"regions of {table.name} that do not fit their parts")
    return partitions
