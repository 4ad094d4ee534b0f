"""Errors foreseen before any data are touched: noise alone, from domain sizes and the plan's precision. Public.

What the model's form cannot express is not in it, and of what shrinkage gains only the coarsest part: both depend on
the rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import ceil, hypot, inf, prod, sqrt
from statistics import mean, median

import numpy as np

from dpsql.confidence import DEVIATIONS
from dpsql.domain import NumberDomain, TableDomain
from dpsql.hypothesis import LEAST_CELL
from dpsql.hypothesis.components import pure_variance
from dpsql.planning.contingencies import (
    MOST_COLUMNS,
    ONE_WAY_SHARE,
    PlannedContingency,
    is_narrow,
    planned_contingencies,
    pure_precisions,
)
from dpsql.query import LinearQuery

OWN_MARGIN = 0.8
"""Questions get noise of their own where its sd is at most this share of the sd foreseen for the model's answers:
these are foreseen without shrinkage, which only helps them."""
NOMINAL_ROWS = 100_000.0
"""Stands for the number of rows where none is known: it says how finely a contingency can be resolved."""
CUT_BIN = 0.045
"""Sd of a condition that cuts bins of a number column, in shares of the rows of one of CUT_BINS, or of as many as there
are, if all have equally many: what lies at round numbers in coarser bins stands out of its noise."""
CUT_BINS = 50
CUT_TIMES = 5.0
"""That sd in typical ones at most: where there is little noise, all that lies at round numbers stands out."""
_QUARTER = 4.0
_SAMPLED_COLUMNS = 10


def own_noise_is_better(own_sd: float, model_sd: float) -> bool:
    """Whether noise for each question alone beats a table's model, by what is foreseen (both in counts)."""
    return own_sd <= OWN_MARGIN * model_sd


def half_width(sd: float) -> int:
    """The 95 % half-width that is shown for an sd, in counts, at least 1."""
    return max(1, ceil(DEVIATIONS * sd))


@dataclass(frozen=True)
class Part:
    """What a query takes of ``columns``: ``used``, the sum of its squared weights over their cells; ``mean_weight``,
    between 0 and 1."""

    columns: tuple[str, ...]
    used: float
    mean_weight: float


