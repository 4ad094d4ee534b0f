"""Sums over rows that were counted: what is left to be measured are distances from the middle of the values. Public.

A row counts x, between a and b, for a sum S and 1 for the count N of the same rows: S = N (a + b) / 2 + T, and it
changes T by (b - a) / 2 at most. An average, (a + b) / 2 + T / N, then takes from the noise of N only its distance from
the middle (centered averages: Li, Lyu, Su and Yang 2016, section 2.5). What is measured is worked out from the weights
of both, whatever they are, and a and b from what conditions leave of the values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import hypot, prod

import numpy as np

from dpsql.domain import FIXED_POINT, NumberDomain, TableDomain
from dpsql.errors import InternalError
from dpsql.hypothesis import Axis, Measurement
from dpsql.planning.measured_axes import MOST_PARTS
from dpsql.query import Counts, Factor, LinearQuery
from dpsql.result import Answer
from dpsql.session.own.by_value.counted import Counted, counts_known
from dpsql.session.own.by_value.measured_beside import ALONE, FromMiddle
from dpsql.session.own.by_value.stretch import Stretch
from dpsql.session.own.residual import COARSE_SCALE, Residual, groups_of, split

MUCH_WORSE = 1.25
"""Times the sd that a sum has otherwise: with more it is measured as before, whatever an average would gain."""


def about_middle(table: TableDomain, queries: Sequence[LinearQuery], counted: Sequence[Counted]) -> Residual | None:
    """What to measure for these sums of one outline, each beside the count of its rows; ``None`` where that is not
    said in weights of parts: strings, weighted values, groups that overlap or are of what is summed."""
    first, beside = queries[0], [c.query for c in counted]
    told = beside[0]
    if first.keyed is not None or told.keyed is not None or len({q.outline for q in beside}) > 1:
        return None
    if told.intervals != first.intervals or (first.is_by_value and (first.value is None or first.unit > 1)):
        return None
    apart, of_counts = split(beside)
    differing, of_sums = split(queries)
    if any(first.value in first.factors[i].columns for i in differing):
        return None  # each group has values of its own, and a row of one may be far beyond those of another
    groups = groups_of(beside, apart)
    same = [[q.factors[i].digest for i in differing] for q in queries]
    if groups is None or same != [[q.factors[i].digest for i in apart] for q in beside]:
        return None
    leading, owners = groups
    parts = _joint(of_sums if first.value is None else _valued(table, first.value, of_sums), of_counts)
    if parts is None or prod(a.size for a in (*leading, *(axis for axis, _, _ in parts))) > MOST_PARTS:
        return None
    sums, counts = _product([s for _, s, _ in parts]), _product([c for _, _, c in parts])
    unit, stretch = prod(f.unit for f in of_sums), None
    if first.value is None:
        low, high = _ends(sums, counts)
        scale, weights = 2.0 * unit, 2 * sums - (low + high) * counts
        middle = (low + high) / (2 * unit)
    else:
        tied = any(first.value in f.columns and len(f.columns) > 1 for f in of_sums)  # NULL may be among its cells
        same_rows = bool((sums == counts).all()) and not tied
        low, high = reach = _reach(table, first, of_sums) if same_rows else (0, FIXED_POINT)
        scale = COARSE_SCALE * (FIXED_POINT / (high - low))
        weights = COARSE_SCALE // 2 * np.stack([-counts, 2 * sums - counts], axis=-1)
        middle, stretch = (
            (low + high) / (2 * FIXED_POINT),
            Stretch(first.table, (), first.intervals, first.value, reach),
        )
    nothing = np.zeros(len(queries))
    made = Residual(
        tuple(queries),
        (*leading, *(axis for axis, _, _ in parts)),
        len(leading),
        weights,
        scale,
        owners,
        nothing,
        nothing,
        nothing,
        nothing + np.inf,
        stretch,
        middle=middle,
    )
    return _beside(made, counted)


def from_zero(table: TableDomain, queries: Sequence[LinearQuery]) -> Residual | None:
    """What to measure for sums of values of one outline that stand alone: distances from the least of the declared
    values, in what conditions leave of these; ``None`` as in ``about_middle``, and where they leave the greatest."""
    first = queries[0]
    if first.value is None or first.keyed is not None or first.unit > 1:
        return None
    differing, shared = split(queries)
    groups, parts = groups_of(queries, differing), _joint(_valued(table, first.value, shared), ())
    if any(first.value in first.factors[i].columns for i in differing) or groups is None or parts is None:
        return None
    _, high = _reach(table, first, shared)
    axes = (*groups[0], *(axis for axis, _, _ in parts))
    if high == FIXED_POINT or prod(a.size for a in axes) > MOST_PARTS:
        return None
    sums = _product([s for _, s, _ in parts])
    nothing = np.zeros(len(queries))
    return Residual(
        tuple(queries),
        axes,
        len(groups[0]),
        COARSE_SCALE * np.stack([np.zeros_like(sums), sums], axis=-1),
        COARSE_SCALE * (FIXED_POINT / high),
        groups[1],
        nothing,
        nothing,
        nothing,
        nothing + np.inf,
        Stretch(first.table, (), first.intervals, first.value, (0, high)),
        beside=(ALONE,) * len(queries),
    )


def _ends(sums: Counts, counts: Counts) -> tuple[int, int]:
    """The least and the most that a row which is counted adds to the sum."""
    there = sums[counts > 0]
    return (int(there.min()), int(there.max())) if there.size else (0, 0)


def _reach(table: TableDomain, query: LinearQuery, shared: Sequence[Factor]) -> tuple[int, int]:
    """The same of values, in 1 / FIXED_POINT: what bins and stretches that all of the questions share leave of the
    range. A row that is beyond it would be one for which too little noise is drawn: every weight is 0 outside of the
    shared factors, and rows outside of the stretches are not looked at."""
    domain = table.finite_domain(query.value or "")
    if not isinstance(domain, NumberDomain):
        raise InternalError("only number columns are summed by value")
    low, high = domain.edges[0], domain.edges[-1]
    for f in shared:
        if f.columns == (domain.name,):
            bins = np.flatnonzero(f.weights[: len(domain.edges) - 1])
            ends = (domain.edges[bins[0]], domain.edges[bins[-1] + 1]) if bins.size else (low, low)
            low, high = max(low, ends[0]), min(high, ends[1])
    for told in query.intervals:
        if told.column == domain.name:
            low, high = max(low, told.low), min(high, told.high)
    least = domain.share(min(low, domain.edges[-1]))
    return least, max(least + 1, domain.share(max(high, domain.edges[0])))  # one value: a row still draws noise


def _beside(made: Residual, counted: Sequence[Counted]) -> Residual:
    told, sds = np.array([float(c.value) for c in counted]), np.array([c.sd for c in counted])
    names = tuple([c.query.digest for c in counted])
    return replace(made, known=made.middle * told, known_sd=made.middle * sds, beside=names, awaits=())


def beside_told(made: Residual, told: Mapping[str, Answer]) -> Residual:
    """The same beside the counts that it ``awaits``, which were drawn before. InternalError for one that was not."""
    if not made.awaits:
        return made
    found = counts_known({count.digest: count for count in made.awaits}, told)
    if any(count.digest not in found for count in made.awaits):
        raise InternalError("sums about the middle of counts that were not drawn")
    return _beside(made, [found[count.digest] for count in made.awaits])


def from_middle(made: Residual, released: Measurement) -> FromMiddle:
    """What was released of sums beside their counts, as averages and the ledger need it."""
    nothing = np.zeros(len(made.queries))
    found = replace(made, known=nothing, known_sd=nothing).found(released)
    sd = float(found.noise.max()) + 1.0 / made.scale  # which rounding may have left out
    sums = tuple([q.digest for q in made.queries])
    return FromMiddle(made.middle, sd, sums, made.beside, tuple(found.measured.tolist()))


def pays(found: Residual, sigma: float, otherwise: Sequence[float]) -> bool:
    """Whether these sums lose little by it; ``sigma``: of the noise that would be drawn, ``otherwise``: their sds."""
    return hypot(*found.noise(sigma)) <= MUCH_WORSE * hypot(*otherwise)


def _joint(sums: Sequence[Factor], counts: Sequence[Factor]) -> list[tuple[Axis, Counts, Counts]] | None:
    """The parts of columns that factors of both tell apart, each with what a row of it counts for the sum and for the
    count; ``None`` where one ties columns together that another one does not."""
    both: list[Mapping[tuple[str, ...], Factor]] = [{f.columns: f for f in factors} for factors in (sums, counts)]
    out, seen = [], set[str]()
    for columns in dict.fromkeys([*both[0], *both[1]]):
        if not seen.isdisjoint(columns):
            return None
        seen.update(columns)
        axis = Axis.level_sets(columns, [f[columns].weights for f in both if columns in f])
        one, other = (_weights(axis, f.get(columns)) for f in both)
        out.append((axis, one, other))
    return out


def _valued(table: TableDomain, value: str, factors: Sequence[Factor]) -> list[Factor]:
    """Factors of a sum of values, without the rows that have none: these add nothing, and are in no count of values."""
    domain = table.finite_domain(value)
    if not domain.nullable:
        return list(factors)
    there: Counts = (np.arange(domain.size) < domain.size - 1).astype(np.int64)  # NULL is the last cell
    if any(value in f.columns for f in factors):
        return [Factor(f.columns, f.weights * there) if f.columns == (value,) else f for f in factors]
    return [*factors, Factor((value,), there)]


def _weights(axis: Axis, factor: Factor | None) -> Counts:
    found = np.ones(axis.size, dtype=np.int64) if factor is None else axis.coarse_weights(factor.weights)
    if found is None:
        raise InternalError("parts on which their own factors are not constant")
    return found


def _product(weights: Sequence[Counts]) -> Counts:
    out: Counts = np.ones((), dtype=np.int64)
    for along in weights:
        out = np.multiply.outer(out, along)
    return out
