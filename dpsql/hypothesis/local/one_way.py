"""Cleaned 1-way tables: generalised least squares over everything that projects on one column. Public.

A column is measured alone and again in every pair. Combining all of it makes the best known numbers of the model, to
which pairs are then fitted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np

from dpsql.hypothesis.columns.contrasts import is_fine, smoothed
from dpsql.hypothesis.columns.cycles import in_proportion, in_step
from dpsql.hypothesis.columns.possible_counts import Possible, beside_peaks, least_peak, nearest, peaks, top_down
from dpsql.hypothesis.measurement import Labels, Measurement
from dpsql.hypothesis.partition import refinement
from dpsql.query import Estimates

_MOST_PARTS = 1024
_EXACT = 1e3  # what is exact counts so many times what all measurements together do


@dataclass(frozen=True, eq=False)
class PartCounts:
    """Noisy counts of the parts of one column: ``labels`` of its cells, ``values`` per part, noise sd ``sigma``."""

    labels: Labels
    values: Estimates
    sigma: float

    @classmethod
    def of(cls, m: Measurement, column: str) -> "PartCounts":
        """A measurement summed over its other axes: their noise adds up."""
        i = m.axis_of(column)
        others = tuple(j for j in range(len(m.axes)) if j != i)
        sigma = m.sigma * float(prod(m.values.shape[j] for j in others)) ** 0.5
        return cls(m.axes[i].labels, m.values.sum(axis=others).astype(np.float64), sigma)

    @property
    def fine(self) -> bool:
        return len(self.values) == len(self.labels)


def clean_one_way(
    size: int,
    counts: Sequence[PartCounts],
    total: float,
    *,
    parts_first: bool = True,
    ordered: bool = False,
    nullable: bool = False,
    smooth: bool = False,
    peaked: bool = False,
    cycles: tuple[Labels, ...] = (),
) -> Estimates:
    """Counts (float64, > 0, sum ``total``) of a column's ``size`` cells that fit all ``counts`` best.

    Least squares with exact covariances. Cells that no measurement tells apart share their part evenly, so it is
    enough to solve for the common refinement of the coarse partitions; then what a table can be, with ``parts_first``
    of the parts' sums before their cells (rules of the ledger). ``ordered``: long ranges before short ones;
    ``nullable``: the last cell is NULL; ``smooth``: neighbours of an ordered column that show nothing beyond noise are
    taken for alike, beside what comes again in ``cycles``; ``peaked``: cells of one that stand out of theirs are as
    they were measured.

    >>> halves = PartCounts(np.array([0, 0, 1, 1]), np.array([60.0, 40.0]), 1.0)
    >>> clean_one_way(4, [halves], 100.0).round(3)
    array([30., 30., 20., 20.])
    """
    cells, variance = _fine(size, [c for c in counts if c.fine], total)
    cycles = cycles if smooth and is_fine(size - nullable) else ()
    fine, above = cells, np.zeros(size)
    if ordered and any(c.fine for c in counts):
        if peaked:
            above = peaks(cells, variance**0.5, apart=nullable)
        if smooth:
            again = in_step(cells - above, variance**0.5, cycles, apart=nullable)
            fine = smoothed(cells, variance**0.5, apart=nullable, above=above + again)
    likely: Possible = partial(top_down, apart=nullable) if ordered else nearest
    coarse = [c for c in counts if not c.fine]
    parts = refinement([np.zeros(size, dtype=np.int64), *(c.labels for c in coarse)])
    number = int(parts.max()) + 1
    if number > _MOST_PARTS:
        return in_proportion(beside_peaks(likely, fine - above, above, total), fine, cycles, apart=nullable)
    width = np.bincount(parts, minlength=number).astype(np.float64)
    sums = np.bincount(parts, weights=cells, minlength=number)
    precision = np.diag(1.0 / (width * variance))
    right = sums / (width * variance)
    label = np.zeros(number, dtype=np.int64)
    for c in coarse:
        label[parts] = c.labels
        member = (label[None, :] == np.arange(len(c.values))[:, None]).astype(np.float64)
        precision += member.T @ member / c.sigma**2
        right += member.T @ c.values / c.sigma**2
    exact = float(np.trace(precision))  # the total is known: a measurement far more precise than all others
    precision += exact * _EXACT
    right += exact * _EXACT * total
    solved: Estimates = np.linalg.solve(precision, right).astype(np.float64)
    moved = fine + ((solved - np.bincount(parts, weights=fine, minlength=number)) / width)[parts]
    if not parts_first:
        return nearest(moved, total)
    if number == 1:
        return in_proportion(beside_peaks(likely, moved - above, above, total), moved, cycles, apart=nullable)
    high = np.bincount(parts, weights=above, minlength=number).astype(np.float64)
    null = parts[-1]
    if peaked and ordered and nullable and width[null] == 1 and solved[null] > least_peak(size, variance**0.5):
        high[null] = solved[null]  # it is in no range, whose noise would be its own
    of_part = beside_peaks(top_down if ordered else nearest, solved - high, high, total)
    found = _by_parts(moved, above, parts, of_part, top_down if ordered else nearest)
    return in_proportion(found, moved, cycles, apart=nullable)


def _by_parts(cells: Estimates, above: Estimates, parts: Labels, of_part: Estimates, possible: Possible) -> Estimates:
    """In each part possible counts: the noise of a part's empty cells cannot leave it. Of ``cells`` so many rows are
    ``above`` their neighbours'."""
    out, rest = np.empty_like(cells), cells - above
    for part, rows in enumerate(of_part.tolist()):
        inside = parts == part
        out[inside] = beside_peaks(possible, rest[inside], above[inside], rows)
    return out


def _fine(size: int, counts: Sequence[PartCounts], total: float) -> tuple[Estimates, float]:
    """The mean of the cell-by-cell measurements and its variance; without any, uniform and almost unknown."""
    precision = 1.0 / max(total, 1.0) ** 2
    weighted = np.full(size, total / size) * precision
    for c in counts:
        weighted += c.values[c.labels] / c.sigma**2
        precision += 1.0 / c.sigma**2
    return weighted / precision, 1.0 / precision
