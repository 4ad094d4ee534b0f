"""From what was found at the points of a number column to questions about its values, where a condition cuts bins.

The rows of a stretch of values are counted as they are stored: the bins that it touches are the question's cells, and
its ends are part of the question.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, nextafter

import numpy as np
import numpy.typing as npt

from dpsql.domain import NumberDomain, TableDomain
from dpsql.query import Interval
from dpsql.sql.counting.bins.points import Points
from dpsql.sql.counting.pieces import GridAxis, QueryPiece, Signed, pieces, scaled
from dpsql.sql.counting.values.rules import FEW_STRETCHES, ValueRules
from dpsql.sql.expressions.changes.straight import Straight

MOST_WAYS = 4
"""In which other columns cut a column: of more each bin is guessed."""
_Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class _Stretch:
    """Values that follow each other: ``first`` to ``last`` are their cells, ``whole`` if it ends where these do."""

    low: float
    high: float
    first: int
    last: int
    whole: bool


def asked_by_value(
    table: TableDomain, axes: Sequence[GridAxis], base: Signed, line: Straight | None, rules: ValueRules
) -> tuple[QueryPiece, ...] | None:
    """Queries whose sum counts the rows where ``base``, 0 or 1 over the points of the axes, is 1; or sums ``line`` over
    them. ``None`` where no few questions about the values of one column say it: where more stretches of these cut bins
    than ``rules`` allow, each bin is guessed.
    """
    return _counts(table, axes, base, rules) if line is None else _sums(table, axes, base, line, rules)


def _counts(
    table: TableDomain, axes: Sequence[GridAxis], base: Signed, rules: ValueRules
) -> tuple[QueryPiece, ...] | None:
    """The queries that count."""
    if base.dtype != np.int64 or any(a.classes is not None for a in axes):
        return None
    if base.size and not 0 <= int(base.min()) <= int(base.max()) <= 1:
        return None
    at = [i for i, a in enumerate(axes) if a.points is not None and _is_cut(base, i, a.points)]
    for i, axis in enumerate(axes):
        if axis.points is not None and i not in at:
            base = base.take(axis.points.starts, axis=i)
    cells = [a if a.points is None else GridAxis(a.name, len(a.points.starts)) for a in axes]
    if not at:
        return pieces(table, cells, base)
    points = axes[at[0]].points
    if len(at) > 1 or points is None or not isinstance(table.finite_domain(axes[at[0]].name), NumberDomain):
        return None
    return _along(table, cells, at[0], points, base, rules)


def _sums(
    table: TableDomain, axes: Sequence[GridAxis], base: Signed, line: Straight, rules: ValueRules
) -> tuple[QueryPiece, ...] | None:
    """Those that sum ``line``: min times the number of rows, and the range times their shares of it.

    NULL adds nothing.
    """
    at = next(i for i, a in enumerate(axes) if a.name == line.column)
    domain, points = table.finite_domain(line.column), axes[at].points
    if not isinstance(domain, NumberDomain) or points is None:
        return None
    known = np.array([v is not None for v in points.values])
    rows = base * known.reshape([-1 if i == at else 1 for i in range(len(axes))])
    shares = rows
    if not known.all():  # whether NULL is in or out: then a column that cuts nothing is dropped
        inside = rows.take(np.flatnonzero(known), axis=at)
        shares = np.concatenate([inside, inside.min(axis=at, keepdims=True)], axis=at)
    counted, summed = _counts(table, axes, rows, rules), _counts(table, axes, shares, rules)
    if counted is None or summed is None:
        return None
    first, last = domain.edges[0], domain.edges[-1]
    out = scaled(counted, line.scale * first + line.shift)
    for p in summed:
        told = p.query.intervals
        if rules.stretches > FEW_STRETCHES and told and told[0].low == told[0].high:  # all of its rows are at one value
            out += scaled([p], line.scale * (told[0].low - first))
        else:
            of_value = [replace(p, query=replace(p.query, value=domain.name))]
            out += scaled(of_value, line.scale * (last - first))
    return tuple(out)


def _is_cut(base: Signed, axis: int, points: Points) -> bool:
    least, most = (f.reduceat(base, points.starts, axis=axis) for f in (np.minimum, np.maximum))
    return bool((least != most).any())


def _along(
    table: TableDomain, cells: Sequence[GridAxis], at: int, points: Points, base: Signed, rules: ValueRules
) -> tuple[QueryPiece, ...] | None:
    """Of one column that is cut: for each different way in which the others' cells cut it."""
    last = np.moveaxis(base, at, -1)
    ways, which = np.unique(last.reshape(-1, last.shape[-1]), axis=0, return_inverse=True)
    used = np.flatnonzero(ways.any(axis=1)).tolist()
    if len(used) > MOST_WAYS:
        return None
    out: list[QueryPiece] = []
    for way in used:
        beside = (which.reshape(last.shape[:-1]) == way).astype(np.int64)
        parts = _parts(points, ways[way].astype(bool), cells[at].size, rules)
        if parts is None:
            return None
        for sign, weights, interval in parts:
            array = np.moveaxis(np.multiply.outer(beside, weights), -1, at)
            here = scaled(pieces(table, cells, array), float(sign))
            if any(p.query.keyed is not None and cells[at].name in p.query.keyed.columns for p in here):
                return None
            told = () if interval is None else (Interval(cells[at].name, *interval),)
            out += [replace(p, query=replace(p.query, intervals=told)) for p in here]
    return tuple(out)


