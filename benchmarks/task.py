"""One run of a comparison: a table, a stream of questions with their true answers, epsilon and a seed."""

from dataclasses import dataclass
from fractions import Fraction

import duckdb
import numpy as np

from benchmarks.question import Question
from benchmarks.rows import Rows, load, truth
from benchmarks.tables import BenchmarkTable
from benchmarks.workload import questions
from dpsql.accounting import Plan, calibrate
from dpsql.domain import cell_values

DELTA = Fraction(1, 10**6)


@dataclass(frozen=True)
class Task:
    """``stream``: positions in ``asked`` in asking order. ``asked``: distinct questions, in order of first asking.

    ``truths``: for each of them its counts: one, or one for each value of its group.
    """

    name: str
    table: BenchmarkTable
    rows: Rows
    asked: tuple[Question, ...]
    stream: tuple[int, ...]
    truths: tuple[np.ndarray, ...]
    epsilon: Fraction
    seed: int

    @property
    def queries(self) -> int:
        """Questions in the stream, repeats included."""
        return len(self.stream)

    def plan(self, releases: int) -> Plan:
        """The whole (epsilon, 1e-6) for so many releases, as tight as dpsql's own accountant makes it."""
        return calibrate(self.epsilon, DELTA, hard_rounds=0, releases=releases)

    def groups(self, question: Question) -> tuple[object, ...]:
        """The values of the question's group in the order of its numbers; one ``None`` without a group."""
        return (None,) if question.group is None else cell_values(self.table.domain.finite_domain(question.group))

    def errors(self, answers: list[np.ndarray]) -> np.ndarray:
        """Absolute errors of all numbers in asking order, in counts; ``answers`` as ``truths``."""
        off = [np.abs(a - t) for a, t in zip(answers, self.truths, strict=True)]
        return np.concatenate([off[i] for i in self.stream])


def make_task(name: str, table: BenchmarkTable, rows: Rows | None, queries: int, epsilon: Fraction, seed: int) -> Task:
    """The workload of ``seed`` on the table, with DuckDB's own counts as the truth; ``rows`` to reuse loaded ones."""
    found = questions(table.domain.name, table.columns, queries, seed, table.text)
    position: dict[object, int] = {}
    asked: list[Question] = []
    stream = []
    for q in found:
        if q.key not in position:
            position[q.key] = len(asked)
            asked.append(q)
        stream.append(position[q.key])
    with duckdb.connect(str(table.path), read_only=True) as con:
        truths = [
            np.array(truth(con, () if q.group is None else cell_values(table.domain.finite_domain(q.group)), q))
            for q in asked
        ]
    kept = load(table) if rows is None else rows
    return Task(name, table, kept, tuple(asked), tuple(stream), tuple(truths), epsilon, seed)
