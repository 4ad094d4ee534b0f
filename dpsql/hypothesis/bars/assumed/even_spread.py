"""Rows of a column that its noise does not tell from rows spread evenly. Public.

Counts of cells are made possible ones: of many cells with fewer rows than noise a few keep all, the others none, as
would be true of few values that have many rows. Simulations begin there and see nothing else. Rows that are spread
evenly over such cells, as in a long tail, are as likely: a bar allows for what an answer would be then.
"""

from collections.abc import Sequence
from math import log, sqrt

import numpy as np

from dpsql.hypothesis.bars.assumed.single_columns import SingleColumns, taken
from dpsql.hypothesis.bars.numbers import Numbers, most, product_of
from dpsql.hypothesis.columns.contrasts import is_fine
from dpsql.hypothesis.columns.possible_counts import halvings
from dpsql.query import Choices, Estimates, Factor

TOLD = 3.0
"""Sds of their noise that cells have together, of which noise tells where among them the rows are."""
UNEVEN = 1.5
"""Of columns that are smoothed: times as far as rows spread evenly a bar allows for. What no noise tells from these is
still seldom quite so, and of many values few show it."""


class EvenSpread:
    """Of one model, of whose columns ``single`` knows."""

    def __init__(self, single: SingleColumns, *, used: bool, smooth: bool = False) -> None:
        self._single = single
        self._used = used
        self._smooth = smooth
        self._spread: dict[str, list[Estimates]] = {}

    def off(self, asked: Choices) -> Numbers:
        """How far each product moves, in counts, were the rows of one of its columns spread so: of what is left of it
        by the others, at most the noise of the column's own counts. 0 where a factor ties columns together."""
        out: Numbers = 0.0 if asked.is_one else np.zeros(len(asked))
        if not self._used or any(len(columns) > 1 for columns in asked.columns):
            return out
        at, places = self._single.at, range(len(asked.factors))
        moves = {i: at(asked, i, self.moves) for i in places if asked.columns[i]}
        for i, moved in moves.items():
            if np.any(moved):
                out = most(out, moved * product_of(at(asked, j, self._single.share) for j in places if j != i))
        return out

    def moves(self, factors: Sequence[Factor]) -> Estimates:
        """The same of factors over one column each, float64, shape (factors,)."""
        if not self._used:
            return np.zeros(len(factors))
        single, column = self._single, factors[0].columns[0]
        moved = [np.abs(taken(factors, spread - single.rows(column))) for spread in self._evenly(column)]
        fine = self._smooth and is_fine(len(single.rows(column)))
        far = np.max(moved, axis=0) * (UNEVEN if fine else 1.0)
        return np.asarray(np.minimum(far, single.hidden(factors)))

    def _evenly(self, column: str) -> list[Estimates]:
        """Its cells where they are spread, in each way."""
        known = self._spread.get(column)
        if known is None:
            single, domain = self._single, self._single.table.finite_domain(column)
            cells, sigma = single.rows(column), single.sigma(column)
            known = [cells]
            if sigma < single.row_count:
                known = [evenly(cells, sigma, ordered=domain.ordered, nullable=domain.nullable)]
                known += [evenly_alike(cells, sigma, nullable=domain.nullable)] * (self._smooth and domain.ordered)
            self._spread[column] = known
        return known


def evenly(cells: Estimates, sigma: float, *, ordered: bool, nullable: bool) -> Estimates:
    """Counts of cells, spread evenly over those among which noise of sd ``sigma`` in each does not tell them apart.

    These are ranges of an ordered column, by halves, and all light cells of any other; the last cell is that of NULL
    where there is one, and left as it is.

    >>> evenly(np.array([900.0, 0.0, 0.0, 60.0, 0.0]), 50.0, ordered=True, nullable=True).tolist()
    [900.0, 0.0, 30.0, 30.0, 0.0]
    >>> evenly(np.array([900.0, 0.0, 0.0, 60.0, 0.0]), 50.0, ordered=False, nullable=True).tolist()
    [900.0, 20.0, 20.0, 20.0, 0.0]
    """
    out = np.array(cells, dtype=np.float64)
    values = out[: len(out) - nullable]
    if not ordered:
        light = values < TOLD * sigma
        values[light] = values[light].mean() if light.any() else 0.0
        return out
    parts = [(0, len(values))]
    while parts:
        low, high = parts.pop()
        if values[low:high].min() >= TOLD * sigma:  # no part of it is light
            continue
        if float(values[low:high].sum()) < TOLD * sigma * sqrt(high - low):
            values[low:high] = values[low:high].mean()
        elif high - low > 1:
            middle = (low + high) // 2
            parts += [(low, middle), (middle, high)]
    return out


def evenly_alike(cells: Estimates, sigma: float, *, nullable: bool) -> Estimates:
    """The same of an ordered column (float64, shape (cells,)), spread evenly over ranges in which noise tells no half
    from its other one: by none of the differences of their means in TOLD sds, or in sqrt(2 ln n) of them for n cells
    (Donoho and Johnstone 1994).

    Ranges of which all is lighter than noise are spread, too, and none whose cells are TOLD sds on average.

    >>> evenly_alike(np.array([90.0, 0.0, 60.0, 0.0, 900.0]), 50.0, nullable=True).tolist()
    [37.5, 37.5, 37.5, 37.5, 900.0]
    >>> evenly_alike(np.array([900.0, 0.0, 60.0, 0.0]), 50.0, nullable=False).tolist()
    [900.0, 0.0, 30.0, 30.0]
    """
    values = cells[: len(cells) - nullable]
    levels = halvings(values)
    least = max(TOLD, sqrt(2.0 * log(len(values))))
    told = [np.zeros(len(levels[0][0]), dtype=bool)]  # of each range whether noise tells two halves in it apart
    for sums, sizes in levels[:-1]:
        number = np.maximum(sizes, 1.0)
        mean = sums / number
        gap = np.abs(mean[::2] - mean[1::2])
        apart = gap > least * sigma * np.sqrt(1.0 / number[::2] + 1.0 / number[1::2])
        told.append(told[-1].reshape(-1, 2).any(axis=1) | (apart & (sizes[1::2] > 0.0)))
    found, waits = np.full(1, np.nan), np.ones(1, dtype=bool)
    for (sums, sizes), some in zip(levels[::-1], told[::-1], strict=True):
        if len(found) < len(sums):
            found, waits = np.repeat(found, 2), np.repeat(waits, 2)
        light = sums < TOLD * sigma * np.sqrt(np.maximum(sizes, 1.0))
        even = waits & (~some | light) & (sums < TOLD * sigma * np.maximum(sizes, 1.0))
        found, waits = np.where(even, sums / np.maximum(sizes, 1.0), found), waits & ~even
    found = found[: len(values)]
    return np.append(np.where(np.isnan(found), values, found), cells[len(values) :])
