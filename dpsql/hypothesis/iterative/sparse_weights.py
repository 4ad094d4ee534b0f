"""Textbook sparse multiplicative weights: Blum and Roth 2011; lecture 13, Definition 3 and Algorithm 1. Public.

Its cost and its theorem know the number of elements that a query counts, never the universe: strings need no list.
"""

from itertools import product
from math import log

import numpy as np
import numpy.typing as npt

from dpsql.domain import TableDomain
from dpsql.hypothesis.iterative.updated import Updated
from dpsql.hypothesis.structure_size import structure_size
from dpsql.query import Estimates, Key, LinearQuery

SPARSITY = 10_000
"""m, the elements that a query with listed strings counts at most; of finite columns alone, their cells if fewer."""
MOST_ELEMENTS = 1 << 20
"""A query that counts more elements updates nothing: it is in no class of sparse queries."""
Columns = tuple[tuple[str, ...], tuple[str, ...]]
"""Text columns, and finite columns in the table's order: the universe of one data structure."""


def bound_of(sparsity: int, share: float) -> float:
    """B(alpha) = 4 (ln s + 1) / alpha^2 for m-sparse queries (lecture 13, Theorem 4); ``share`` is alpha / n.

    >>> round(bound_of(10, 0.1)), structure_size(10, 0.1)
    (4703, 47035)
    """
    return 4.0 * (log(structure_size(sparsity, share)) + 1.0) / share**2


def update_bound(table: TableDomain, row_count: float, alpha: float, planned: int) -> float:
    """``bound_of`` for one data structure of the table: SPARSITY elements, or its cells if fewer and no strings."""
    sparsity = SPARSITY if table.text else min(SPARSITY, table.cells)
    return bound_of(sparsity, alpha / row_count)


class Structure:
    """Lecture 13, Definition 3, over one universe: s variables, of which the assigned ones are kept.

    All unassigned variables have one value, for every update before an element is added treats them alike.
    ``failed``: updates that were not made because no s variables suffice (FAILURE). Values sum to 1.
    """

    def __init__(self, size: int, width: int) -> None:
        self.size = size
        self.failed = 0
        self.unassigned = 1.0 / size
        self.values = np.zeros(0)
        self.codes = np.zeros((0, width), dtype=np.int64)
        self.strings: list[Key] = []
        self._index: dict[tuple[Key, bytes], int] = {}

    @property
    def assigned(self) -> int:
        """ind - 1."""
        return len(self.values)

    def add(self, elements: list[tuple[Key, npt.NDArray[np.int64]]]) -> list[int] | None:
        """The indices of the elements, assigned first where they were not; ``None`` for FAILURE."""
        names = [(key, code.tobytes()) for key, code in elements]
        fresh = [i for i, name in enumerate(names) if name not in self._index]
        if self.assigned + len(fresh) > self.size:
            self.failed += 1
            return None
        for i in fresh:
            self._index[names[i]] = len(self._index)
            self.strings.append(elements[i][0])
        if fresh:
            self.values = np.concatenate([self.values, np.full(len(fresh), self.unassigned)])
            self.codes = np.concatenate([self.codes, np.stack([elements[i][1] for i in fresh])])
        return [self._index[name] for name in names]

    def multiply(self, indices: list[int], factors: Estimates) -> None:
        """Multiply the values at ``indices`` (distinct) and normalise all s variables to sum 1."""
        self.values[indices] *= factors
        total = float(self.values.sum()) + self.unassigned * (self.size - self.assigned)
        self.values, self.unassigned = self.values / total, self.unassigned / total


