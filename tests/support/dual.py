"""Runs of dual-query without a session: rows in an array, steps in a list."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any, cast

import numpy as np
import pytest

from dpsql.accounting import Plan, calibrate
from dpsql.domain import BooleanDomain, TableDomain
from dpsql.first import Bench
from dpsql.hypothesis import Measurement
from dpsql.hypothesis.model import TableModel
from dpsql.hypothesis.tensor.dense import DenseHypothesis
from dpsql.mechanism import Entropy
from dpsql.private import Private
from dpsql.query import Counts, Factor, LinearQuery
from dpsql.query.canonical import linear_query
from dpsql.synthesis import Steps, Synthetic, Task
from dpsql.synthesis.dual_query import dual_query
from tests.support.entropy import SeededEntropy

ORDERED: Plan = calibrate(Fraction(1), Fraction(1, 10**6), hard_rounds=6)
"""A plan with an order."""
PURSES: Plan = calibrate(Fraction(1, 10), Fraction(1, 10**6), hard_rounds=6)
"""A plan with two purses."""
NEEDS_SOLVER = pytest.mark.skipif(
    not __import__("importlib.util").util.find_spec("highspy"), reason="without the extra synth: no solver"
)


def booleans(number: int) -> TableDomain:
    return TableDomain("t", tuple(BooleanDomain(f"c{i}", nullable=False) for i in range(number)))


def cells(table: TableDomain, order: int) -> tuple[LinearQuery, ...]:
    """Every cell of every ``order`` columns."""
    out = []
    for chosen in combinations(table.finite, order):
        for codes in product(*(range(c.size) for c in chosen)):
            factors = [Factor((c.name,), np.eye(c.size, dtype=np.int64)[i]) for c, i in zip(chosen, codes, strict=True)]
            query = linear_query(table, factors)
            assert query is not None
            out.append(query)
    return tuple(out)


class Rows:
    """Private rows as codes, int64 of shape (rows, finite columns): as much of an engine as a method asks for."""

    def __init__(self, table: TableDomain, codes: np.ndarray) -> None:
        self.asked = 0
        self._table = table
        self._codes = codes
        self._position = {c.name: i for i, c in enumerate(table.finite)}

    def contingency(self, table: str, columns: tuple[str, ...]) -> Private[Counts]:
        self.asked += 1
        if not columns:
            return Private(np.array(len(self._codes)))
        out = np.zeros(self._table.shape(columns), dtype=np.int64)
        np.add.at(out, tuple(self._codes[:, self._position[c]] for c in columns), 1)
        return Private(out)


class Listed:
    """``Steps`` in a list, which may break off before step ``stop``."""

    def __init__(self, recorded: Sequence[dict[str, Any]] = (), stop: int | None = None) -> None:
        self.recorded = list(recorded)
        self.costs: list[int] = []
        self._stop = stop

    @property
    def is_next_recorded(self) -> bool:
        return len(self.costs) < len(self.recorded)

    def pay(self, cost: int, draw: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if len(self.costs) == self._stop:
            raise KeyboardInterrupt
        if not self.is_next_recorded:
            self.recorded.append(draw())
        self.costs.append(cost)
        return self.recorded[len(self.costs) - 1]


def task_of(table: TableDomain, rows: int, workload: tuple[LinearQuery, ...], units: int, **options: Any) -> Task:
    model = TableModel(table, Measurement("t", (), np.array(rows), 1.0), 1.0, DenseHypothesis)
    neighbors = options.pop("neighbors", "add-remove")
    wanted = options.pop("wanted", None)
    words = {name: str(value) for name, value in options.items()}
    return Task(table, model, workload, units, wanted, words, neighbors=neighbors)


def run(
    task: Task, codes: np.ndarray, steps: Listed | None = None, plan: Plan = ORDERED, entropy: Entropy | None = None
) -> Synthetic:
    bench = Bench(plan, cast(Any, Rows(task.table, codes)), cast(Any, None), entropy or SeededEntropy(1))
    return dual_query(task, bench, cast(Steps, steps or Listed()))


def shares(table: TableDomain, queries: Sequence[LinearQuery], codes: np.ndarray) -> np.ndarray:
    """Each query as a share of the rows."""
    return np.array([Synthetic(table, codes).count(q) / len(codes) for q in queries])
