"""What a session knows of a table, as columns that rows can be drawn for and targets that they should meet. Public.

Local models know pairs by parts of their columns, tensors know cells, sparse weights know keys: here they all become
tables of counts over numbered columns.
"""

from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np

from dpsql.domain import TableDomain
from dpsql.hypothesis import TENSOR_CELLS, Measurement, TableModel, WideHypothesis, coarsen
from dpsql.hypothesis.shrinkage import shrunken_target
from dpsql.query import Estimates, Key
from dpsql.synthesis.rows.target import Labels, Target, dependence

TABLE_CELLS = 1 << 17
"""Tables of three columns or more, and of keys by a column, are looked at up to this size."""
PAIR_CELLS = 1 << 20
"""Tables of two columns are looked at cell by cell up to this size, or up to that of the whole universe's tensor."""
WORK = 200_000_000
"""Tables of three columns are taken, the strongest first, while a sweep over them weighs at most so many changes."""
ALONE, PAIR = 64.0, 4.0
"""Weights of the squares of a single column and of a pair beside those of larger tables: sums are read off them."""
RAKES = 4
"""Rounds in which counts of keys by cells are brought to the totals of both."""
_TINY = 1e-9


class KnownTable:
    """``model`` for ``rows`` rows: its finite columns with a list of values, then the text columns with known keys.

    ``names``, ``sizes``: of those columns; ``keys``: of each text column, all known ones; a row that has none of them
    is in the cell after the last.
    """

    def __init__(self, model: TableModel, rows: int) -> None:
        self.model = model
        self.table: TableDomain = model.table
        self.rows = rows
        self.keys: dict[str, tuple[Key, ...]] = {}
        for column in model.table.text:
            found = model.sparse((column.name,)).keys
            if found:
                self.keys[column.name] = found
        finite = tuple(c.name for c in model.table.finite)
        self.names = (*finite, *self.keys)
        self.sizes = (*model.table.shape(finite), *(len(k) + 1 for k in self.keys.values()))
        self.finite = len(finite)

    @property
    def is_tensor(self) -> bool:
        """Whether the hypothesis is one table over all finite columns."""
        return not isinstance(self.model.hypothesis, WideHypothesis) and self.table.cells <= TENSOR_CELLS

    @property
    def tensor(self) -> Estimates:
        """The table over all finite columns; for ``is_tensor``."""
        return self._of_cells(self.names[: self.finite])

    # --- tables of counts --------------------------------------------------------------------------------------

    def counts(self, columns: tuple[int, ...]) -> Estimates | None:
        """Counts over the cells of ``columns``, at most one of text and it last; ``None`` where there are too many."""
        most = PAIR_CELLS if len(columns) == 2 else TABLE_CELLS
        if len(columns) > 1 and not self.is_tensor and prod(self.sizes[c] for c in columns) > most:
            return None
        names = tuple(self.names[c] for c in columns)
        return self._of_cells(names) if columns[-1] < self.finite else self._of_keys(names[-1], names[:-1])

    def _of_cells(self, names: tuple[str, ...]) -> Estimates:
        """The hypothesis' table, as one of ``rows`` rows: not every hypothesis is a distribution."""
        cells = np.maximum(self.model.hypothesis.contingency(names), 0.0)
        whole = float(cells.sum())
        if whole <= _TINY:
            return np.full(cells.shape, self.rows / cells.size)
        return np.asarray(cells * (self.rows / whole))

    @property
    def _scale(self) -> float:
        return self.rows / self.model.row_count

    def _of_keys(self, text: str, others: tuple[str, ...]) -> Estimates:
        """Counts over the cells of ``others`` and the keys of a text column, and what they leave for other strings."""
        sparse = self.model.sparse((text,))
        keyed = np.maximum(sparse.keyed_contingency(self.keys[text], others), _TINY) * self._scale
        whole = self._of_cells(others)
        alone = np.array([sparse.expected(k) for k in self.keys[text]]) * self._scale
        alone *= min(1.0, self.rows / max(float(alone.sum()), _TINY))
        alone = np.append(alone, max(self.rows - float(alone.sum()), 0.0))
        if not others:
            return np.asarray(alone)
        cells = keyed.reshape(len(keyed), -1)
        empty = cells.sum(axis=1) <= 2.0 * _TINY * self._scale * cells.shape[1]
        cells[empty] = alone[:-1][empty, None] * whole.reshape(-1) / self.rows  # no rows to split: as the table's
        left = np.maximum(whole.reshape(-1) - cells.sum(axis=0), _TINY)
        cells = np.concatenate([cells, left[None, :]])
        for _ in range(RAKES):  # cells of keys are shrunken one by one: their sums are known better
            cells *= (alone / np.maximum(cells.sum(axis=1), _TINY))[:, None]
            cells *= (whole.reshape(-1) / np.maximum(cells.sum(axis=0), _TINY))[None, :]
        return np.moveaxis(cells.reshape(-1, *whole.shape), 0, -1)

    # --- targets -----------------------------------------------------------------------------------------------

    def targets(self) -> list[Target]:
        """Single columns, pairs, answers of hard rounds, and tables of three columns as far as they are few enough."""
        alone = [Target.cells((c,), self._sure((c,)), ALONE) for c in range(len(self.names))]
        pairs = [t for t in self.pairs.values() if t.columns[1] < self.finite or self._split(t.columns)]
        return [*alone, *pairs, *self._answers(), *self._threes()]

    def is_fine(self, target: Target) -> bool:
        """Whether rows can meet the target's fractions as they are: of one column, or of a tensor they were drawn from.

        First rows of a tensor have every cell rounded down or up already; others would empty cells below one half.
        """
        return len(target.columns) == 1 or (self.is_tensor and target.columns[-1] < self.finite)

    def _sure(self, columns: tuple[int, ...]) -> Estimates:
        found = self.counts(columns)
        return np.zeros(0) if found is None else found

    @cached_property
    def pairs(self) -> dict[tuple[int, int], Target]:
        """Every two columns of which something is known together, as far as their tables are small enough."""
        found = {}
        for a, b in combinations(range(len(self.names)), 2):
            target = self._pair(a, b)
            if target is not None and min(target.counts.shape) > 1:  # a pair without a measurement is one part
                found[a, b] = target
        return found

    def _pair(self, a: int, b: int) -> Target | None:
        hypothesis = self.model.hypothesis
        if b < self.finite and isinstance(hypothesis, WideHypothesis):
            left, right = sorted((a, b))
            table = hypothesis.pair(self.names[left], self.names[right])
            return Target((a, b), (table.left, table.right), table.counts * self._scale, PAIR)
        counts = self.counts((a, b)) if a < self.finite else None
        return None if counts is None else Target.cells((a, b), counts, PAIR if b < self.finite else 1.0)

    def _split(self, columns: tuple[int, ...]) -> bool:
        """Whether keys of the last column were measured by the first: else they are taken to be independent of it."""
        return self.names[columns[0]] in self.model.sparse((self.names[columns[1]],)).split_by

    @cached_property
    def dependences(self) -> Estimates:
        """How much each two columns tell of each other: float64, (columns, columns)."""
        out = np.zeros((len(self.names), len(self.names)))
        for (a, b), target in self.pairs.items():
            if b < self.finite or self._split((a, b)):
                out[a, b] = out[b, a] = dependence(target.counts)
        return out

    def _threes(self) -> list[Target]:
        """The model's own tables of three columns: those in which pairs tell most first."""
        strength = self.dependences
        small = [
            c
            for c in combinations([i for i in range(self.finite) if self.sizes[i] > 1], 3)
            if prod(self.sizes[i] for i in c) <= TABLE_CELLS
        ]
        small.sort(key=lambda c: -(strength[c[0], c[1]] + strength[c[0], c[2]] + strength[c[1], c[2]]))
        found, work = [], 0
        for columns in small:
            work += self.rows * sum(self.sizes[i] for i in columns)
            if work > WORK:
                break
            found.append(self._three(columns))
        return found

    def _three(self, columns: tuple[int, ...]) -> Target:
        """On the parts on which a local model knows them: cells within parts are not what it answers from."""
        hypothesis = self.model.hypothesis
        if not isinstance(hypothesis, WideHypothesis):
            return Target.cells(columns, self._sure(columns))
        table = hypothesis.local(tuple(self.names[c] for c in columns))
        labels = tuple(side.labels for side in table.sides)
        return Target(columns, labels, np.maximum(table.tensor, 0.0) * (self.rows / float(table.tensor.sum())))

    def _answers(self) -> list[Target]:
        """Contingencies that answered hard rounds and that the hypothesis did not take in, where noise lets them."""
        taken = {id(m) for m in self.model.hypothesis.measurements}
        found = [self._answer(m) for m in self.model.contingencies if id(m) not in taken]
        return [t for t in found if t is not None]

    def _answer(self, m: Measurement) -> Target | None:
        plain = not m.is_by_value and not m.has_differences and all(len(a.columns) == 1 for a in m.axes)
        if not m.axes or not plain or prod(self.table.shape(m.scope)) > TABLE_CELLS:
            return None
        model = coarsen(np.maximum(self.model.hypothesis.contingency(m.scope), _TINY), m.axes)
        counts = shrunken_target(model, m.values.astype(np.float64), max(m.sigma, _TINY))
        labels: tuple[Labels, ...] = tuple(a.labels for a in m.axes)
        return Target(tuple(self.names.index(c) for c in m.scope), labels, counts * self._scale)
