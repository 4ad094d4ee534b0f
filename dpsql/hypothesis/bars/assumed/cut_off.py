"""Rows that a column's noise took to 0 and below, where counts are cut. Public.

A model's cell that has no rows may be one that noise took there: of a region with seven thousand rows, noise of sd five
thousand shows none in one session of twelve. Simulations of the model begin with a cell without rows and see no more
than the noise that is left of it. A bar allows for what such a cell may have: more where noise is larger, and hardly
any among many cells that have few rows together.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from math import erfc, exp, log, sqrt

import numpy as np

from dpsql.confidence import OUTSIDE
from dpsql.hypothesis.bars.assumed.even_spread import TOLD
from dpsql.hypothesis.bars.assumed.single_columns import SingleColumns, taken
from dpsql.hypothesis.bars.numbers import Numbers, product_of
from dpsql.query import Choices, Estimates, Factor

_RATIOS = np.geomspace(1e-3, 25.0, 257)
"""Of the noise's sd to the mean count, at which ends are worked out; between them they are interpolated."""
_STEPS = 60


class CutOff:
    """Of one model, of whose columns ``single`` knows; ``noise``: the sd, in counts, of factors over one column."""

    def __init__(self, single: SingleColumns, noise: Callable[[Choices], Numbers], *, used: bool) -> None:
        self._single = single
        self._noise = noise
        self._used = used
        self._likely: dict[str, Estimates] = {}

    def off(self, asked: Choices) -> Numbers:
        """How many rows of each product over one column, in counts, noise may have cut off; 0 of all others: bars of
        several columns hold without it, for their cells have noise of their own."""
        places = [i for i, columns in enumerate(asked.columns) if columns]
        if not self._used or len(places) != 1 or len(asked.columns[places[0]]) > 1:
            return 0.0 if asked.is_one else np.zeros(len(asked))
        constants = (
            self._single.at(asked, i, self._single.share) for i in range(len(asked.columns)) if i not in places
        )
        return self._single.at(asked, places[0], self.moves) * product_of(constants)

    def moves(self, factors: Sequence[Factor]) -> Estimates:
        """The same of factors over one column, float64, shape (factors,): from what each takes in to the upper end
        of what it may take in, or of what it leaves out, which is as far off. 0 where cells were not measured one by
        one: nothing is known then of what their noise did."""
        if self._single.sigma(factors[0].columns[0]) >= self._single.row_count:
            return np.zeros(len(factors))
        moved = self._beyond(factors)
        for i in self._nearly_all(factors):
            contrary = replace(factors[i], weights=factors[i].unit - factors[i].weights)
            moved[i] = max(moved[i], float(self._beyond([contrary])[0]))
        return moved

    def _beyond(self, factors: Sequence[Factor]) -> Estimates:
        column = factors[0].columns[0]
        rows, mean = taken(factors, self._single.rows(column)), taken(factors, self._cells(column))
        sd = self._noise(Choices((factors,), (np.arange(len(factors)),), len(factors)))
        most = np.minimum(upper_end(mean, np.minimum(sd, self._single.row_count)), self._single.row_count)
        return np.maximum(0.0, most - rows)

    def _nearly_all(self, factors: Sequence[Factor]) -> list[int]:
        """The places of those that leave out so few rows that noise may have cut off some."""
        cells = self._single.rows(factors[0].columns[0])
        noise = 2.0 * self._single.sigma(factors[0].columns[0]) * sqrt(len(cells))
        left = float(cells.sum()) - taken(factors, cells)
        return [i for i in np.flatnonzero(left < noise).tolist() if factors[i].unit == 1 and factors[i].point is None]

    def _cells(self, column: str) -> Estimates:
        """As many rows as each cell may well have: the light ones their mean, and an sd of it more; NULL by itself."""
        known = self._likely.get(column)
        if known is None:
            single, domain = self._single, self._single.table.finite_domain(column)
            known, sigma = np.array(single.rows(column), dtype=np.float64), single.sigma(column)
            inside = len(known) - domain.nullable
            for cells in (known[:inside], known[inside:]):
                light = cells < TOLD * sigma
                if light.any():
                    cells[light] = cells[light].mean() + sigma / sqrt(np.count_nonzero(light))
            self._likely[column] = known
        return known


def upper_end(mean: Estimates, sd: Estimates) -> Estimates:
    """What a count of 0 or more exceeds in one of twenty cases, where noise of ``sd`` took it to 0 or below.

    Counts have an exponential law with this ``mean`` beforehand; of those of t rows noise takes the share Phi(-t / sd)
    so far (Bayes; in units of sd its integral from t on is exp(-r t) Phi(-t) - exp(r^2 / 2) Phi(-t - r), all over
    r = sd / mean, by parts).

    >>> upper_end(np.array([1e9, 10.0, 0.01]), np.array([10.0, 10.0, 10.0])).round(2).tolist()
    [16.64, 11.95, 0.03]
    """
    ratio = sd / np.maximum(mean, np.finfo(np.float64).tiny)
    ends = np.interp(np.log(np.clip(ratio, _RATIOS[0], _RATIOS[-1])), np.log(_RATIOS), _ends())
    return np.where(ratio > _RATIOS[-1], -log(OUTSIDE) * mean, ends * sd)


@cache
def _ends() -> Estimates:
    """``upper_end`` at each of the ratios, in units of sd."""
    out = []
    for r in _RATIOS.tolist():
        least, low, high = OUTSIDE * _tail(0.0, r), 0.0, 2.0
        for _ in range(_STEPS):
            middle = (low + high) / 2.0
            low, high = (middle, high) if _tail(middle, r) > least else (low, middle)
        out.append(high)
    return np.array(out)


def _tail(t: float, r: float) -> float:
    """exp(-r t) Phi(-t) - exp(r^2 / 2) Phi(-t - r)."""
    return 0.5 * (exp(-r * t) * erfc(t / sqrt(2.0)) - exp(r * r / 2.0) * erfc((t + r) / sqrt(2.0)))
