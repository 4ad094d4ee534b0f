"""What a row counts where a query takes it in: 1 in a condition, less in a sum. Public.

Bars are learned from conditions. A sum of ages up to 90 is one of rows that count .4 each, and errs as the count of its
rows does, times that: so sums are described, and their bars worked out, in rows of their own weight.
"""

from dpsql.hypothesis.bars.unseen_interactions import Contingency
from dpsql.memo import Memo
from dpsql.query import Choices, Estimates, Factor

_TINY = 1e-300


class RowWeights:
    """The weight of a row in products of factors. ``contingency``: the model's counts over a few columns."""

    def __init__(self, contingency: Contingency) -> None:
        self._contingency = contingency
        self._known: Memo[float] = Memo()

    def of(self, asked: Choices) -> list[Estimates] | None:
        """Of each factor of each product, shape (products,) for every place, between 0 and 1; ``None``: all are
        conditions, where it is 1."""
        units = [here[0].unit for here in asked.factors]
        if max(units, default=1) == 1 and (asked.is_one or asked.units.max() == 1):
            return None
        return [asked.each(place, self._weight) for place in range(len(asked.factors))]

    def _weight(self, factor: Factor) -> float:
        """The mean of the squares of its weights over their mean, over the column's rows: independent rows of weight w
        scatter as so many rows of weight 1 times w^2 (Kish 1965, section 8.2)."""
        if factor.unit == 1:
            return 1.0
        known = self._known.get(factor.digest)
        return self._known.put(factor.digest, self._worked_out(factor)) if known is None else known

    def _worked_out(self, factor: Factor) -> float:
        weights = factor.weights / factor.unit
        inside = self._contingency(factor.columns) * weights
        total = float(inside.sum())
        return float((inside * weights).sum()) / total if total > _TINY else max(float(weights.max()), _TINY)
