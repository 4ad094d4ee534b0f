"""What the noise of finely measured pairs may hide from a model. Public.

Where no cell of a pair tells more than its noise, a model knows the pair by what parts of it show together. What these
do not tell from chance may be there and is not seen, in simulations of the model neither. It is the most of the noise
of a few cells, and of many less, for coarse parts are seen.
"""

from itertools import combinations

import numpy as np

from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.bars.numbers import Numbers
from dpsql.hypothesis.bars.unseen_interactions import Contingency
from dpsql.hypothesis.tensor.levels import is_fine, levels_of
from dpsql.query import Choices, Estimates

HIDDEN = 0.05
"""Of the variance of the noise of all cells so much may be hidden, and of a share s of them 1 / sqrt(s) times as much
of their own, up to all of it."""
CLEAR = 0.1
"""How far a pair is from independence, in shares of the rows, where what is seen of it is taken to go on in what is
not: pairs that are nearer hide in proportion less."""
LEVEL = 1
"""Of which parts that is looked at: eight of each column."""


class LostInNoise:
    """Of one model, whose rows of cells ``contingency`` says."""

    def __init__(self, coverage: Coverage, contingency: Contingency) -> None:
        self._table = coverage.table
        self._fine = _fine_pairs(coverage) if coverage.rules.coarsely else frozenset()
        self._contingency = contingency
        self._clearly: dict[tuple[str, str], float] = {}

    def share(self, asked: Choices) -> Numbers:
        """Of each product, of the variance of the noise that covers it: what the pairs among its columns hide."""
        out: Numbers = 0.0 if asked.is_one else np.zeros(len(asked))
        alone = [i for i, columns in enumerate(asked.columns) if len(columns) == 1] if self._fine else []
        for i, j in combinations(alone, 2):
            left, right = asked.columns[i][0], asked.columns[j][0]
            if frozenset((left, right)) in self._fine:
                part = np.maximum(_taken(asked, i) * _taken(asked, j), np.finfo(np.float64).tiny)
                here = self._clear(left, right) * np.minimum(1.0, HIDDEN / np.sqrt(part))
                out = max(float(out), float(here[0])) if asked.is_one else np.maximum(out, here)
        return out

    def _clear(self, left: str, right: str) -> float:
        """How clearly two columns depend on each other, from 0 to 1: coarse parts' distance in total variation."""
        known = self._clearly.get((left, right))
        if known is None:
            cells = np.maximum(self._contingency((left, right)), 0.0)
            rows, columns, total = cells.sum(axis=1), cells.sum(axis=0), max(float(cells.sum()), 1.0)
            ordered = tuple([self._table.finite_domain(c).ordered for c in (left, right)])
            found = levels_of((rows, columns), (ordered[0], ordered[1]))
            level = found[min(LEVEL, len(found) - 1)] if found else None
            apart = cells - np.outer(rows, columns) / total
            apart = apart if level is None else level.rows @ apart @ level.columns.T
            known = self._clearly[left, right] = min(1.0, float(np.abs(apart).sum()) / (2.0 * total) / CLEAR)
        return known


def _fine_pairs(coverage: Coverage) -> frozenset[frozenset[str]]:
    """Those that were measured cell by cell and whose cells are lost in their noise."""
    pairs = [m for m in coverage.measurements if len(m.axes) == 2 and all(a.is_cells for a in m.axes)]
    return frozenset(m.columns for m in pairs if is_fine(m.values.size, coverage.row_count, m.sigma))


def _taken(asked: Choices, place: int) -> Estimates:
    """The share of a column's cells that each product takes."""
    found = np.array([len(f.support) / f.weights.size for f in asked.factors[place]])
    return np.asarray(found[asked.numbers[place]])