_Part = tuple[int, npt.NDArray[np.int64], tuple[float, float] | None]


def _parts(points: Points, taken: _Bools, size: int, rules: ValueRules) -> list[_Part] | None:
    """(sign, cells, the values in them that count): what is taken, or all less what is not, whichever takes less."""
    known = np.array([v is not None for v in points.values])
    null = bool(taken[~known].any())
    inside, outside = _stretches(points, taken & known), _stretches(points, ~taken & known)
    kept, lost = [s for s in inside if not s.whole], [s for s in outside if not s.whole]
    direct = len(kept) + any(s.whole for s in inside)
    single = len(kept) == direct and all(s.low == s.high for s in kept)
    few = rules.stretches <= FEW_STRETCHES
    if min(direct, len(lost) + 1) > (FEW_STRETCHES if rules.singly and not single else rules.stretches):
        return None
    cells = np.zeros(size, dtype=np.int64)
    if len(lost) + 1 < direct or (len(lost) + 1 == direct and len(kept) > 1 and (few or not single)):
        cells[: size - int(not known.all())] = 1
        for s in outside:
            if s.whole:
                cells[s.first : s.last + 1] = 0
        cut, sign = lost, -1
    else:
        for s in inside:
            if s.whole:
                cells[s.first : s.last + 1] = 1
        cut, sign = kept, 1
    if null:
        cells[-1] = 1
    out: list[_Part] = [(1, cells, None)] if cells.any() else []
    for s in cut:
        touched = np.zeros(size, dtype=np.int64)
        touched[s.first : s.last + 1] = 1
        if not known.all():  # NULL is in no interval: then a column of which all cells are touched is dropped
            touched[-1] = touched[:-1].min()
        out.append((sign, touched, (s.low, s.high)))
    return out


def _stretches(points: Points, taken: _Bools) -> list[_Stretch]:
    """The runs of points that are taken, as values; the ends of what is between two points belong to these."""
    edge = np.flatnonzero(np.diff(np.concatenate([[False], taken, [False]]).astype(np.int8)))
    out, between = [], points.low < points.high
    for start, end in zip(edge[::2].tolist(), (edge[1::2] - 1).tolist(), strict=True):
        low, high = float(points.low[start]), float(points.high[end])
        first, last = int(points.cells[start]), int(points.cells[end])
        if between[start] and start and points.cells[start - 1] == first and points.high[start - 1] == low:
            low = nextafter(low, inf)
        if between[end] and end + 1 < len(taken) and points.cells[end + 1] == last and points.low[end + 1] == high:
            high = nextafter(high, -inf)
        begins = not start or points.cells[start - 1] != first
        ends = end + 1 == len(taken) or points.cells[end + 1] != last
        out.append(_Stretch(low, high, first, last, begins and ends))
    return out
