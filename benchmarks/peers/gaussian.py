"""Noise for each statement, told in advance how many different ones will come: the strongest user of a noise library.

Told the number of *distinct* questions (a cache makes repeats free, with the same number), the cells of a GROUP BY
count as one release (they are disjoint), the accountant is dpsql's own, and answers are cut at 0. ``gaussian-plain`` is
the same user who shows noisy answers as they are.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.peers.peer import Given
from benchmarks.task import Task


@dataclass(frozen=True)
class Gaussian:
    """Simulated with numpy: an equal share of (epsilon, 1e-6) for each distinct statement."""

    name: str = "gaussian"
    title: str = "Gaussian per statement, told k"
    cut: bool = True

    def refuses(self, task: Task) -> str | None:
        return None

    def give(self, task: Task) -> Given:
        plan = task.plan(len(task.asked))
        sigma = float(plan.release_sigma(plan.release_budget // len(task.asked)))
        rng = np.random.default_rng([task.seed, 1])
        least = 0.0 if self.cut else -np.inf
        noisy = [np.maximum(least, t + np.rint(rng.normal(0.0, sigma, len(t)))) for t in task.truths]
        return Given(noisy, f"sigma {sigma:.0f}, {len(task.asked):,} distinct")
