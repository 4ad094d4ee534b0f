"""The family of online mechanisms on the same questions at the same budget: ``python -m benchmarks.family``.

Every strategy through ``dpsql.connect`` with real noise; the truth is DuckDB's own COUNT. Beside Adult's 6 columns a
table of three of them, which the median's candidate tables can hold. The papers' constants stand in the last rows.
"""

import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import click

import dpsql
from benchmarks.accuracy_dense import run
from benchmarks.report import show, summary
from benchmarks.tables import BenchmarkTable, adult6
from dpsql.policy import Policy

Row = dict[str, object]
FEW = ("marital_status", "sex", "income")
CHOICES = (
    ("auto", None, "tight"),
    ("pmw", None, "tight"),
    ("textbook-pmw", 20, "tight"),
    ("textbook-pmw", 200, "tight"),
    ("sparse-pmw", 20, "tight"),
    ("sparse-pmw", 200, "tight"),
    ("median", 20, "tight"),
    ("median", 60, "tight"),
    ("textbook-pmw", None, "paper"),
    ("sparse-pmw", None, "paper"),
    ("median", None, "paper"),
)
"""Strategy, hard rounds (``None``: the plan's own), calibration. More rounds are noisier ones."""


class Calibrated(BenchmarkTable):
    """A table whose policies take the papers' constants."""

    def policy(self, *given: object) -> Policy:
        rules = super().policy(*given)  # type: ignore[arg-type]
        return replace(rules, mechanism=replace(rules.mechanism, calibration="paper"))


def three_columns(table: BenchmarkTable) -> BenchmarkTable:
    """The same file, three columns of it declared."""
    columns = tuple(c for c in table.domain.columns if c.name in FEW)
    asked = tuple(c for c in table.columns if c.name in FEW)
    return BenchmarkTable(table.path, replace(table.domain, columns=columns), asked)


def measured(table: BenchmarkTable, queries: int, epsilon: Fraction, seeds: int) -> Iterator[Row]:
    """One row for each choice that can model the table: errors of all released numbers, absolute, in counts."""
    for strategy, rounds, calibration in CHOICES:
        chosen = table if calibration == "tight" else Calibrated(table.path, table.domain, table.columns)
        errors: list[float] = []
        try:
            for seed in range(1, seeds + 1):
                found, extra = run(chosen, queries, epsilon, seed, strategy, rounds)
                errors += found
        except dpsql.PolicyError:
            continue
        row: Row = {"strategy": strategy, "constants": calibration, "hard rounds": "own" if rounds is None else rounds}
        yield row | summary(errors) | {"left": extra["hard rounds left"], "queries/s": extra["queries/s"]}


@click.command()
@click.option("--queries", default=1000)
@click.option("--seeds", default=2)
@click.option("--epsilon", default="1")
def main(queries: int, seeds: int, epsilon: str) -> None:
    warnings.simplefilter("ignore", dpsql.PolicyWarning)  # the papers' constants say so at each connection
    with tempfile.TemporaryDirectory() as name:
        table = adult6(Path(name))
        for chosen in (table, three_columns(table)):
            number = len(chosen.domain.columns)
            show(
                f"Adult, {number} columns ({chosen.domain.cells:,} cells), epsilon {epsilon}, {queries:,} statements",
                list(measured(chosen, queries, Fraction(epsilon), seeds)),
                f"family_adult{number}_{queries}_eps{epsilon}",
                ["absolute errors in counts of 48,842 rows; hard rounds left of the last seed"],
            )


if __name__ == "__main__":
    main()
