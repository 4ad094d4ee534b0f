"""Everything known of one table: a hypothesis of its finite columns, sparse weights for each set of text columns.

It is the one place that both share, and where a question learns whether a measurement alone determines it.
"""

from collections.abc import Callable, Sequence
from math import hypot, inf, sqrt

import numpy as np

from dpsql.domain import NumberDomain, TableDomain
from dpsql.errors import InternalError
from dpsql.hypothesis.measurement import Labels, Measurement
from dpsql.hypothesis.protocol import Hypothesis, IterativeConstruction, MakeHypothesis
from dpsql.hypothesis.rules import NEWEST, ModelRules
from dpsql.hypothesis.strings.leaning import crowding
from dpsql.hypothesis.strings.sparse import SparseHypothesis
from dpsql.hypothesis.values.by_value import ByValue, Cells, OfStrings
from dpsql.hypothesis.values.hidden_rows import hidden_rows
from dpsql.hypothesis.values.positions import Positions
from dpsql.memo import Memo
from dpsql.query import DIGEST, Choices, Crosstab, Estimates, Factor, Key, KeyedFactor, LinearQuery

SPARSITY = 10_000
"""Keys in one query at most: the m of Blum-Roth's structure size."""
MANY_KEYS = 1 << 10
"""A measurement of more strings is asked whether it has one; of fewer, each string knows the measurement."""
KEPT_ANSWERS = 1 << 15
"""Of one model: the groups of a statement are estimated for their bars, and once more to be answered."""
KEPT_WEIGHTS = 1 << 20
"""Of questions about values as counts of cells: each is estimated, and its bar asked for, by the same one."""
KEPT_BY_VALUE = 1 << 12
"""Of questions about values what a model says of their other conditions: of the groups of a statement, until their bars
are worked out, too."""


