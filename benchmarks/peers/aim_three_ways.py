"""AIM's contingencies of three columns: ``python -m benchmarks.peers.aim_three_ways FOLDER [MEGABYTES [ROUNDS]]``.

Runs in a Python that has ``pip install 'opendp[mbi]'``; reads a task as ``benchmarks.peers.aim`` does, told that every
three columns count alike, and writes their contingencies as it estimates them into ``three_ways.npz``. ``MEGABYTES``
is the size of its model, 80 as it ships: each of its rounds takes time by it. ``ROUNDS`` is the most that it takes,
sixteen a column as it ships.
"""

import sys
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.exchange import PeerTask
from benchmarks.peers.zcdp import rho_for


def main() -> None:
    """Release a table, then its contingencies of three columns, columns in the table's order."""
    import polars as pl

    dp: Any = import_module("opendp.prelude")  # opendp.extras.mbi is there only where mbi is
    dp.enable_features("contrib")
    folder = Path(sys.argv[1])
    task = PeerTask.read(folder)
    names = [c.name for c in task.columns]
    rows = pl.DataFrame({c: task.codes[:, i].astype(np.int64) for i, c in enumerate(names)}).lazy()
    loss = dp.loss_of(rho=rho_for(dp, task.epsilon, task.delta))
    context = dp.Context.compositor(
        data=rows, privacy_unit=dp.unit_of(contributions=1), privacy_loss=loss, split_evenly_over=1
    )
    threes = list(combinations(names, 3))
    asked = [dp.mbi.Count(by=columns, weight=1.0) for columns in threes]
    megabytes = float(sys.argv[2]) if len(sys.argv) > 2 else 80.0
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else None
    algorithm = dp.mbi.AIM(queries=asked, max_size=megabytes, rounds=rounds)
    released = (
        context.query()
        .select(*names)
        .contingency_table(keys={c: list(range(task.size(c))) for c in names}, algorithm=algorithm)
        .release()
    )
    found = {
        ",".join(columns): np.asarray(released.project(columns))[tuple(slice(0, task.size(c)) for c in columns)]
        for columns in threes
    }
    np.savez(folder / "three_ways.npz", **found)


if __name__ == "__main__":
    main()
