"""Bars of conditions that most rows meet, from the bars of what they leave out. Public.

Rows that meet A and B are those that meet A less those that meet A and not B, in a model as in the table: its error is
the difference of these two errors. Where B leaves out little, both may be known better than a condition is by itself
whose cells all have noise, or which is broader than any that error bars were learned from.
"""

from collections.abc import Callable, Sequence
from math import ceil, hypot

import numpy as np

from dpsql.hypothesis.bars.numbers import Answers
from dpsql.memo import Memo
from dpsql.query import Choices, Factor

MOST_BROAD = 3
"""Conditions of one product that are taken apart; each doubles the number of bars that are worked out."""
BROAD = 0.7
"""Of all rows: what more meet is broad."""

Bounds = Callable[[Choices], Sequence[int]]
"""The bars of products of factors, in counts; without factors those of all rows, which are known."""


class LeftOut:
    """``answers``: the model's, of a table of so many rows."""

    def __init__(self, answers: Answers, row_count: float) -> None:
        self._answers = answers
        self._row_count = row_count
        self._rows: Memo[float] = Memo()
        self._complements: Memo[Factor] = Memo()

    def least(self, asked: Choices, bars: Sequence[int], bounds: Bounds) -> Sequence[int]:
        """The bars, where those of each product's broadest condition are no less, hypot(a, b): a of the product without
        it, b of what it leaves out of that. Their errors are taken as independent."""
        if asked.is_one:
            place = self._broadest([self._share(here[0]) for here in asked.factors])
            return bars if place is None else self._apart(asked, place, bars, bounds)
        out, shares = (
            np.array(bars),
            [np.broadcast_to(asked.each(i, self._share), len(asked)) for i in range(len(asked.factors))],
        )
        places = [self._broadest(of_one) for of_one in zip(*[s.tolist() for s in shares], strict=True)]
        for place in {p for p in places if p is not None}:
            some = np.flatnonzero([p == place for p in places])
            out[some] = self._apart(asked.among(some), place, out[some].tolist(), bounds)
        return [int(bar) for bar in out.tolist()]

    @staticmethod
    def _broadest(shares: Sequence[float]) -> int | None:
        """The place of the condition that most rows meet, where it is broad and not too many are."""
        broad = [share for share in shares if share > BROAD]
        return shares.index(max(broad)) if 0 < len(broad) <= MOST_BROAD else None

    def _apart(self, asked: Choices, place: int, bars: Sequence[int], bounds: Bounds) -> list[int]:
        """The bars, or those of the products without what stands at a place and with its complement there."""
        used, numbers = np.unique(asked.numbers[place], return_inverse=True)
        here = tuple([self._complement(asked.factors[place][n]) for n in used.tolist()])
        factors = tuple([here if i == place else known for i, known in enumerate(asked.factors)])
        of_each = tuple([numbers if i == place else known for i, known in enumerate(asked.numbers)])
        without = bounds(asked.only([i for i in range(len(factors)) if i != place]))
        beside = bounds(Choices(factors, of_each, asked.size))
        return [min(bar, max(1, ceil(hypot(a, b)))) for bar, a, b in zip(bars, without, beside, strict=True)]

    def _share(self, factor: Factor) -> float:
        """The share of all rows that meet a condition on one column; 0 for any other factor."""
        if factor.unit > 1 or len(factor.columns) > 1:
            return 0.0
        known = self._rows.get(factor.digest)
        if known is None:
            one = Choices(((factor,),), (np.zeros(1, dtype=np.int64),), 1)
            known = self._rows.put(factor.digest, float(self._answers(one)[0]))
        return known / self._row_count

    def _complement(self, factor: Factor) -> Factor:
        known = self._complements.get(factor.digest)
        if known is None:
            known = self._complements.put(factor.digest, Factor(factor.columns, 1 - factor.weights))
        return known
