"""OpenDP's discrete Gaussian on each count, under zCDP composition with its own conversion to (epsilon, delta).

Told the number of distinct questions, as ``benchmarks.peers.gaussian``; a GROUP BY is one vector-valued release.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.peers.peer import Given
from benchmarks.peers.zcdp import rho_for
from benchmarks.task import DELTA, Task


@dataclass(frozen=True)
class OpenDpCounts:
    """rho split evenly: zCDP adds up (Bun and Steinke 2016, Lemma 1.7)."""

    name: str = "opendp"
    title: str = "OpenDP, one release per statement"

    def refuses(self, task: Task) -> str | None:
        return None

    def give(self, task: Task) -> Given:
        import opendp.prelude as dp

        dp.enable_features("contrib")
        rho = rho_for(dp, float(task.epsilon), float(DELTA)) / len(task.asked)
        scale = (1.0 / (2.0 * rho)) ** 0.5
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
        release = dp.m.make_gaussian(*space, scale=scale)
        answers = [np.maximum(0, np.array(release(t.tolist()), dtype=float)) for t in task.truths]
        return Given(answers, f"scale {scale:.0f}, {len(task.asked):,} distinct")