class Forecast:
    """Sds of one table's answers, from what its warm start measures.

    ``precision``: the sum of 1/sigma^2, sigma in counts; ``differences``, ``beside``, ``triples`` and
    ``calendar`` as in ``planned_contingencies``. A contingency over k columns counts as if cut into at most
    (rows / (.75 sd))^(1/k) parts of each, as the pairs of wide tables are; shrinkage does about the same elsewhere.

    >>> from dpsql.domain import BooleanDomain
    >>> t = TableDomain("t", tuple(BooleanDomain(c, nullable=False) for c in "ab"))
    >>> round(Forecast(t, 0.01).typical_sd, 1)  # measured cell by cell: one cell, or two cells of one column
    12.1
    """

    def __init__(
        self,
        table: TableDomain,
        precision: float,
        row_count: float = NOMINAL_ROWS,
        *,
        differences: bool = False,
        beside: bool = True,
        triples: bool = True,
        calendar: bool = True,
    ) -> None:
        chosen = planned_contingencies(
            table,
            row_count,
            precision,
            differences=differences,
            calendar=calendar,
            beside=beside,
            triples=triples,
            calendar_pairs=False,  # what these leave to cells they say of long ranges themselves
        )
        # over few parts three columns say what pairs leave open, which is no noise
        coarse = not is_narrow(table)
        self.planned = _with_pairs(table, tuple(p for p in chosen if not coarse or len(p.columns) < 3))
        self._sizes = {c.name: c.size for c in table.varied}
        differs = any(p.differences for p in self.planned)
        self._known = pure_precisions(self.planned, self._sizes) if differs else {}
        self._unit = 1.0 / sqrt(precision)
        numbers = [c for c in table.varied if isinstance(c, NumberDomain) and c.reading == "value"]
        self._inside = [CUT_BIN * row_count / max(CUT_BINS, len(c.edges) - 1) for c in numbers]
        self._most_parts: dict[int, float] = {}
        for p in self.planned:  # those over equally many columns have equal shares
            number = len(p.columns)
            cells = row_count / (LEAST_CELL * p.sigma(precision))
            self._most_parts.setdefault(number, max(2.0, cells ** (1.0 / number)))
        self._precisions: dict[tuple[frozenset[str], int], float] = {}

    def query_sd(self, query: LinearQuery) -> float:
        """Sd (counts) foreseen for the model's answer to a query on finite columns; 0 for one without factors."""
        parts = []
        for f in query.factors:
            weights = f.weights.astype(np.float64) / f.unit
            parts.append(Part(f.columns, float((weights * weights).sum()), float(weights.mean())))
        return self._sd(parts) * self._unit

    @cached_property
    def typical_sd(self) -> float:
        """Sd (counts) of a typical answer: the median over 1 to 4 columns, one value or a quarter of each."""
        found = []
        for quarter in (False, True):
            parts = [self._typical_part(n, quarter=quarter) for n in _sample(self._sizes)]
            for number in range(1, min(MOST_COLUMNS, len(parts)) + 1):
                found.append(mean(self._sd(asked) for asked in combinations(parts, number)))
        return median(found) * self._unit

    @cached_property
    def cutting_sd(self) -> float:
        """Sd (counts) of a typical answer where conditions cut bins of numbers: beside ``typical_sd`` what is unknown
        inside these, the mean of a condition that stands alone and one beside a quarter of another column."""
        inside = min(mean(self._inside), CUT_TIMES * self.typical_sd) if self._inside else 0.0
        return hypot(self.typical_sd, inside * (1.0 + 1.0 / _QUARTER) / 2.0)

    def _typical_part(self, name: str, *, quarter: bool) -> Part:
        size = self._sizes[name]
        used = max(1.0, size / _QUARTER) if quarter else 1.0
        return Part((name,), used, used / size)

    def _sd(self, parts: Sequence[Part]) -> float:
        """In units of a single count's sd for the whole precision.

        With differences by least squares, interactions of three columns left out where the fit would shrink them. Else
        the smaller of two: what contingencies over all the columns say; and what they say of each two parts, scaled by
        the share of the other parts (cells taken to weigh the same), as local models do (``Coverage.noise``).
        """
        if self._known:
            single = _split(parts) if any(len(p.columns) > 1 for p in parts) else parts
            asked = {p.columns[0]: (p.used, p.mean_weight) for p in single}
            return sqrt(min(pure_variance(asked, self._known, self._sizes, most) for most in (2, MOST_COLUMNS)))
        direct = self._direct(parts)
        if direct < inf and len(parts) <= 2:
            return direct
        if any(len(p.columns) > 1 for p in parts):
            return min(direct, self._sd(_split(parts)))
        squares = 0.0
        for two in combinations(parts, 2):
            others = prod(p.mean_weight for p in parts if p not in two)
            squares += (self._direct(two) * others) ** 2
        return min(direct, sqrt(squares))

    def _direct(self, parts: Sequence[Part]) -> float:
        """From the contingencies that hold all columns, taken as independent and weighted by precision."""
        if not parts:
            return 0.0
        columns, precision = frozenset(c for p in parts for c in p.columns), 0.0
        for number in self._most_parts:
            if len(columns) <= number:
                used = prod(self._used(p, number) for p in parts)
                precision += self._precision(columns, number) / max(used, 1e-300)
        return inf if precision == 0.0 else 1.0 / sqrt(precision)

    def _used(self, part: Part, number: int) -> float:
        """What a query takes, in parts of contingencies over ``number`` columns; a piece of one counts wholly."""
        coarser = prod(min(1.0, self._most_parts[number] / self._sizes.get(c, 1)) for c in part.columns)
        return max(min(part.used, 1.0), part.used * coarser)

    def _precision(self, columns: frozenset[str], number: int) -> float:
        """Of one part over ``columns``, summed over the contingencies over ``number`` columns that hold them."""
        known = self._precisions.get((columns, number))
        if known is None:
            most = self._most_parts[number]
            holding = (p for p in self.planned if len(p.columns) == number and columns.issubset(p.columns))
            known = sum(
                p.share / prod(min(most, self._sizes[c]) for c in p.columns if c not in columns) for p in holding
            )
            self._precisions[columns, number] = known
        return known


def _with_pairs(table: TableDomain, planned: tuple[PlannedContingency, ...]) -> tuple[PlannedContingency, ...]:
    """What the warm start measures; pairs that wait for a question to touch them count with even shares."""
    names = [c.name for c in table.varied]
    if len(names) < 2 or any(len(p.columns) > 1 for p in planned):
        return planned
    pairs = list(combinations(names, 2))
    return (*planned, *(PlannedContingency(p, (1.0 - ONE_WAY_SHARE) / len(pairs)) for p in pairs))


def _sample(sizes: Mapping[str, int]) -> list[str]:
    """At most ten columns that stand for all, evenly by size."""
    names = sorted(sizes, key=lambda n: sizes[n])
    if len(names) <= _SAMPLED_COLUMNS:
        return names
    step = (len(names) - 1) / (_SAMPLED_COLUMNS - 1)
    return [names[round(i * step)] for i in range(_SAMPLED_COLUMNS)]


def _split(parts: Sequence[Part]) -> list[Part]:
    """Parts over one column each: a condition on several columns taken as a product of equal conditions."""
    out = []
    for p in parts:
        root = 1.0 / len(p.columns)
        out += [Part((c,), p.used**root, p.mean_weight**root) for c in p.columns]
    return out
