"""What released estimates leave open of some questions: a query of small sensitivity, and the estimates beside it.

Its parts, weights and sensitivity are worked out from public numbers before anything is drawn, in whole numbers: a
question is ``scale`` times itself, the known counts have whole coefficients, and the rest is exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, prod, sqrt

import numpy as np

from dpsql.first import Bench
from dpsql.hypothesis import Axis, Measurement
from dpsql.planning.measured_axes import MOST_PARTS, own_axes
from dpsql.private import Private
from dpsql.query import Counts, Estimates, Factor, LinearQuery
from dpsql.session.own.by_value.stretch import Stretch
from dpsql.session.own.cells import Cells, Known
from dpsql.session.own.least_change import least_change
from dpsql.session.own.variance_function import VarianceFunction
from dpsql.session.own.weighing import weighed

SCALE = 1 << 12
"""Of coefficients: what rounding them costs is 1/4096 of a count's noise."""
COARSE_SCALE = 1 << 6
"""The same where rows count by fractions, which have up to 24 bits of their own: sums over 10^9 rows fit in 63."""
MOST_KNOWN = 96
"""Known counts that a question is said in."""
DEGREE = 2
"""Local models know columns and pairs of columns."""


@dataclass(frozen=True, eq=False)
class Found:
    """Of queries over so many ``columns``, ``fractional`` where rows count other than 0 or 1: what was ``measured``
    with ``noise``, of which ``known_sd`` is that of estimates, and what the model said with bars that make
    ``modelled_sd``; float64, one for each query, in counts.
    """

    columns: int
    fractional: bool
    measured: Estimates
    noise: Estimates
    known_sd: Estimates
    modelled: Estimates
    modelled_sd: Estimates

    def answers(
        self, *, mixed: bool = False, variance: VarianceFunction | None = None, times: float = 1.0
    ) -> list[tuple[float, float]]:
        """Estimate and sd, in counts, of each query; ``mixed``: as in ``weighed``, where the model says anything;
        ``variance``: what others say of how far it is off; ``times``: as in ``lessons``."""
        if variance is not None and self.is_lesson:
            return [self._beside(variance, times)]
        if len(self.measured) > 1 and not np.isfinite(self.modelled_sd).any():
            return list(zip(self.measured.tolist(), self.noise.tolist(), strict=True))
        both = weighed(self.measured, self.noise, self.modelled, self.modelled_sd, shared=self.known_sd, mixed=mixed)
        return list(zip(*(a.tolist() for a in both), strict=True))

    def _beside(self, variance: VarianceFunction, times: float) -> tuple[float, float]:
        """Estimate and sd of one query by what the model is off by beside what both share."""
        ((far, noise, bar, own),) = self.lessons(times, own=True)
        weight, left = variance.weighed(self.columns, far, own, bar)
        estimate = weight * float(self.measured[0]) + (1.0 - weight) * float(self.modelled[0])
        return estimate, min(noise, sqrt(left + float(self.known_sd[0]) ** 2))

    @property
    def is_lesson(self) -> bool:
        """Whether it is of a count asked alone, of which the model says something: cells of a GROUP BY are mostly about
        nothing."""
        return not self.fractional and len(self.measured) == 1 and bool(np.isfinite(self.modelled_sd).all())

    def lessons(self, times: float, *, own: bool = False) -> list[tuple[float, ...]]:
        """(distance from the model, noise, sd that its bar foresaw) of a question asked alone, with ``own`` also the sd
        of the noise that was drawn for it; ``times``: by how much its bar was widened already.
        """
        if not self.is_lesson:
            return []
        far, noise, known = abs(self.measured - self.modelled), float(self.noise[0]), float(self.known_sd[0])
        lesson = float(far[0]), noise, float(self.modelled_sd[0]) / times
        return [(*lesson, sqrt(max(0.0, noise**2 - known**2))) if own else lesson]


