"""From what was found at the points of binned columns to their cells: a weight for each, or two ends and a guess.

Where a condition holds for a part of a cell, the count is known between none and all of the cell's rows. The guess
takes rows to be spread evenly; what is said of its error does not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsql.domain import DateDomain, NumberDomain, TableDomain
from dpsql.query import LinearQuery
from dpsql.sql.counting.bins.held import Held
from dpsql.sql.counting.pieces import GridAxis, QueryPiece, Signed, pieces, scaled
from dpsql.sql.expressions.changes.straight import Straight

_TOLD = 3
_Array = npt.NDArray[Any]
Ends = tuple[Signed, Signed]
"""The least and the most that rows count, over points."""


@dataclass(frozen=True, eq=False)
class OverCells:
    """Weights of each cell of ``axes``: the ``guess`` and the ends between which the truth is, for every row."""

    axes: tuple[GridAxis, ...]
    guess: Signed
    low: _Array
    high: _Array

    @property
    def settled(self) -> npt.NDArray[np.bool_]:
        """Where all rows of a cell have one weight."""
        return np.asarray(self.low == self.high)


def over_cells(axes: Sequence[GridAxis], weights: Signed, ends: Ends | None = None) -> OverCells:
    """Weights over points as weights over cells. ``ends``: the least and the most that a row counts of those that each
    point stands for."""
    shape = tuple(a.size for a in axes)
    least, most = (np.broadcast_to(e, shape) for e in (ends or (weights, weights)))
    out: _Array = np.broadcast_to(weights, shape)
    for i, axis in enumerate(axes):
        points = axis.points
        if points is None:
            continue
        shares = points.shares.reshape([-1 if j == i else 1 for j in range(len(axes))])
        out = np.add.reduceat(out * shares, points.starts, axis=i)
        least = np.minimum.reduceat(least, points.starts, axis=i)
        most = np.maximum.reduceat(most, points.starts, axis=i)
    settled = least == most
    guess = np.where(settled, least, np.clip(out, least, most))
    if settled.all() and weights.dtype == np.int64:
        guess = least.astype(np.int64)
    cells = [a if a.points is None else GridAxis(a.name, len(a.points.starts)) for a in axes]
    return OverCells(tuple(cells), guess, least, most)


def held_pieces(
    table: TableDomain, axes: Sequence[GridAxis], where: Held, ways: int, numbers: Signed | None = None
) -> tuple[QueryPiece, ...]:
    """Queries whose sum counts the rows of these points where a condition is TRUE, each as its ``numbers`` say."""
    if numbers is None:
        return cell_pieces(table, over_cells(axes, where.guess.astype(np.int64), (where.least, where.most)), ways)
    ends = where.least * numbers, where.most * numbers
    return cell_pieces(table, over_cells(axes, where.guess * numbers, (np.minimum(*ends), np.maximum(*ends))), ways)


def cell_pieces(table: TableDomain, found: OverCells, ways: int) -> tuple[QueryPiece, ...]:
    """Queries whose sum is the guess, each with the ends of what its rows may count. ``ways``: cells that are cut in up
    to so many ways are asked for one by one, and their bars add up; of more they are one weighted query, and one of how
    far each may be off."""
    settled = found.settled
    if settled.all():
        return pieces(table, found.axes, found.guess)
    out = list(pieces(table, found.axes, _plain(np.where(settled, found.guess, 0))))
    guess, low, high = (np.where(settled, 0, a).astype(np.float64) for a in (found.guess, found.low, found.high))
    told = np.stack([guess, low, high], axis=-1)
    classes = np.unique(told[~settled], axis=0)
    if len(classes) <= ways:
        for one in classes:
            here = ~settled & (told == one).all(axis=-1)
            for p in pieces(table, found.axes, here.astype(np.int64)):
                ends = sorted((p.coefficient * one[1], p.coefficient * one[2]))
                out.append(QueryPiece(p.coefficient * one[0], p.query, *ends))
        return tuple(out)
    out += pieces(table, found.axes, guess)
    for p in pieces(table, found.axes, np.maximum(high - guess, guess - low)):
        out.append(QueryPiece(0.0, p.query, -abs(p.coefficient), abs(p.coefficient)))
    return tuple(out)


def summed_pieces(
    table: TableDomain, axes: Sequence[GridAxis], where: Held, line: Straight, ways: int
) -> tuple[QueryPiece, ...]:
    """Queries whose sum is that of ``line`` over the rows of these points where a condition is TRUE.

    Cells that are in as a whole are summed by value: min times their rows, and the range times their rows' shares of
    it. In cells that are cut the value is guessed.
    """
    at = next(i for i, a in enumerate(axes) if a.name == line.column)
    domain, points = table.finite_domain(line.column), axes[at].points
    if not isinstance(domain, NumberDomain) or points is None:
        return ()
    along = [-1 if i == at else 1 for i in range(len(axes))]
    known = np.array([v is not None for v in points.values]).reshape(along)
    where = where.over(lambda a: a * known)
    whole = over_cells(axes, where.guess.astype(np.int64), (where.least, where.most))
    inside = (whole.settled & (whole.low == 1)).astype(np.int64)
    first, last = domain.edges[0], domain.edges[-1]
    out = scaled(pieces(table, whole.axes, inside), line.scale * first + line.shift)
    if domain.nullable:  # NULL adds nothing whether it is in or out: then a column that cuts nothing is dropped
        same = np.delete(inside, -1, axis=at).min(axis=at, keepdims=True)
        inside = np.concatenate([np.delete(inside, -1, axis=at), same], axis=at)
    shares = scaled(pieces(table, whole.axes, inside), line.scale * (last - first))
    out += [replace(p, query=replace(p.query, value=domain.name)) for p in shares]
    if not whole.settled.all():
        values = [line.scale * a.reshape(along) + line.shift for a in (points.low, points.high)]
        least, most = np.minimum(*values), np.maximum(*values)
        low = np.minimum(where.least * least, where.most * least)  # a row that is out adds 0
        high = np.maximum(where.least * most, where.most * most)
        cut = over_cells(axes, where.guess * (least + most) / 2, (low, high))
        rest = OverCells(cut.axes, *(np.where(whole.settled, 0.0, a) for a in (cut.guess, cut.low, cut.high)))
        out += cell_pieces(table, rest, ways)
    return tuple(out)


def cut_words(table: TableDomain, queries: Sequence[LinearQuery]) -> tuple[tuple[str, str], ...]:
    """(column, "22.1 to 25.7, 40.2 to 44") for the cells of binned columns that ``queries`` count."""
    found: dict[str, set[int]] = {}
    for f in {f.digest: f for q in queries for f in q.factors}.values():
        for axis, name in enumerate(f.columns):
            domain = table.finite_domain(name)
            if isinstance(domain, NumberDomain | DateDomain) and domain.is_binned:
                others = tuple(i for i in range(len(f.columns)) if i != axis)
                cells = np.flatnonzero(f.weights.any(axis=others)).tolist()
                found.setdefault(name, set()).update(i for i in cells if i < len(domain.values))  # NULL is never cut
    return tuple((name, _cell_words(table, name, sorted(cells))) for name, cells in found.items())


def _cell_words(table: TableDomain, name: str, cells: Sequence[int]) -> str:
    domain = table.finite_domain(name)
    ends: list[object] = [*domain.values, domain.end] if isinstance(domain, DateDomain) else []
    if isinstance(domain, NumberDomain):
        ends = [f"{edge:g}" for edge in domain.edges]
    told = [f"{ends[i]} to {ends[i + 1]}" for i in cells[:_TOLD]]
    return ", ".join(told) + (f" and {len(cells) - _TOLD:,} more" if len(cells) > _TOLD else "")


def _plain(weights: _Array) -> Signed:
    """Whole numbers as integers, which stay exact."""
    whole = np.rint(weights)
    return whole.astype(np.int64) if (whole == weights).all() and (np.abs(whole) < 2**53).all() else weights
