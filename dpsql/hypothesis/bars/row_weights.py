"""What a row counts where a query takes it in: 1 in a condition, less in a sum. Public.

Bars are learned from conditions. A sum of ages up to 90 is one of rows that count .4 each, and errs as the count of its
rows does, times that: so sums are described, and their bars worked out, in rows of their own weight.
"""

from dpsql.hypothesis.bars.numbers import Contingency, Numbers
from dpsql.memo import Memo
from dpsql.query import Choices, Factor

HARDLY = 0.1
"""Of the weight of a row in a sum: what a row counts less is no part of it."""
_TINY = 1e-300


class RowWeights:
    """The weight of a row in products of factors. ``contingency``: the model's counts over a few columns."""

    def __init__(self, contingency: Contingency) -> None:
        self._contingency = contingency
        self._known: Memo[tuple[float, float]] = Memo()

    def of(self, asked: Choices) -> list[Numbers] | None:
        """Of each factor of each product, for every place, between 0 and 1; ``None``: all are conditions, where it
        is 1."""
        units = [here[0].unit for here in asked.factors]
        if max(units, default=1) == 1 and (asked.is_one or asked.units.max() == 1):
            return None
        return [asked.each(place, self._weight) for place in range(len(asked.factors))]

    def kept(self, asked: Choices) -> list[Numbers]:
        """For each place the effective number of rows of a sum, as a share of the rows that it is made of: the square
        of the mean of their weights over the mean of the squares (Kish 1965, section 8.2). 1 of a condition.

        Rows that hardly count are in no sum, as those that miss a condition are in no count: most gains are 0.
        """
        return [asked.each(place, self._kept) for place in range(len(asked.factors))]

    def _weight(self, factor: Factor) -> float:
        """The mean of the squares of its weights over their mean, over the column's rows: independent rows of weight w
        scatter as so many rows of weight 1 times w^2."""
        return self._of(factor)[0]

    def _kept(self, factor: Factor) -> float:
        return self._of(factor)[1]

    def _of(self, factor: Factor) -> tuple[float, float]:
        if factor.unit == 1:
            return 1.0, 1.0
        known = self._known.get(factor.digest)
        return self._known.put(factor.digest, self._worked_out(factor)) if known is None else known

    def _worked_out(self, factor: Factor) -> tuple[float, float]:
        weights, rows = factor.weights / factor.unit, self._contingency(factor.columns)
        total, squares = float((rows * weights).sum()), float((rows * weights**2).sum())
        if total <= _TINY or squares <= _TINY:
            return max(float(weights.max()), _TINY), 1.0
        weight = squares / total
        inside = rows * (weights >= HARDLY * weight)
        part, part_squares = float((inside * weights).sum()), float((inside * weights**2).sum())
        return weight, min(1.0, part**2 / (float(inside.sum()) * part_squares))
