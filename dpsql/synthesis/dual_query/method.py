"""DualQuery: the queries play multiplicative weights, and each round's best response is a record of the table.

Gaboardi, Gallego Arias, Hsu, Roth and Wu 2014, algorithm 1; Gong 2021, section 2. In round t a query i, or its
complement, is drawn with weight exp(eta times the sum over earlier records x of q_i(D) / n - q_i(x)): queries that the
records so far count too low come often. The next record is one that most of the drawn queries count.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsql.accounting import Plan
from dpsql.domain import TableDomain
from dpsql.first import Bench
from dpsql.ledger.event import Payload
from dpsql.mechanism import draw_weighted
from dpsql.private import Private, together
from dpsql.query import Counts, LinearQuery
from dpsql.synthesis.coins import coins
from dpsql.synthesis.dual_query.options import read, settled
from dpsql.synthesis.dual_query.response import Responder, check_queries, on_records
from dpsql.synthesis.dual_query.setting import Setting, round_cost
from dpsql.synthesis.steps import Steps
from dpsql.synthesis.synthetic import Synthetic
from dpsql.synthesis.task import Task
from dpsql.synthesis.wanted import Wanted

Record = list[int]


def dual_query(task: Task, bench: Bench, steps: Steps) -> Synthetic:
    """The records of all rounds, each repeated evenly: as many rows as are wanted, or n.

    Columns that the workload does not ask about are filled evenly; text columns are not filled. DataError for options
    and workloads that it does not take, InterfaceError without the extra ``synth``.
    """
    options = settled(task, bench.plan)
    setting, queries = options.setting, task.workload
    responder = Responder(task.table, queries, options.seconds)
    game = _Game(task, bench, setting, queries)
    for t in range(1, setting.rounds + 1):
        task.on_progress(game.words, t - 1, setting.rounds)
        cost = round_cost(bench.plan, setting, t, options.charge)
        _play(game, responder, steps, cost, game.draw)
    _play(game, responder, steps, 1, dict)
    task.on_progress(game.words, setting.rounds, setting.rounds)
    return _table(task, game.records, setting)


def check_dual_query(table: TableDomain, wanted: Wanted, told: Sequence[LinearQuery], plan: Plan) -> None:
    """What ``dual_query`` refuses of its options and its workload, said before anything is charged."""
    read(wanted.options, plan)
    check_queries(told)


class _Game:
    """The records so far, and what was drawn in the round that waits for its record."""

    def __init__(self, task: Task, bench: Bench, setting: Setting, queries: tuple[LinearQuery, ...]) -> None:
        self.records: list[Record] = []
        self.drawn: list[int] = []
        self._task = task
        self._bench = bench
        self._setting = setting
        self._queries = queries
        self._counted: Private[Counts] | None = None
        self._played = np.zeros(len(queries))
        self._unproved = 0

    @property
    def words(self) -> str:
        """What is under way, for whoever waits."""
        return "records" + (f" ({self._unproved} not proved to be best)" if self._unproved else "")

    def answer(self, responder: Responder) -> dict[str, Any]:
        """The record that answers what was drawn, and by how much of the draws a better one may exceed it."""
        number = len(self._queries)
        weights = Counter[int]()
        for i in self.drawn:
            weights[i % number] += 1 if i < number else -1
        response = responder.respond(weights, coins("dual-query", len(self.records), self.drawn))
        gap = (response.bound - response.value) / max(1, len(self.drawn))
        return {"record": list(response.codes), "gap": round(gap, 6)}

    def draw(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Queries, by position, complements after them: drawn by weight against the records with that of ``answer``."""
        rounds, n = len(self.records) + bool(answer), self._setting.rows
        played = self._played + (self._of(answer["record"]) if answer else 0)
        against = np.floor(n * np.concatenate([played, rounds - played])).astype(np.int64)
        if self._counted is None:
            self._counted = counted(self._bench, self._task.table.name, self._queries)
        scores = self._counted.map(lambda rows: rounds * rows - against)
        entropy = self._bench.entropy
        return {"drawn": draw_weighted(scores, self._setting.scale, self._setting.samples, entropy)}

    def learn(self, step: Payload) -> None:
        """Take in a recorded step."""
        if step.get("record") is not None:
            self.records.append([int(code) for code in step["record"]])
            self._played += self._of(self.records[-1])
            self._unproved += step["gap"] > 0
        self.drawn = [int(i) for i in step.get("drawn", ())]

    def _of(self, record: Record) -> npt.NDArray[np.float64]:
        codes = np.array(record, dtype=np.int64)
        return np.array([float(on_records(self._task.table, q, codes)) for q in self._queries])


def _play(
    game: _Game, responder: Responder, steps: Steps, cost: int, draw: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    """One step: the record of the round before, worked out unless it is recorded, and the draws of this one."""
    is_open = bool(game.drawn) and not steps.is_next_recorded
    answer = game.answer(responder) if is_open else {}
    game.learn(steps.pay(cost, lambda: {**answer, **draw(answer)}))


def counted(bench: Bench, table: str, queries: tuple[LinearQuery, ...]) -> Private[Counts]:
    """int64 of shape (2 queries,): for each the counted rows, rounded down, then all rows less them. Private.

    When rows come and go, a query changes by no less than minus those that go and no more than those that come, and so
    does its complement: all changes lie in an interval as wide as both together (docs/privacy.md, weighted draws).
    """
    of_scope: dict[tuple[str, ...], list[int]] = {}
    for i, query in enumerate(queries):
        of_scope.setdefault(query.scope, []).append(i)
    floors = [bench.floors([queries[i] for i in of]) for of in of_scope.values()]
    order = np.argsort(np.concatenate(list(of_scope.values())))

    def count(found: tuple[Counts, ...]) -> Counts:
        *parts, rows = found
        below = np.concatenate(parts)[order]
        return np.concatenate([below, int(rows) - below])

    return together([*floors, bench.engine.contingency(table, ())]).map(count)


def _table(task: Task, records: list[Record], setting: Setting) -> Synthetic:
    rows = task.rows or setting.rows
    chosen = np.arange(rows) * len(records) // rows
    codes = np.array(records, dtype=np.int64).reshape(len(records), -1)[chosen]
    return Synthetic(task.table, codes, scale=setting.rows / rows)
