"""Which measurements cover a query, with what noise, and where their parts cut it. Public."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from math import inf, sqrt

import numpy as np

from dpsql.domain import TableDomain
from dpsql.hypothesis.measurement import Axis, Labels, Measurement
from dpsql.hypothesis.partition import refinement
from dpsql.query import Estimates, Factor, LinearQuery, linear_query

_TINY = 1e-9


class Coverage:
    """The measurements over single columns of one table, by the columns that they cover together."""

    def __init__(self, table: TableDomain, total: float, measurements: Sequence[Measurement]) -> None:
        self.table = table
        self.total = max(float(total), 1.0)
        self._all = [m for m in measurements if all(len(a.columns) == 1 for a in m.axes) and not m.text_columns]
        self._ones = {c for m in self._all for c in m.scope}
        self._pairs = {frozenset(p) for m in self._all for p in combinations(m.scope, 2)}
        self._triples = [m for m in self._all if len(m.axes) > 2]
        self._by_pair: dict[frozenset[str], list[Measurement]] = {}
        for m in self._all:
            for p in combinations(m.scope, 2):
                self._by_pair.setdefault(frozenset(p), []).append(m)
        self._parts: dict[str, Labels] = {}
        self._widths: dict[int, Estimates] = {}  # by identity: the measurements above keep their axes alive

    def covers(self, columns: Sequence[str]) -> bool:
        """Whether every column, and every two of them together, were measured."""
        return self._ones.issuperset(columns) and all(frozenset(p) in self._pairs for p in combinations(columns, 2))

    def noise(self, query: LinearQuery, answer: Callable[[LinearQuery], float]) -> float:
        """Sd, in counts, of the query from the noise of the tables that cover it; ``answer``: the model's counts.

        From one measurement when it covers the scope; else that of the pairs, each scaled by the share of its rows
        that the query keeps.
        """
        factors = query.factors
        if len(query.scope) <= 2 or any(len(f.columns) > 1 for f in factors):
            return self._least(factors, self._all)
        best = self._least(factors, self._triples)
        h = max(answer(query), 0.0)
        squares = 0.0
        for f, g in combinations(factors, 2):
            pair = max(answer(replace(query, factors=(f, g))), 1.0)
            sd = self._least((f, g), self._by_pair[frozenset(f.columns + g.columns)])
            squares += (sd * min(1.0, h / pair)) ** 2
        return min(best, sqrt(squares))

    def _least(self, factors: Sequence[Factor], measurements: Sequence[Measurement]) -> float:
        columns = {c for f in factors for c in f.columns}
        found = [self._sd(factors, m) for m in measurements if columns <= set(m.scope)]
        return min(found, default=self.total)

    def _sd(self, factors: Sequence[Factor], m: Measurement) -> float:
        """Noise of the sum of parts; a part that a query cuts counts by its share of cells."""
        weights = {f.columns[0]: f.weights / f.unit for f in factors if len(f.columns) == 1}
        squares = m.sigma**2
        for axis in m.axes:
            share = weights.get(axis.columns[0])
            if share is not None and not axis.is_cells:
                share = np.bincount(axis.labels, weights=share, minlength=axis.size) / self._width(axis)
            squares *= axis.size if share is None else max(float(share @ share), _TINY)
        return sqrt(squares) if squares < inf else self.total

    def _width(self, axis: Axis) -> Estimates:
        """Cells of each part."""
        known = self._widths.get(id(axis))
        if known is None:
            known = np.bincount(axis.labels, minlength=axis.size).astype(np.float64)
            self._widths[id(axis)] = known
        return known

    def rounded(self, query: LinearQuery) -> tuple[LinearQuery | None, LinearQuery | None]:
        """The query with every cut part wholly in, and wholly out; ``(None, None)`` when no part is cut.

        Parts are those of the measured pairs; a query over one column is measured cell by cell.
        """
        if len(query.scope) < 2 or any(len(f.columns) != 1 for f in query.factors):
            return None, None
        outer, inner, cut = [], [], False
        for f in query.factors:
            labels = self._pair_parts(f.columns[0])
            parts = int(labels.max()) + 1
            least, most = np.full(parts, f.unit), np.zeros(parts, dtype=np.int64)
            np.minimum.at(least, labels, f.weights)
            np.maximum.at(most, labels, f.weights)
            cut = cut or bool((least != most).any())
            outer.append(Factor(f.columns, most[labels], f.unit))
            inner.append(Factor(f.columns, least[labels], f.unit))
        if not cut:
            return None, None
        return linear_query(self.table, outer), linear_query(self.table, inner)

    def _pair_parts(self, column: str) -> Labels:
        known = self._parts.get(column)
        if known is None:
            # without a pair of its own, a column's parts are those of the larger contingencies
            joint = [m for m in self._all if len(m.axes) == 2 and column in m.scope] or self._triples
            axes = [a for m in joint for a in m.axes if a.columns == (column,)]
            size = self.table.finite_domain(column).size
            known = refinement([np.zeros(size, dtype=np.int64), *(a.labels for a in axes)])
            self._parts[column] = known
        return known
