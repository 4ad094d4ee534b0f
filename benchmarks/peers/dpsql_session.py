"""dpsql itself: every number comes through ``dpsql.connect`` with real noise."""

import time
from dataclasses import dataclass, field

import numpy as np

import dpsql
from benchmarks.peers.peer import Given
from benchmarks.task import Task
from dpsql.result import Answer


@dataclass(frozen=True)
class Kept:
    """What a session said of each distinct question's numbers, and how fast it was."""

    answers: list[list[Answer]]
    hard_rounds_left: int
    first_seconds: float
    seconds: float


@dataclass(frozen=True)
class DpsqlSession:
    """``sessions`` keeps what the last runs said, for who wants more than the numbers."""

    strategy: str = "auto"
    name: str = "dpsql"
    title: str = "dpsql"
    hard_rounds: int | None = None
    sessions: list[Kept] = field(default_factory=list)

    def refuses(self, task: Task) -> str | None:
        return None

    def give(self, task: Task) -> Given:
        policy = task.table.policy(task.epsilon, task.queries, self.hard_rounds, self.strategy)
        numbers: dict[int, np.ndarray] = {}
        said: dict[int, list[Answer]] = {}
        with dpsql.connect(task.table.path, policy=policy, ledger=":memory:") as con:
            begin = time.perf_counter()
            first = 0.0
            for i in task.stream:
                question = task.asked[i]
                cursor = con.execute(question.sql)
                rows = cursor.fetchall()
                by_group = {row[0] if question.group else None: k for k, row in enumerate(rows)}
                order = [by_group[g] for g in task.groups(question)]
                if i not in numbers:
                    numbers[i] = np.array([rows[k][-1] for k in order], dtype=float)
                    said[i] = [cursor.answers[k] for k in order]
                first = first or time.perf_counter() - begin
            seconds = time.perf_counter() - begin - first
            left = con.budget.hard_rounds_left
        every = range(len(task.asked))
        self.sessions.append(Kept([said[i] for i in every], left, first, seconds))
        note = f"{left} hard rounds left, {task.queries / seconds:,.0f} statements/s"
        return Given([numbers[i] for i in every], note)
