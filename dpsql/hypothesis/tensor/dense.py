"""The dense hypothesis: one tensor over the whole universe. Every measurement teaches every column. Public.

It is the hypothesis of the paper (Hardt and Rothblum 2010) with a fit in place of single steps: the state is a function
of all measurements, so that replaying a ledger gives it again bit by bit.
"""

from functools import partial
from itertools import chain
from math import prod

import numpy as np

from dpsql.domain import DateDomain, FiniteDomain, TableDomain
from dpsql.hypothesis.columns.possible_counts import Possible, beside_peaks, nearest, peaks, top_down
from dpsql.hypothesis.measurement import Axis, Measurement
from dpsql.hypothesis.projection import marginal
from dpsql.hypothesis.protocol import check_finite, one_by_one
from dpsql.hypothesis.rules import NEWEST, ModelRules
from dpsql.hypothesis.tensor.fit import PossibleOfNoisy, fit_tensor
from dpsql.query import Choices, Estimates, LinearQuery, matrix_of, row_of, sum_of_one

PASSES = 4
PASSES_LARGE = 2
LARGE_CELLS = 1 << 20
_CACHED_SCOPES = 512


class DenseHypothesis:
    """The public estimate of a table over its finite columns; a pure function of row count, measurements and ``rules``.

    It starts uniform (Hardt-Rothblum 2010) with ``row_count`` rows; every change refits all measurements, so a state
    that was rebuilt from the ledger equals the live one bit by bit.
    """

    def __init__(self, table: TableDomain, row_count: float, rules: ModelRules = NEWEST) -> None:
        self.table = table
        self.rules = rules
        self.row_count = max(float(row_count), 1.0)
        self.measurements: list[Measurement] = []
        self._columns = tuple(c.name for c in table.finite)
        self._tensor: Estimates | None = None
        self._scopes: dict[tuple[str, ...], Estimates] = {}

    def absorb(self, measurement: Measurement) -> None:
        """Take a measurement without text columns into the model; the fit itself waits for the next question."""
        check_finite(measurement)
        self.measurements.append(measurement)
        self._tensor = None
        self._scopes.clear()

    def answer(self, query: LinearQuery) -> float:
        """The estimate of a query without text columns, in counts."""
        return query.estimate(self.contingency(query.scope))

    def answers(self, asked: Choices) -> Estimates:
        """The same of each product of factors: axes that several share are summed once."""
        cells = self.contingency(tuple(chain.from_iterable(asked.columns)))
        if asked.is_one:
            factors = asked.product(0)
            by_place = cells.reshape([f.weights.size for f in factors])
            return np.array([sum_of_one(by_place, [row_of(f) for f in factors])]) / asked.units
        matrices = [matrix_of(here) for here in asked.factors]
        found = asked.summed(cells.reshape([m.shape[1] for m in matrices]), matrices)
        return one_by_one(self, asked) if found is None else found / asked.units

    def contingency(self, columns: tuple[str, ...]) -> Estimates:
        """Estimated counts over the cells of ``columns`` (any order), float64, shape = the columns' sizes. Public."""
        cached = self._scopes.get(columns)
        if cached is not None:
            return cached
        if len(self._scopes) >= _CACHED_SCOPES:
            self._scopes.pop(next(iter(self._scopes)))
        out = self._cells(columns)
        out.setflags(write=False)
        self._scopes[columns] = out
        return out

    def coarse_axes(self, columns: tuple[str, ...], sigma: float) -> tuple[Axis, ...] | None:
        """``None``: the parts on which a question is answered are as good for the fit as any."""
        return None

    def _cells(self, columns: tuple[str, ...]) -> Estimates:
        if self._tensor is None:
            self._tensor = fitted(self.table, self.row_count, self._columns, self.measurements, self.rules)
        return marginal(self._tensor, self._columns, columns)


def fitted(
    table: TableDomain, row_count: float, columns: tuple[str, ...], measurements: list[Measurement], rules: ModelRules
) -> Estimates:
    """The uniform tensor over ``columns`` with ``row_count`` rows, fitted to measurements within them."""
    shape = table.shape(columns)
    start = np.full(shape, row_count / max(prod(shape), 1))
    passes = PASSES if start.size <= LARGE_CELLS else PASSES_LARGE
    possible = {c: _possible(table.finite_domain(c), peaked=rules.peaks) for c in columns} if rules.top_down else {}
    ordered = {c for c in columns if table.finite_domain(c).ordered}
    dates = {c for c in columns if isinstance(table.finite_domain(c), DateDomain)}
    return fit_tensor(start, columns, measurements, passes, rules, possible, ordered, dates)


def _possible(domain: FiniteDomain, *, peaked: bool) -> PossibleOfNoisy:
    likely: Possible = partial(top_down, apart=domain.nullable) if domain.ordered else nearest

    def possible(counts: Estimates, total: float, sigma: float) -> Estimates:
        if not (peaked and domain.ordered):
            return likely(counts, total)
        above = peaks(counts, sigma, apart=domain.nullable)
        return beside_peaks(likely, counts - above, above, total)

    return possible
