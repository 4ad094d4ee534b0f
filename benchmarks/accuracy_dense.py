"""Dense accuracy on Adult: ``python -m benchmarks.accuracy_dense [--queries 10000] [--seeds 3] [--epsilon 1]``.

``--strategy pmw`` makes no warm start; the default is ``auto``. With ``--hard-rounds`` models answer however few
statements there are; without, the plan gives few statements noise of their own.

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
    """Per-query Gaussian told the number of answers in advance: the same accountant, an equal share for each."""
    plan = calibrate(epsilon, Fraction(1, 10**6), hard_rounds=0, releases=numbers)
    sigma = float(plan.release_sigma(plan.release_budget // numbers))
    return np.abs(np.random.default_rng(seed).normal(0, sigma, numbers))


def run(
    table: BenchmarkTable,
    queries: int,
    epsilon: Fraction,
    seed: int,
    strategy: str,
    hard_rounds: int | None = None,
) -> tuple[list[float], Row]:
    """Errors of all released numbers in asking order, and what else is worth knowing of the run."""
    statements = dense_statements(table.domain.name, table.columns, queries, seed)
    expected = truths(table, statements)
    errors: list[float] = []
    inside: dict[tuple[str, int], bool] = {}
    policy = table.policy(epsilon, queries, hard_rounds, strategy)
    with dpsql.connect(table.path, policy=policy, ledger=":memory:") as con:
        begin = time.perf_counter()
        con.execute(statements[0])
        first = time.perf_counter() - begin
        for sql in statements:
            cursor = con.execute(sql)
            truth = expected[sql]
            for i, (row, answer) in enumerate(zip(cursor.fetchall(), cursor.answers, strict=True)):
                errors.append(row[-1] - truth.get(tuple(row[:-1]), 0))
                if answer.error is not None:
                    inside[sql, i] = abs(errors[-1]) <= answer.error
        seconds = time.perf_counter() - begin - first
        budget = con.budget
    covered = float(np.mean(list(inside.values()))) if inside else 0.0
    left = budget.hard_rounds_left if budget.questions_left is None else f"{budget.questions_left} questions"
    extra: Row = {"hard rounds left": left, "first s": first, "queries/s": queries / seconds}
    extra["distinct"] = budget.queries_answered
    return errors, extra | {"inside error": covered}


@click.command()
@click.option("--queries", default=10_000)
@click.option("--seeds", default=3)
@click.option("--epsilon", default="1")
@click.option("--strategy", type=click.Choice(["auto", "pmw"]), default="auto")
@click.option("--hard-rounds", type=int, default=None)
def main(queries: int, seeds: int, epsilon: str, strategy: str, hard_rounds: int | None) -> None:
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        table = adult6(Path(name))
        for seed in range(1, seeds + 1):
            errors, extra = run(table, queries, Fraction(epsilon), seed, strategy, hard_rounds)
            rows.append({"method": f"dpsql {strategy}", "seed": seed, **summary(errors), **extra})
            gaussian = gaussian_errors(len(errors), Fraction(epsilon), seed)
            rows.append({"method": "Gaussian per answer, told k", "seed": seed, **summary(list(gaussian))})
    show(
        f"Adult, 6 columns ({table.domain.cells:,} cells), epsilon {epsilon}, delta 1e-6, {queries:,} statements",
        rows,
        f"accuracy_dense_{strategy}_{queries}_eps{epsilon}",
        ["absolute errors in counts of 48,842 rows"],
    )


if __name__ == "__main__":
    main()
