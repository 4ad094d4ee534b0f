"""Cleaned 2-way tables: a shrunken fit over nested levels, from independence, raked to the 1-ways. Public.

Measured pairs are noisy, negative in places and disagree with the single columns. They are cleaned once, here, so that
the models built on them need not doubt them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, prod

import numpy as np

from dpsql.hypothesis.components import pure
from dpsql.hypothesis.local.copula import copula_of, copula_table
from dpsql.hypothesis.local.nearest_counts import nearest_counts
from dpsql.hypothesis.measurement import Labels, Measurement
from dpsql.hypothesis.normal import garrote
from dpsql.hypothesis.partition import indicator, nested, part_sums, refinement
from dpsql.hypothesis.rules import NEWEST, ModelRules
from dpsql.hypothesis.shrinkage import shrunken
from dpsql.query import Estimates

ROUNDS = 4
LEVELS = ((4, 4), (6, 6), (4, 12), (12, 4), (8, 8), (4, 0), (0, 4), (16, 16), (12, 0), (0, 12), (0, 0))
"""Parts per column of each step, coarse to fine; 0 stands for the measured parts themselves."""
START_RAKES = 6
"""Sweeps that bring a start to the 1-ways."""
MOST_HELD = 400
"""Cells of one pair that are moved towards what was measured, one after the other."""
NEAR = 0.1
"""Sds of a cell's noise: nearer than this to where they are brought they stay."""
TOLD = 2.0
"""Sds of a cell's noise: nearest counts of so many and more tell that rows are there."""
LEFT = 0.1
"""No cell, and no rest of a row or a column, is taken below this share of what it was at once."""
LEAST_SHARE = 0.02
"""No part of a pair begins below this share of independence."""
_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Noisy counts of a pair of columns: labels of each column's cells, ``values`` (parts, parts), noise ``sigma``."""

    left: Labels
    right: Labels
    values: Estimates
    sigma: float

    @classmethod
    def of(cls, m: Measurement, left: str, right: str) -> "PairCounts":
        """A measurement summed over its other axes: their noise adds up."""
        i, j = m.axis_of(left), m.axis_of(right)
        others = tuple(k for k in range(len(m.axes)) if k not in (i, j))
        values = m.values.sum(axis=others).astype(np.float64)
        sigma = m.sigma * float(prod(m.values.shape[k] for k in others)) ** 0.5
        return cls(m.axes[i].labels, m.axes[j].labels, values if i < j else values.T, sigma)


@dataclass(frozen=True, eq=False)
class PairTable:
    """Clean counts over parts of two columns: ``counts`` (parts of left, parts of right), float64, > 0."""

    left: Labels
    right: Labels
    counts: Estimates


@dataclass(frozen=True, eq=False)
class _Level:
    """0/1 matrices: parts of the table to measured parts, and measured parts to the level's; None for an identity.

    ``labels``: the level's part of each part of the table; ``widths``: how many measured parts each of its parts has.
    """

    measured: Estimates | None
    level: Estimates | None
    labels: Labels
    widths: Estimates


@dataclass(frozen=True, eq=False)
class _LevelStep:
    """One level of one measurement: its interaction there, and the sd of that interaction's noise."""

    left: _Level
    right: _Level
    values: Estimates
    sigma: Estimates


def clean_pair(
    one_left: Estimates,
    one_right: Estimates,
    counts: Sequence[PairCounts],
    ordered: tuple[bool, bool],
    rules: ModelRules = NEWEST,
    start: PairTable | None = None,
    *,
    apart: tuple[bool, bool] = (False, False),
) -> PairTable:
    """The table of two columns, from their clean 1-ways and every measurement of the pair; independence without any.

    Each step moves the interaction alone, as far as the noise at its level allows, then rakes to the 1-ways. In the end
    no cell of the best measurement is further from it than ``rules`` say, where that is possible, and all but those
    that might be empty are brought half of the way to the possible counts that are nearest to it.

    ``start``: what other pairs say of this one, in place of independence. What is left is then looked at once, in the
    measured parts: coarse levels, further rounds and nearest counts would follow noise that is known to be it.
    ``apart``: whether the last cell of each column, that of NULL, has too many rows to be the end of its order.
    """
    counts = _pooled(counts)
    tables: list[PairCounts | PairTable] = [*counts] if start is None else [*counts, start]
    left = refinement([np.zeros(len(one_left), dtype=np.int64), *(c.left for c in tables)])
    right = refinement([np.zeros(len(one_right), dtype=np.int64), *(c.right for c in tables)])
    rows, columns = part_sums(left, one_left), part_sums(right, one_right)
    alone = np.outer(rows, columns) / max(float(rows.sum()), _TINY)
    table = alone.copy()
    levels: Sequence[tuple[int, int]] = LEVELS if start is None else LEVELS[-1:]
    rounds = ROUNDS if start is None else 1
    if start is not None:
        table *= _lifts(start, left, right, table)
        for _ in range(START_RAKES):
            _rake(table, rows, columns)
    elif rules.copulas and all(ordered) and counts and (rules.beside_null or not any(apart)):
        _rise_together(table, counts[-1], left, right, apart)
    finest = [(_levels(rows, left, c.left, ordered[0]), _levels(columns, right, c.right, ordered[1])) for c in counts]
    steps = [s for c, (a, b) in zip(counts, finest, strict=True) for s in _steps(c, a, b, levels)]
    for _ in range(rounds if len(rows) > 1 and len(columns) > 1 else 0):
        for step in steps:
            _take(table, step, rules.floor)
            _rake(table, rows, columns)
    if steps:
        best = next(s for s in reversed(steps) if s.left.level is s.right.level is None)
        if rules.held < inf:
            _hold(table, best, rules, rows, columns)
        if rules.halfway and start is None:
            _meet(table, best, alone)
    for _ in range(ROUNDS if steps else 0):
        _rake(table, rows, columns)
    return PairTable(left, right, table)


