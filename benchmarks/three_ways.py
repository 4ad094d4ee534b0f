"""A session's rows beside AIM: ``python -m benchmarks.three_ways [--tables adult6,nltcs,fire] [--peer aim]``.

The mean total variation distance, over all contingencies of three columns, between a synthetic table and the private
one. dpsql's tables are rows of a session that has only had its first look at the table, and of one that answered ad-hoc
questions before; AIM is told that these contingencies are what counts, and its estimates are taken as they are, before
any rounding to rows. Each spends (epsilon, 1e-6), add-remove. ``--python VENV/bin/python`` names the Python that has
``opendp[mbi]``.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import click
import numpy as np

import dpsql
from benchmarks.peers.exchange import PeerColumn, PeerTask
from benchmarks.report import show
from benchmarks.rows import Rows, load
from benchmarks.strangers.tables import fire, nltcs
from benchmarks.tables import HERE, BenchmarkTable, adult6
from benchmarks.workload import dense_statements

Threes = dict[tuple[str, ...], np.ndarray]
Line = dict[str, object]


BUILDERS: dict[str, Callable[[Path], BenchmarkTable]] = {"adult6": adult6, "nltcs": nltcs, "fire": fire}


def distance(rows: Rows, found: Callable[[tuple[str, ...]], np.ndarray]) -> float:
    """Mean over all three columns of half the L1 distance of ``found`` from the truth, in shares of the rows."""
    off = []
    for columns in combinations(rows.names, 3):
        estimate = np.asarray(found(columns), dtype=float)
        off.append(np.abs(estimate / len(rows.codes) - rows.contingency(columns) / len(rows.codes)).sum() / 2)
    return float(np.mean(off))


def of_session(table: BenchmarkTable, rows: Rows, epsilon: Fraction, queries: int, seed: int) -> float:
    """The distance of the rows of a session that answered ``queries`` statements before."""
    policy = table.policy(epsilon, 10_000, strategy="auto")
    with dpsql.connect(table.path, policy=policy, ledger=":memory:") as con:
        for sql in dense_statements(table.domain.name, table.columns, queries, seed) if queries else ():
            con.execute(sql).fetchall()
        made = con.synthesize(table.domain.name).synthetic
    own = Rows(rows.domain, made.codes, None)
    return distance(rows, lambda columns: own.contingency(columns) * made.scale)


def of_aim(table: BenchmarkTable, rows: Rows, epsilon: Fraction, seed: int, python: str, limits: list[str]) -> float:
    """The distance of AIM's estimates, computed in another Python, within its limits of megabytes and rounds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        columns = tuple(PeerColumn(c, rows.values(c)) for c in rows.names)
        PeerTask(table.domain.name, columns, rows.codes, (), float(epsilon), 1e-6, seed).write(folder)
        command = [python, "-m", "benchmarks.peers.aim_three_ways", str(folder), *limits]
        done = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"AIM failed: {done.stderr.strip()[-500:]}")
        with np.load(folder / "three_ways.npz") as kept:
            found: Threes = {tuple(k.split(",")): kept[k] for k in kept.files}
    return distance(rows, found.__getitem__)


def line(name: str, method: str, seeds: int, of: Callable[[int], float]) -> Line:
    """A method's distances over the seeds."""
    begin = time.perf_counter()
    found = [of(seed) for seed in range(1, seeds + 1)]
    seconds = (time.perf_counter() - begin) / seeds
    spread = f"{min(found):.4f} to {max(found):.4f}"
    out: Line = {"table": name, "method": method, "3-way TV": f"{np.mean(found):.4f}", "spread": spread}
    return out | {"seconds": seconds}


@click.command()
@click.option("--tables", "chosen", default="adult6,nltcs")
@click.option("--epsilon", default="1")
@click.option("--queries", default=2000, help="Statements of the session that answered before.")
@click.option("--seeds", default=3)
@click.option("--peer", type=click.Choice(["aim", "none"]), default="aim")
@click.option("--python", default=sys.executable, help="The Python that has opendp[mbi].")
@click.option("--megabytes", default=80.0, help="Of AIM's model: 80 as it ships, less where it does not finish.")
@click.option("--rounds", type=int, default=None, help="Of AIM: sixteen a column as it ships, less likewise.")
@click.option("--slow-seeds", default=1, help="Seeds for AIM.")
def main(
    chosen: str,
    epsilon: str,
    queries: int,
    seeds: int,
    peer: str,
    python: str,
    megabytes: float,
    rounds: int | None,
    slow_seeds: int,
) -> None:
    share, out = Fraction(epsilon), []
    limits = [f"{megabytes:g}"] + ([] if rounds is None else [str(rounds)])
    for name in chosen.split(","):
        with tempfile.TemporaryDirectory() as folder:
            table = BUILDERS[name](Path(folder))
            rows = load(table)
            asked = f"a session that answered {queries:,} statements"
            out.append(
                line(name, "a session's first look", seeds, lambda s, t=table, r=rows: of_session(t, r, share, 0, s))
            )
            out.append(line(name, asked, seeds, lambda s, t=table, r=rows: of_session(t, r, share, queries, s)))
            if peer == "aim":
                of = lambda s, t=table, r=rows: of_aim(t, r, share, s, python, limits)  # noqa: E731
                least = f"{megabytes:g} MB" + ("" if rounds is None else f", {rounds} rounds")
                out.append(line(name, f"AIM, told these contingencies, {least}", slow_seeds, of))
    show(f"All contingencies of three columns, epsilon {epsilon}, delta 1e-6", out, f"three_ways_eps{epsilon}")


if __name__ == "__main__":
    main()
