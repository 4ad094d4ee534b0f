"""The hypothesis of a table whose universe is too large for a tensor: clean 1- and 2-way tables and local models.

Measurements of single columns (any partition of their cells) are what it learns from; an axis over several columns at
once answers its own queries elsewhere and is not used here. Everything is public.
"""

from collections import OrderedDict
from collections.abc import Sequence
from itertools import chain, combinations
from math import prod

import numpy as np

from dpsql.domain import TableDomain
from dpsql.hypothesis.classes import Classes
from dpsql.hypothesis.local.binary_models import binary_models
from dpsql.hypothesis.local.clean_tables import CleanTables, partitions
from dpsql.hypothesis.local.local_table import LocalTable, Side, Sides
from dpsql.hypothesis.local.maximum_entropy import (
    MOST_SETS,
    Extra,
    Known,
    Threes,
    binary_model,
    maximum_entropy,
    raked,
    raked_answer,
    raked_answers,
)
from dpsql.hypothesis.local.pair_table import PairTable
from dpsql.hypothesis.measurement import Axis, Labels, Measurement
from dpsql.hypothesis.partition import LEAST_CELL, merged, part_sums, refinement
from dpsql.hypothesis.protocol import check_finite, one_by_one
from dpsql.hypothesis.rules import NEWEST, ModelRules
from dpsql.query import COLUMNS, Choices, Estimates, Factor, LinearQuery

LOCAL_CELLS = 20_000
LOCAL_COLUMNS = 5
_LEAST_PARTS = 3
_CACHED_MODELS = 2048
_CACHED_SCOPES = 64
_TINY = 1e-9

Columns = tuple[str, ...]


