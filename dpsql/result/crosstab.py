"""Answers to the questions of one crosstab, kept as arrays: thousands of groups are one value from model to table.

All of them are counts of one kind and source; what differs is the number and its error. Each is made an ``Answer``
when somebody looks at it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import overload

import numpy as np
import numpy.typing as npt

from dpsql.confidence import least_end
from dpsql.result.answer import Answer, ErrorKind, Source


@dataclass(frozen=True, eq=False)
class CrosstabAnswers(Sequence[Answer]):
    """Free answers in counts, in the order of a crosstab's queries. All public.

    ``values``: int64, shape (queries,). ``errors``: float64 of the same shape, half-widths of 95 % intervals in counts,
    NaN where nothing is known. ``certified_bound``: of all of them, in counts; ``None`` where nothing is certified.
    Intervals end at 0. ``cut``: counts below 0 are shown as 0, their intervals as they were released, and at least to
    ``LEAST_END``. ``most``: how many rows there may be; counts that are shown and their intervals are cut at that.

    >>> found = CrosstabAnswers(np.array([3, -2]), np.array([5.0, 6.0]), "calibrated", "hypothesis").shown()
    >>> [(a.value, a.interval) for a in found]
    [(3, (0.0, 8.0)), (0, (0.0, 4.0))]
    """

    values: npt.NDArray[np.int64]
    errors: npt.NDArray[np.float64]
    error_kind: ErrorKind
    source: Source
    certified_bound: float | None = None
    cut: bool = False
    most: int | None = None

    def shown(self, most: int | None = None) -> "CrosstabAnswers":
        """The counts as they are shown: 0 where they are below, and no more than the rows that there may be."""
        return replace(self, cut=True, most=most)

    @property
    def numbers(self) -> npt.NDArray[np.int64]:
        """What stands in the table for each."""
        found = np.maximum(self.values, 0) if self.cut else self.values
        return found if self.most is None else np.minimum(found, self.most)

    def near_zero(self) -> npt.NDArray[np.bool_]:
        """Which counts are within their error of no row at all."""
        return np.asarray(self.values <= self.errors)

    def among(self, places: npt.NDArray[np.int64]) -> "CrosstabAnswers":
        """Some of the answers, by place."""
        return replace(self, values=self.values[places], errors=self.errors[places])

    @overload
    def __getitem__(self, at: int) -> Answer: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Answer, ...]: ...
    def __getitem__(self, at: int | slice) -> Answer | tuple[Answer, ...]:
        if isinstance(at, slice):
            return tuple(replace(self, values=self.values[at], errors=self.errors[at]))
        return self._answer(int(self.values[at]), float(self.errors[at]))

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Answer]:
        return map(self._answer, self.values.tolist(), self.errors.tolist())

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, (tuple, CrosstabAnswers)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def _answer(self, value: int, error: float) -> Answer:
        bound = self.certified_bound
        shown, end = max(0, value) if self.cut else value, inf if self.most is None else float(self.most)
        shown = int(min(shown, end))
        if error != error:  # NaN: nothing is known
            return Answer(shown, None, None, self.error_kind, self.source, bound is not None, bound)
        high = value + error
        if self.cut and value < 0 and error:
            high = max(high, least_end(error, whole=True))
        interval = (min(float(max(0, value - error)), end), min(float(max(0, high)), end))
        return Answer(shown, error, interval, self.error_kind, self.source, bound is not None, bound)
