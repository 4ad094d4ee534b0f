"""Which values of its columns a query tells apart: a condition over any columns becomes a small table. Public.

Most conditions know two classes of a column's values, in and out. A model of the classes alone has few cells, and pairs
of columns are known on them as exactly as on any others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from dpsql.hypothesis.measurement import Labels
from dpsql.query import Estimates, Factor, LinearQuery

MOST_BOXES = 64
"""A condition that falls into more disjoint conjunctions is not written as a sum of them."""
Flags = npt.NDArray[np.bool_]
Box = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class Classes:
    """For each of ``columns`` the class of every value (``labels``, numbered from 0); ``weights``, in [0, 1], has one
    axis for each column and says what a row of such classes counts."""

    columns: tuple[str, ...]
    labels: tuple[Labels, ...]
    weights: Estimates

    @classmethod
    def of(cls, factors: Sequence[Factor], most: int) -> "Classes | None":
        """The classes of a product of factors over disjoint columns; ``None`` where there are more than ``most`` cells.

        >>> either = Factor(("a", "b"), np.array([[1, 1, 1], [1, 0, 0]]))
        >>> Classes.of([either], 10).weights.tolist()
        [[1.0, 1.0], [1.0, 0.0]]
        """
        columns: list[str] = []
        labels: list[Labels] = []
        weights = np.ones(())
        for f in factors:
            own = [_told_apart(f.weights, axis) for axis in range(f.weights.ndim)]
            if weights.size * prod(len(first) for _, first in own) > most:
                return None
            few = f.weights[np.ix_(*(first for _, first in own))] / f.unit
            weights = np.multiply.outer(weights, few)
            columns += f.columns
            labels += [found for found, _ in own]
        return cls(tuple(columns), tuple(labels), weights)

    def in_order(self, columns: Sequence[str]) -> "Classes":
        """The same with its columns in this order."""
        order = [self.columns.index(c) for c in columns]
        return Classes(tuple(columns), tuple(self.labels[i] for i in order), self.weights.transpose(order))

    def conjunctions(self, table: str) -> tuple[bool, list[LinearQuery]] | None:
        """Disjoint conjunctions that make up the rows that count, or (with ``True``) those that do not.

        The fewer of the two; ``None`` where rows count by fractions, or more than MOST_BOXES are needed.
        """
        inside = self.weights > 0.0
        if (self.weights[inside] < 1.0).any():
            return None
        own, others = boxes(inside), boxes(~inside)
        outside = others is not None and (own is None or len(others) < len(own))
        chosen = others if outside else own
        return None if chosen is None else (outside, [self._conjunction(table, box) for box in chosen])

    def _conjunction(self, table: str, box: Box) -> LinearQuery:
        factors = []
        for column, labels, kept in zip(self.columns, self.labels, box, strict=True):
            weights = np.isin(labels, kept).astype(np.int64)
            if not weights.all():
                factors.append(Factor((column,), weights))
        return LinearQuery(table, tuple(factors))


def _told_apart(weights: npt.NDArray[np.int64], axis: int) -> tuple[Labels, npt.NDArray[np.intp]]:
    """The class of each value along ``axis``, and the first value of each class."""
    rows = np.ascontiguousarray(np.moveaxis(weights, axis, 0)).reshape(weights.shape[axis], -1)
    known: dict[bytes, int] = {}
    labels = np.array([known.setdefault(row.tobytes(), len(known)) for row in rows], dtype=np.int64)
    return labels, np.unique(labels, return_index=True)[1]


def boxes(inside: Flags, most: int = MOST_BOXES) -> list[Box] | None:
    """Disjoint products of classes that cover ``inside`` and nothing else, each grown from a cell; ``None`` above
    ``most``.

    >>> boxes(np.array([[True, True], [True, False]]))
    [((0, 1), (0,)), ((0,), (1,))]
    """
    left = inside.copy()
    out: list[Box] = []
    while left.any():
        if len(out) == most:
            return None
        cell = np.unravel_index(int(np.argmax(left)), left.shape)
        box: list[tuple[int, ...]] = [(int(i),) for i in cell]
        for axis, size in enumerate(left.shape):
            grown = [i for i in range(size) if left[np.ix_(*box[:axis], (i,), *box[axis + 1 :])].all()]
            box[axis] = tuple(grown)
        left[np.ix_(*box)] = False
        out.append(tuple(box))
    return out
