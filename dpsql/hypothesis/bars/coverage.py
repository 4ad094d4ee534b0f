"""Which measurements cover a query, with what noise, and where their parts cut it. Public.

The features from which errors are learned, and the raw noise that a bar never quite forgets, are both about which
contingencies stand behind a query.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from math import inf, sqrt

import numpy as np

from dpsql.domain import TableDomain
from dpsql.hypothesis.components import precisions, pure_norms, separable
from dpsql.hypothesis.measurement import Axis, Labels, Measurement
from dpsql.hypothesis.partition import refinement
from dpsql.memo import Memo
from dpsql.query import COLUMNS, DIGEST, Estimates, Factor, LinearQuery, linear_query

_TINY = 1e-9
_LARGE = 1 << 14


@dataclass(eq=False)
class _Facts:
    """What is known of one factor over one column, whatever query it is part of.

    ``spread``: for each partition of the column, the squares of its parts' weights, summed. ``rounded``: the factor
    with every cut part wholly in, wholly out (canonical, ``None`` where nothing is left), and whether a part is cut.
    """

    spread: dict[int, float] = field(default_factory=dict)
    rounded: tuple[tuple[Factor, ...] | None, tuple[Factor, ...] | None, bool] | None = None


@dataclass(frozen=True, eq=False)
class _Partition:
    """A partition of a column's cells that measurements use: ``widths`` are the cells of each part."""

    number: int
    widths: Estimates


