"""Conditions that nearly exclude each other, over cells of which none tells more than its noise. Public.

Nobody is overdue who has kept a book for less than 28 days: of thirty cells without rows each keeps some of its noise,
for none is ever below 0, and their sum is off by all of it. Simulations of the model do not show it: in them the cells
have these rows. Conditions one of which nearly holds where the other does are the same question, with NOT before one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.bars.numbers import Contingency, Numbers
from dpsql.hypothesis.measurement import Labels, Measurement
from dpsql.hypothesis.partition import part_sums
from dpsql.hypothesis.shrinkage import LIGHT
from dpsql.query import Choices, Estimates, Factor

EXCLUDED = 0.2
"""Of the rows that two conditions would share if they had nothing to do with each other: where a model has fewer, all
of its rows in light cells may be noise."""
_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class _Pair:
    """Of two columns, over the parts on which they were measured together: ``counts`` of a model (parts, parts), those
    of them in cells that tell no more than their noise, and 1 for these; ``sigma`` of that noise."""

    labels: tuple[Labels, Labels]
    rows: tuple[Estimates, Estimates]
    counts: Estimates
    light: Estimates
    is_light: Estimates
    sigma: float


class Excluded:
    """Of one model, whose rows of cells ``contingency`` says."""

    def __init__(self, coverage: Coverage, contingency: Contingency) -> None:
        self._measured = _pairs(coverage) if coverage.rules.excluded else {}
        self._contingency = contingency
        self._pairs: dict[tuple[str, str], _Pair] = {}

    def off(self, asked: Choices) -> Numbers:
        """Of each product of conditions on two columns how many rows in light cells may be noise, in counts, where
        these, or one of them and not the other, nearly exclude each other; else 0."""
        if len(asked.columns) != 2 or any(len(columns) != 1 for columns in asked.columns):
            return 0.0
        names = asked.columns[0][0], asked.columns[1][0]
        pair = self._pair(names)
        if pair is None:
            return 0.0
        left, right = (_of_parts(pair, side, here) for side, here in enumerate(asked.factors))
        total = max(float(pair.counts.sum()), 1.0)
        found = np.zeros((len(left), len(right)))
        for a in (left, 1.0 - left):
            for b in (right, 1.0 - right):
                rows, light, cells = (a @ of @ b.T for of in (pair.counts, pair.light, pair.is_light))
                alone = np.outer(a @ pair.counts.sum(axis=1), b @ pair.counts.sum(axis=0)) / total
                noise = DEVIATIONS * pair.sigma * np.sqrt(np.maximum(cells, 0.0))
                hidden = np.where(rows < EXCLUDED * alone, np.minimum(light, noise), 0.0)
                found = np.maximum(found, hidden)
        return float(found[0, 0]) if asked.is_one else np.asarray(found[asked.numbers[0], asked.numbers[1]])

    def _pair(self, names: tuple[str, str]) -> _Pair | None:
        measured = self._measured.get(frozenset(names))
        if measured is None:
            return None
        known = self._pairs.get(names)
        if known is None:
            a, b = (measured.axes[measured.axis_of(c)].labels.reshape(-1) for c in names)
            cells = np.maximum(self._contingency(names), 0.0)
            counts = np.zeros((int(a.max()) + 1, cells.shape[1]))
            np.add.at(counts, a, cells)
            turned = np.zeros((int(b.max()) + 1, len(counts)))
            np.add.at(turned, b, counts.T)
            counts, limit = turned.T, LIGHT * measured.sigma
            is_light = (counts < limit).astype(np.float64)
            rows = cells.sum(axis=1), cells.sum(axis=0)
            known = _Pair((a, b), rows, counts, counts * is_light, is_light, measured.sigma)
            self._pairs[names] = known
        return known


def _pairs(coverage: Coverage) -> dict[frozenset[str], Measurement]:
    """The least noisy measurement of each two columns by themselves."""
    found: dict[frozenset[str], Measurement] = {}
    for m in coverage.measurements:
        if len(m.axes) == 2 and not m.has_differences:
            known = found.get(m.columns)
            found[m.columns] = m if known is None or m.sigma < known.sigma else known
    return found


def _of_parts(pair: _Pair, side: int, factors: Sequence[Factor]) -> Estimates:
    """The share of each part's rows that each factor takes in, (factors, parts)."""
    labels, rows = pair.labels[side], pair.rows[side]
    whole = np.maximum(part_sums(labels, rows), _TINY)
    return np.stack([part_sums(labels, rows * (f.weights / f.unit)) / whole for f in factors])
