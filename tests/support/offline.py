"""A table in memory for methods of synthesis: its bench without a database, its steps without a session."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from dpsql.accounting import Plan
from dpsql.domain import TableDomain
from dpsql.first import Bench
from dpsql.hypothesis import DenseHypothesis, Measurement, TableModel
from dpsql.ledger import MemoryLedger
from dpsql.mechanism import Entropy
from dpsql.planning import make_plan
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.private import Private
from dpsql.query import Counts, Factor, LinearQuery, linear_query
from dpsql.session.asker import Asker
from dpsql.synthesis import Steps, Task


class CellsEngine:
    """Counts of a table that is known by its cells, one axis for each column; ``looks`` lists what was counted."""

    def __init__(self, table: TableDomain, cells: Counts) -> None:
        self._names = [c.name for c in table.finite]
        self._cells = cells
        self.looks: list[tuple[str, ...]] = []

    def contingency(self, table: str, columns: tuple[str, ...]) -> Private[Counts]:
        self.looks.append(columns)
        kept = [self._names.index(c) for c in columns]
        marginal = self._cells.sum(axis=tuple(i for i in range(self._cells.ndim) if i not in kept))
        return Private(np.ascontiguousarray(marginal.transpose(np.argsort(np.argsort(kept)))))


class Exactly:
    """No noise at all, and the first of the largest: what a method does where privacy costs nothing."""

    def bits(self, n: int) -> int:
        raise AssertionError("an offline construction tosses no coins")

    def discrete_gaussian(self, sigma: Fraction, size: int) -> list[int]:
        return [0] * size

    def noisy_max(self, scores: list[int], scale: Fraction) -> int:
        return scores.index(max(scores))


class PlainSteps:
    """Draws every step and keeps it; ``known``: steps that were recorded before."""

    def __init__(self, known: Sequence[Mapping[str, Any]] = ()) -> None:
        self._known = list(known)
        self.made: list[dict[str, Any]] = []
        self.costs: list[int] = []
        self.drawn = 0

    def pay(self, cost: int, draw: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        number = len(self.made)
        self.costs.append(cost)
        if number < len(self._known):
            self.made.append(dict(self._known[number]))
        else:
            self.drawn += 1
            self.made.append(draw())
        return self.made[-1]


def table_policy(table: TableDomain, epsilon: str = "1", neighbors: str = "add-remove") -> Policy:
    privacy = Privacy(Fraction(epsilon), Fraction(1, 10**6), neighbors, 1000)  # type: ignore[arg-type]
    return Policy(privacy, (table,), Mechanism("auto"))


def bench_of(
    table: TableDomain, cells: Counts, entropy: Entropy, plan: Plan | None = None, ledger: MemoryLedger | None = None
) -> Bench:
    plan = make_plan(table_policy(table)) if plan is None else plan
    ledger = MemoryLedger({"plan": plan.to_json()}) if ledger is None else ledger
    return Bench(plan, CellsEngine(table, cells), ledger, entropy)  # type: ignore[arg-type]


def task_of(
    table: TableDomain,
    cells: Counts,
    workload: Sequence[LinearQuery],
    units: int,
    rows: int | None = None,
    **options: str,
) -> Task:
    rows_measured = Measurement(table.name, (), np.array(int(cells.sum())), 1.0)
    model = TableModel(table, rows_measured, 1.0, DenseHypothesis)
    return Task(table, model, tuple(workload), units, rows, options)


def asker_of(table: TableDomain, cells: Counts, ledger: MemoryLedger, entropy: Entropy) -> Asker:
    """A session's own turns and fold on a ledger that may be older than the session."""
    policy = table_policy(table)
    return Asker(policy, make_plan(policy), CellsEngine(table, cells), ledger, entropy)  # type: ignore[arg-type]


def ledger_steps(asker: Asker, units: int) -> Steps:
    asker.catch_up()
    return Steps("r", "t", units, asker.bench, asker.turns, lambda: asker.fold.runs, keeps_first_look=False)


def counting(table: TableDomain, **weights: Sequence[int]) -> LinearQuery:
    """The count of the cells that have weight 1 in each column that is named."""
    factors = [Factor((c,), np.array(w, dtype=np.int64)) for c, w in weights.items()]
    query = linear_query(table, factors)
    assert query is not None
    return query


def marginals(table: TableDomain, columns: int) -> list[LinearQuery]:
    """Every cell of every contingency over so many columns."""
    found = []
    for chosen in combinations([c.name for c in table.finite], columns):
        for cell in np.ndindex(*table.shape(chosen)):
            ones = {c: np.eye(n, dtype=np.int64)[i] for c, i, n in zip(chosen, cell, table.shape(chosen), strict=True)}
            found.append(counting(table, **{c: w.tolist() for c, w in ones.items()}))
    return found


def exact(query: LinearQuery, table: TableDomain, cells: Counts) -> int:
    """The floor of a query's answer by a mask over the universe."""
    names = [c.name for c in table.finite]
    mask: Any = np.ones((1,) * len(names), dtype=object)
    for factor in query.factors:
        order = sorted(range(len(factor.columns)), key=lambda i, f=factor: names.index(f.columns[i]))  # type: ignore[misc]
        sizes = dict(zip(factor.columns, factor.weights.shape, strict=True))
        mask = mask * factor.weights.transpose(order).reshape([sizes.get(c, 1) for c in names]).astype(object)
    return int((mask * cells.astype(object)).sum()) // query.unit
