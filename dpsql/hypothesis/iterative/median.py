"""The median mechanism: Gupta, Roth, Ullman 2011, Algorithm 4, after Roth and Roughgarden 2010. Public.

A collection of candidate databases, of which every update removes at least half. Where they are few they are listed;
where they are many they are sampled: fractional databases, evenly from those that all updates leave (Roth and
Roughgarden's efficient form), and every answer is then a sample's median.
"""

from math import ceil, lgamma, log, log2

import numpy as np

from dpsql.domain import TableDomain
from dpsql.hypothesis.iterative.updated import Updated
from dpsql.hypothesis.iterative.weights import over_cells
from dpsql.hypothesis.measurement import Measurement
from dpsql.hypothesis.projection import marginal
from dpsql.hypothesis.protocol import check_finite
from dpsql.query import Estimates, LinearQuery

MOST_LISTED = 1 << 17
"""Candidates that are listed; beyond, they are sampled."""
MOST_CELLS = 256
"""Of a universe: sampling takes time in proportion to its square, and says less the larger it is."""
CHAINS = 400
"""Candidates in a sample: the median of an answer is known to a twentieth of the candidates' spread."""
SWEEPS = 2.0
"""Moves between two samples, times |X| log2 |X|: exchanges between two cells mix in about so many."""


def candidate_rows(row_count: float, alpha: float, planned: int) -> int:
    """Rows of each candidate: n^2 ln k / alpha^2, at least 1 (Algorithm 4; Claim A.3).

    >>> candidate_rows(1000.0, 100.0, 1000)  # 100 ln 1000
    691
    """
    return max(1, ceil(row_count**2 * log(max(planned, 2)) / alpha**2))


def update_bound(table: TableDomain, row_count: float, alpha: float, planned: int) -> float:
    """B(alpha) = n^2 log2|X| ln k / alpha^2 (Theorem A.2): so often can |X|^(n^2 ln k / alpha^2) be halved.

    The logarithm of |X| is to base 2, because it counts halvings; that of k is the natural one of Claim A.3.
    """
    return row_count**2 * log2(max(table.cells, 2)) * log(max(planned, 2)) / alpha**2


class Median(Updated):
    """``candidates``: shares of the rows, float64 of shape (candidates, |X|). ``sampled``: whether they are a sample.

    Candidates are those that no update has removed; a sample has as many after an update as before.
    """

    bound = staticmethod(update_bound)

    def __init__(self, table: TableDomain, row_count: float, alpha: float, planned: int) -> None:
        super().__init__(table, row_count, alpha, planned)
        self._columns = tuple(c.name for c in table.finite)
        rows = candidate_rows(self.row_count, self.alpha, self.planned)
        self.sampled = _log_number(rows, table.cells) > log(MOST_LISTED)
        self.candidates = _evenly(table.cells) if self.sampled else _compositions(rows, table.cells) / rows
        self._walls: list[tuple[Estimates, float]] = []

    @property
    def remark(self) -> str | None:
        """Whether candidates are listed or sampled."""
        if self.sampled:
            return f"its candidate tables are too many to list: each answer is the median of {CHAINS} sampled ones"
        return f"{len(self.candidates):,} candidate tables are left"

    def absorb(self, measurement: Measurement) -> None:
        """As all constructions; InternalError for text columns, which have no cells."""
        check_finite(measurement)
        super().absorb(measurement)

    def answer(self, query: LinearQuery) -> float:
        """The median of the candidates' answers, in counts (Definition A.1)."""
        return float(np.median(self._answers(query))) * self.row_count

    def _answers(self, query: LinearQuery) -> Estimates:
        found = self.candidates @ self._flat(query)
        return np.asarray(found, dtype=np.float64)

    def _flat(self, query: LinearQuery) -> Estimates:
        shape = self.table.shape(self._columns)
        return np.ascontiguousarray(np.broadcast_to(over_cells(query, self.table), shape)).reshape(-1)

    def contingency(self, columns: tuple[str, ...]) -> Estimates:
        """The mean of the candidates, which is a table where their medians are none; sums to ``row_count``."""
        mean = self.candidates.mean(axis=0).reshape(self.table.shape(self._columns))
        out = np.asarray(marginal(mean, self._columns, columns) * self.row_count, dtype=np.float64)
        out.setflags(write=False)
        return out

    def update(self, query: LinearQuery, released: float) -> None:
        """Algorithm 4: remove candidates at the median and on the far side of it from the released answer.

        Answers that contradict each other would remove all: the collection then stays as it is.
        """
        answers, here = self._answers(query), self.answer(query) / self.row_count
        sign = 1.0 if released < here * self.row_count else -1.0
        if released == here * self.row_count:
            return
        kept = self.candidates[sign * answers < sign * here]
        if len(kept) == 0:
            return
        if self.sampled:
            self._walls.append((sign * self._flat(query), sign * here))
            kept = _resampled(kept, self._walls)
        self.candidates = kept


def _log_number(rows: int, cells: int) -> float:
    """ln of the number of databases with so many rows: (rows + cells - 1) choose rows."""
    return lgamma(rows + cells) - lgamma(rows + 1) - lgamma(cells)


def _compositions(rows: int, cells: int) -> Estimates:
    """All databases of so many rows, one per line.

    >>> _compositions(2, 2).tolist()
    [[0.0, 2.0], [1.0, 1.0], [2.0, 0.0]]
    """
    left, columns = np.array([rows], dtype=np.int64), list[np.ndarray]()
    for _ in range(cells - 1):
        again = np.repeat(np.arange(len(left)), left + 1)
        starts = np.cumsum(left + 1) - (left + 1)
        here = np.arange(len(again)) - starts[again]
        columns = [*(c[again] for c in columns), here]
        left = left[again] - here
    return np.stack([*columns, left], axis=1).astype(np.float64)


def _evenly(cells: int) -> Estimates:
    """A sample of all fractional databases: even on the simplex."""
    return np.random.default_rng(cells).dirichlet(np.ones(cells), size=CHAINS)


def _resampled(kept: Estimates, walls: list[tuple[Estimates, float]]) -> Estimates:
    """A sample of as many candidates within all walls (weights . x < limit), begun at those that an update left.

    Each move exchanges rows between two cells, evenly over what the walls allow: the even law is stationary. Seeded by
    the number of walls, so that a replay draws the same.
    """
    rng, cells = np.random.default_rng([len(walls), kept.shape[1]]), kept.shape[1]
    points = kept[rng.integers(0, len(kept), CHAINS)]
    weights, limits = np.stack([w for w, _ in walls]), np.array([limit for _, limit in walls])
    room = limits - points @ weights.T
    for _ in range(ceil(SWEEPS * cells * log2(max(cells, 2)))):
        i, j = rng.choice(cells, 2, replace=False)
        slope = weights[:, i] - weights[:, j]
        low, high = -points[:, i], points[:, j].copy()
        rising, falling = slope > 0, slope < 0
        if rising.any():
            high = np.minimum(high, (room[:, rising] / slope[rising]).min(axis=1))
        if falling.any():
            low = np.maximum(low, (room[:, falling] / slope[falling]).max(axis=1))
        step = low + (high - low) * rng.random(CHAINS)
        step = np.where(high > low, step, 0.0)
        points[:, i] += step
        points[:, j] -= step
        room -= np.multiply.outer(step, slope)
    return np.maximum(points, 0.0)
