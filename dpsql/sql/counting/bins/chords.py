"""Sums of values that are nearly a line in each bin, as squares of a number column are.

In each bin the value is the line through its two ends, which is summed by value, and a rest that is far nearer to one
number than the value is: a square's is between 0 and minus a quarter of the bin's width squared.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dpsql.domain import NumberDomain, TableDomain
from dpsql.sql.counting.bins.cells import OverCells, cell_pieces
from dpsql.sql.counting.bins.points import Points
from dpsql.sql.counting.pieces import GridAxis, QueryPiece, Signed, pieces, scaled
from dpsql.sql.expressions.changes.steps import Lattice

STEEPEST = 8.0
"""Of the greatest value: what a line may make of the column's range. Steeper ones bring more noise than they settle."""
BETWEEN = 1 / 16
"""Of the range that a rest has at its points: how far beyond them it may be between them. A parabola whose least and
greatest are seen at eighths of a bin and half way between these is beyond them by at most a 256th."""
FINEST = 1 << 12
"""Of the steepest line: slopes are whole multiples of such a part of it, so that rows are weighed exactly."""
_Floats = npt.NDArray[np.float64]


def chord_pieces(
    table: TableDomain, axes: Sequence[GridAxis], numbers: Signed, base: Signed, ways: int, *, smooth: bool
) -> tuple[QueryPiece, ...] | None:
    """Queries whose sum is that of ``numbers`` over the rows where ``base``, 0 or 1, is 1, both over the points of the
    axes, of which one is a number column's. ``smooth``: whether the value changes between its points, too;
    ``ways``: as in ``cell_pieces``.

    ``None`` where no line is nearer than numbers are.
    """
    found = [i for i, a in enumerate(axes) if a.points is not None]
    if len(found) != 1 or any(a.text is not None or a.classes is not None for a in axes):
        return None
    at, points = found[0], axes[found[0]].points
    domain = table.finite_domain(axes[at].name)
    if points is None or not isinstance(domain, NumberDomain):
        return None
    shape = tuple(a.size for a in axes)
    inside, value = (np.moveaxis(np.broadcast_to(a, shape), at, -1) for a in (base != 0, numbers * base))
    value = value.astype(np.float64, copy=False)
    first, last, starts = domain.edges[0], domain.edges[-1], points.starts
    slopes = _slopes(points, value, inside, last - first)
    step = np.abs(slopes).max(initial=0.0) / FINEST
    if step == 0.0:
        return None
    parts = np.rint(slopes / step).astype(np.int64)
    along = (parts * step)[..., points.cells]
    if smooth:
        places = np.array([first if v is None else v for v in points.values], dtype=np.float64)
        rest = value - along * (places - first)
        low, high = (f.reduceat(rest, starts, axis=-1) for f in (np.minimum, np.maximum))
        # steps that are too many to be looked at may all be where the points are
        apart = max([b.step for b in points.unplaced if isinstance(b, Lattice)], default=0.0)
        more = np.where(parts != 0, (high - low) * BETWEEN + np.abs(parts) * step * apart, 0.0)
        low, high = low - more, high + more
    else:
        ends = [value - along * (p - first) for p in (points.low, points.high)]
        low, high = np.minimum(*ends), np.maximum(*ends)
        rest = low / 2 + high / 2
        low, high = np.minimum.reduceat(low, starts, axis=-1), np.maximum.reduceat(high, starts, axis=-1)
    guess = np.clip(np.add.reduceat(rest * points.shares, starts, axis=-1), low, high)
    cells = [a if a.points is None else GridAxis(a.name, len(starts)) for a in axes]
    out = cell_pieces(table, OverCells(tuple(cells), *(np.moveaxis(a, -1, at) for a in (guess, low, high))), ways)
    lines = scaled(pieces(table, cells, np.moveaxis(parts, -1, at)), step * (last - first))
    return (*out, *(replace(p, query=replace(p.query, value=domain.name)) for p in lines))


def _slopes(points: Points, value: _Floats, inside: npt.NDArray[np.bool_], span: float) -> _Floats:
    """Of the line in each bin, along the last axis: 0 where some of a bin is out, where the value is nearer to a
    constant, and where the line is too steep."""
    starts = points.starts
    lasts = np.append(starts[1:], len(points.cells)) - 1
    known = np.array([v is not None for v in points.values])[starts]
    width = np.where(known, points.high[lasts] - points.low[starts], 0.0)
    rise = value[..., lasts] - value[..., starts]
    slopes = np.divide(rise, width, out=np.zeros_like(rise), where=width > 0.0)
    whole = np.logical_and.reduceat(inside, starts, axis=-1)
    spread = np.maximum.reduceat(value, starts, axis=-1) - np.minimum.reduceat(value, starts, axis=-1)
    places = np.array([0.0 if v is None else v for v in points.values], dtype=np.float64)
    rest = value - slopes[..., points.cells] * places
    left = np.maximum.reduceat(rest, starts, axis=-1) - np.minimum.reduceat(rest, starts, axis=-1)
    steep = np.abs(slopes) * span > STEEPEST * np.abs(value).max(initial=0.0)
    return np.where(whole & (left < spread / 2) & ~steep, slopes, 0.0)
