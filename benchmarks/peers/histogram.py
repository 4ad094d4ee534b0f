"""One noisy histogram of the whole table, from which everything is answered at no further cost.

With a text column: a stability histogram. Only cells that occur are noised, and only those are shown whose noisy count
passes a threshold that a cell of one row passes with probability delta/2 at most.
"""

from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from benchmarks.peers.peer import Given
from benchmarks.question import Question
from benchmarks.rows import Rows
from benchmarks.task import DELTA, Task
from dpsql.accounting import calibrate

MOST_CELLS = 10**7


@dataclass(frozen=True)
class Histogram:
    """Simulated with numpy; answers are cut at 0, cells are not (their sums would be biased)."""

    name: str = "histogram"
    title: str = "one noisy histogram"

    def refuses(self, task: Task) -> str | None:
        cells = task.table.domain.cells
        if cells > MOST_CELLS:
            return f"the universe has {cells:.1e} cells: noise of that many cells drowns every count"
        return None

    def give(self, task: Task) -> Given:
        rng = np.random.default_rng([task.seed, 2])
        if task.rows.text is not None:
            return _stability(task, task.rows.text, rng)
        plan = task.plan(1)
        sigma = float(plan.release_sigma(plan.release_budget))
        counts = task.rows.contingency(task.rows.names)
        noisy = counts + np.rint(rng.normal(0.0, sigma, counts.shape))
        return Given([_read(task.rows, noisy, q) for q in task.asked], f"sigma {sigma:.1f}, {counts.size:,} cells")


def _read(rows: Rows, noisy: np.ndarray, question: Question) -> np.ndarray:
    """Sum of the cells that the question accepts, for each value of its group."""
    accepted = {c.column: list(rows.accepted(c.column, c.values)) for c in question.conditions}
    out: np.ndarray = noisy
    for axis, name in reversed(list(enumerate(rows.names))):
        if name in accepted:
            out = out.take(accepted[name], axis=axis).sum(axis=axis)
        elif name != question.group:
            out = out.sum(axis=axis)
    cut: np.ndarray = np.maximum(0, np.atleast_1d(out))
    return cut


def _stability(task: Task, text: np.ndarray, rng: np.random.Generator) -> Given:
    rows = task.rows
    plan = calibrate(task.epsilon, DELTA, hard_rounds=0, delta_purse=Fraction(DELTA, 2))
    sigma = float(plan.release_sigma(plan.release_budget))
    threshold = 1.0 + sigma * NormalDist().inv_cdf(1.0 - float(DELTA) / 2)
    strings, code = np.unique(text.astype(str), return_inverse=True)
    keys, counts = np.unique(np.column_stack([code, rows.codes]), axis=0, return_counts=True)
    noisy = counts + np.rint(rng.normal(0.0, sigma, len(counts)))
    shown = noisy >= threshold
    keys, noisy = keys[shown], noisy[shown]
    names = (task.table.text.name if task.table.text else "", *rows.names)
    position = {str(s): i for i, s in enumerate(strings)}
    answers = []
    for q in task.asked:
        kept = np.ones(len(keys), dtype=bool)
        for c in q.conditions:
            column = keys[:, names.index(c.column)]
            finite = c.column in rows.names
            wanted = rows.accepted(c.column, c.values) if finite else [position.get(str(v), -1) for v in c.values]
            kept &= np.isin(column, list(wanted))
        if q.group is None:
            answers.append(np.array([noisy[kept].sum()]))
        else:
            size = len(rows.values(q.group))
            answers.append(np.bincount(keys[kept, names.index(q.group)], noisy[kept], minlength=size))
    return Given(answers, f"sigma {sigma:.1f}, threshold {threshold:.0f}, {len(keys):,} of {len(counts):,} keys shown")
