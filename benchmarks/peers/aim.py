"""AIM (McKenna, Mullins, Sheldon, Miklau 2022) as OpenDP ships it: ``python -m benchmarks.peers.aim FOLDER``.

Runs in a Python that has ``pip install 'opendp[mbi]'``. AIM is offline: it is told every question in advance (the
columns each touches, weighted by how many touch them), which no session of an analyst can be.
"""

import sys
from collections import Counter
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.exchange import PeerTask, batches, read_from_contingency, write_answers
from benchmarks.peers.zcdp import rho_for

MOST_COLUMNS = 3
"""AIM's workload: column sets of at most three; larger questions count for each three of their columns."""


def workload(task: PeerTask) -> Counter[tuple[str, ...]]:
    """Column sets with the number of questions that touch them."""
    found: Counter[tuple[str, ...]] = Counter()
    order = {c.name: i for i, c in enumerate(task.columns)}
    for q in task.questions:
        columns = tuple(sorted(set(q.columns), key=order.__getitem__))
        for part in combinations(columns, min(MOST_COLUMNS, len(columns))):
            found[part] += 1
    return found


def main() -> None:
    """Release a table, then answer from it."""
    import polars as pl

    dp: Any = import_module("opendp.prelude")  # opendp.extras.mbi is there only where mbi is
    dp.enable_features("contrib")
    folder = Path(sys.argv[1])
    task = PeerTask.read(folder)
    rho = rho_for(dp, task.epsilon, task.delta)
    names = [c.name for c in task.columns]
    rows = pl.DataFrame({c: task.codes[:, i].astype(np.int64) for i, c in enumerate(names)}).lazy()
    context = dp.Context.compositor(
        data=rows, privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(rho=rho), split_evenly_over=1
    )
    asked = [dp.mbi.Count(by=columns, weight=float(n)) for columns, n in workload(task).items() if columns]
    released = (
        context.query()
        .select(*names)
        .contingency_table(keys={c: list(range(task.size(c))) for c in names}, algorithm=dp.mbi.AIM(queries=asked))
        .release()
    )
    answers: list[list[float]] = [[] for _ in task.questions]
    for columns, positions in batches(task.questions):
        counts = np.asarray(released.project(columns))[tuple(slice(0, task.size(c)) for c in columns)]
        for i in positions:
            answers[i] = read_from_contingency(task.questions[i], counts)
    write_answers(folder, answers, f"rho {rho:.4f}, {len(asked)} column sets told in advance")


if __name__ == "__main__":
    main()
