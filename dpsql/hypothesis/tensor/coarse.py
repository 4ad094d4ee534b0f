"""Columns of which parts were measured beside their cells, with other columns, too: dates by the day and the month.

The sum of a part's cells has the noise of all of them, its own measurement that of one number. So parts say how many
rows are in each, and cells how these are inside: both are orthogonal, and shrunken each by what it shows itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpsql.hypothesis.components import Interaction, pure, separable
from dpsql.hypothesis.measurement import Axis, Labels, Measurement
from dpsql.query import Estimates

_TINY = 1e-9


def in_parts(column: str) -> str:
    """The name of a column whose values are the parts of ``column``; no column of a table is called so."""
    return column + "\0parts"


@dataclass(frozen=True, eq=False)
class PartSums:
    """Rows in the parts of a column, ``values`` in counts with noise of sd ``sigma``; ``labels``: each cell's part."""

    column: str
    labels: Labels
    values: Estimates
    sigma: float

    @classmethod
    def measured(cls, m: Measurement) -> "PartSums":
        """What a measurement of one column in parts says."""
        values = m.values.reshape(-1).astype(np.float64)
        return cls(m.scope[0], m.axes[0].labels.reshape(-1), values, m.sigma)

    def told(self, counts: Estimates, variance: float) -> Estimates:
        """Noisy counts of cells, moved evenly within each part to the best linear estimate of its sum: that of w cells
        has variance w v, what was measured of it sigma^2 (generalised least squares; Hay et al. 2010)."""
        width, sums = np.bincount(self.labels), np.bincount(self.labels, weights=counts)
        kept = width * variance / (width * variance + self.sigma**2)
        return np.asarray(counts + (kept * (self.values - sums) / width)[self.labels])


@dataclass(frozen=True, eq=False)
class Coarse:
    """The part of each cell of such columns, by ``in_parts`` names; parts are ranges of neighbouring cells.

    >>> both = Coarse({in_parts("day"): np.array([0, 0, 1])})
    >>> both.sums(np.array([1.0, 2.0, 4.0]), (in_parts("day"),))
    array([3., 4.])
    >>> both.spread(np.array([3.0, 4.0]), (in_parts("day"),))
    array([3., 3., 4.])
    """

    labels: Mapping[str, Labels]

    @classmethod
    def of(cls, measured: Sequence[Measurement]) -> "Coarse":
        """Of each column the parts that were measured first; ``measured``: of one column in parts each."""
        found: dict[str, Labels] = {}
        for m in measured:
            labels = m.axes[0].labels.reshape(-1)
            if bool((np.diff(labels) >= 0).all()):
                found.setdefault(in_parts(m.scope[0]), labels)
        return cls(found)

    @cached_property
    def _starts(self) -> dict[str, Labels]:
        return {name: np.flatnonzero(np.diff(labels, prepend=-1)) for name, labels in self.labels.items()}

    def renamed(self, m: Measurement, most_columns: int) -> Measurement | None:
        """A measurement of these parts, with cells of other columns, as one of cells of columns of parts; ``None`` for
        any other, and where it has too many columns or cells to be taken apart."""
        axes = []
        for axis in m.axes:
            name = in_parts(axis.columns[0])
            if axis.is_cells and len(axis.columns) == 1:
                axes.append(axis)
            elif name in self.labels and np.array_equal(self.labels[name], axis.labels):
                axes.append(Axis.cells((name,), (axis.size,)))
            else:
                return None
        out = replace(m, axes=tuple(axes))
        return out if out.scope != m.scope and separable(out, most_columns) else None

    def is_alone(self, part: Interaction) -> bool:
        """Whether it is of the parts of a single column."""
        return len(part.columns) == 1 and part.columns[0] in self.labels

    def part_sums(self, parts: Sequence[Interaction], total: float) -> list[PartSums]:
        """What these say of the parts of single columns, of ``total`` rows."""
        alone = [(p, p.columns[0]) for p in parts if self.is_alone(p)]
        return [
            PartSums(name.removesuffix(in_parts("")), self.labels[name], p.values + total / p.values.size, p.sigma)
            for p, name in alone
        ]

    def around(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """The columns, those of parts in place of those that have some."""
        return tuple([name if (name := in_parts(c)) in self.labels else c for c in columns])

    def sums(self, table: Estimates, columns: Sequence[str]) -> Estimates:
        """Sums over the parts along each axis whose name is that of a column of parts; other axes stay."""
        for i, name in enumerate(columns):
            if name in self.labels:
                table = np.add.reduceat(table, self._starts[name], axis=i)
        return table

    def spread(self, table: Estimates, columns: Sequence[str]) -> Estimates:
        """The number of each cell's part along these axes."""
        for i, name in enumerate(columns):
            if name in self.labels:
                table = table.take(self.labels[name], axis=i)
        return table

    def inside(self, model: Estimates, part: Interaction) -> Interaction:
        """An interaction of cells that says no more of parts than ``model`` does: only how rows are inside them."""
        around = self.around(part.columns)
        gap = part.values - pure(model)
        cells = self.sums(np.ones(gap.shape), around)
        return replace(part, values=part.values - self.spread(self.sums(gap, around) / cells, around))

    def kept(self, target: Estimates, model: Estimates, columns: tuple[str, ...]) -> Estimates:
        """``target`` with as many rows in each part as ``model`` has, both over the cells of ``columns``."""
        around = self.around(columns)
        times = self.sums(model, around) / np.maximum(self.sums(target, around), _TINY)
        return target * self.spread(times, around)
