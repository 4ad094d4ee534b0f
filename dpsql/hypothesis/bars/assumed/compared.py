"""Conditions that compare columns, inside the parts on which these were measured together. Public.

Parts say how many rows have both values in the same month, and nothing of which of these is earlier. Who compares two
columns knows that they belong together: all rows of a part may be on one side, where a model has them on both.
"""

from dataclasses import dataclass
from math import prod, sqrt

import numpy as np

from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.bars.numbers import Contingency, Numbers, square
from dpsql.hypothesis.classes import Classes
from dpsql.hypothesis.measurement import Labels
from dpsql.hypothesis.shrinkage import LIGHT
from dpsql.memo import Memo
from dpsql.query import Choices, Estimates, Factor

FEWEST_CLASSES = 4
"""A condition that tells fewer kinds of a column's values apart compares no values: it is one of AND, OR and NOT."""
MOST_CELLS = 1 << 24
"""Of compared columns together that are remembered: one pair of the largest that are answered, or many small ones."""


@dataclass(frozen=True, eq=False)
class _Parts:
    """Of all cells of some columns, flat: the ``block`` that each is in and the model's rows; of each block the rows,
    the cells, and the noise of its measurement."""

    block: Labels
    cells: Estimates
    rows: Estimates
    widths: Labels
    sigma: float


class Compared:
    """Of one model, whose rows of cells ``contingency`` says."""

    def __init__(self, coverage: Coverage, contingency: Contingency) -> None:
        self._coverage = coverage
        self._contingency = contingency
        self._open: Memo[float] = Memo()
        self._classes: Memo[bool] = Memo()
        self._blocks: Memo[_Parts] = Memo(MOST_CELLS)

    def compares(self, factor: Factor) -> bool:
        """Whether a factor is a condition that ties values of columns together one by one; one that weighs rows is
        none."""
        if factor.unit > 1 or len(factor.columns) == 1:
            return False
        if min(factor.weights.shape) < FEWEST_CLASSES:
            return False
        known = self._classes.get(factor.digest)
        if known is None:
            classes = Classes.of([factor], factor.weights.size)
            fewest = 0 if classes is None else min(classes.weights.shape)
            known = self._classes.put(factor.digest, fewest >= FEWEST_CLASSES)
        return known

    def off(self, asked: Choices) -> Numbers:
        """What each product's answer may be off by for it, in counts: the rows that parts leave open, as many of them
        as are within its other conditions if these hold for all alike. 0 for conditions on single columns."""
        squares: Numbers = 0.0 if asked.is_one else np.zeros(len(asked))
        for place, columns in enumerate(asked.columns):
            if len(columns) > 1:
                left_open = asked.each(place, self._open_rows)
                for other in range(len(asked.factors)):
                    if other != place:
                        left_open = left_open * asked.each(other, self._share)
                squares = squares + square(left_open)
        return squares**0.5

    def _open_rows(self, factor: Factor) -> float:
        known = self._open.get(factor.digest)
        return self._open.put(factor.digest, self._left_open(factor)) if known is None else known

    def _left_open(self, factor: Factor) -> float:
        """How far the rows that count may be from what the model says, if all of a part are on the side that is
        farther. Of parts of which all cells count alike those of few rows, beside their noise, may have none: many are
        never below 0 together, by no more than that noise."""
        if not self.compares(factor):
            return 0.0
        parts = self._parts(factor.columns)
        inside = factor.support
        block = parts.block[inside]
        hits = np.bincount(block, minlength=len(parts.rows))
        counted = np.bincount(block, weights=parts.cells[inside], minlength=len(parts.rows))
        cut, whole = (hits > 0) & (hits < parts.widths), hits == parts.widths
        left_open = max(float((parts.rows - counted)[cut].sum()), float(counted[cut].sum()))
        light = whole & (parts.rows < LIGHT * parts.sigma)
        hidden = DEVIATIONS * parts.sigma * sqrt(float(np.count_nonzero(light)))
        return left_open + min(float(counted[light].sum()), hidden)

    def _parts(self, columns: tuple[str, ...]) -> "_Parts":
        known = self._blocks.get(columns)
        if known is None:
            cells = np.maximum(self._contingency(columns), 0.0).reshape(-1)
            labels, sigma = self._labels(columns)
            sizes = [int(part.max()) + 1 for part in labels]
            block = np.ravel_multi_index(np.ix_(*labels), sizes).reshape(-1)
            rows, widths = np.bincount(block, weights=cells, minlength=prod(sizes)), np.bincount(block)
            found = _Parts(block, cells, np.asarray(rows, dtype=np.float64), widths, sigma)
            known = self._blocks.put(columns, found, cells.size)
        return known

    def _labels(self, columns: tuple[str, ...]) -> tuple[list[Labels], float]:
        """Of each column the part of every cell, those of the finest measurement of all of them with the sd of its
        noise; or those of their pairs, and 0."""
        of_all = [m for m in self._coverage.measurements if len(m.axes) == len(columns) and m.columns == set(columns)]
        if not of_all:
            return [self._coverage.pair_parts(c)[0] for c in columns], 0.0
        finest = max(of_all, key=lambda m: prod(int(a.labels.max()) + 1 for a in m.axes))
        return [finest.axes[finest.axis_of(c)].labels.reshape(-1) for c in columns], finest.sigma

    def _share(self, factor: Factor) -> float:
        cells = np.maximum(self._contingency(factor.columns), 0.0)
        return float((cells * factor.weights).sum()) / factor.unit / max(float(cells.sum()), 1.0)
