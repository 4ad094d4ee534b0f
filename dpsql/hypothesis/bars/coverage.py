"""Which measurements cover a query, with what noise, and where their parts cut it. Public.

The features from which errors are learned, and the raw noise that a bar never quite forgets, are both about which
contingencies stand behind a query.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations, product
from math import inf, prod

import numpy as np
import numpy.typing as npt

from dpsql.domain import TableDomain
from dpsql.hypothesis.bars.axis_partition import partitions_of
from dpsql.hypothesis.bars.numbers import Numbers, least, least_of, most, sqrt, square, where
from dpsql.hypothesis.components import precisions, pure_norms, separable
from dpsql.hypothesis.measurement import Axis, Labels, Measurement
from dpsql.hypothesis.partition import refinement
from dpsql.hypothesis.rules import NEWEST, ModelRules
from dpsql.memo import Memo, once
from dpsql.query import Choices, Factor, linear_query, one_cells, units_of

Rounded = tuple[tuple[tuple[Factor, ...] | None, ...], ...]
"""For each place what stands for each of its factors."""

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


class Coverage:
    """The measurements over single columns of one table, by the columns that they cover together."""

    def __init__(
        self, table: TableDomain, row_count: float, measurements: Sequence[Measurement], rules: ModelRules = NEWEST
    ) -> None:
        self.rules = rules
        self.table = table
        self.row_count = max(float(row_count), 1.0)
        self.measurements = [m for m in measurements if all(len(a.columns) == 1 for a in m.axes) and not m.text_columns]
        self._ones = {c for m in self.measurements for c in m.scope}
        self._pairs = {frozenset(p) for m in self.measurements for p in combinations(m.scope, 2)}
        self._triples = [m for m in self.measurements if len(m.axes) > 2]
        split = any(m.has_differences for m in self.measurements)
        self._precisions = precisions([m for m in self.measurements if separable(m)]) if split else {}
        self._coarse = {id(m) for m in self.measurements if not all(a.is_cells for a in m.axes)}
        parted = [m for m in self._triples if rules.calendar_pairs and not m.has_differences and id(m) in self._coarse]
        self._triples_of_parts = parted
        self._parts: dict[str, tuple[Labels, Labels]] = {}
        self._parted: dict[str, bool] = {}
        self._wholes: Memo[tuple[tuple[Factor, ...] | None]] = Memo()
        self._of_axis = partitions_of(self.measurements)
        self._covered: Memo[bool] = Memo()
        self._joint: Memo[bool] = Memo()
        self._parted_triples: Memo[tuple[Measurement | None]] = Memo()
        self._cells: Memo[list[Measurement]] = Memo()
        self._over: Memo[list[Measurement]] = Memo()
        self._noises: Memo[Numbers] = Memo()
        self._facts: Memo[_Facts] = Memo()
        self._norms: Memo[list[tuple[frozenset[str], float]]] = Memo()
        self._splits: Memo[list[tuple[int, int, float]]] = Memo()

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

    def parts_together(self, columns: Sequence[str]) -> Measurement | None:
        """The measurement of these three columns and fewest others, where it is of parts; by older rules none."""
        if not self.rules.coarse_triples:
            return None
        key = tuple(columns)
        known = self._parted_triples.get(key)
        if known is None:
            over = [m for m in self._triples if m.columns.issuperset(key)]
            found = min(over, key=lambda m: len(m.axes), default=None)
            whole = found is None or all(found.axes[found.axis_of(c)].is_cells for c in key)
            known = self._parted_triples.put(key, (None if whole else found,))
        return known[0]

    def cells_together(self, columns: Sequence[str]) -> bool:
        """Whether one measurement of three or more columns has all of these, every value of each for itself: a
        difference of two values tells both, for what it leaves out has fewer columns."""
        return bool(self._telling(tuple(columns)))

    @once
    def whole_table(self) -> Measurement | None:
        """The first measurement of all columns of a table, four and more, cell by cell; none by older rules."""
        names = {c.name for c in self.table.varied}
        if not self.rules.whole_tables or len(names) < 4:
            return None
        return next((m for m in self.measurements if m.columns == names and all(a.is_cells for a in m.axes)), None)

    def told_together(self, columns: Sequence[str]) -> list[Measurement]:
        """The measurements from which the rows of each cell of these columns can be read."""
        return [m for m in self._telling(tuple(columns)) if not m.has_differences]

    def noise_together(self, asked: Choices) -> Numbers:
        """Sd, in counts, of each product from the best measurement that has all its columns so, or in whole parts."""
        columns = tuple(chain.from_iterable(asked.columns))
        parted = [m for m in self._triples_of_parts if m.columns.issuperset(columns)]
        return self._least_of(asked, [*self._telling(columns), *parted])

    def _telling(self, columns: tuple[str, ...]) -> list[Measurement]:
        """The measurements that ``cells_together`` speaks of."""
        known = self._cells.get(columns)
        if known is None:
            over = (m for m in self._triples if m.columns.issuperset(columns))
            told = [m for m in over if all(a.tells(asked=a.columns[0] in columns) for a in m.axes)]
            known = self._cells.put(columns, told)
        return known

    def noise(self, asked: Choices, h: Numbers, pairs: Sequence[Numbers]) -> Numbers:
        """Sd, in counts, of each product of factors from the noise of the tables that cover it.

        ``h``: the model's answers, ``pairs``: those to each two factors, in the order of ``places_of_pairs``; all at
        least 0.

        From one measurement when it covers the scope; else that of the pairs, each scaled by the share of its rows
        that the query keeps.
        """
        places = places_of_pairs(asked)
        if not places:
            return self._least(asked, least_axes=0)
        best = self._least(asked, least_axes=3)
        squares: Numbers = 0.0
        for two, rows in zip(places, pairs, strict=True):
            share = least(1.0, h / most(rows, 1.0))
            squares = squares + square(self._least(asked.only(two), least_axes=0) * share)
        return least(best, sqrt(squares))

    def _least(self, asked: Choices, least_axes: int) -> Numbers:
        """The least noise of the measurements of at least so many axes that cover the factors' columns."""
        known = self._noises.get((asked.identity, least_axes))
        if known is None:
            found = self._over.get((asked.columns, least_axes))
            if found is None:
                columns = tuple(chain.from_iterable(asked.columns))
                within = [m for m in self.measurements if len(m.axes) >= least_axes and m.columns.issuperset(columns)]
                within = [m for m in within if not self._is_blind(m, asked.columns)]
                found = self._over.put((asked.columns, least_axes), within)
            sds = self._least_of(asked, found, or_finest=least_axes < 3)
            known = self._noises.put((asked.identity, least_axes), sds, len(asked))
        return known

    def _is_blind(self, m: Measurement, asked: Sequence[Sequence[str]]) -> bool:
        """Whether it is of parts of columns that a factor ties together: a diagonal is in no sum of coarse blocks."""
        tied = {c for columns in asked if len(columns) > 1 for c in columns}
        several = self.rules.coarse_triples and len(m.axes) > 2
        return several and any(not a.is_cells for a in m.axes if a.columns[0] in tied)

    def _least_of(self, asked: Choices, found: Sequence[Measurement], *, or_finest: bool = False) -> Numbers:
        """The least noise of these, sds in counts; without any, that of knowing nothing.

        A part that a product cuts seems to have little noise, for it does not tell where in it the rows are. So those
        whose parts are cut say nothing, or, ``or_finest``, where all are cut, those of the most parts what they can.
        """
        place = {here[0]: i for i, here in enumerate(asked.columns) if len(here) == 1}
        plain = [m for m in found if not m.has_differences]
        sds = [self._sd(asked, place, m) for m in plain]
        if len(sds) < len(found):  # a difference alone determines no number of rows
            sds.append(self._least_squares_sd(asked))
        out = self._min(sds, asked)
        if self._coarse and or_finest and len(place) > 1 and plain and np.max(out) >= self.row_count:
            parts = [prod(a.size for a in m.axes if a.columns[0] in place) for m in plain]
            finest = [m for m, number in zip(plain, parts, strict=True) if number == max(parts)]
            shared = self._min([self._shared_sd(asked, place, m) for m in finest], asked)
            out = where(out < self.row_count, out, shared)
        return out

    def _min(self, sds: Sequence[Numbers], asked: Choices) -> Numbers:
        """The least of these for each product; without any, the sd of knowing nothing."""
        found = least_of(sds) if sds else self.row_count
        return found if asked.is_one else np.broadcast_to(found, (len(asked),))

    def _least_squares_sd(self, asked: Choices) -> Numbers:
        """Sd of each product from all measurements that split into components, the row count being known.

        Components carry independent noise. Those of one or two columns that were lost leave nothing known; larger
        ones that were not measured are taken to be none, as the model does.
        """
        parts: list[Numbers] = [1.0]
        sets = []
        for here, numbers in zip(asked.factors, asked.numbers, strict=True):
            norms = [self._pure_norms(f) for f in here]  # of the same sets of columns, for each of the factors
            sets.append(tuple([kept for kept, _ in norms[0]]))
            of_set: Sequence[Numbers] = (
                [norm for _, norm in norms[0]]
                if asked.is_one
                else [np.array([found[i][1] for found in norms])[numbers] for i in range(len(sets[-1]))]
            )
            parts = [norm * own for norm in parts for own in of_set]
        squares: Numbers = 0.0
        lost: npt.NDArray[np.bool_] | bool = False
        for place, columns, precision in self._split(tuple(sets)):
            if precision > 0.0:
                squares = squares + parts[place] / precision
            elif columns <= 2:
                lost = lost | (parts[place] != 0.0)
        if isinstance(squares, float) and isinstance(lost, bool):
            return self.row_count if lost else sqrt(squares)
        return np.where(lost, self.row_count, np.sqrt(squares))

    def _split(self, sets: tuple[tuple[frozenset[str], ...], ...]) -> list[tuple[int, int, float]]:
        """Of each way to choose one set of columns at every place, but for none at all: its number, how many columns
        these are, and how well their component is known."""
        known = self._splits.get(sets)
        if known is None:
            chosen = [frozenset[str]().union(*some) for some in product(*sets)]
            told = [(i, len(kept), self._precisions.get(kept, 0.0)) for i, kept in enumerate(chosen) if kept]
            known = self._splits.put(sets, told)
        return known

    def _pure_norms(self, factor: Factor) -> list[tuple[frozenset[str], float]]:
        known = self._norms.get(factor.digest)
        if known is None:
            norms = pure_norms(factor.columns, factor.weights / factor.unit)
            known = self._norms.put(factor.digest, [(frozenset(columns), norm) for columns, norm in norms])
        return known

    def _sd(self, asked: Choices, place: Mapping[str, int], m: Measurement) -> Numbers:
        """Noise of the sum of parts; that of knowing nothing where a part is cut, as far as rules look at it."""
        sds = self._shared_sd(asked, place, m)
        cut = self._cuts(asked, place, m) if id(m) in self._coarse else None
        if cut is None or not cut.any():
            return sds
        return self.row_count if len(cut) == 1 else np.where(cut, self.row_count, sds)

    def _shared_sd(self, asked: Choices, place: Mapping[str, int], m: Measurement) -> Numbers:
        """Noise of the sum of parts; a part that a query cuts counts by its share of cells."""
        squares: Numbers = m.sigma**2
        for axis in m.axes:
            at = place.get(axis.columns[0])
            squares = squares * (axis.size if at is None else self._spread(axis, asked, at))
        if isinstance(squares, float):
            return sqrt(squares) if squares < inf else self.row_count
        return np.where(squares < inf, np.sqrt(squares), self.row_count)

    def _cuts(self, asked: Choices, place: Mapping[str, int], m: Measurement) -> npt.NDArray[np.bool_] | None:
        """Which products take in some part neither whole nor not at all; ``None`` where none can."""
        known = self.rules.uncut_pairs if len(asked.columns) > 1 else self.rules.uncut
        if not known or len(place) != len(asked.columns):
            return None
        out: npt.NDArray[np.bool_] | None = None
        for axis in m.axes:
            at = place.get(axis.columns[0])
            if at is not None and not axis.is_cells:
                cut = self._cut(axis, asked.factors[at])[asked.numbers[at]]
                out = cut if out is None else out | cut
        return out

    def _cut(self, axis: Axis, factors: Sequence[Factor]) -> npt.NDArray[np.bool_]:
        """Which of these factors of the axis' column have a part that they take in neither whole nor not at all."""
        found = one_cells(factors)
        if found is None:
            return np.array([axis.coarse_weights(f.weights) is None for f in factors])
        return np.asarray(self._of_axis[id(axis)].widths[axis.labels[found.cells]] > 1.0)

    def _spread(self, axis: Axis, asked: Choices, place: int) -> Numbers:
        """The squares of the parts' weights, summed, of each product's factor at a place; a number where all are."""
        factors = asked.factors[place]
        if asked.is_one:
            return self._spread_of(axis, factors[0])
        found = one_cells(factors)
        if found is None:
            each = np.array([self._spread_of(axis, f) for f in factors])
        else:
            share = found.weights / units_of(factors)
            if not axis.is_cells:
                share = share / self._of_axis[id(axis)].widths[axis.labels[found.cells]]
            each = np.maximum(share * share, _TINY)
        return np.asarray(each[asked.numbers[place]], dtype=np.float64)

    def _spread_of(self, axis: Axis, factor: Factor) -> float:
        parts, facts = self._of_axis[id(axis)], self._of(factor)
        known = facts.spread.get(parts.number)
        if known is None:
            cells = factor.stretch
            share = factor.weights[cells] / factor.unit
            if not axis.is_cells:
                share = np.bincount(axis.labels[cells], weights=share, minlength=axis.size) / parts.widths
            known = facts.spread[parts.number] = max(float(share @ share), _TINY)
        return known

    def _of(self, factor: Factor) -> _Facts:
        known = self._facts.get(factor.digest)
        if known is None:
            known = _Facts()
            if factor.weights.size <= _LARGE:
                self._facts.put(factor.digest, known)
        return known

    def rounded(self, asked: Choices) -> tuple[Rounded, Rounded, npt.NDArray[np.bool_]]:
        """For each place the different factors with every cut part wholly in, and wholly out; and which products cut
        some part. None do of one column, which is measured cell by cell, and none whose factors tie columns together.

        Parts are those of the measured pairs. Factors are canonical: none is left of a condition that always holds,
        and ``None`` of one that never does.
        """
        cut = np.zeros(len(asked), dtype=bool)
        if len(asked.factors) < 2 or any(len(columns) != 1 for columns in asked.columns):
            return (), (), cut
        if not any(self._has_parts(columns[0]) for columns in asked.columns):
            return (), (), cut
        found = [[self._rounded(f) for f in here] for here in asked.factors]
        for here, numbers in zip(found, asked.numbers, strict=True):
            cut |= np.array([is_cut for _, _, is_cut in here])[numbers]
        return (
            tuple([tuple([outer for outer, _, _ in here]) for here in found]),
            tuple([tuple([inner for _, inner, _ in here]) for here in found]),
            cut,
        )

    def _rounded(self, f: Factor) -> tuple[tuple[Factor, ...] | None, tuple[Factor, ...] | None, bool]:
        labels, sizes = self.pair_parts(f.columns[0])
        if f.point is not None and len(sizes) > 1:
            part = int(labels[f.point])
            return ((f,), (f,), False) if sizes[part] == 1 else (self._part_of(f, part), None, True)
        facts = self._of(f)
        if facts.rounded is None:
            inside, weights = labels[f.support], f.weights[f.support]
            least, most = np.full(len(sizes), f.unit), np.zeros(len(sizes), dtype=np.int64)
            np.minimum.at(least, inside, weights)
            np.maximum.at(most, inside, weights)
            least[np.bincount(inside, minlength=len(sizes)) < sizes] = 0
            facts.rounded = self._whole(f, most), self._whole(f, least), bool((least != most).any())
        return facts.rounded

    def _part_of(self, f: Factor, part: int) -> tuple[Factor, ...] | None:
        """A factor of one cell with its whole part wholly in."""
        key = (f.columns, f.unit, part, int(f.weights[f.point]))
        known = self._wholes.get(key)
        if known is None:
            of_parts = np.zeros(len(self.pair_parts(f.columns[0])[1]), dtype=np.int64)
            of_parts[part] = f.weights[f.point]
            known = self._wholes.put(key, (self._whole(f, of_parts),))
        return known[0]

    def _whole(self, f: Factor, of_parts: Labels) -> tuple[Factor, ...] | None:
        """The factor with these weights of whole parts, canonical."""
        key = (f.columns, f.unit, of_parts.tobytes())
        known = self._wholes.get(key)
        if known is None:
            weights = of_parts[self.pair_parts(f.columns[0])[0]]
            query = linear_query(self.table, [Factor(f.columns, weights, f.unit)])
            known = self._wholes.put(key, (None if query is None else query.factors,))
        return known[0]

    def _has_parts(self, column: str) -> bool:
        """Whether some cells of a column are known together alone."""
        known = self._parted.get(column)
        if known is None:
            known = self._parted[column] = len(self.pair_parts(column)[1]) < len(self.pair_parts(column)[0])
        return known

    def pair_parts(self, column: str) -> tuple[Labels, Labels]:
        """The part of each cell, and the cells of each part."""
        known = self._parts.get(column)
        if known is None:
            # without a pair of its own, a column's parts are those of the larger contingencies
            joint = [m for m in self.measurements if len(m.axes) == 2 and column in m.scope] or self._triples
            axes = [a for m in joint for a in m.axes if a.columns == (column,)]
            size = self.table.finite_domain(column).size
            labels = refinement([np.zeros(size, dtype=np.int64), *(a.labels for a in axes)])
            known = self._parts[column] = labels, np.bincount(labels)
        return known


def places_of_pairs(asked: Choices) -> list[tuple[int, ...]]:
    """Each two of three or more factors over single columns, which are known through their pairs; else none."""
    if len(asked.factors) <= 2 or any(len(columns) != 1 for columns in asked.columns):
        return []
    return list(combinations(range(len(asked.factors)), 2))
