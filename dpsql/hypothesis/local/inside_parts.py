"""Where in a part of a column the rows of another column's parts are: as its neighbours have them. Public.

A pair is measured on parts of many cells. A condition that cuts a part would take of all rows in it the same share. Of
columns of which one follows from the other (overdue is more than 28 days) that is wrong at the one place that is asked
about: rows before it are as those of the part before, and rows behind it as those of the part behind.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpsql.hypothesis.local.pair_table import PairTable
from dpsql.hypothesis.measurement import Labels
from dpsql.hypothesis.normal import CLEAR, garrote
from dpsql.hypothesis.partition import part_sums
from dpsql.query import Estimates

STEEP = 4.0
"""Where shares change in one part alone they do so many times as fast as from the middle of one neighbour to the
other's: that is a rule and no slope."""
TRACE = 0.002
"""Of the shares of all rows in what a neighbour has: none of its own is 0."""
MOST_CELLS = 1 << 15
"""A table that would have more cells keeps its parts."""
STEEPEST = 12.0
"""How far logarithms of shares go apart in a part at most: steeper starts are hardly brought to the rows of both."""
ROUNDS, NEAR = 100, 1e-6
"""Sweeps at most that bring cells to the rows of both sides, and how near is near, in shares of these."""
_TINY = 1e-9


def inside_parts(
    table: PairTable,
    ones: tuple[Estimates, Estimates],
    ordered: tuple[bool, bool],
    nullable: tuple[bool, bool],
    sigma: float,
) -> PairTable:
    """The same rows of every two parts, over the cells of those parts in order inside of which shares clearly change.

    ``ones``: rows of both columns' cells; ``nullable``: whether the last cell is NULL, which is no neighbour;
    ``sigma``: noise of the pair's counts.
    """
    left, right, counts = table.left, table.right, table.counts
    sides = zip((counts, counts.T), (left, right), ones, ordered, nullable, strict=True)
    turns = [_Turns.of(cells, of, len(one) - null, sigma) if order else None for cells, of, one, order, null in sides]
    if turns[0] is not None:
        left, counts = turns[0].parted(counts, left, ones[0])
    if turns[1] is not None:
        right, turned = turns[1].parted(np.ascontiguousarray(counts.T), right, ones[1])
        counts = np.ascontiguousarray(turned.T)
    return table if counts.shape == table.counts.shape else PairTable(left, right, counts)


@dataclass(frozen=True, eq=False)
class _Turns:
    """Of each part of a column in order the part ``before`` and the one ``behind``, itself at an end, and how ``steep``
    shares go from the one to the other, in slopes from middle to middle; 0 where there is nothing to part."""

    before: npt.NDArray[np.intp]
    behind: npt.NDArray[np.intp]
    steep: Estimates

    @classmethod
    def of(cls, counts: Estimates, labels: Labels, values: int, sigma: float) -> "_Turns | None":
        """``counts``: (parts, those of the other column); ``values``: how many cells are not NULL."""
        sizes, held = np.bincount(labels), np.bincount(labels[:values], minlength=len(counts))
        whole = np.flatnonzero(held == sizes)  # a part that NULL is in is no neighbour
        if len(whole) < 2 or len(sizes) == len(labels) or np.any(np.diff(labels[:values]) < 0):
            return None
        places = np.arange(len(counts))
        before, behind = np.maximum(places - 1, 0), np.minimum(places + 1, whole[-1])
        rows = np.maximum(counts.sum(axis=1), 1.0)
        share = counts / rows[:, None]
        variance = counts.shape[1] * sigma**2 * rows**-2.0

        def apart(a: npt.NDArray[np.intp], b: npt.NDArray[np.intp]) -> Estimates:
            return np.asarray(((share[a] - share[b]) ** 2).sum(axis=1))

        squares, chance = apart(before, behind), variance[before] + variance[behind]
        clear = garrote(np.sqrt(squares), np.sqrt(chance), CLEAR)
        ends = [(before, np.maximum(before - 1, 0)), (behind, np.minimum(behind + 1, whole[-1]))]
        beyond = sum(np.maximum(0.0, apart(a, b) - variance[a] - variance[b]) for a, b in ends)
        # no change beyond is a rule, half as much a slope, and more no order: codes that mean nothing
        alone = 2.0 * np.maximum(0.0, 1.0 - beyond / np.maximum(squares, _TINY))
        clear = clear * np.where(alone <= 1.0, alone, 1.0 + (STEEP - 1.0) * (alone - 1.0))
        clear[(sizes < 2) | (held < sizes)] = 0.0
        return cls(before, behind, clear)

    def parted(self, counts: Estimates, labels: Labels, one: Estimates) -> tuple[Labels, Estimates]:
        """Labels and counts (parts, others) with the cells of the steep parts in place of these."""
        sizes, steep = np.bincount(labels), self.steep
        cells = len(sizes) + int((sizes - 1)[steep > 0.0].sum())
        if cells == len(sizes) or cells * counts.shape[1] > MOST_CELLS:
            return labels, counts
        middle = part_sums(labels, np.arange(len(labels), dtype=np.float64)) / sizes
        all_rows = counts.sum(axis=0)
        share = counts / np.maximum(counts.sum(axis=1, keepdims=True), _TINY)
        logs = np.log(np.maximum((1.0 - TRACE) * share + TRACE * all_rows / max(float(all_rows.sum()), _TINY), _TINY))
        out, found, number = np.empty_like(labels), [], 0
        for part, (before, behind) in enumerate(zip(self.before, self.behind, strict=True)):
            here = np.flatnonzero(labels == part)
            if steep[part] > 0.0:
                slope = steep[part] * (logs[behind] - logs[before]) / (middle[behind] - middle[before])
                apart = np.clip((here - middle[part])[:, None] * slope, -STEEPEST / 2.0, STEEPEST / 2.0)
                start = np.exp(logs[part] + apart)
                rows = np.maximum(one[here], _TINY)
                found.append(_raked(start, rows * (float(counts[part].sum()) / float(rows.sum())), counts[part]))
                out[here] = number + np.arange(len(here))
            else:
                found.append(counts[part : part + 1])
                out[here] = number
            number += len(found[-1])
        return out, np.concatenate(found)


def _raked(start: Estimates, rows: Estimates, others: Estimates) -> Estimates:
    """``start`` (cells, others) brought to the rows of both: nearest in relative entropy (Csiszar 1975). No cell is
    below a trace of independence."""
    total = max(float(rows.sum()), _TINY)
    least = NEAR * np.outer(rows, np.maximum(others, _TINY)) / total
    out = np.maximum(start, _TINY)
    for _ in range(ROUNDS):
        out = np.maximum(out * (others / np.maximum(out.sum(axis=0), _TINY))[None, :], least)
        sums = out.sum(axis=1)
        out = out * (rows / np.maximum(sums, _TINY))[:, None]
        if float(np.abs(sums - rows).sum()) <= NEAR * total:
            break
    return np.asarray(out)
