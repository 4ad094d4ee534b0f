"""Sparse accuracy on Debian's file index: ``python -m benchmarks.accuracy_sparse [--queries 10000] [--seeds 3]``.

Point and IN queries on ``ext`` (text, no declared values), from an empty hypothesis with 100 hard rounds.
"""

import tempfile
import time
from fractions import Fraction
from pathlib import Path

import click
import duckdb

import dpsql
from benchmarks.accuracy_dense import Row, gaussian_errors
from benchmarks.report import show, summary
from benchmarks.tables import files
from benchmarks.workload import sparse_statements

HARD_ROUNDS = 100


@click.command()
@click.option("--queries", default=10_000)
@click.option("--seeds", default=3)
def main(queries: int, seeds: int) -> None:
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        table = files(Path(name))
        with duckdb.connect(str(table.path), read_only=True) as con:
            counts = con.execute(
                "SELECT ext, COUNT(*) FROM files WHERE ext IS NOT NULL GROUP BY ext ORDER BY 2 DESC, 1"
            ).fetchall()
        truth = {str(s): int(c) for s, c in counts}
        for seed in range(1, seeds + 1):
            statements = sparse_statements("files", "ext", [(str(s), int(c)) for s, c in counts], queries, seed)
            errors: list[float] = []
            policy = table.policy(planned=queries, hard_rounds=HARD_ROUNDS)
            with dpsql.connect(table.path, policy=policy, ledger=":memory:") as con:
                begin = time.perf_counter()
                for sql, listed in statements:
                    value = con.execute(sql).fetchone()[0]  # type: ignore[index]
                    errors.append(value - sum(truth.get(s, 0) for s in listed))
                rate = queries / (time.perf_counter() - begin)
                left = con.budget.hard_rounds_left
            own = summary(errors)
            peer = summary(list(gaussian_errors(queries, Fraction(1), seed)))
            rows.append({"method": "dpsql", "seed": seed, **own, "hard rounds left": left, "queries/s": rate})
            rows.append({"method": "Gaussian per answer, told k", "seed": seed, **peer})
            rows.append({"method": "ratio", "seed": seed, "mean": own["mean"] / peer["mean"]})
    show(
        f"Files, ext as text, epsilon 1, delta 1e-6, {queries:,} point and IN queries, {HARD_ROUNDS} hard rounds",
        rows,
        "accuracy_sparse",
        ["absolute errors in counts of 1,655,516 rows; ratio = mean over the Gaussian's mean"],
    )


if __name__ == "__main__":
    main()
