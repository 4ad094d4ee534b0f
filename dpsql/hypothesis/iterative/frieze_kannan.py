"""Gupta, Roth and Ullman 2011, Algorithm 2: the iterative database construction after Frieze and Kannan. Public.

The hypothesis is a function D^t on the cells of a table, neither non-negative nor of a fixed sum. An update with a
query q on which it is off adds or takes off ``alpha / |X|`` times q. It stays a sum of queries, so it is kept as one.
"""

from math import prod

import numpy as np

from dpsql.domain import TableDomain
from dpsql.errors import InternalError
from dpsql.hypothesis.iterative.products import Products
from dpsql.hypothesis.iterative.updated import Updated
from dpsql.query import Estimates, LinearQuery


def update_bound(table: TableDomain, row_count: float, alpha: float, planned: int) -> float:
    """B(alpha) = |D|_2^2 |X| / alpha^2 (Gupta-Roth-Ullman 2011, Theorem 5.1); ``alpha`` in counts.

    ``|D|_2^2``, the sum of the squared cells, is the number of rows where no two rows are equal, as in a graph whose
    edges are listed once. Where a cell may hold m rows it is up to m times as much, and so is the bound.

    >>> from dpsql.domain import IntegerDomain
    >>> ids = [IntegerDomain(c, 0, 99, nullable=False) for c in ("src", "dst")]
    >>> update_bound(TableDomain("edges", tuple(ids)), 2500.0, 500.0, 1)
    100.0
    """
    return row_count * table.cells / alpha**2


class FriezeKannan(Updated):
    """Algorithm 2 for queries without text columns; a step is alpha / |X| times the query. Public.

    ``start``: rows that are spread evenly over the universe at first, ``row_count`` unless it is given. The source has
    0. A known row count is the projection on what the query of all rows says, so that ``|D - D^1|_2^2`` is less by
    ``n^2 / |X|``; any start between 0 and 2n is no worse than 0, and Theorem 5.1 holds for it unchanged.

    >>> from dpsql.domain import IntegerDomain
    >>> from dpsql.query import Factor
    >>> ids = [IntegerDomain(c, 0, 3, nullable=False) for c in ("src", "dst")]
    >>> graph = FriezeKannan(TableDomain("edges", tuple(ids)), 4.0, 2.0, 1, start=0.0)
    >>> cut = LinearQuery("edges", (Factor(("src",), np.array([1, 1, 0, 0])), Factor(("dst",), np.array([0, 0, 1, 1]))))
    >>> graph.update(cut, 4.0)
    >>> graph.answer(cut)
    0.5
    """

    bound = staticmethod(update_bound)

    def __init__(
        self, table: TableDomain, row_count: float, alpha: float, planned: int, *, start: float | None = None
    ) -> None:
        super().__init__(table, row_count, alpha, planned)
        self.step = self.alpha / table.cells
        self._terms = Products(table)
        self._terms.add((self.row_count if start is None else start) / table.cells, LinearQuery(table.name, ()))

    def answer(self, query: LinearQuery) -> float:
        """``q(D^t)`` in counts; it may be below 0. The number of rows is known, and is no part of D^t."""
        self._check(query)
        if not query.scope:
            return self.row_count * prod(float(f.weights) / f.unit for f in query.factors)
        return self._terms.inner(query)

    def contingency(self, columns: tuple[str, ...]) -> Estimates:
        """``D^t`` summed over the cells of ``columns`` (any order), float64, read-only. Cells may be below 0."""
        out = self._terms.cells(columns) if columns else np.array(self.row_count)
        out.setflags(write=False)
        return out

    def update(self, query: LinearQuery, released: float) -> None:
        """One step of ``alpha / |X|`` along ``query``, towards its ``released`` answer (counts); none where it agrees.

        Only the sign of ``released - q(D^t)`` is used, as in the source.
        """
        self._check(query)
        gap = released - self.answer(query)
        if gap == 0.0 or not query.scope:
            return
        # Gupta-Roth-Ullman 2011, Algorithm 2: D' = D -+ (alpha / |X|) Q
        self._terms.add(self.step if gap > 0.0 else -self.step, query)

    def _check(self, query: LinearQuery) -> None:
        if query.keyed is not None or query.is_by_value:
            raise InternalError("a construction of finite columns given strings or a sum of values")
