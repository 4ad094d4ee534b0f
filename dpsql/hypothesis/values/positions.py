"""Where the rows of a number column stand inside its bins, as a first look tells. Public.

A model knows how many rows a bin has. The mean of their positions in it, measured once for all rows, makes a sum of any
group of rows a weighted count of that group: what remains is how far the group's own mean in a bin is from the table's.
Counts at and between round numbers also tell which share of a bin a condition takes that cuts it.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from dpsql.domain import NumberDomain
from dpsql.hypothesis.measurement import Measurement
from dpsql.hypothesis.values.marked_cells import MarkedCells
from dpsql.query import Estimates

PRIOR_SD = 0.2
"""Of a bin's mean position around its middle, before anything is measured."""
SHIFT = 0.1
"""A group's mean position in a bin may be so far from the table's, in the same direction in all bins."""
GROUP_SHIFT = 0.05
"""Sd of the same, of a small group's; one of all rows has none."""
SPREAD = 0.29
"""Sd of one row's position in a bin, evenly spread (1 / sqrt(12)), and of a place between two round numbers."""


@dataclass(frozen=True, eq=False)
class Positions:
    """The mean position of each bin's rows, its sd (float64, (bins,), in shares of the bin), and their ``cells``."""

    domain: NumberDomain
    mean: Estimates
    sd: Estimates
    cells: MarkedCells
    counted: bool = False
    """Whether they are counts at and between round numbers."""

    @classmethod
    def of(
        cls, domain: NumberDomain, rows: Estimates | None = None, measured: Measurement | None = None
    ) -> "Positions":
        """From the estimated ``rows`` of each bin and the measured sums of their positions; the middle without these.

        The mean of a normal prior around the middle and one normal observation, cut at the ends.
        """
        bins, cells = len(domain.edges) - 1, MarkedCells.of(domain)
        if rows is None or measured is None:
            return cls(domain, np.full(bins, 0.5), np.full(bins, PRIOR_SD), cells)
        n = np.maximum(rows[:bins], 0.0)
        precision = 1.0 / PRIOR_SD**2 + (n / measured.sigma) ** 2
        mean = (0.5 / PRIOR_SD**2 + n * measured.values[:bins] / measured.sigma**2) / precision
        return cls(domain, np.clip(mean, 0.0, 1.0), 1.0 / np.sqrt(precision), cells)

    @classmethod
    def of_values(
        cls,
        domain: NumberDomain,
        rows: Estimates,
        counted: Measurement,
        *,
        possible: bool = True,
        hidden: bool = True,
        together: bool = True,
        nested: bool = True,
    ) -> "Positions":
        """From counts at and between round numbers. ``possible``, ``hidden``, ``together``, ``nested``: as in
        ``MarkedCells``."""
        known_by = {"possible": possible, "hidden": hidden, "together": together, "nested": nested}
        cells = MarkedCells.of(domain, rows, counted, **known_by)
        return cls(domain, np.clip(cells.mean, 0.0, 1.0), cells.mean_sd, cells, True)

    @property
    def low(self) -> Estimates:
        """The lower edge of each bin, in shares of the range from min to max."""
        return self._parts()[0]

    @property
    def width(self) -> Estimates:
        """Of each bin, in the same."""
        return self._parts()[1]

    def _parts(self) -> tuple[Estimates, Estimates]:
        edges = np.array(self.domain.edges) * 0.5
        shares = (edges - edges[0]) / (edges[-1] - edges[0])
        return shares[:-1], np.diff(shares)

    def error(
        self, of_means: float, widths: float, squares: float, share: float, loose: float = 0.0
    ) -> tuple[float, float]:
        """What is unknown of a sum beside the counts, in rows: (sd, shift). ``of_means``: the sd that the noise of the
        mean positions gives it; ``share``: of the rows of the bins that are summed.

        ``widths``, ``squares``: the rows that are summed, each times the width of its bin, and times its square.
        ``loose``: the rows times ``MarkedCells.loose`` and the width of their bin: what crowds
        between round numbers does so at the same place in all bins.
        """
        of_rows = SPREAD**2 * max(squares, 0.0)
        if not self.counted:
            return sqrt(of_means**2 + of_rows), SHIFT * max(widths, 0.0)
        others = 1.0 - share
        of_group = GROUP_SHIFT * others * max(widths, 0.0)
        return sqrt(of_means**2 + of_rows * others + of_group**2 + (SPREAD * max(loose, 0.0)) ** 2), 0.0
