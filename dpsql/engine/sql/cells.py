"""Counts of cells that have rows, as a database groups them, spread over arrays."""

from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from dpsql.engine.partition import Partition
from dpsql.private import Private
from dpsql.query import Counts

Cells = tuple[npt.NDArray[np.int64], Counts]
"""Codes, shape (cells, columns), and a whole number for each cell; one cell several times perhaps."""


def spread(cells: npt.NDArray[np.int64], values: Counts, shape: tuple[int, ...]) -> Counts:
    """An array of ``shape`` that holds the sum of ``values`` at each of ``cells``, one row of indices for each."""
    out = np.zeros((prod(shape), *values.shape[1:]), dtype=np.int64)
    at = np.zeros(len(values), dtype=np.int64)
    for i, size in enumerate(shape):
        at = at * size + cells[:, i]
    np.add.at(out, at, values)
    return out.reshape((*shape, *values.shape[1:]))


def in_parts(partitions: Sequence[Partition], cells: npt.NDArray[np.int64], values: Counts) -> Private[Counts]:
    """The sums of ``values``, one or several for each cell, over the parts of cells, of which each has one row of codes
    of the partitions' columns."""
    parts = np.zeros((len(values), len(partitions)), dtype=np.int64)
    start = 0
    for i, p in enumerate(partitions):
        end = start + len(p.columns)
        parts[:, i] = p.labels[tuple(cells[:, start:end].T)]
        start = end
    return private(spread(parts, values, tuple(p.size for p in partitions)))


def private(counts: Counts) -> Private[Counts]:
    counts.setflags(write=False)
    return Private(counts)
