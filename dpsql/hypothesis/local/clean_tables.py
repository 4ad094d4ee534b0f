"""Clean counts of single columns, of pairs and of triples, over the parts on which they were measured. Public.

What was measured is noisy, negative in places and disagrees with itself. It is cleaned here once, so that the models
that are made of it need not doubt it.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from dpsql.domain import TableDomain
from dpsql.hypothesis.columns.cycles import cycles_of
from dpsql.hypothesis.local.hidden_kinds import HiddenKinds, pairs_among, together
from dpsql.hypothesis.local.inside_parts import inside_parts
from dpsql.hypothesis.local.one_way import PartCounts, clean_one_way
from dpsql.hypothesis.local.pair_table import PairCounts, PairTable, clean_pair
from dpsql.hypothesis.local.triple_table import TripleCounts, TripleTable, clean_triple
from dpsql.hypothesis.measurement import Labels, Measurement
from dpsql.hypothesis.partition import merged, overlap, part_sums, refinement
from dpsql.hypothesis.rules import ModelRules
from dpsql.memo import Memo
from dpsql.query import Estimates

FEW_NULL = 0.02
"""Share of the rows up to which NULL may be the end of a column's order. Of a column that is NULL more often only the
rows with a value can rise or fall together with another; by older rules it does not."""
_CACHED_PAIRS = 2048

Columns = tuple[str, ...]


class CleanTables:
    """Of one table with ``row_count`` rows; a pure function of these, the rules and what was absorbed.

    ``measured``: the measurements of single columns, by the columns that they cover together; ``pair_sigma``: the least
    noise of a pair (sd in counts), 0 before there is one; ``triples``: the first measurement of each three columns.
    """

    def __init__(self, table: TableDomain, row_count: float, rules: ModelRules) -> None:
        self.table = table
        self.row_count = row_count
        self.measured: dict[frozenset[str], list[Measurement]] = {}
        self.triples: dict[frozenset[str], Measurement] = {}
        self.pair_sigma = 0.0
        self._rules = rules
        self._absorbed: list[Measurement] = []
        self._order = {c.name: i for i, c in enumerate(table.finite)}
        self._hidden = 0, HiddenKinds.none()
        self._forget()

    def _forget(self) -> None:
        self._together: int | None = None
        self._ones: dict[str, Estimates] = {}
        self._pairs: dict[Columns, PairTable] = {}
        self._triples: dict[Columns, TripleTable] = {}
        self._parts: dict[tuple[str, int], Labels] = {}
        self._levels: set[int] = set()
        self._coarse_pairs: Memo[Estimates] = Memo(_CACHED_PAIRS)

    def absorb(self, measurement: Measurement) -> None:
        """Take in a measurement; an axis over several columns at once says nothing here."""
        self._absorbed.append(measurement)
        if all(len(a.columns) == 1 for a in measurement.axes):
            self.measured.setdefault(measurement.columns, []).append(measurement)
            if len(measurement.axes) == 3 and self._rules.coarse_triples:
                self.triples.setdefault(measurement.columns, measurement)
            if len(measurement.axes) == 2:
                self.pair_sigma = min(self.pair_sigma or measurement.sigma, measurement.sigma)
        self._forget()

    def one_way(self, column: str) -> Estimates:
        """Clean counts of a column's cells: float64, > 0, with the table's number of rows."""
        known = self._ones.get(column)
        if known is None:
            counts = [PartCounts.of(m, column) for s, found in self.measured.items() if column in s for m in found]
            rules, domain = self._rules, self.table.finite_domain(column)
            known = self._ones[column] = clean_one_way(
                domain.size,
                counts,
                self.row_count,
                parts_first=rules.parts_first,
                ordered=rules.top_down and domain.ordered,
                nullable=domain.nullable,
                smooth=rules.smooth,
                cycles=cycles_of(domain) if rules.cycles else (),
                peaked=rules.peaks,
            )
        return known

    def pair(self, left: str, right: str) -> PairTable:
        """The clean table of two columns, ``left`` before ``right`` in the table's order, over its measured parts."""
        known = self._pairs.get((left, right))
        if known is None:
            # sums of a contingency over more columns are far noisier, and would only blur a pair's own measurement
            own = self.measured.get(frozenset((left, right)))
            within = own or [m for s, found in self.measured.items() if left in s and right in s for m in found]
            counts = [PairCounts.of(m, left, right) for m in within]
            ones, ordered = (self.one_way(left), self.one_way(right)), (self.is_ordered(left), self.is_ordered(right))
            start = self._kinds().start(left, right, counts)
            # rows that have neither value would look like columns that rise together, for NULL is the last cell
            apart = self._is_often_null(left), self._is_often_null(right)
            known = clean_pair(*ones, counts, ordered, self._rules, start, apart=apart)
            if self._rules.inside_parts and counts:
                nullable = self._is_nullable(left), self._is_nullable(right)
                known = inside_parts(known, ones, ordered, nullable, min(c.sigma for c in counts))
            self._pairs[left, right] = known
        return known

    def _kinds(self) -> HiddenKinds:
        """What the first pairs say together of all: of so many as were there when they had last doubled, or of all.

        A function of the measurements until then alone, whenever it is asked for.
        """
        if self._together is None:
            self._together = together(self._absorbed, len(self.table.varied)) if self._rules.hidden_kinds else 0
        number = self._together
        if number != self._hidden[0]:
            known = CleanTables(self.table, self.row_count, replace(self._rules, hidden_kinds=False))
            for m in self._absorbed[:number]:
                known.absorb(m)
            self._hidden = (
                number,
                HiddenKinds.of(
                    {c.name: known.one_way(c.name) for c in self.table.varied},
                    {c.name: c.ordered for c in self.table.varied},
                    {c: PairCounts.of(m, *c) for c, m in pairs_among(known._absorbed, self._order).items()},
                ),
            )
        return self._hidden[1]

    def size(self, column: str) -> int:
        """How many cells a column has."""
        return self.table.finite_domain(column).size

    def is_ordered(self, column: str) -> bool:
        """Whether a column's cells are in order."""
        return self.table.finite_domain(column).ordered

    def _is_nullable(self, column: str) -> bool:
        return self.table.finite_domain(column).nullable

    def _is_often_null(self, column: str) -> bool:
        cells = self.one_way(column)
        return self._is_nullable(column) and float(cells[-1]) > FEW_NULL * float(cells.sum())

    def level(self, column: str, size: int) -> Labels:
        """At most ``size`` parts of a column, unions of those on which its pairs were measured."""
        known = self._parts.get((column, size))
        if known is None:
            pairs = [m for s, found in self.measured.items() if column in s and len(s) == 2 for m in found]
            base = refinement([np.zeros(self.size(column), dtype=np.int64), *partitions(pairs, column)])
            masses = part_sums(base, self.one_way(column))
            known = self._merged(column, base, masses, size)
            self._parts[column, size] = known
            self._levels.add(id(known))
        return known

    def finest(self, columns: Columns) -> list[Labels]:
        """Of each of ``columns``, in the table's order, the parts that the clean pairs among them know."""
        out = [self.level(c, self.size(c)) for c in columns]
        if self._rules.inside_parts:
            for i, j in combinations(range(len(columns)), 2):
                table = self.pair(columns[i], columns[j])
                for place, parts in ((i, table.left), (j, table.right)):
                    if parts.max() > out[place].max():
                        out[place] = refinement([out[place], parts])
        return out

    def _merged(self, column: str, base: Labels, masses: Estimates, size: int) -> Labels:
        """At most ``size`` unions of parts ``base``, which have so many rows; those of the column's triples, which are
        unions of each other, are within them or they within those: what is known of these is known of it."""
        cuts = {m.axes[m.axis_of(column)].size: m.axes[m.axis_of(column)].labels for m in self._triples_of(column)}
        finer = min((n for n in cuts if n >= size), default=0)
        coarser = max((n for n in cuts if n < size), default=0)
        start = cuts[finer] if finer else base
        rows = part_sums(start, self.one_way(column)) if finer else masses
        kept = [cuts[coarser]] if coarser else []
        fewer = (merged(rows, n, self.is_ordered(column))[start] for n in range(min(size, len(rows)), 0, -1))
        return next(a for a in (refinement([a, *kept]) if kept else a for a in fewer) if int(a.max()) < size)

    def _triples_of(self, column: str) -> list[Measurement]:
        return [m for m in self.triples.values() if column in m.columns]

    def triple(self, columns: Columns) -> TripleTable:
        """The clean table of three columns that are in ``triples``, in the table's order, over its measured parts."""
        known = self._triples.get(columns)
        if known is None:
            counts = TripleCounts.of(self.triples[frozenset(columns)], columns)
            labels = counts.labels
            ones = [part_sums(a, self.one_way(c)) for a, c in zip(labels, columns, strict=True)]
            both = combinations(range(3), 2)
            pairs = {(i, j): self.pair_on(columns[i], columns[j], labels[i], labels[j]) for i, j in both}
            known = clean_triple(counts, ones, pairs, self._rules, self.pair_sigma)
            self._triples[columns] = known
        return known

    def pair_on(self, left: str, right: str, rows: Labels, columns: Labels) -> Estimates:
        """The pair's counts over parts of its columns; kept for the parts that many scopes share."""
        known = self._coarse_pairs.get((left, right, id(rows), id(columns)))
        if known is None:
            table = self.pair(left, right)
            a = overlap(rows, table.left, self.one_way(left))
            b = overlap(columns, table.right, self.one_way(right))
            known = np.asarray(a @ table.counts @ b.T)
            if id(rows) in self._levels and id(columns) in self._levels:  # kept alive: no other array has their id
                self._coarse_pairs.put((left, right, id(rows), id(columns)), known)
        return known


def partitions(measurements: Sequence[Measurement], column: str) -> list[Labels]:
    """The parts of a column in each of the measurements that have it."""
    return [m.axes[m.axis_of(column)].labels for m in measurements if column in m.scope]
