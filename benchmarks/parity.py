"""A planted 3-way parity: ``python -m benchmarks.parity [--table adult6-parity] [--queries 1000] [--seeds 3]``.

Pairs of columns cannot see it. On a narrow table the warm start may measure triples, which do; on a wide one only the
test, or noise for each statement, can. Errors on all numbers, and on those of statements that touch all three columns.
"""

import tempfile
from pathlib import Path

import click
import numpy as np

from benchmarks.catalog import PARITIES
from benchmarks.comparison import Setting, report, run, tasks, with_ratio
from benchmarks.options import command_text
from benchmarks.peers.dpsql_session import DpsqlSession
from benchmarks.peers.gaussian import Gaussian
from benchmarks.peers.histogram import Histogram
from benchmarks.peers.opendp_counts import OpenDpCounts
from benchmarks.peers.peer import Peer
from benchmarks.task import Task

ASKED: tuple[Peer, ...] = (
    DpsqlSession(),
    DpsqlSession("auto", "dpsql-no-test", "dpsql without the test", hard_rounds=0),
    Gaussian(),
    OpenDpCounts(),
    Histogram(),
)


def touching(task: Task) -> np.ndarray:
    """For each number of the stream whether its statement touches all three columns of the parity."""
    planted = set(PARITIES[task.name])
    inside = [np.full(len(t), planted <= set(q.columns)) for q, t in zip(task.asked, task.truths, strict=True)]
    return np.concatenate([inside[i] for i in task.stream])


@click.command()
@click.option("--table", type=click.Choice(list(PARITIES)), default="adult6-parity")
@click.option("--queries", default=1000)
@click.option("--epsilon", default="1")
@click.option("--seeds", default=3)
def main(table: str, queries: int, epsilon: str, seeds: int) -> None:
    command = command_text("parity", table=table, epsilon=epsilon, queries=queries, seeds=seeds)
    setting = Setting(table, queries, epsilon, seeds)
    with tempfile.TemporaryDirectory() as name:
        made = tasks(setting, Path(name))
        runs = [run(peer, made) for peer in ASKED]
        share = float(np.mean([touching(t).mean() for t in made]))
        for only, what in ((None, "all"), (touching, "on the parity")):
            rows = with_ratio([r.row(made, only) for r in runs])
            title = f"{table}, {what}, epsilon {epsilon}, delta 1e-6, {queries:,} statements, {seeds} seeds"
            notes = [f"{share:.0%} of the numbers touch {', '.join(PARITIES[table])} together"]
            kept = f"parity_{setting.name}{'' if only is None else '_touching'}"
            report(setting, title, kept, command, rows, notes)


if __name__ == "__main__":
    main()
