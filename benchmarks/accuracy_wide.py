"""Wide accuracy on Adult's 14 columns: ``python -m benchmarks.accuracy_wide [--queries 10000] [--epsilon 1] [--zipf]``.

As ``benchmarks.accuracy_dense``; ``--zipf`` draws columns by a Zipf law instead of uniformly.
"""

import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import click
import numpy as np

from benchmarks.accuracy_dense import Row, gaussian_errors, run
from benchmarks.report import show, summary
from benchmarks.tables import adult14


@click.command()
@click.option("--queries", default=10_000)
@click.option("--seeds", default=2)
@click.option("--epsilon", default="1")
@click.option("--zipf", is_flag=True)
def main(queries: int, seeds: int, epsilon: str, zipf: bool) -> None:
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        table = adult14(Path(name))
        if zipf:
            weights = np.random.default_rng(5).permutation(1.0 / np.arange(1, len(table.columns) + 1))
            columns = tuple(replace(c, weight=float(w)) for c, w in zip(table.columns, weights, strict=True))
            table = replace(table, columns=columns)
        for seed in range(1, seeds + 1):
            errors, extra = run(table, queries, Fraction(epsilon), seed, "auto")
            rows.append({"method": "dpsql auto", "seed": seed, **summary(errors), **extra})
            gaussian = gaussian_errors(len(errors), Fraction(epsilon), seed)
            rows.append({"method": "Gaussian per answer, told k", "seed": seed, **summary(list(gaussian))})
    popularity = "zipf" if zipf else "uniform"
    show(
        f"Adult, 14 columns, {popularity}, epsilon {epsilon}, delta 1e-6, {queries:,} statements",
        rows,
        f"accuracy_wide_{popularity}_{queries}_eps{epsilon}",
        ["absolute errors in counts of 48,842 rows"],
    )


if __name__ == "__main__":
    main()
