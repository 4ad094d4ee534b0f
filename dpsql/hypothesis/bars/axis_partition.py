"""The partitions of columns that measurements use, each known once. Public.

Many contingencies have the same parts of a column: what a condition spreads over them is worked out for all at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpsql.hypothesis.measurement import Measurement
from dpsql.query import Estimates


@dataclass(frozen=True, eq=False)
class Partition:
    """A partition of a column's cells that measurements use: ``widths`` are the cells of each part."""

    number: int
    widths: Estimates


def partitions_of(measurements: Sequence[Measurement]) -> dict[int, Partition]:
    """The partition of every axis, by the axis' identity (measurements keep them alive); equal ones are one."""
    known: dict[tuple[str, bytes], Partition] = {}
    out: dict[int, Partition] = {}
    for axis in (a for m in measurements for a in m.axes):
        key = (axis.columns[0], axis.labels.tobytes())
        if key not in known:
            widths = np.bincount(axis.labels, minlength=axis.size).astype(np.float64)
            known[key] = Partition(len(known), widths)
        out[id(axis)] = known[key]
    return out