class SparseWeights(Updated):
    """One data structure for each set of columns that is asked about: the table projected on them is a database.

    Within one set of columns Theorem 4 holds as it stands. Sets share nothing: two may disagree about a column.
    """

    bound = staticmethod(update_bound)

    def __init__(self, table: TableDomain, row_count: float, alpha: float, planned: int) -> None:
        super().__init__(table, row_count, alpha, planned)
        self._order = {c.name: i for i, c in enumerate(table.finite)}
        self._structures: dict[Columns, Structure] = {}
        self.eta = self.alpha / (2.0 * self.row_count)

    def structure(self, query: LinearQuery) -> Structure:
        """The data structure of the query's columns."""
        text = query.keyed.text_columns if query.keyed else ()
        return self._structure(text, self._sorted(query.scope))

    def _structure(self, text: tuple[str, ...], columns: tuple[str, ...]) -> Structure:
        found = self._structures.get((text, columns))
        if found is None:
            cells = 1
            for n in self.table.shape(columns):
                cells *= n
            sparsity = SPARSITY if text else min(SPARSITY, cells)
            found = Structure(structure_size(sparsity, self.alpha / self.row_count), len(columns))
            self._structures[text, columns] = found
        return found

    def _sorted(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted(columns, key=self._order.__getitem__))

    def answer(self, query: LinearQuery) -> float:
        """q(D^t) in counts: assigned elements by their variables, all others by the next free one (Definition 3)."""
        if query.keyed is None and not query.scope:
            return self.row_count
        kept = self.structure(query)
        weights = self._of_assigned(kept, query)
        free = kept.unassigned if kept.assigned < kept.size else 0.0
        rest = _total(query) - float(weights.sum())
        return self.row_count * (float(weights @ kept.values) + max(rest, 0.0) * free)

    def _of_assigned(self, kept: Structure, query: LinearQuery) -> Estimates:
        """The query's weight of each assigned element."""
        at = {c: i for i, c in enumerate(self._sorted(query.scope))}
        out = np.ones(kept.assigned)
        for f in query.factors:
            out *= f.weights[tuple(kept.codes[:, at[c]] for c in f.columns)] / f.unit
        if query.keyed is not None:
            keyed, row = query.keyed, {k: i for i, k in enumerate(query.keyed.strings)}
            rows = np.array([row.get(k, -1) for k in kept.strings], dtype=np.int64)
            own = keyed.weights[(rows, *(kept.codes[:, at[c]] for c in keyed.columns))] / keyed.unit
            out *= np.where(rows >= 0, own, 0.0)
        return out

    def update(self, query: LinearQuery, released: float) -> None:
        """Algorithm 1: add what the query counts, then move it down or up by exp(eta q(x)); FAILURE leaves all."""
        if query.keyed is None and not query.scope:
            return  # the number of rows is known
        kept = self.structure(query)
        found = self._elements(query)
        below = released < self.answer(query)
        if found is None:
            kept.failed += 1
            return
        elements, weights = found
        indices = kept.add(elements) if elements else None
        if indices is not None:
            kept.multiply(indices, np.exp((-self.eta if below else self.eta) * weights))

    def _elements(self, query: LinearQuery) -> tuple[list[tuple[Key, npt.NDArray[np.int64]]], Estimates] | None:
        """All x with q(x) > 0 and their weights; ``None`` when there are more than MOST_ELEMENTS."""
        keyed, number = query.keyed, 1
        parts: list[tuple[tuple[str, ...], npt.NDArray[np.int64], Estimates]] = []
        keys: list[Key] = [()]
        if keyed is not None:
            where = np.argwhere(keyed.weights)
            keys = [keyed.strings[i] for i in where[:, 0]]
            parts.append((keyed.columns, where[:, 1:], keyed.weights[tuple(where.T)] / keyed.unit))
        for f in query.factors:
            where = np.argwhere(f.weights)
            parts.append((f.columns, where, f.weights[tuple(where.T)] / f.unit))
        for _, where, _ in parts:
            number *= len(where)
        if number > MOST_ELEMENTS:
            return None
        if number == 0:  # a value that no cell stands for
            return [], np.zeros(0)
        at = {c: i for i, c in enumerate(self._sorted(query.scope))}
        chosen = np.array(list(product(*(range(len(w)) for _, w, _ in parts))), dtype=np.int64).reshape(number, -1)
        codes, weights = np.zeros((number, len(at)), dtype=np.int64), np.ones(number)
        for i, (columns, where, own) in enumerate(parts):
            weights *= own[chosen[:, i]]
            for j, c in enumerate(columns):
                codes[:, at[c]] = where[chosen[:, i], j]
        of = [keys[i] for i in chosen[:, 0]] if keyed is not None else [()] * number
        return list(zip(of, codes, strict=True)), weights

    def contingency(self, columns: tuple[str, ...]) -> Estimates:
        """Estimated counts of each cell of ``columns``: they need not add up to ``row_count``."""
        ordered = self._sorted(columns)
        kept = self._structure((), ordered)
        if not columns:
            return _frozen(np.array(self.row_count))
        cells = np.full(self.table.shape(ordered), kept.unassigned if kept.assigned < kept.size else 0.0)
        cells[tuple(kept.codes.T)] = kept.values
        turned = cells.transpose([ordered.index(c) for c in columns]) * self.row_count
        return _frozen(np.ascontiguousarray(turned).reshape(turned.shape))


def _total(query: LinearQuery) -> float:
    """The sum of the query's weights over its whole universe."""
    out = 1.0 if query.keyed is None else float(query.keyed.weights.sum()) / query.keyed.unit
    for f in query.factors:
        out *= float(f.weights.sum()) / f.unit
    return out


def _frozen(array: Estimates) -> Estimates:
    array.setflags(write=False)
    return array
