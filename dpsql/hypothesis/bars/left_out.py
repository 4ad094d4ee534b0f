"""Bars of conditions that most rows meet, from the bars of what they leave out. Public.

Rows that meet A and B are those that meet A less those of them that B leaves out, in a model as in the table: its error
is the difference of these two errors. Where B leaves out little, both may be known better than a condition is by itself
whose cells all have noise, or which is broader than any that error bars were learned from.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from math import ceil, hypot, inf

import numpy as np

from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.bars.numbers import Numbers, Within
from dpsql.memo import Memo
from dpsql.query import Choices, Counts, Factor
from dpsql.query.crosstab import units_of

BROAD = 0.7
"""Of all rows: what more meet is broad."""
MOST_BROAD = 4
"""Broad conditions that are taken apart; of n there are 2^n - 1 parts."""
WIDE = 3.0
"""Times 95 % of the least noise that was measured with: what a bar is more than, to be worked out again (others would
be a twentieth narrower in the mean), and the rows that a condition leaves out at least to be one of its own."""

Bounds = Callable[[Choices, float], Sequence[int]]
"""The bars of products of factors, in counts, by an error factor."""


class LeftOut:
    """``bounds``: bars of conditions by themselves; ``within``: of the model."""

    def __init__(self, coverage: Coverage, bounds: Bounds, within: Within) -> None:
        self._bounds = bounds
        self._within = within
        self._wide = WIDE * DEVIATIONS * min((m.sigma for m in coverage.measurements), default=0.0)
        rows = coverage.row_count
        self._broad = BROAD * rows
        # of fewer rows than that noise may hide what a condition keeps as well as what it leaves out
        self._nearly_all = max(self._broad, rows - self._wide) if rows > 2.0 * self._wide else inf
        self._known: Memo[Sequence[int]] = Memo()
        self._left: Memo[Factor] = Memo()

    def bars(self, asked: Choices, factor: float) -> Sequence[int]:
        """Of each product the bar by itself or, with broad conditions, what ``_of`` says."""
        places = range(len(asked.factors))
        if asked.is_one:
            met = [self._met(asked, i) for i in places]
            broad = [i for i, rows in enumerate(met) if rows > self._broad]
            return self._of(asked, broad, [i for i in broad if met[i] > self._nearly_all], factor)
        rows = np.stack([np.broadcast_to(self._met(asked, i), len(asked)) for i in places], axis=1)
        kinds = 1 * (rows > self._broad) + (rows > self._nearly_all)
        out = np.empty(len(asked), dtype=np.int64)
        for kind in np.unique(kinds, axis=0):
            some = np.flatnonzero((kind == kinds).all(axis=1))
            alike = asked if len(some) == len(asked) else asked.among(some)
            out[some] = self._of(alike, np.flatnonzero(kind).tolist(), np.flatnonzero(kind == 2).tolist(), factor)
        return [int(bar) for bar in out]

    def _of(self, asked: Choices, broad: Sequence[int], nearly_all: Sequence[int], factor: float) -> Sequence[int]:
        """Where a condition N leaves out next to nothing, hypot of the bars of A, what there is beside it, and of A and
        not N: what is foreseen of random conditions is not about one that all rows meet.

        Else the bar by itself; where it is wide at most hypot of those of A, what is not broad, and of A beside what
        each few of the broad conditions leave out at once: by inclusion and exclusion these make up the answer. Without
        A nothing is off there: all rows are known. Errors are taken as independent.
        """
        rest = [i for i in range(len(asked.factors)) if i not in (nearly_all or broad)]
        if nearly_all:
            parts = [self._of_part(self._beside(asked, rest, [i]), factor) for i in nearly_all]
            return _hypot([self.bars(asked.only(rest), factor), *parts] if rest else parts)
        bars = self._bounds(asked, factor)
        if not 0 < len(broad) <= MOST_BROAD or max(bars) <= self._wide:
            return bars
        few = [out for number in range(1, len(broad) + 1) for out in combinations(broad, number)]
        parts = [self._of_part(self._beside(asked, rest, out), factor) for out in few]
        apart = _hypot([self._of_part(asked.only(rest), factor), *parts] if rest else parts)
        return [min(bar, other) if bar > self._wide else bar for bar, other in zip(bars, apart, strict=True)]

    def _of_part(self, part: Choices, factor: float) -> Sequence[int]:
        """Analysts change a condition of a statement and keep the others: one product's are remembered."""
        if not part.is_one:
            return self._bounds(part, factor)
        key = (part.identity_of_one, factor)
        known = self._known.get(key)
        return self._known.put(key, self._bounds(part, factor)) if known is None else known

    def _beside(self, asked: Choices, rest: Sequence[int], out: Sequence[int]) -> Choices:
        """The products of the rest and of what the conditions at some places leave out."""
        places = sorted([*rest, *out])
        found = [self._complements(asked, i) if i in out else (asked.factors[i], asked.numbers[i]) for i in places]
        return Choices(tuple([here for here, _ in found]), tuple([numbers for _, numbers in found]), asked.size)

    def _complements(self, asked: Choices, place: int) -> tuple[Sequence[Factor], Counts]:
        """What the conditions at a place leave out, and the number of each product's."""
        used, numbers = np.unique(asked.numbers[place], return_inverse=True)
        return tuple([self._complement(asked.factors[place][n]) for n in used.tolist()]), numbers

    def _met(self, asked: Choices, place: int) -> Numbers:
        """The rows that meet each product's condition at a place; 0 of what counts parts of rows or ties columns
        together."""
        here = asked.factors[place]
        if len(here[0].columns) > 1 or (asked.is_one and here[0].unit > 1):
            return 0.0
        rows = self._within(asked, (place,))
        return rows if asked.is_one else np.where(units_of(here)[asked.numbers[place]] == 1, rows, 0.0)

    def _complement(self, factor: Factor) -> Factor:
        known = self._left.get(factor.digest)
        return self._left.put(factor.digest, Factor(factor.columns, 1 - factor.weights)) if known is None else known


def _hypot(parts: Sequence[Sequence[int]]) -> list[int]:
    return [max(1, ceil(hypot(*off))) for off in zip(*parts, strict=True)]