def _rise_together(table: Estimates, best: PairCounts, left: Labels, right: Labels, apart: tuple[bool, bool]) -> None:
    """From independence to what two columns in order have in common by their best measurement, with the same sums.

    Of columns whose NULL is ``apart`` the rows that have both values, of which there are as many as was measured.
    """
    sides = [(left, best.left), (right, best.right)]
    if any(alone and not (_ends_alone(a) and _ends_alone(b)) for alone, (a, b) in zip(apart, sides, strict=True)):
        return
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    a, b = (np.zeros(n, dtype=np.int64) for n in table.shape)
    a[left], b[right] = best.left, best.right
    r, c = (n - alone for n, alone in zip(table.shape, apart, strict=True))
    neither, mine, other = 0.0, rows, columns
    if any(apart):
        neither = _neither(rows[r:].sum(), columns[c:].sum(), rows.sum(), best) if all(apart) else 0.0
        both = float(rows.sum() - rows[r:].sum() - columns[c:].sum() + neither)
        mine, other = (ones * (both / max(float(ones.sum()), _TINY)) for ones in (rows[:r], columns[:c]))
    values = best.values[: int(a[:r].max()) + 1, : int(b[:c].max()) + 1]
    correlation = copula_of(values, best.sigma, part_sums(a[:r], mine), part_sums(b[:c], other))
    if correlation == 0.0:
        return
    start = table.copy()
    start[:r, :c] = copula_table(mine, other, correlation)
    start[r:, :c], start[:r, c:] = np.maximum(columns[:c] - other, 0.0), np.maximum(rows[:r] - mine, 0.0)[:, None]
    start[r:, c:] = neither
    table[:] = np.maximum(start, LEAST_SHARE * table)
    for _ in range(START_RAKES):
        _rake(table, rows, columns)


def _ends_alone(labels: Labels) -> bool:
    """Whether the last cell is a part of its own, and the last one."""
    return int(labels[-1]) == int(labels.max()) and np.count_nonzero(labels == labels[-1]) == 1


def _neither(left: float, right: float, total: float, best: PairCounts) -> float:
    """Rows with neither value, of so many without each: as measured, as far as that is clear from independence."""
    alone = left * right / max(total, _TINY)
    gap = float(best.values[-1, -1]) - alone
    clear = gap * float(garrote(np.asarray(gap), np.asarray(best.sigma)))
    return float(np.clip(alone + clear, max(0.0, left + right - total), min(left, right)))


def _lifts(start: PairTable, left: Labels, right: Labels, alone: Estimates) -> Estimates:
    """How many times independence (``alone``, over parts of ``left`` and ``right``) each cell of ``start`` is, over
    the finer parts."""
    a, b = (np.zeros(n, dtype=np.int64) for n in alone.shape)
    a[left], b[right] = start.left, start.right
    expected = indicator(a) @ alone @ indicator(b).T
    lifts: Estimates = (start.counts / np.maximum(expected, _TINY)).take(a, axis=0).take(b, axis=1)
    return lifts


def _pooled(counts: Sequence[PairCounts]) -> list[PairCounts]:
    """Measurements over equal parts as one, weighted by precision; the noisiest first, so that the best comes last."""
    groups: dict[tuple[bytes, bytes], list[PairCounts]] = {}
    for c in counts:
        groups.setdefault((c.left.tobytes(), c.right.tobytes()), []).append(c)
    out = []
    for same in groups.values():
        precision = sum(c.sigma**-2 for c in same)
        values = np.asarray(sum(c.values / c.sigma**2 for c in same) / precision)
        out.append(PairCounts(same[0].left, same[0].right, values, float(precision**-0.5)))
    return sorted(out, key=lambda c: -c.sigma)


def _levels(masses: Estimates, base: Labels, measured: Labels, ordered: bool) -> dict[int, _Level]:
    """One level for each size of LEVELS that is coarser than the measured parts, and those parts themselves as 0."""
    part = np.zeros(len(masses), dtype=np.int64)
    part[base] = measured
    number = int(measured.max()) + 1
    weights = part_sums(part, masses)
    by_size = nested(weights, [s for pair in LEVELS for s in pair if 0 < s < number], ordered)
    by_size[0] = np.arange(number, dtype=np.int64)
    to_measured = _adding(part)
    return {
        size: _Level(to_measured, _adding(labels), labels[part], np.bincount(labels).astype(np.float64))
        for size, labels in by_size.items()
    }


