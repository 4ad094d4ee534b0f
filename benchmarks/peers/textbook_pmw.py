"""Textbook private multiplicative weights (Hardt and Rothblum 2010), simulated with numpy.

Starts uniform; a question whose estimate is off by more than a threshold gets one noisy answer, and one multiplicative
step in its direction. The paper's own constants would never update at this size, so threshold and noise are those of
dpsql's accountant, and the numbers of rows and of distinct questions are told: what is textbook is the step.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.peers.histogram import MOST_CELLS
from benchmarks.peers.peer import Given
from benchmarks.question import Question
from benchmarks.task import DELTA, Task
from dpsql.accounting import calibrate

ROUNDS = 300
"""At most; 30 and 100 were worse at 1,000 statements."""


@dataclass(frozen=True)
class TextbookPmw:
    """x(cell) *= exp(q(cell) (noisy - estimate) / (2 n)), the step of Hardt, Ligett and McSherry 2012, Alg. 1.

    Steps of a fixed size, the threshold's, were worse.
    """

    name: str = "textbook-pmw"
    title: str = "textbook PMW, simulated"

    def refuses(self, task: Task) -> str | None:
        if task.rows.text is not None:
            return "text columns have no universe to put weights on"
        cells = task.table.domain.cells
        return f"the universe has {cells:.1e} cells" if cells > MOST_CELLS else None

    def give(self, task: Task) -> Given:
        rng = np.random.default_rng([task.seed, 3])
        most = min(ROUNDS, len(task.asked))
        plan = calibrate(task.epsilon, DELTA, hard_rounds=most)
        theta, sigma, slope = plan.threshold(task.queries), float(plan.sigma), float(plan.slope)
        n, names = len(task.rows.codes), task.rows.names
        weights = np.full([len(task.rows.values(c)) for c in names], 1.0)
        weights *= n / weights.size
        answers, rounds = [], 0
        for question, truth in zip(task.asked, task.truths, strict=True):
            boxes = _boxes(task, question)
            given = np.array([weights[box].sum() for box in boxes])
            for i, box in enumerate(boxes):
                given[i] = weights[box].sum()
                if rounds == most or _easy(abs(truth[i] - given[i]) - theta, slope, rng):
                    continue
                rounds += 1
                noisy = truth[i] + rng.normal(0.0, sigma)
                weights[box] *= np.exp((noisy - given[i]) / (2 * n))
                weights *= n / weights.sum()
                given[i] = max(0.0, noisy)
            answers.append(given)
        return Given(answers, f"threshold {theta}, {rounds} of {most} rounds used")


def _easy(gap: float, slope: float, rng: np.random.Generator) -> bool:
    return bool(rng.random() < np.exp(-np.exp(min(60.0, slope * gap))))


def _boxes(task: Task, question: Question) -> list[tuple[np.ndarray, ...]]:
    """The cells of each of the question's numbers, as an index into the weights."""
    accepted = {c.column: np.array(task.rows.accepted(c.column, c.values)) for c in question.conditions}
    groups: list[dict[str, np.ndarray]] = [{}]
    if question.group is not None:
        groups = [{question.group: np.array([i])} for i in range(len(task.rows.values(question.group)))]
    every = {c: np.arange(len(task.rows.values(c))) for c in task.rows.names}
    return [np.ix_(*({**every, **accepted, **g}[c] for c in task.rows.names)) for g in groups]
