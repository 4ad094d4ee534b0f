"""Where the rows of a number column stand inside its bins, and so what a sum of values is as a weighted count. Public.

A model knows how many rows a bin has. The mean of their positions in it, measured once for all rows, makes a sum of any
group of rows a weighted count of that group: what remains is how far the group's own mean in a bin is from the table's.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from dpsql.domain import FIXED_POINT, NumberDomain, TableDomain
from dpsql.errors import InternalError
from dpsql.hypothesis.measurement import Measurement
from dpsql.query import Estimates, Factor, LinearQuery, Weights, linear_query

PRIOR_SD = 0.2
"""Of a bin's mean position around its middle, before anything is measured."""
SHIFT = 0.1
"""A group's mean position in a bin may be so far from the table's, in the same direction in all bins."""
_SPREAD = 0.29
"""Sd of one row's position in a bin, evenly spread (1 / sqrt(12))."""


@dataclass(frozen=True, eq=False)
class Positions:
    """The mean position of each bin's rows, and its sd: float64, (bins,), in shares of the bin."""

    domain: NumberDomain
    mean: Estimates
    sd: Estimates

    @classmethod
    def of(
        cls, domain: NumberDomain, rows: Estimates | None = None, measured: Measurement | None = None
    ) -> "Positions":
        """From the estimated ``rows`` of each bin and the measured sums of their positions; the middle without these.

        The mean of a normal prior around the middle and one normal observation, cut at the ends.
        """
        bins = len(domain.edges) - 1
        if rows is None or measured is None:
            return cls(domain, np.full(bins, 0.5), np.full(bins, PRIOR_SD))
        n = np.maximum(rows[:bins], 0.0)
        precision = 1.0 / PRIOR_SD**2 + (n / measured.sigma) ** 2
        mean = (0.5 / PRIOR_SD**2 + n * measured.values[:bins] / measured.sigma**2) / precision
        return cls(domain, np.clip(mean, 0.0, 1.0), 1.0 / np.sqrt(precision))

    def _parts(self) -> tuple[Estimates, Estimates]:
        """Lower edge and width of each bin, as shares of the range from min to max."""
        edges = np.array(self.domain.edges) * 0.5
        shares = (edges - edges[0]) / (edges[-1] - edges[0])
        return shares[:-1], np.diff(shares)

    def by_cells(self, table: TableDomain, query: LinearQuery) -> LinearQuery:
        """A sum of values as a weighted count: each row counts as its bin's mean does."""
        low, width = self._parts()
        return self._weighted(table, query, low + width * self.mean)

    def _weighted(self, table: TableDomain, query: LinearQuery, of_bin: Estimates) -> LinearQuery:
        weights: Weights = np.zeros(self.domain.size, dtype=np.int64)
        weights[: len(of_bin)] = np.rint(np.clip(of_bin, 0.0, 1.0) * FIXED_POINT)
        name, factors = self.domain.name, []
        for f in query.factors:
            if name in f.columns:
                along = [-1 if c == name else 1 for c in f.columns]
                f, weights = Factor(f.columns, f.weights * weights.reshape(along), FIXED_POINT), np.zeros(0, np.int64)
            factors.append(f)
        if weights.size:
            factors.append(Factor((name,), weights, FIXED_POINT))
        found = linear_query(table, factors)
        if found is None:
            raise InternalError("a sum over no rows")
        return found

    def queries(self, table: TableDomain, query: LinearQuery) -> tuple[LinearQuery, LinearQuery]:
        """Weighted counts of ``query``'s rows by the width of their bin, and by its square, as shares of the range."""
        _, width = self._parts()
        return self._weighted(table, query, width), self._weighted(table, query, width**2)

    def error(self, widths: float, squares: float, share: float, rows: Estimates) -> tuple[float, float]:
        """What is unknown of a sum beside the counts, in rows: (sd, shift). ``share``: of the table's rows.

        ``widths``, ``squares``: the answers to :meth:`queries`; ``rows``: of each bin.
        """
        _, width = self._parts()
        bins = len(width)
        of_means = share * sqrt(float(((np.maximum(rows[:bins], 0.0) * width * self.sd) ** 2).sum()))
        return sqrt(of_means**2 + _SPREAD**2 * max(squares, 0.0)), SHIFT * max(widths, 0.0)
