"""The noise in what comes again in a column of dates: of hours of the day, of days of the week. Public.

A condition on the hour takes in a cell of each day. What is random in these is in no range of neighbours, and neither
is it shrunk, for all days together tell it: lessons, whose conditions are mostly ranges, foresee less of it.
"""

from collections.abc import Sequence

import numpy as np

from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis.bars.assumed.single_columns import SingleColumns
from dpsql.hypothesis.bars.numbers import Numbers, most, product_of
from dpsql.hypothesis.columns.contrasts import is_fine
from dpsql.hypothesis.columns.cycles import cycles_of
from dpsql.query import Choices, Estimates, Factor, one_cells


class Recurring:
    """Of one model, of whose columns ``single`` knows."""

    def __init__(self, single: SingleColumns, *, used: bool) -> None:
        self._single = single
        self._used = used

    def least(self, asked: Choices) -> Numbers:
        """The half-width, in counts, that each product has at least: of each column that of its noise, times what the
        others leave of all rows."""
        out: Numbers = 0.0 if asked.is_one else np.zeros(len(asked))
        if not self._used or any(len(columns) > 1 for columns in asked.columns):
            return out
        for i, columns in enumerate(asked.columns):
            if columns and cycles_of(self._single.table.finite_domain(columns[0])):
                others = (self._single.at(asked, j, self._single.share) for j in range(len(asked.columns)) if j != i)
                out = most(out, self._single.at(asked, i, self.noise) * product_of(others))
        return out

    def noise(self, factors: Sequence[Factor]) -> Estimates:
        """The 95 % half-width of the noise, in rows, of the places of a cycle that factors over one column take in each
        time; float64, shape (factors,). 0 of ranges, and of columns of few cells or that were not measured."""
        (column,) = factors[0].columns
        domain, sigma = self._single.table.finite_domain(column), self._single.sigma(column)
        number, out = domain.size - domain.nullable, np.zeros(len(factors))
        if sigma >= self._single.row_count or not is_fine(number) or one_cells(factors) is not None:
            return out
        for labels in cycles_of(domain):
            sizes = np.bincount(labels).astype(np.float64)
            for k, f in enumerate(factors):
                if len(f.support) < sizes.min():  # fewer cells than times: it takes in no place each time
                    continue
                each_time = np.full(len(sizes), np.inf)
                np.minimum.at(each_time, labels, f.weights[:number] / f.unit)
                off = each_time - each_time @ sizes / number
                out[k] = max(out[k], DEVIATIONS * sigma * float(np.sqrt((sizes * off**2).sum())))
        return out