@dataclass(frozen=True, eq=False)
class Residual:
    """For queries of one outline: ``axes`` first tell the queries apart (``leading`` of them), then the classes of the
    conditions that they share; a row counts ``weights`` (whole numbers over these classes) for its queries, in
    1 / ``scale`` of a row.

    ``owners``: the query that each released number is of, or -1, flat. For each query, in counts: ``known``,
    ``known_sd`` are what released estimates contribute, so that ``known + released / scale`` is right but for noise;
    ``modelled``, ``modelled_sd`` the model's own answer, and what its error bar makes of it. With a ``stretch`` of
    values the last axis of the weights is whether a row is outside or inside of it. ``beside``: digests of the counts
    that sums are measured beside, of which only distances from the ``middle`` are, in shares; ``awaits``: these counts
    where they are of the same release, and not known before it.
    """

    queries: tuple[LinearQuery, ...]
    axes: tuple[Axis, ...]
    leading: int
    weights: Counts
    scale: float
    owners: Counts
    known: Estimates
    known_sd: Estimates
    modelled: Estimates
    modelled_sd: Estimates
    stretch: Stretch | None = None
    beside: tuple[str, ...] = ()
    middle: float = 0.0
    awaits: tuple[LinearQuery, ...] = ()

    @property
    def low(self) -> int:
        """The least that a row counts, at most 0."""
        return min(0, int(self.weights.min()))

    @property
    def high(self) -> int:
        """The most that a row counts, at least 1: where pairs know all of a question, noise is still drawn."""
        return max(1, int(self.weights.max()))

    def counted(self, bench: Bench) -> Private[Counts]:
        """What is released, before its noise: weighted counts over the leading axes; int64. Private. EngineError."""
        if self.stretch is None:
            return self.weighted(bench.counted(self.queries[0].table, self.axes))
        return self.weighted(self.stretch.counted(self.axes, bench))

    @property
    def fractional(self) -> bool:
        """Whether rows count other than 0 or 1: an answer is rounded then."""
        return any(not q.is_indicator for q in self.queries)

    def weighted(self, counts: Private[Counts]) -> Private[Counts]:
        """Counts over ``axes``, and outside and inside of the stretch, as weighted counts over the leading ones; int64.
        Private."""
        flat, whole_row = self.weights.reshape(-1), 1 if self.stretch is None else self.stretch.whole_row
        shape = tuple(a.size for a in self.axes[: self.leading])

        def weighted(cells: Counts) -> Counts:
            rows, shares = np.divmod(cells.reshape(*shape, flat.size), whole_row)  # apart, or 10^10 rows leave 63 bits
            # rounded down: what a row changes is a whole number at most, and stays so
            return np.asarray(rows @ flat + (shares @ flat) // whole_row, dtype=np.int64)

        return counts.map(weighted)

    def found(self, released: Measurement) -> "Found":
        """What the released weighted counts say of each query, beside what the model says."""
        own = self.owners >= 0
        measured = np.bincount(self.owners[own], released.values.reshape(-1)[own], len(self.queries)) / self.scale
        return Found(
            len(self.queries[0].touched),
            self.fractional,
            measured + self.known,
            self.noise(released.sigma),
            self.known_sd,
            self.modelled,
            self.modelled_sd,
        )

    def sds(self, sigma: float) -> Estimates:
        """The sds (counts) foreseen where the released numbers have noise of that sd."""
        return np.minimum(self.noise(sigma), self.modelled_sd)

    def noise(self, sigma: float) -> Estimates:
        """The sds (counts) of what is measured and known, where the released numbers have noise of that sd."""
        parts = np.bincount(self.owners[self.owners >= 0], minlength=len(self.queries))
        return np.sqrt(parts * (sigma / self.scale) ** 2 + self.known_sd**2)


def residual_of(
    queries: Sequence[LinearQuery], known: Known, sigma: float, *, fractions: bool = True, by_value: bool = True
) -> Residual | None:
    """What to measure for these queries of one outline; ``None`` where they can only be released whole: strings, groups
    that overlap, conditions that tell too much apart, values of weighted rows. Public.

    ``sigma``: the noise (counts) of a release at sensitivity 1. Queries may differ in single columns that tell them
    apart, as the cells of a GROUP BY do. ``fractions``: also queries whose rows count other than 0 or 1; ``by_value``:
    also those about values.
    """
    first = queries[0]
    if first.keyed is not None or not (fractions or all(q.is_indicator for q in queries)):
        return None
    if first.is_by_value and any(q.unit > 1 for q in queries):
        return None
    stretch = Stretch.of(first) if first.is_by_value and by_value else None
    apart, shared = split(queries)
    if first.is_by_value and (stretch is None or not stretch.is_of(shared)):
        return None
    groups = groups_of(queries, apart)
    cells = None if groups is None else Cells.of(shared if stretch is None else stretch.beside(shared), known, stretch)
    if groups is None or cells is None or prod(a.size for a in (*groups[0], *cells.axes)) > MOST_PARTS:
        return None
    functions = cells.functions(min(DEGREE, len(apart) + cells.weights.ndim - 1) - len(apart))
    if len(functions) > MOST_KNOWN:
        return None
    groups_alone = [_only(q, apart) for q in queries]
    counts = [known([(*g, *cells.factors(f)) for g in groups_alone], cells.values_of(f)) for f in functions]
    heard = [j for j, row in enumerate(counts) if None not in row]
    both = np.array([[found or _NOTHING for found in counts[j]] for j in heard])
    both = both.reshape(len(heard), len(queries), 2).transpose(1, 0, 2)
    values, sds = both[..., 0], both[..., 1]
    scale = SCALE if cells.unit == 1 and first.value is None else COARSE_SCALE
    over = [cells.over(functions[j]) for j in heard]
    table = np.array(over, dtype=np.int64).reshape(len(heard), cells.weights.size).T
    whole = np.rint(_coefficients(cells, table, sds, sigma) * scale).astype(np.int64)
    rest = cells.weights.reshape(-1) * scale - table @ whole
    models = [found or (0.0, inf) for found in known([q.factors for q in queries], stretch)]
    return Residual(
        tuple(queries),
        (*groups[0], *cells.axes),
        len(groups[0]),
        rest.reshape(cells.weights.shape),
        scale * cells.unit,
        groups[1],
        values @ whole / scale,
        np.sqrt(sds**2 @ (whole / scale) ** 2),
        np.array([value for value, _ in models]),
        np.array([sd for _, sd in models]),
        stretch,
    )


def _coefficients(cells: Cells, table: Counts, sds: Estimates, sigma: float) -> Estimates:
    """What each known count is taken times. Any will do; these leave little to be measured."""
    ends = cells.ends
    asked, known = cells.weights.reshape(-1)[ends] / cells.unit, table[ends] / cells.unit
    return least_change(asked, known, np.maximum((sds**2).mean(axis=0), _TINY), sigma**2)


_TINY = 1e-9
_NOTHING = (0.0, 0.0)


def split(queries: Sequence[LinearQuery]) -> tuple[tuple[int, ...], tuple[Factor, ...]]:
    """Where the factors of the queries differ, and the factors that they share."""
    first = queries[0].factors
    differ = tuple(i for i in range(len(first)) if len({q.factors[i].digest for q in queries}) > 1)
    return differ, tuple(f for i, f in enumerate(first) if i not in differ)


def groups_of(queries: Sequence[LinearQuery], apart: Sequence[int]) -> tuple[tuple[Axis, ...], Counts] | None:
    """The parts that tell the queries apart, and the query that each part is of, or -1, flat.

    ``None`` where a row could be counted by two of them: then its weights would not be all that it can change.
    """
    if not apart:
        return ((), np.zeros(1, dtype=np.int64)) if len(queries) == 1 else None
    if any(len(f.columns) != 1 or f.unit > 1 for q in queries for f in _only(q, apart)):
        return None
    alone = [LinearQuery(q.table, _only(q, apart)) for q in queries]
    axes = own_axes(alone)
    if prod(a.size for a in axes) > MOST_PARTS:
        return None
    owners = np.full([a.size for a in axes], -1, dtype=np.int64)
    for number, query in enumerate(alone):
        parts = [axis.coarse_weights(f.weights) for axis, f in zip(axes, query.factors, strict=True)]
        own = np.ix_(*[np.flatnonzero(w) for w in parts if w is not None])
        if len(own) < len(axes) or (owners[own] >= 0).any():
            return None
        owners[own] = number
    return axes, owners.reshape(-1)


def _only(query: LinearQuery, places: Sequence[int]) -> tuple[Factor, ...]:
    return tuple(query.factors[i] for i in places)