class WideHypothesis:
    """The public estimate of a wide table; a pure function of (table, row_count, measurements, rules).

    ``row_count``: rows, a released or public number; ``rules``: the ledger's. Columns in no measurement are uniform and
    independent.
    """

    def __init__(self, table: TableDomain, row_count: float, rules: ModelRules = NEWEST) -> None:
        self.table = table
        self._rules = rules
        self.row_count = max(float(row_count), 1.0)
        self.measurements: list[Measurement] = []
        self._order = {c.name: i for i, c in enumerate(table.finite)}
        self._clean = CleanTables(table, self.row_count, rules)
        self._forget()

    def _forget(self) -> None:
        self._sides = Sides()
        self._models: OrderedDict[Columns, LocalTable] = OrderedDict()
        self._scopes: OrderedDict[Columns, Estimates] = OrderedDict()

    def absorb(self, measurement: Measurement) -> None:
        """Take a measurement without text columns into the model; cleaning waits for the next question."""
        check_finite(measurement)
        self.measurements.append(measurement)
        self._clean.absorb(measurement)
        self._forget()

    # --- answers -----------------------------------------------------------------------------------------------

    def answer(self, query: LinearQuery) -> float:
        """The estimate of a query without text columns, in counts (real, >= 0); never builds its scope's cells."""
        factors, scale = query.factors, 1.0
        while factors and not factors[0].columns:  # canonical order: shares of every row stand first
            scale *= float(factors[0].weights.sum()) / factors[0].unit
            factors = factors[1:]
        return scale * self._product(factors)

    def answers(self, asked: Choices) -> Estimates:
        """``answer`` of each product of factors, with what several share worked out once."""
        scale, placed = np.ones(len(asked)), []
        for place, columns in enumerate(asked.columns):
            if columns:
                placed.append(place)
            else:
                scale *= asked.each(place, lambda f: float(f.weights.sum()) / f.unit)
        return np.asarray(scale * self._products(asked.only(placed)), dtype=np.float64)

    def contingency(self, columns: Columns) -> Estimates:
        """Estimated counts over the cells of ``columns`` (any order), float64; only for scopes of bounded cells."""
        known = self._scopes.get(columns)
        if known is None:
            known = self._cells(columns)
            known.setflags(write=False)
            self._scopes[columns] = known
            if len(self._scopes) > _CACHED_SCOPES:
                self._scopes.popitem(last=False)
        return known

    def local(self, columns: Columns) -> LocalTable:
        """The model that answers questions of these columns (table order, at most LOCAL_COLUMNS): counts over parts."""
        return self._model(columns)

    def _cells(self, columns: Columns) -> Estimates:
        if not columns:
            return np.asarray(self.row_count)
        ordered = tuple(sorted(columns, key=self._order.__getitem__))
        if len(ordered) > LOCAL_COLUMNS:
            # beyond the local model: the first columns jointly, the others independent of them
            near, far = ordered[:LOCAL_COLUMNS], ordered[LOCAL_COLUMNS:]
            out = np.multiply.outer(self._cells(near), self._cells(far) / self.row_count)
        else:
            model = self._model(ordered)
            out = model.tensor
            for axis, side in enumerate(model.sides):
                shape = [1] * len(ordered)
                shape[axis] = -1
                out = np.take(out, side.labels, axis=axis) * side.within.reshape(shape)
        return np.ascontiguousarray(out.transpose([ordered.index(c) for c in columns]))

    def _product(self, factors: Sequence[Factor]) -> float:
        columns = tuple(sorted(chain.from_iterable(map(COLUMNS, factors)), key=self._order.__getitem__))
        if not columns:
            return self.row_count
        if len(factors) < len(columns) and self._rules.classes:
            classes = Classes.of(factors, LOCAL_CELLS)
            if classes is not None:
                return self._of_classes(classes.in_order(columns))
        scale = 1.0
        for f in factors:
            scale *= 1.0 / f.unit
        if len(columns) <= LOCAL_COLUMNS:
            model = self._model(columns)
            if len(factors) == len(columns) > 2 and model.cuts(columns, factors):
                return self._raked(model, columns, factors)
            return scale * model.contract(columns, factors)
        if len(factors) == 1:
            return scale * float((self.contingency(factors[0].columns) * factors[0].weights).sum())
        inside = [self._product([f]) for f in factors]
        both = {}
        for i, j in combinations(range(len(factors)), 2):
            near = len(factors[i].columns) + len(factors[j].columns) <= LOCAL_COLUMNS
            both[i, j] = self._product([factors[i], factors[j]]) if near else inside[i] * inside[j] / self.row_count
        known = self._threes(columns) if len(factors) == len(columns) else []
        threes = {three: self._product([factors[i] for i in three]) for three in known}
        return binary_model(self.row_count, inside, both, self._rules, self._clean.pair_sigma, threes)

    def _products(self, asked: Choices) -> Estimates:
        """``_product`` of each; where each factor has a column of its own, in a model of these columns, together."""
        order = sorted(range(len(asked.columns)), key=lambda i: [self._order[c] for c in asked.columns[i]])
        asked = asked.only(order)
        columns = tuple(chain.from_iterable(asked.columns))
        if not columns:
            return np.full(len(asked), self.row_count)
        beyond = len(columns) > LOCAL_COLUMNS
        if len(asked.factors) < len(columns) or (beyond and len(asked) == 1):  # arrays of one take twice as long
            return one_by_one(self, asked)
        if beyond:
            return self._beyond_models(asked, columns)
        model = self._model(columns)
        found = model.contracted(asked)
        if found is None:
            return one_by_one(self, asked)
        out = np.asarray(found / asked.units, dtype=np.float64)
        cut = model.cut_by(asked) if len(columns) > 2 else np.zeros(len(asked), dtype=bool)
        if cut.any():
            out[cut] = self._all_raked(model, asked.among(np.flatnonzero(cut)))
        return out

    def _beyond_models(self, asked: Choices, columns: Columns) -> Estimates:
        """``_product`` of each, of more columns than a model has; groups share nearly all of their pairs and threes."""
        places = range(len(columns))
        inside = [self._of_some(asked, (i,)) for i in places]
        both = {two: self._of_some(asked, two) for two in combinations(places, 2)}
        threes = {three: self._of_some(asked, three) for three in self._threes(columns)}
        return binary_models(self.row_count, inside, both, self._rules, self._clean.pair_sigma, threes)

    def _of_some(self, asked: Choices, places: Sequence[int]) -> Estimates:
        """``_product`` of the factors at these places of each product, once for each of the different ones."""
        numbers, sizes = [asked.numbers[i] for i in places], [len(asked.factors[i]) for i in places]
        _, first, of_each = np.unique(np.ravel_multi_index(numbers, sizes), return_index=True, return_inverse=True)
        some = asked.only(places)
        return np.array([self._product(some.product(k)) for k in first.tolist()], dtype=np.float64)[of_each]

    def _of_classes(self, asked: Classes) -> float:
        """A condition that ties columns together: from counts by class, with the pairs of classes that are known."""
        return float((self._by_classes(asked.columns, asked.labels) * asked.weights).sum())

    def _by_classes(self, columns: Columns, labels: Sequence[Labels]) -> Estimates:
        """Counts of the combinations of classes; ``labels``: the class of every cell of each column."""
        model = self._model(columns) if len(columns) <= LOCAL_COLUMNS else None
        if model is not None and not any(model.blurred):  # it agrees with the pairs already
            return model.by_classes(labels)
        pairs = {
            (i, j): np.maximum(self._clean.pair_on(columns[i], columns[j], labels[i], labels[j]), _TINY)
            for i, j in combinations(range(len(columns)), 2)
        }
        known = []
        for i, j, k in self._threes(columns):
            counts = self._by_classes((columns[i], columns[j], columns[k]), (labels[i], labels[j], labels[k]))
            known.append(Known((i, j, k), (None, None, None), np.maximum(counts, _TINY)))
        if model is not None:
            return raked(np.maximum(model.by_classes(labels), _TINY), pairs, known)
        ones = [part_sums(a, self.one_way(c)) for a, c in zip(labels, columns, strict=True)]
        return maximum_entropy(ones, pairs, (), self._rules, self._clean.pair_sigma, known)

    def coarse_axes(self, columns: Columns, sigma: float) -> tuple[Axis, ...]:
        """The parts on which a hard round measures these columns, so that it stays useful as a constraint.

        As many parts per column as leave an average part ``.75 sigma`` rows (``sigma``: the measurement's noise).
        """
        most = max(2, int((self.row_count / (LEAST_CELL * max(sigma, _TINY))) ** (1.0 / max(len(columns), 1))))
        labels = [merged(self.one_way(c), most, self._clean.is_ordered(c)) for c in columns]
        return tuple(Axis((c,), a, int(a.max()) + 1) for c, a in zip(columns, labels, strict=True))

    def _raked(self, model: LocalTable, columns: Columns, factors: Sequence[Factor]) -> float:
        """A query that cuts the model's parts: what its pairs know exactly corrects what the parts blur."""
        by_column = {f.columns[0]: f for f in factors}
        ordered = [by_column[c] for c in columns]
        inside = [self._product([f]) for f in ordered]
        both = {(i, j): self._product([ordered[i], ordered[j]]) for i, j in combinations(range(len(ordered)), 2)}
        threes = {three: self._product([ordered[i] for i in three]) for three in self._threes(columns)}
        return raked_answer(model.in_and_out(ordered), inside, both, threes)

    def _all_raked(self, model: LocalTable, asked: Choices) -> Estimates:
        """``_raked`` of each."""
        places = range(len(asked.factors))
        inside = [self._products(asked.only([i])) for i in places]
        both = {(i, j): self._products(asked.only([i, j])) for i, j in combinations(places, 2)}
        halves = model.in_and_out_of(asked)
        if halves is None:
            return np.array([self._product(asked.product(k)) for k in range(len(asked))])
        columns = tuple(chain.from_iterable(asked.columns))
        threes = {three: self._products(asked.only(three)) for three in self._threes(columns)}
        return raked_answers(halves, inside, both, threes)

    def _threes(self, columns: Columns) -> list[Threes]:
        """The places of each three of four to MOST_SETS columns: of three a model keeps finer parts than of all."""
        followed = self._rules.by_threes and 3 < len(columns) <= MOST_SETS
        return list(combinations(range(len(columns)), 3)) if followed else []

    def one_way(self, column: str) -> Estimates:
        """Clean counts of a column's cells: float64, > 0, with the table's number of rows."""
        return self._clean.one_way(column)

    def pair(self, left: str, right: str) -> PairTable:
        """The clean table of two columns, ``left`` before ``right`` in the table's order, over its measured parts."""
        return self._clean.pair(left, right)

    # --- local models ------------------------------------------------------------------------------------------

    def _model(self, columns: Columns) -> LocalTable:
        known = self._models.get(columns)
        if known is None:
            known = self._fitted(columns)
            self._models[columns] = known
            if len(self._models) > _CACHED_MODELS:
                self._models.popitem(last=False)
        else:
            self._models.move_to_end(columns)
        return known

    def _fitted(self, columns: Columns) -> LocalTable:
        ones = [self.one_way(c) for c in columns]
        if len(columns) == 1:
            return LocalTable(self._sides_of(columns, [np.arange(len(ones[0]), dtype=np.int64)]), ones[0])
        if len(columns) == 2:
            table = self.pair(*columns)
            return LocalTable(self._sides_of(columns, [table.left, table.right]), table.counts)
        used = self._helped(columns)
        extras = [m for s, found in self._clean.measured.items() if len(s) > 2 and s <= set(used) for m in found]
        extras = [m for m in extras if self._clean.triples.get(m.columns) is not m]
        labels = self._working_parts(used, extras)
        all_ones = [self.one_way(c) for c in used]
        parts = [part_sums(a, one) for a, one in zip(labels, all_ones, strict=True)]
        both = combinations(range(len(used)), 2)
        pairs = {(i, j): self._clean.pair_on(used[i], used[j], labels[i], labels[j]) for i, j in both}
        joint = [_extra(m, used, labels) for m in extras]
        known = self._known(used, labels)
        tensor = maximum_entropy(parts, pairs, joint, self._rules, self._clean.pair_sigma, known)
        kept = [used.index(c) for c in columns]
        tensor = tensor.sum(axis=tuple(i for i in range(len(used)) if i not in kept))
        finest = self._clean.finest(columns)
        blurred = [int(labels[i].max()) < int(f.max()) for i, f in zip(kept, finest, strict=True)]
        return LocalTable(self._sides_of(columns, [labels[i] for i in kept]), tensor, blurred)

    def _sides_of(self, columns: Columns, labels: Sequence[Labels]) -> list[Side]:
        return [self._sides.side(c, a, self.one_way(c)) for c, a in zip(columns, labels, strict=True)]

    def _known(self, columns: Columns, labels: Sequence[Labels]) -> list[Known]:
        """The clean triples among a model's columns, on its parts of them."""
        out = []
        for i, j, k in combinations(range(len(columns)), 3):
            three = columns[i], columns[j], columns[k]
            if frozenset(three) in self._clean.triples:
                ones = [self.one_way(c) for c in three]
                out.append(self._clean.triple(three).on_parts((i, j, k), (labels[i], labels[j], labels[k]), ones))
        return out

    def _helped(self, columns: Columns) -> Columns:
        """``columns`` and the third column of a kept contingency that shares two with them, in table order."""
        if self._clean.triples and all(frozenset(c) in self._clean.triples for c in combinations(columns, 3)):
            return columns
        if len(columns) < LOCAL_COLUMNS:
            for scope in self._clean.measured:
                if len(scope) == 3 and len(scope & set(columns)) == 2:
                    return tuple(sorted({*columns, *scope}, key=self._order.__getitem__))
        return columns

    def _working_parts(self, columns: Columns, extras: Sequence[Measurement]) -> list[Labels]:
        """Parts of each column: as fine as its clean pairs while the model stays below LOCAL_CELLS, else as those on
        which these were measured, or unions of them."""
        fixed = [partitions(extras, c) for c in columns]
        size = max(self._clean.size(c) for c in columns)
        levels = self._clean.finest(columns)
        if prod(int(a.max()) + 1 for a in levels) > LOCAL_CELLS:
            levels = [self._clean.level(c, size) for c in columns]
        while True:
            labels = [refinement([a, *f]) if f else a for a, f in zip(levels, fixed, strict=True)]
            if size <= _LEAST_PARTS or prod(int(a.max()) + 1 for a in labels) <= LOCAL_CELLS:
                return labels
            size = max(_LEAST_PARTS, size * 7 // 8)
            levels = [self._clean.level(c, size) for c in columns]


def _extra(m: Measurement, columns: Columns, labels: Sequence[Labels]) -> Extra:
    """A kept contingency on the parts of a local model, which are finer than its own."""
    by_column = sorted(range(len(m.axes)), key=lambda i: columns.index(m.axes[i].columns[0]))
    axes = tuple(columns.index(m.axes[i].columns[0]) for i in by_column)
    coarse = []
    for i, axis in zip(by_column, axes, strict=True):
        out = np.zeros(int(labels[axis].max()) + 1, dtype=np.int64)
        out[labels[axis]] = m.axes[i].labels
        coarse.append(out)
    return Extra(axes, tuple(coarse), m.values.transpose(by_column).astype(np.float64), m.sigma)