def _adding(labels: Labels) -> Estimates | None:
    """The matrix that adds up the parts; None where each is alone, as most are: the product would change no bit."""
    return None if np.array_equal(labels, np.arange(len(labels))) else indicator(labels)


def _added(left: Estimates | None, table: Estimates, right: Estimates | None) -> Estimates:
    """``left @ table @ right.T``; the table itself where both are None."""
    rows = table if left is None else left @ table
    return rows if right is None else rows @ right.T


def _steps(
    counts: PairCounts,
    left: dict[int, _Level],
    right: dict[int, _Level],
    levels: Sequence[tuple[int, int]],
) -> list[_LevelStep]:
    values = pure(counts.values.astype(np.float64))
    out = []
    for a, b in dict.fromkeys((a if a in left else 0, b if b in right else 0) for a, b in levels):
        g, h = left[a], right[b]
        spread = np.outer(_part_variance(g.widths), _part_variance(h.widths))
        out.append(_LevelStep(g, h, _added(g.level, values, h.level), counts.sigma * np.sqrt(spread)))
    return out


def _part_variance(width: Estimates) -> Estimates:
    """Variance of a part's sum of independent unit noise after its mean over all cells is taken out."""
    return np.asarray(width * (1.0 - width / max(float(width.sum()), 1.0)))


def _take(table: Estimates, step: _LevelStep, floor: float) -> None:
    g, h = step.left, step.right
    measured = _added(g.measured, table, h.measured)
    model = _added(g.level, measured, h.level)
    # both sides have the same 1-ways, so the true gap is a pure interaction; what else the noise holds is left out
    gap = step.values - _added(g.level, pure(measured), h.level)
    ratio = shrunken(model, gap, step.sigma, floor) / np.maximum(model, _TINY)
    table *= ratio.take(g.labels, axis=0).take(h.labels, axis=1)


def _hold(table: Estimates, step: _LevelStep, rules: ModelRules, rows: Estimates, columns: Estimates) -> None:
    """Cells that are further from their measurement than ``rules`` say are brought there, the furthest first: what the
    cells have in common says little of one that is unlike all others (limited translation; Efron and Morris 1972).

    Each by the four numbers that change: the cell, the rest of its row and of its column, all else. Steps on single
    cells with raking would need many rounds where one cell is nearly all of its row and of its column.
    """
    lowest = rules.floor * table
    least = _added(step.left.measured, lowest, step.right.measured)
    for _ in range(MOST_HELD):
        now = _added(step.left.measured, table, step.right.measured)
        gap = step.values - pure(now)
        beyond = np.sign(gap) * np.maximum(np.abs(gap) - rules.held * step.sigma, 0.0)
        across, down = now.sum(axis=1, keepdims=True), now.sum(axis=0, keepdims=True)
        room = (1.0 - LEFT) * np.minimum(across - now, down - now)
        moves = np.clip(beyond, np.minimum(np.maximum((LEFT - 1.0) * now, least - now), 0.0), room)
        i, j = np.unravel_index(int((np.abs(moves) / np.maximum(step.sigma, _TINY)).argmax()), moves.shape)
        move, total = float(moves[i, j]), float(now.sum())
        if abs(move) <= NEAR * step.sigma[i, j]:
            return
        beside, below = float(across[i, 0] - now[i, j]), float(down[0, j] - now[i, j])
        times = np.full(now.shape, 1.0 + move / max(total - beside - below - now[i, j], _TINY))
        times[i], times[:, j] = 1.0 - move / max(beside, _TINY), 1.0 - move / max(below, _TINY)
        times[i, j] = 1.0 + move / max(now[i, j], _TINY)
        table *= np.maximum(times, LEFT).take(step.left.labels, axis=0).take(step.right.labels, axis=1)
        np.maximum(table, lowest, out=table)
        _rake(table, rows, columns)


def _meet(table: Estimates, step: _LevelStep, alone: Estimates) -> None:
    """Half of the way to the nearest possible counts, as the mean of two estimates whose errors differ in kind. A cell
    of which these do not tell that rows are there only loses by it: what it keeps would be its noise.

    ``alone``: independence; a trace of it is in every cell, for what the fit lost could not be found again by factors.
    """
    np.maximum(table, _TINY * alone, out=table)
    now = _added(step.left.measured, table, step.right.measured)
    nearest = nearest_counts(now + step.values - pure(now), now.sum(axis=1), now.sum(axis=0))
    lifts = np.divide(now + nearest, 2.0 * now, out=np.ones_like(now), where=now > 0.0)
    lifts = np.where(nearest > TOLD * step.sigma, lifts, np.minimum(lifts, 1.0))
    table *= lifts.take(step.left.labels, axis=0).take(step.right.labels, axis=1)


def _rake(table: Estimates, rows: Estimates, columns: Estimates) -> None:
    table *= (rows / np.maximum(table.sum(axis=1), _TINY))[:, None]
    table *= (columns / np.maximum(table.sum(axis=0), _TINY))[None, :]
