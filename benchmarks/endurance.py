"""Endurance: ``python -m benchmarks.endurance [--statements 1000000] [--new 0.3]``.

One session on Adult's 6 columns with a ledger in a file: statements drawn by a Zipf law among those asked before, and
new ones. Prints speed, memory, file sizes and budget after every tenth of the way. Fails when the memory of the last
nine tenths grows by more than 10 %, when the budget is exceeded, or when a statement is not answered.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np

import dpsql
from benchmarks.accuracy_dense import Row
from benchmarks.report import show
from benchmarks.tables import BenchmarkTable, adult6
from benchmarks.workload import ZIPF, dense_statements

BLOCK = 10_000
SHARES = 10
GROWTH = 1.1


def endless(table: BenchmarkTable, new: float, seed: int) -> Iterator[str]:
    """Statements without end: a share ``new`` (at most .4) drawn afresh, the others one of the latest by a Zipf law."""
    rng = np.random.default_rng(seed)
    ranks = np.arange(1, 10 * BLOCK + 1) ** -ZIPF
    ranks = np.cumsum(ranks / ranks.sum())
    pool: list[str] = []
    while True:
        drawn = dense_statements(table.domain.name, table.columns, 2 * BLOCK, int(rng.integers(1 << 31)))
        fresh = iter(dict.fromkeys(drawn))
        pool = pool[-9 * BLOCK :]  # what analysts come back to; the session itself remembers everything
        for draw, position in zip(rng.random(BLOCK), rng.random(BLOCK), strict=True):
            if draw < new or not pool:
                pool.append(next(fresh))
                yield pool[-1]
            else:
                yield pool[-1 - int(np.searchsorted(ranks, position)) % len(pool)]


def resident() -> float:
    """Resident memory of this process, MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise SystemExit("needs /proc/self/status (Linux)")


def megabytes(ledger: Path) -> float:
    """The ledger's files together."""
    return sum(p.stat().st_size for p in ledger.parent.glob(ledger.name + "*")) / 1e6


@click.command()
@click.option("--statements", default=1_000_000)
@click.option("--new", type=click.FloatRange(0.0, 0.4), default=0.3)
def main(statements: int, new: float) -> None:
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        os.environ["DPSQL_STATE_HOME"] = str(Path(name) / "state")  # others shall not hear of this budget
        table = adult6(Path(name))
        ledger = Path(name) / "adult6.dpsql.ledger"
        policy = table.policy(planned=statements, strategy="auto")
        with dpsql.connect(table.path, policy=policy, ledger=ledger) as con:
            asked = endless(table, new, 3)
            step = max(1, statements // SHARES)
            for share in range(SHARES):
                begin = time.perf_counter()
                for _ in range(step):
                    if not con.execute(next(asked)).answers:
                        raise SystemExit("a statement was not answered")
                seconds = time.perf_counter() - begin
                budget = con.budget
                rows.append(
                    {
                        "statements": step * (share + 1),
                        "statements/s": step / seconds,
                        "resident MB": resident(),
                        "ledger MB": megabytes(ledger),
                        "epsilon spent": budget.spent_epsilon,
                        "hard rounds left": budget.hard_rounds_left,
                        "numbers": budget.queries_answered,
                        "free": budget.queries_free,
                    }
                )
                print(rows[-1], file=sys.stderr, flush=True)
    show(f"Endurance: Adult, 6 columns, epsilon 1, {new:.0%} new", rows, f"endurance_{statements}")
    memory = [float(str(r["resident MB"])) for r in rows]
    if max(memory) > GROWTH * memory[1]:
        raise SystemExit(f"memory grew from {memory[1]:.0f} to {max(memory):.0f} MB")
    if float(str(rows[-1]["epsilon spent"])) > 1.0:
        raise SystemExit("the budget was exceeded")


if __name__ == "__main__":
    main()
