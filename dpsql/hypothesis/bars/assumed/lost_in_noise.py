"""What the noise of finely measured pairs may hide from a model. Public.

Where hardly a cell of a pair tells more than its noise, a model knows the pair by what parts of it show together. What
these do not tell from chance may be there and is not seen, in simulations of the model neither. It is the most of the
noise of a few cells, and of many less, for coarse parts are seen.
"""

from functools import reduce
from itertools import combinations
from math import sqrt

import numpy as np

from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.bars.numbers import Contingency, Numbers
from dpsql.hypothesis.shrinkage import LIGHT
from dpsql.hypothesis.tensor.levels import levels_of
from dpsql.query import Choices, Estimates

FINE = 2.0
"""Noise hides something of a pair where an average cell holds less than so many sds of it, """
MANY = 500
"""or where a model has so many cells of hardly any rows: each of them may be what noise adds to none."""
HIDDEN = 0.06
"""Of the variance of the noise of all cells so much may be hidden where these hold next to none of its sds, of cells of
m sds sqrt(1 + m) times as much (what is more than none is what empty cells are taken for), and of a share s of the
cells 1 / sqrt(s) times as much of their own; up to all of it."""
CLEAR = 0.1
"""How far a pair is from independence, in shares of the rows, where what is seen of it is taken to go on in what is
not: pairs that are nearer hide in proportion less."""
LEVEL = 1
"""Of which parts that is looked at: eight of each column."""


def is_lost(cells: Estimates, sigma: float) -> bool:
    """Whether a model's ``cells`` of a pair that was measured with noise of sd ``sigma`` in each are lost in it.

    >>> [is_lost(np.eye(40) * rows, 9.0) for rows in (10.0, 10_000.0)], is_lost(np.eye(10) * 10_000.0, 9.0)
    ([True, True], False)
    """
    return float(cells.sum()) < FINE * sigma * cells.size or int((cells < LIGHT * sigma).sum()) > MANY


class LostInNoise:
    """Of one model, whose rows of cells ``contingency`` says."""

    def __init__(self, coverage: Coverage, contingency: Contingency) -> None:
        self._table = coverage.table
        self._sigmas = _fine_pairs(coverage) if coverage.rules.coarsely else {}
        self._compared = coverage.rules.compared
        self._contingency = contingency
        self._hidden: dict[tuple[str, str], tuple[float, float]] = {}

    def share(self, asked: Choices) -> Numbers:
        """Of each product, of the variance of the noise that covers it: what the pairs among its columns hide."""
        out: Numbers = 0.0 if asked.is_one else np.zeros(len(asked))
        alone = [i for i, columns in enumerate(asked.columns) if len(columns) == 1] if self._sigmas else []
        pairs: list[tuple[tuple[str, str], tuple[int, ...]]] = [
            ((asked.columns[i][0], asked.columns[j][0]), (i, j)) for i, j in combinations(alone, 2)
        ]
        if self._compared:  # a comparison of two columns, for itself
            pairs += [((columns[0], columns[1]), (i,)) for i, columns in enumerate(asked.columns) if len(columns) == 2]
        for names, places in pairs:
            if names in self._sigmas:
                clear, hidden = self._hides(*names)
                taken = reduce(np.multiply, [_taken(asked, place) for place in places])
                part = np.maximum(taken, np.finfo(np.float64).tiny)
                here = clear * np.minimum(1.0, hidden / np.sqrt(part))
                out = max(float(out), float(here[0])) if asked.is_one else np.maximum(out, here)
        return out

    def _hides(self, left: str, right: str) -> tuple[float, float]:
        """How clearly two columns depend on each other, from 0 to 1, by how far coarse parts are from independence, and
        the share of the noise that all cells hide; 0 and 0 where they are not lost in it."""
        known = self._hidden.get((left, right))
        if known is None:
            cells, sigma = np.maximum(self._contingency((left, right)), 0.0), self._sigmas[left, right]
            known = 0.0, 0.0
            if is_lost(cells, sigma):
                known = min(1.0, self._apart(cells, (left, right)) / CLEAR), HIDDEN * sqrt(1.0 + cells.mean() / sigma)
            self._hidden[left, right] = known
        return known

    def _apart(self, cells: Estimates, names: tuple[str, str]) -> float:
        rows, columns, total = cells.sum(axis=1), cells.sum(axis=0), max(float(cells.sum()), 1.0)
        left, right = (self._table.finite_domain(c).ordered for c in names)
        found = levels_of((rows, columns), (left, right))
        level = found[min(LEVEL, len(found) - 1)] if found else None
        apart = cells - np.outer(rows, columns) / total
        apart = apart if level is None else level.rows @ apart @ level.columns.T
        return float(np.abs(apart).sum()) / (2.0 * total)


def _fine_pairs(coverage: Coverage) -> dict[tuple[str, str], float]:
    """Those that were measured cell by cell and that ``is_lost`` may say of, with the sd of their noise; both ways."""
    pairs = [m for m in coverage.measurements if len(m.axes) == len(m.columns) == 2]
    cells = [m for m in pairs if all(a.is_cells for a in m.axes)]
    some = [m for m in cells if m.values.size > MANY or coverage.row_count < FINE * m.sigma * m.values.size]
    both = [(m.axes[0].columns[0], m.axes[1].columns[0], m.sigma) for m in some]
    return {names: sigma for a, b, sigma in both for names in ((a, b), (b, a))}


def _taken(asked: Choices, place: int) -> Estimates:
    """The share of a column's cells that each product takes."""
    found = np.array([len(f.support) / f.weights.size for f in asked.factors[place]])
    return np.asarray(found[asked.numbers[place]])
