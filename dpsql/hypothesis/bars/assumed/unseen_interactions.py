"""How far interactions of three columns and more may move an answer where no measurement shows them. Public.

Pairs say nothing of them: a parity of three columns leaves every pair as it was and moves each cell by its own rows, to
none or to twice as many. No simulation of a fitted model has them either, so a bar allows for them by assumption: each
cell of three columns deviates by an independent share of its rows, with 95 % by at most ``STRENGTH``. Of a sum over
cells, the deviations partly cancel: by the effective number of cells (Kish 1965, section 8.2), and altogether when it
takes in every cell of a column (the finite population correction; Cochran 1977, section 2.6), for pairs are known.
"""

from collections.abc import Sequence
from functools import partial
from itertools import combinations

import numpy as np

from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.bars.numbers import Contingency, Numbers, most, product_of, square
from dpsql.hypothesis.measurement import Labels
from dpsql.hypothesis.partition import part_sums
from dpsql.memo import Memo
from dpsql.query import Choices, Factor

STRENGTH = 1.0
"""A parity's own: a cell may have none of its rows, or twice as many."""

INSIDE = 0.3
"""The same where three columns were measured on parts, inside these: what parts show is mostly more."""

_TINY = 1e-300


class UnseenInteractions:
    """Deviations that a model's answers may have because of what its pairs leave out. ``contingency``: its counts."""

    def __init__(self, coverage: Coverage, contingency: Contingency) -> None:
        self._coverage = coverage
        self._contingency = contingency
        self._scatters: Memo[float] = Memo()
        self._shares: Memo[float] = Memo()

    def squared(self, asked: Choices, h: Numbers, raw: Numbers) -> Numbers:
        """Squared 95 % half-width, in counts, of each product with answer ``h``; 0 for two columns and fewer.

        Of three columns that were measured together, only as much as the noise hides (``raw``: its sd), and what is
        inside the parts on which they were.
        """
        if sum(map(len, asked.columns)) < 3:
            return 0.0
        scatters = [asked.each(i, self._scatter_of) for i in range(len(asked.factors))]
        grown = product_of(1.0 + scatter for scatter in scatters)
        cells = square(STRENGTH * h)
        if any(len(columns) != 1 for columns in asked.columns):
            return cells * (grown - 1.0)
        out = cells * _beyond_pairs(scatters, grown)
        for places in combinations(range(len(scatters)), 3):
            a, b, c = (scatters[i] for i in places)
            columns = [asked.columns[i][0] for i in places]
            if self._coverage.measured_together(columns):
                whole = cells * (a * b * c)
                out = out - most(0.0, whole * (1.0 - self._inside(asked, places, columns)) - square(raw))
        return out

    def _inside(self, asked: Choices, places: Sequence[int], columns: Sequence[str]) -> Numbers:
        """Of the deviations of three columns that were measured on parts, what goes on inside these: of conditions
        that cut none nothing."""
        parts = self._coverage.parts_together(columns)
        if parts is None:
            return 0.0
        told: Numbers = 1.0
        for place, column in zip(places, columns, strict=True):
            labels = parts.axes[parts.axis_of(column)].labels
            told = told * asked.each(place, partial(self._told, labels))
        return INSIDE**2 * (1.0 - told)

    def _told(self, labels: Labels, factor: Factor) -> float:
        """The share of a condition that parts tell: of the squares of its weights that of their means over parts."""
        key = (factor.digest, labels.tobytes())
        known = self._shares.get(key)
        return self._shares.put(key, self._share(labels, factor)) if known is None else known

    def _share(self, labels: Labels, factor: Factor) -> float:
        cells, weights = self._contingency(factor.columns), factor.weights / factor.unit
        inside = part_sums(labels, cells * weights)
        means = inside / np.maximum(part_sums(labels, cells), _TINY)
        squares = float((cells * weights**2).sum())
        return min(1.0, float((inside * means).sum()) / squares) if squares > _TINY else 0.0

    def _scatter_of(self, factor: Factor) -> float:
        known = self._scatters.get(factor.digest)
        return self._scatter(factor) if known is None else known

    def _scatter(self, factor: Factor) -> float:
        """Variance of a factor's rows, as a share of their square, when its cells deviate by shares of variance 1.

        Deviations cancel over a column, of which pairs are known: what rows of a sum count alike they do not move. It
        is that of what each value counts beyond the mean that makes it least.
        """
        cells, weights = self._contingency(factor.columns), factor.weights / factor.unit
        inside = cells * weights
        rows = float(inside.sum())
        if factor.unit > 1 and self._coverage.rules.effective_rows and rows > _TINY:
            squares = (cells / rows) ** 2
            mean = float((squares * weights).sum()) / max(float(squares.sum()), _TINY)
            return self._scatters.put(factor.digest, min(1.0, float((squares * (weights - mean) ** 2).sum())))
        shares = inside / rows if rows > _TINY else np.ones(1)  # squares of the rows of empty cells would underflow
        effective = min(1.0, float((shares**2).sum()))
        return self._scatters.put(factor.digest, effective * max(0.0, 1.0 - rows / self._coverage.row_count))


def _beyond_pairs(scatters: Sequence[Numbers], grown: Numbers) -> Numbers:
    """Sum over all sets of three and more of the products of their scatters; ``grown``: the product of each and one.

    >>> _beyond_pairs(np.array([[0.5], [0.5], [1.0]]), np.array([4.5])).tolist()
    [0.25]
    """
    pairs: Numbers = sum(a * b for a, b in combinations(scatters, 2))
    alone: Numbers = sum(scatters)
    return most(0.0, grown - 1.0 - alone - pairs)
