"""Conditions that nearly exclude each other, over cells of which none tells more than its noise. Public.

Nobody is overdue who has kept a book for less than 28 days: of thirty cells without rows each keeps some of its noise,
for none is ever below 0, and their sum is off by all of it. Simulations of the model do not show it: in them the cells
have these rows. Conditions one of which nearly holds where the other does are the same question, with NOT before one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.bars.numbers import Answers, Contingency, Numbers
from dpsql.hypothesis.measurement import Labels, Measurement
from dpsql.hypothesis.partition import part_sums
from dpsql.hypothesis.shrinkage import LIGHT
from dpsql.query import Choices, Counts, Estimates, Factor, one_cells, units_of

EXCLUDED = 0.2
"""Of the rows that two conditions would share if they had nothing to do with each other: where a model has fewer, all
of its rows in light cells may be noise."""
DENSE = 8
"""Times the products that are asked for: so many of all conditions on both sides are worked out at once."""
_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class _Pair:
    """Of two columns, over the parts on which they were measured together: ``counts`` of a model (parts, parts), those
    of them in cells that tell no more than their noise, and 1 for these; ``sigma`` of that noise."""

    labels: tuple[Labels, Labels]
    rows: tuple[Estimates, Estimates]
    counts: Estimates
    light: Estimates
    is_light: npt.NDArray[np.bool_]
    sigma: float


class Excluded:
    """Of one model, which gives ``answers`` and whose rows of a column's cells ``contingency`` says."""

    def __init__(self, coverage: Coverage, answers: Answers, contingency: Contingency) -> None:
        self._measured = _pairs(coverage) if coverage.rules.excluded else {}
        self._answers = answers
        self._contingency = contingency
        self._pairs: dict[tuple[str, str], _Pair] = {}

    def off(self, asked: Choices) -> Numbers:
        """Of each product of conditions on two columns how many rows in light cells may be noise, in counts, where
        these, or what is in one of them or in none, nearly exclude each other; else 0."""
        if len(asked.columns) != 2 or any(len(columns) != 1 for columns in asked.columns):
            return 0.0
        pair = self._pair((asked.columns[0][0], asked.columns[1][0]))
        if pair is None:
            return 0.0
        left, right = (_of_parts(pair, side, here) for side, here in enumerate(asked.factors))
        total = max(float(pair.counts.sum()), 1.0)
        both = asked.numbers[0], asked.numbers[1]
        found = np.zeros(len(asked))
        for a in (left, 1.0 - left):
            for b in (right, 1.0 - right):
                rows, light, cells = (
                    _summed(a, of, b, both) for of in (pair.counts, pair.light, pair.is_light.astype(np.float64))
                )
                alone = (a @ pair.counts.sum(axis=1))[both[0]] * (b @ pair.counts.sum(axis=0))[both[1]] / total
                noise = DEVIATIONS * pair.sigma * np.sqrt(np.maximum(cells, 0.0))
                found = np.maximum(found, np.where(rows < EXCLUDED * alone, np.minimum(light, noise), 0.0))
        return float(found[0]) if asked.is_one else np.asarray(found)

    def _pair(self, names: tuple[str, str]) -> _Pair | None:
        measured = self._measured.get(frozenset(names))
        if measured is None:
            return None
        known = self._pairs.get(names)
        if known is None:
            a, b = (measured.axes[measured.axis_of(c)].labels.reshape(-1) for c in names)
            parts = [
                tuple(Factor((c,), (labels == part).astype(np.int64)) for part in range(int(labels.max()) + 1))
                for c, labels in zip(names, (a, b), strict=True)
            ]
            places = np.indices((len(parts[0]), len(parts[1]))).reshape(2, -1)
            each = Choices((parts[0], parts[1]), (places[0], places[1]), places.shape[1])
            counts = np.maximum(self._answers(each), 0.0).reshape(len(parts[0]), len(parts[1]))
            limit = LIGHT * measured.sigma
            rows = np.maximum(self._contingency((names[0],)), 0.0), np.maximum(self._contingency((names[1],)), 0.0)
            is_light = counts < limit
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


def _summed(left: Estimates, of: Estimates, right: Estimates, both: tuple[Counts, Counts]) -> Estimates:
    """Of each two of (factors, parts) on both sides what they take together of (parts, parts)."""
    taken = left @ of
    if len(left) * len(right) <= len(both[0]) * DENSE:
        return np.asarray((taken @ right.T)[both])
    return np.asarray((taken[both[0]] * right[both[1]]).sum(axis=1))


def _of_parts(pair: _Pair, side: int, factors: Sequence[Factor]) -> Estimates:
    """The share of each part's rows that each factor takes in, (factors, parts)."""
    labels, rows = pair.labels[side], pair.rows[side]
    within = rows / np.maximum(part_sums(labels, rows), _TINY)[labels]
    found = one_cells(factors)
    if found is None:
        return np.stack([np.bincount(labels, within * (f.weights / f.unit)) for f in factors])
    out = np.zeros((len(factors), int(labels.max()) + 1))
    out[np.arange(len(factors)), labels[found.cells]] = within[found.cells] * found.weights / units_of(factors)
    return out
