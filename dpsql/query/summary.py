"""What aggregates that are no sums ask for, group by group: a few sums, or the counts of values. Public.

A median is no linear query and neither is a variance; functions of the answers to some they are. The test and the
ledger only ever see these.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from dpsql.domain import Value
from dpsql.query.distinct import DistinctCount
from dpsql.query.form import Form

MomentsKind = Literal[
    "var_pop", "var_samp", "stddev_pop", "stddev_samp", "sem", "corr", "covar_pop", "covar_samp", "regr_intercept",
    "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "skewness", "kurtosis", "kurtosis_pop",
]  # fmt: skip
CellsKind = Literal[
    "min", "max", "distinct", "sum_distinct", "quantile_cont", "quantile_disc", "mode", "histogram", "approx_top_k",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Moments:
    """A function of sums, for every group: of 1, x, x^2, for higher moments of x^3 and x^4 as well, and for two
    arguments (y, x) of 1, y, y^2, x, x^2, xy.

    ``centers``: what was taken from each argument before. ``column``: the number column that the argument is, where it
    is nothing else and alone.
    """

    kind: MomentsKind
    centers: tuple[float, ...]
    sums: tuple[tuple[Form, ...], ...]
    column: str | None = None

    def forms(self, group: int) -> tuple[Form, ...]:
        return self.sums[group]


class Cell(NamedTuple):
    """Values of an expression from ``low`` to ``high``, mostly one, and the number of rows that have them."""

    low: Value
    high: Value
    rows: Form


LISTS: frozenset[CellsKind] = frozenset({"histogram", "approx_top_k"})
"""Summaries that are several values at once."""


@dataclass(frozen=True, eq=False)
class Cells:
    """A function of the counts of an expression's values, for every group in ascending order. NULL is none of them.

    ``level``: of a quantile; of ``approx_top_k`` how many values. ``name``: the aggregate, as a note names it.
    """

    kind: CellsKind
    level: float
    cells: tuple[tuple[Cell, ...], ...]
    name: str

    def forms(self, group: int) -> tuple[Form, ...]:
        return tuple([c.rows for c in self.cells[group]])


@dataclass(frozen=True, eq=False)
class Distinct:
    """Counts of different values, one for every group; ``None`` where publicly no row is. No two groups share rows."""

    counts: tuple[DistinctCount | None, ...]

    def forms(self, group: int) -> tuple[Form, ...]:
        """None: it is no function of sums."""
        return ()
