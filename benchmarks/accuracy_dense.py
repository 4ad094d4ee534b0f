"""Dense accuracy on Adult: ``python -m benchmarks.accuracy_dense [--queries 10000] [--seeds 3] [--epsilon 1]``.

Every number comes through ``dpsql.connect`` with real noise; the truth is DuckDB's own COUNT on the same file.
"""

import tempfile
import time
from fractions import Fraction
from pathlib import Path

import click
import duckdb
import numpy as np

import dpsql
from benchmarks.report import show, summary
from benchmarks.tables import BenchmarkTable, adult6
from benchmarks.workload import dense_statements
from dpsql.accounting import calibrate

Row = dict[str, object]


def truths(table: BenchmarkTable, statements: list[str]) -> dict[str, dict[tuple[object, ...], int]]:
    """DuckDB's own answer to each distinct statement: group tuple to count."""
    out: dict[str, dict[tuple[object, ...], int]] = {}
    with duckdb.connect(str(table.path), read_only=True) as con:
        for sql in dict.fromkeys(statements):
            out[sql] = {tuple(row[:-1]): int(row[-1]) for row in con.execute(sql).fetchall()}
    return out


def gaussian_errors(numbers: int, epsilon: Fraction, seed: int) -> np.ndarray:
    """Per-query Gaussian told the number of answers in advance: the same accountant, sigma = sqrt(numbers) sigma_1."""
    plan = calibrate(epsilon, Fraction(1, 10**6), hard_rounds=0)
    sigma = float(plan.release_sigma(plan.release_budget)) * numbers**0.5
    return np.abs(np.random.default_rng(seed).normal(0, sigma, numbers))


def run(table: BenchmarkTable, queries: int, epsilon: Fraction, seed: int, folder: Path) -> tuple[list[float], Row]:
    statements = dense_statements(table.domain.name, table.columns, queries, seed)
    expected = truths(table, statements)
    errors: list[float] = []
    begin = time.perf_counter()
    with dpsql.connect(table.path, policy=table.policy(epsilon, queries), ledger=":memory:") as con:
        for sql in statements:
            rows = con.execute(sql).fetchall()
            truth = expected[sql]
            errors += [row[-1] - truth.get(tuple(row[:-1]), 0) for row in rows]
        seconds = time.perf_counter() - begin
        budget = con.budget
    return errors, {"hard rounds left": budget.hard_rounds_left, "queries/s": queries / seconds}


@click.command()
@click.option("--queries", default=10_000)
@click.option("--seeds", default=3)
@click.option("--epsilon", default="1")
def main(queries: int, seeds: int, epsilon: str) -> None:
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        table = adult6(Path(name))
        for seed in range(1, seeds + 1):
            errors, extra = run(table, queries, Fraction(epsilon), seed, Path(name))
            rows.append({"method": "dpsql", "seed": seed, **summary(errors), **extra})
            gaussian = gaussian_errors(len(errors), Fraction(epsilon), seed)
            rows.append({"method": "Gaussian per answer, told k", "seed": seed, **summary(list(gaussian))})
    show(
        f"Adult, 6 columns ({table.domain.cells:,} cells), epsilon {epsilon}, delta 1e-6, {queries:,} statements",
        rows,
        f"accuracy_dense_{queries}_eps{epsilon}",
        ["absolute errors in counts of 48,842 rows"],
    )


if __name__ == "__main__":
    main()
