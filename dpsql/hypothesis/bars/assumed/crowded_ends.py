"""Rows that crowd at 0 and at the ends of a number's range where noise hides them, in bars. Public."""

from collections.abc import Sequence

import numpy as np

from dpsql.hypothesis.bars.assumed.single_columns import SingleColumns
from dpsql.hypothesis.bars.numbers import Numbers, product_of
from dpsql.hypothesis.values.hidden_rows import hidden_rows
from dpsql.query import Choices, Estimates, Factor, one_cells, units_of


class CrowdedEnds:
    """Of one model, of whose columns ``single`` knows."""

    def __init__(self, single: SingleColumns, *, used: bool) -> None:
        self._single = single
        self._used = used
        self._hidden: dict[str, Estimates] = {}

    def off(self, asked: Choices) -> Numbers:
        """How far each product may be off, in counts: of several columns, what hides in each of them at what the others
        leave of it, added as squares."""
        squares: Numbers = 0.0 if asked.is_one else np.zeros(len(asked))
        for i, columns in enumerate(asked.columns):
            others = [j for j in range(len(asked.columns)) if j != i]
            alone = len(columns) == 1 and all(len(asked.columns[j]) <= 1 for j in others)
            if self._used and alone and self._of(columns[0]).any():
                left = product_of(self._single.at(asked, j, self._single.share) for j in others)
                squares = squares + (self._single.at(asked, i, self.hidden) * left) ** 2
        return squares**0.5

    def hidden(self, factors: Sequence[Factor]) -> Estimates:
        """Rows by which factors over one column may be off, float64, shape (factors,): what hides in a cell is missing
        from all cells, of which a factor takes in its share."""
        hidden, share, squares = self._of(factors[0].columns[0]), self._single.share(factors), np.zeros(len(factors))
        found = one_cells(factors)
        for place in np.flatnonzero(hidden).tolist():
            if found is None:
                here = np.array([f.weights[place] / f.unit for f in factors])
            else:
                here = (found.cells == place) * found.weights / units_of(factors)
            squares += ((here - share) * hidden[place]) ** 2
        return np.asarray(np.sqrt(squares))

    def _of(self, column: str) -> Estimates:
        known = self._hidden.get(column)
        if known is None:
            domain = self._single.table.finite_domain(column)
            known = hidden_rows(domain, self._single.rows(column), self._single.measurements)
            self._hidden[column] = known
        return known