class Coverage:
    """The measurements over single columns of one table, by the columns that they cover together."""

    def __init__(self, table: TableDomain, row_count: float, measurements: Sequence[Measurement]) -> None:
        self.table = table
        self.row_count = max(float(row_count), 1.0)
        self._all = [m for m in measurements if all(len(a.columns) == 1 for a in m.axes) and not m.text_columns]
        self._ones = {c for m in self._all for c in m.scope}
        self._pairs = {frozenset(p) for m in self._all for p in combinations(m.scope, 2)}
        self._triples = [m for m in self._all if len(m.axes) > 2]
        split = any(m.has_differences for m in self._all)
        self._precisions = precisions([m for m in self._all if separable(m)]) if split else {}
        self._parts: dict[str, Labels] = {}
        self._of_axis = _partitions(self._all)
        self._covered: Memo[bool] = Memo()
        self._joint: Memo[bool] = Memo()
        self._over: Memo[list[Measurement]] = Memo()
        self._noise: Memo[float] = Memo()
        self._facts: Memo[_Facts] = Memo()
        self._norms: Memo[list[tuple[frozenset[str], float]]] = Memo()

    def covers(self, columns: Sequence[str]) -> bool:
        """Whether every column, and every two of them together, were measured."""
        key = tuple(columns)
        known = self._covered.get(key)
        if known is None:
            pairs = (frozenset(p) for p in combinations(key, 2))
            known = self._covered.put(key, self._ones.issuperset(key) and all(p in self._pairs for p in pairs))
        return known

    def measured_together(self, columns: Sequence[str]) -> bool:
        """Whether one measurement of three or more columns has all of these."""
        key = tuple(columns)
        known = self._joint.get(key)
        if known is None:
            known = self._joint.put(key, any(m.columns.issuperset(key) for m in self._triples))
        return known

    def noise(self, query: LinearQuery, h: float, rows: Callable[[tuple[Factor, ...]], float]) -> float:
        """Sd, in counts, of the query from the noise of the tables that cover it.

        ``h``: the model's answer, ``rows``: its answer to a product of some of the query's factors; both at least 0.

        From one measurement when it covers the scope; else that of the pairs, each scaled by the share of its rows
        that the query keeps.
        """
        factors = query.factors
        if len(query.scope) <= 2 or not query.is_single:
            return self._least(factors, least_axes=0)
        best = self._least(factors, least_axes=3)
        squares = 0.0
        for f, g in combinations(factors, 2):
            pair = max(rows((f, g)), 1.0)
            sd = self._least((f, g), least_axes=0)
            squares += (sd * min(1.0, h / pair)) ** 2
        return min(best, sqrt(squares))

    def _least(self, factors: Sequence[Factor], least_axes: int) -> float:
        """The least noise of the measurements of at least so many axes that cover the factors' columns."""
        asked = (least_axes, *map(DIGEST, factors))
        known = self._noise.get(asked)
        if known is not None:
            return known
        columns = tuple(chain.from_iterable(map(COLUMNS, factors)))
        found = self._over.get((columns, least_axes))
        if found is None:
            within = [m for m in self._all if len(m.axes) >= least_axes and m.columns.issuperset(columns)]
            found = self._over.put((columns, least_axes), within)
        by_column: dict[str, tuple[Factor, _Facts]] = {}
        for f in factors:
            if len(f.columns) == 1:
                by_column[f.columns[0]] = f, self._facts.get(f.digest) or self._of(f)
        sds = [self._sd(by_column, m) for m in found if not m.has_differences]
        if len(sds) < len(found):  # a difference alone determines no number of rows
            sds.append(self._least_squares_sd(factors))
        return self._noise.put(asked, min(sds, default=self.row_count))

    def _least_squares_sd(self, factors: Sequence[Factor]) -> float:
        """Sd of the factors' product from all measurements that split into components, the row count being known.

        Components carry independent noise. Those of one or two columns that were lost leave nothing known; larger
        ones that were not measured are taken to be none, as the model does.
        """
        parts: list[tuple[frozenset[str], float]] = [(frozenset(), 1.0)]
        for f in factors:
            norms = self._pure_norms(f)
            parts = [(columns | kept, norm * n) for columns, norm in parts for kept, n in norms]
        squares = 0.0
        for columns, norm in parts:
            if not columns or norm == 0.0:
                continue
            precision = self._precisions.get(columns, 0.0)
            if precision > 0.0:
                squares += norm / precision
            elif len(columns) <= 2:
                return self.row_count
        return sqrt(squares)

    def _pure_norms(self, factor: Factor) -> list[tuple[frozenset[str], float]]:
        known = self._norms.get(factor.digest)
        if known is None:
            norms = pure_norms(factor.columns, factor.weights / factor.unit)
            known = self._norms.put(factor.digest, [(frozenset(columns), norm) for columns, norm in norms])
        return known

    def _sd(self, by_column: dict[str, tuple[Factor, _Facts]], m: Measurement) -> float:
        """Noise of the sum of parts; a part that a query cuts counts by its share of cells."""
        squares = m.sigma**2
        for axis in m.axes:
            found = by_column.get(axis.columns[0])
            if found is None:
                squares *= axis.size
                continue
            parts = self._of_axis[id(axis)]
            known = found[1].spread.get(parts.number)
            squares *= self._spread(*found, axis, parts) if known is None else known
        return sqrt(squares) if squares < inf else self.row_count

    def _spread(self, factor: Factor, facts: _Facts, axis: Axis, parts: _Partition) -> float:
        share = factor.weights / factor.unit
        if not axis.is_cells:
            share = np.bincount(axis.labels, weights=share, minlength=axis.size) / parts.widths
        found = facts.spread[parts.number] = max(float(share @ share), _TINY)
        return found

    def _of(self, factor: Factor) -> _Facts:
        known = self._facts.get(factor.digest)
        if known is None:
            known = _Facts()
            if factor.weights.size <= _LARGE:
                self._facts.put(factor.digest, known)
        return known

    def rounded(self, query: LinearQuery) -> tuple[LinearQuery | None, LinearQuery | None]:
        """The query with every cut part wholly in, and wholly out; ``(None, None)`` when no part is cut.

        Parts are those of the measured pairs; a query over one column is measured cell by cell.
        """
        if len(query.scope) < 2 or not query.is_single:
            return None, None
        found, any_cut = [], False
        for f in query.factors:
            facts = self._facts.get(f.digest)
            rounded = self._rounded(f) if facts is None or facts.rounded is None else facts.rounded
            found.append(rounded)
            any_cut = any_cut or rounded[2]
        if not any_cut:
            return None, None
        return self._product([outer for outer, _, _ in found]), self._product([inner for _, inner, _ in found])

    def _product(self, chosen: Sequence[tuple[Factor, ...] | None]) -> LinearQuery | None:
        """The query of canonical factors in table order, as ``linear_query`` makes it."""
        factors: list[Factor] = []
        for found in chosen:
            if found is None:
                return None
            factors += found
        return LinearQuery(self.table.name, tuple(factors))

    def _rounded(self, f: Factor) -> tuple[tuple[Factor, ...] | None, tuple[Factor, ...] | None, bool]:
        facts = self._of(f)
        if facts.rounded is None:
            labels = self._pair_parts(f.columns[0])
            parts = int(labels.max()) + 1
            least, most = np.full(parts, f.unit), np.zeros(parts, dtype=np.int64)
            np.minimum.at(least, labels, f.weights)
            np.maximum.at(most, labels, f.weights)
            outer, inner = self._canonical(f, most[labels]), self._canonical(f, least[labels])
            facts.rounded = outer, inner, bool((least != most).any())
        return facts.rounded

    def _canonical(self, f: Factor, weights: Labels) -> tuple[Factor, ...] | None:
        query = linear_query(self.table, [Factor(f.columns, weights, f.unit)])
        return None if query is None else query.factors

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


def _partitions(measurements: Sequence[Measurement]) -> dict[int, _Partition]:
    """The partition of every axis, by the axis' identity (measurements keep them alive); equal ones are one."""
    known: dict[tuple[str, bytes], _Partition] = {}
    out: dict[int, _Partition] = {}
    for axis in (a for m in measurements for a in m.axes):
        key = (axis.columns[0], axis.labels.tobytes())
        if key not in known:
            widths = np.bincount(axis.labels, minlength=axis.size).astype(np.float64)
            known[key] = _Partition(len(known), widths)
        out[id(axis)] = known[key]
    return out
