"""Bars of conditions that most rows meet, from the bars of what they leave out. Public.

Rows that meet A and B are those that meet A less those of them that B leaves out, in a model as in the table: its error
is the difference of these two errors. Where B leaves out little, both may be known better than a condition is by itself
whose cells all have noise, or which is broader than any that error bars were learned from.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from math import ceil, hypot

import numpy as np

from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.bars.numbers import Numbers
from dpsql.memo import Memo
from dpsql.query import Choices, Counts, Factor
from dpsql.query.crosstab import units_of

BROAD = 0.7
"""Of all rows: what more meet is broad."""
WIDE = 3.0
"""Times 95 % of the least noise that was measured with: what a bar is more than, to be worked out again. Others would
be a twentieth narrower in the mean."""

Bounds = Callable[[Choices, float], Sequence[int]]
"""The bars of products of factors, in counts, by an error factor."""
Within = Callable[[Choices, Sequence[int]], Numbers]
"""The model's rows inside the factors at some places of each product."""


class LeftOut:
    """``bounds``: bars of conditions by themselves."""

    def __init__(self, coverage: Coverage, bounds: Bounds, within: Within) -> None:
        self._bounds = bounds
        self._within = within
        self._broad = BROAD * coverage.row_count
        self._wide = WIDE * DEVIATIONS * min((m.sigma for m in coverage.measurements), default=0.0)
        self._known: Memo[Sequence[int]] = Memo()
        self._left: Memo[Factor] = Memo()

    def least(self, asked: Choices, factor: float) -> Sequence[int]:
        """The bars of products by themselves, or, where these are no less, those of the products' parts, as one length
        of what is at right angles: of A alone, what is not broad (0 without it: all rows are known), of A and not B for
        each broad condition B, and of A and not B and not C for each two of them.

        By inclusion and exclusion; what three leave out of A at once is few rows. Errors are taken as independent.
        """
        bars = self._bounds(asked, factor)
        if max(bars) <= self._wide:
            return bars
        if asked.is_one:
            broad = [i for i in range(len(asked.factors)) if self._met(asked, i) > self._broad]
            return self._apart(asked, broad, bars, factor) if broad else bars
        met = [np.broadcast_to(self._met(asked, i), len(asked)) for i in range(len(asked.factors))]
        out = np.array(bars)
        is_broad = (np.stack(met, axis=1) > self._broad) & (out > self._wide)[:, None]
        for row in np.unique(is_broad[is_broad.any(axis=1)], axis=0):
            some, broad = np.flatnonzero((row == is_broad).all(axis=1)), np.flatnonzero(row).tolist()
            out[some] = self._apart(asked.among(some), broad, out[some].tolist(), factor)
        return [int(bar) for bar in out]

    def _apart(self, asked: Choices, broad: Sequence[int], bars: Sequence[int], factor: float) -> list[int]:
        rest = [i for i in range(len(asked.factors)) if i not in broad]
        parts = [self._beside(asked, rest, out) for number in (1, 2) for out in combinations(broad, number)]
        found = [self._of_part(part, factor) for part in ([asked.only(rest), *parts] if rest else parts)]
        return [min(bar, max(1, ceil(hypot(*off)))) for bar, *off in zip(bars, *found, strict=True)]

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