class TableModel:
    """Everything public that is known of one table; a function of its released row count and measurements. Public.

    ``row_count``: a 0-d measurement (sigma 0 where it is public). ``alpha``: the accuracy, in counts, at which the test
    lets answers pass. ``hypothesis`` makes that of the finite columns (``dpsql.hypothesis.registry`` has those that
    there are), or ``construct`` an iterative construction of all columns. ``rules``: of its strings. ``version`` grows
    with every measurement.
    """

    def __init__(
        self,
        table: TableDomain,
        row_count: Measurement,
        alpha: float,
        hypothesis: MakeHypothesis,
        construct: Callable[[TableDomain, float], IterativeConstruction] | None = None,
        rules: ModelRules = NEWEST,
    ) -> None:
        self.table = table
        self.rules = rules
        self.row_count = max(float(row_count.values), 1.0)
        self.construction = None if construct is None else construct(table, self.row_count)
        self.hypothesis: Hypothesis = self.construction or hypothesis(table, self.row_count)
        self.version = 0
        self._alpha = alpha
        self._answers: Memo[float] = Memo(KEPT_ANSWERS)
        self._answers_of_many: Memo[Estimates] = Memo(KEPT_ANSWERS)
        self._by_cells: Memo[LinearQuery] = Memo(KEPT_WEIGHTS)
        self._unrounded: Memo[list[tuple[float, LinearQuery]]] = Memo(KEPT_WEIGHTS)
        self._unknown_inside: Memo[tuple[float, float]] = Memo(KEPT_ANSWERS)
        self._pairs_beside: dict[tuple[str, str], tuple[int, list[tuple[float, Labels]]]] = {}
        self._asked_by_value: Memo[ByValue] = Memo(KEPT_BY_VALUE)
        self._positions: dict[str, tuple[int, Positions]] = {}
        self._hidden_rows: dict[str, tuple[int, Estimates]] = {}
        self._measured_positions: dict[str, Measurement] = {}
        self._counted_values: dict[str, Measurement] = {}
        self._sparse: dict[tuple[str, ...], SparseHypothesis] = {}
        self._of_finite: list[tuple[frozenset[str], Measurement]] = [(frozenset(), row_count)]
        self._by_key: dict[tuple[tuple[str, ...], Key], list[tuple[frozenset[str], Measurement]]] = {}
        self._of_many_keys: list[tuple[frozenset[str], Measurement]] = []

    def absorb(self, measurement: Measurement, *, fitted: bool = True, selected: bool = False) -> None:
        """Take a released measurement into the model; with ``fitted`` False it only answers what it determines.

        ``selected``: its keys were shown because they are frequent.
        """
        self.version += 1
        if measurement.query is not None:
            self.hypothesis.absorb(measurement)
            self._forget()
            return
        entry = (frozenset(measurement.scope), measurement)
        if measurement.is_by_value:
            self._of_finite.append(entry)
        elif measurement.text_columns:
            if len(measurement.keys) > MANY_KEYS:
                self._of_many_keys.append(entry)
            else:
                for key in measurement.keys:
                    self._by_key.setdefault((measurement.text_columns, key), []).append(entry)
            self.sparse(measurement.text_columns).absorb(measurement, selected=selected)
        else:
            self._of_finite.append(entry)
            if fitted:
                self.hypothesis.absorb(measurement)
                self._forget()

    def _forget(self) -> None:
        self._answers.clear()
        self._answers_of_many.clear()

    def know_positions(self, measurement: Measurement) -> None:
        """Take in where the rows of a number column stand inside its bins, from the sums of their positions."""
        self.version += 1
        self._measured_positions[measurement.scope[0]] = measurement

    def know_values(self, column: str, counted: Measurement) -> None:
        """The same from how many rows are at and between round numbers."""
        self.version += 1
        self._counted_values[column] = counted

    def positions(self, column: str) -> Positions:
        """Where the rows of a number column stand inside its bins, as far as that is known."""
        known = self._positions.get(column)
        if known is None or known[0] != self.version:
            domain = self.table.finite_domain(column)
            if not isinstance(domain, NumberDomain):
                raise InternalError("only number columns have positions")
            rows, counted = self.hypothesis.contingency((column,)), self._counted_values.get(column)
            if counted is None:
                found = Positions.of(domain, rows, self._measured_positions.get(column))
            else:
                rules = self.rules
                known_by = {"possible": rules.crowded, "hidden": rules.hidden_crowds, "nested": rules.nested_crowds}
                found = Positions.of_values(domain, rows, counted, **known_by, together=rules.settled_together)
            known = self._positions[column] = self.version, found
        return known[1]

    def by_cells(self, query: LinearQuery) -> LinearQuery:
        """The query as a count of cells: one about values with what the rows of each bin count on average."""
        if not query.is_by_value:
            return query
        key = self.version, query.digest
        known = self._by_cells.get(key)
        if known is None:
            made = self._by_value(query).by_cells()
            known = self._by_cells.put(key, made, sum(f.weights.size for f in made.factors))
        return known

    def _rounded_off(self, query: LinearQuery) -> float:
        """What ``by_cells`` leaves out of a question about values of weighted rows, in counts, by rounding weights."""
        if not query.is_by_value or query.unit == 1:
            return 0.0
        key = self.version, query.digest
        known = self._unrounded.get(key)
        if known is None:
            made = self._by_value(query).unrounded()[1:]
            known = self._unrounded.put(key, made, sum(f.weights.size for _, q in made for f in q.factors))
        return sum([times * self.estimate(part) for times, part in known])

    def unknown_inside(self, query: LinearQuery) -> tuple[float, float]:
        """What is unknown of a question about values beside the counts of cells, in rows: (sd, added to any bar)."""
        key = self.version, query.digest
        known = self._unknown_inside.get(key)
        if known is None:
            known = self._unknown_inside.put(key, self._by_value(query).unknown(self._cells))
        return known

    def inside(self, query: LinearQuery) -> Estimates | None:
        """The variance of what the rows of each cell count, of a question about the values of one column alone."""
        return self._by_value(query).inside if query.is_by_value else None

    def line(self, query: LinearQuery, origin: float) -> tuple[list[tuple[float, LinearQuery]], tuple[float, float]]:
        """A sum of distances from a place, in shares of the range: as counts of cells, each with what it is to be taken
        times, and what is unknown beside these, as in ``unknown_inside``."""
        asked = self._by_value(query, origin)
        return asked.on_both_sides(), asked.unknown(self._cells)

    def _by_value(self, query: LinearQuery, origin: float = 0.0) -> ByValue:
        key = self.version, query.digest, origin
        known = self._asked_by_value.get(key)
        if known is None:
            made = ByValue(self.table, query, self.positions, self.rules, origin, self._cells)
            known = self._asked_by_value.put(key, made)
        return known

    @property
    def _cells(self) -> Cells:
        count = self.hypothesis.answer if self.construction is None else self.construction.answer
        rows, noise = self.hypothesis.contingency, self._noise_beside
        strings = OfStrings(self._crowding, self._listed_noise)
        return Cells(self.estimate, count, lambda c: rows((c,)), self.row_count, noise, strings, self._hidden)

    def _hidden(self, column: str) -> Estimates:
        known = self._hidden_rows.get(column)
        if known is None or known[0] != self.version:
            domain, rows = self.table.finite_domain(column), self.hypothesis.contingency((column,))
            known = self.version, hidden_rows(domain, rows, self.hypothesis.measurements)
            self._hidden_rows[column] = known
        return known[1]

    def _crowding(self, keyed: KeyedFactor, column: str) -> float:
        sparse = self.sparse(keyed.text_columns)
        return crowding([sparse.rows(k) for k in keyed.strings], sparse.leaning(column))

    def _listed_noise(self, keyed: KeyedFactor, column: str) -> float:
        sigmas = self.sparse(keyed.text_columns).cell_sigmas(column)
        return hypot(*[sigmas.get(k, inf) for k in keyed.strings])

    def _noise_beside(self, column: str, others: Sequence[Factor]) -> float:
        """Sd of how many rows of a cell of ``column`` meet ``others``, at most, by the measured pairs of it and each of
        theirs; infinite where one was not. What says in and out of a condition is no pair."""
        out = [inf] if not others else []
        for f in others:
            parts = [(sigma, labels[f.support]) for sigma, labels in self._measured_beside(column, f.columns[0])]
            out.append(min((sigma * sqrt(len(np.unique(inside))) for sigma, inside in parts), default=inf))
        return hypot(*out)

    def _measured_beside(self, column: str, other: str) -> list[tuple[float, Labels]]:
        """The noise of each such pair, and the part of every cell of ``other``."""
        version, found = self._pairs_beside.get((column, other), (-1, []))
        if version != self.version:
            sides = {(column,), (other,)}
            fitted = self.hypothesis.measurements
            pairs = [m for m in fitted if len(m.axes) == 2 and {a.columns for a in m.axes} == sides]
            pairs = [m for m in pairs if m.query is None and all(a.is_cells or a.size > 2 for a in m.axes)]
            found = [(m.sigma, m.axes[m.axis_of(other)].labels.reshape(-1)) for m in pairs]
            self._pairs_beside[column, other] = self.version, found
        return found

    def know_distinct(self, distinct: Measurement, most_hidden: float) -> None:
        """Take in the released number of strings of a text column whose frequent keys were selected."""
        self.version += 1
        self.sparse(distinct.text_columns).know_distinct(distinct, most_hidden)

    def sparse(self, text_columns: tuple[str, ...]) -> SparseHypothesis:
        """The sparse hypothesis of these text columns; empty at first."""
        known = self._sparse.get(text_columns)
        if known is None:
            alpha, singles = self._alpha / self.row_count, self._singles(text_columns)
            known = SparseHypothesis(self.hypothesis, text_columns, SPARSITY, alpha, self.rules, singles)
            self._sparse[text_columns] = known
        return known

    def _singles(self, text_columns: tuple[str, ...]) -> tuple[SparseHypothesis, ...]:
        """Of several text columns each alone; none where one is a prefix of another: these are not independent."""
        several = self.rules.strings_beside and self.table.are_apart(text_columns)
        return tuple([self.sparse((c,)) for c in text_columns]) if several else ()

    def estimate(self, query: LinearQuery) -> float:
        """The hypothesis' answer in counts: any linear query, free of charge."""
        if query.is_by_value:
            return self.estimate(self.by_cells(query)) + self._rounded_off(query)
        if self.construction is not None:
            asked = self._answers.get(query.digest)
            return self._answers.put(query.digest, self.construction.answer(query)) if asked is None else asked
        if query.keyed is None:
            key = tuple(map(DIGEST, query.factors))
            known = self._answers.get(key)
            return self._answers.put(key, self.hypothesis.answer(query)) if known is None else known
        sparse = self.sparse(query.keyed.text_columns)
        return query.estimate(sparse.keyed_contingency(query.keyed.strings, query.scope))

    def estimates(self, asked: Crosstab) -> Estimates:
        """``estimate`` of each query, float64, shape (queries,)."""
        if len(asked) > 1 and asked[0].keyed is None and self.construction is None:
            if not asked[0].is_by_value:
                return self.of_products(asked.choices)
            counted = [self.by_cells(q) for q in asked]
            if len({q.outline for q in counted}) == 1:
                found = self.of_products(Crosstab.of(counted).choices)
                return found if all(q.unit == 1 for q in asked) else found + [self._rounded_off(q) for q in asked]
        return np.array([self.estimate(q) for q in asked], dtype=np.float64)

    def of_products(self, asked: Choices) -> Estimates:
        """The hypothesis' answers to products of factors, in counts."""
        known = self._answers_of_many.get(asked.identity)
        if known is None:
            known = self._answers_of_many.put(asked.identity, self.hypothesis.answers(asked), len(asked))
        return known

    @property
    def contingencies(self) -> tuple[Measurement, ...]:
        """What was released of finite columns, in its order: counts, and sums of values."""
        return tuple(m for _, m in self._of_finite)

    def measured(self, query: LinearQuery, limit: float = inf) -> tuple[int, float] | None:
        """``(value, sd)`` in counts from the least noisy measurement that determines the query, or ``None``.

        Measurements that cannot have an sd of at most ``limit`` are passed over without being worked out.
        """
        scope = frozenset(query.scope)
        best: tuple[int, float] | None = None
        for columns, measurement in self._candidates(query):
            if scope <= columns and measurement.least_sd(query) <= limit:
                found = measurement.answer(query)
                if found is not None and (best is None or found[1] < best[1]):
                    best = found
        return best

    def readings(self, asked: Crosstab, limit: float = inf) -> list[tuple[int, float] | None]:
        """``measured`` of each query."""
        if len(asked) == 1 or asked[0].keyed is not None:
            return [self.measured(q, limit) for q in asked]
        scope, counts = frozenset(asked[0].scope), asked.indicators
        values, sds = np.zeros(len(asked), dtype=np.int64), np.full(len(asked), inf)
        for columns, measurement in self._of_finite:
            if not scope <= columns:
                continue
            least = measurement.least_sd(asked[int(counts.argmax())])  # one for all that count rows: they have a scope
            within = ~counts | (least <= limit)
            if within.any():
                found, noise = measurement.answers(asked)
                better = within & (noise < sds)
                values, sds = np.where(better, found, values), np.where(better, noise, sds)
        if np.isinf(sds).all():
            return [None] * len(asked)
        return [None if sd == inf else (value, sd) for value, sd in zip(values.tolist(), sds.tolist(), strict=True)]

    def _candidates(self, query: LinearQuery) -> list[tuple[frozenset[str], Measurement]]:
        if query.keyed is None:
            return self._of_finite
        text_columns, first = query.keyed.text_columns, query.keyed.strings[0]
        many = [
            (columns, m) for columns, m in self._of_many_keys if m.text_columns == text_columns and first in m.key_index
        ]
        return many + self._by_key.get((text_columns, first), [])
