"""Sums of curves of a number column: ``python -m benchmarks.curves [--table orders] [--epsilon 1] [--seeds 1]``.

200 standard deviations, and averages of squares, distances, roots and steps, of number columns, in random groups of 500
rows or more, in one of three beside a condition on the column itself, too. Tables and columns are those of
``benchmarks.products`` and ``benchmarks.numbers``. Compared with what DuckDB makes of the same text on clipped values:
coverage of the 95 % bars, mean and median error, and those of a Gaussian for each statement that was told how many
there are and knows the number of rows of each group exactly; of a standard deviation it knows the mean, too.
"""

from fractions import Fraction

import click
import duckdb
import numpy as np

from benchmarks.numbers import LEAST, Row, Writer
from benchmarks.options import command_text
from benchmarks.products import ASKED, EVERY, Asked, Values, study
from benchmarks.report import show

KINDS = ("deviations", "squares", "distances", "roots", "steps")


def curves(
    con: duckdb.DuckDBPyConnection, name: str, writer: Writer, values: Values, rng: np.random.Generator
) -> list[Asked]:
    """One question of each kind in turn."""
    out: list[Asked] = []
    while len(out) < ASKED:
        kind, column = KINDS[len(out) % len(KINDS)], writer.number()
        low, high = float(values[column].min()), float(values[column].max())
        text, most = _written(kind, column, low, high, float(rng.choice(values[column])))
        where = writer.condition(values, column) if rng.random() < 1 / 3 else writer.groups()
        found = con.execute(f"SELECT COUNT({column}), {text} FROM clipped WHERE {where}").fetchall()
        ((count, truth),) = found
        if count < LEAST or not truth:
            continue
        if kind == "deviations":
            most = (high - low) ** 2 / 4 / (2 * truth)
        out.append((text, where, kind, float(truth), count, most))
    return out


def _written(kind: str, column: str, low: float, high: float, middle: float) -> tuple[str, float]:
    """The aggregate, and the most that a row adds."""
    step = float(f"{(high - low) / 40:.1g}")
    far = max(abs(low), abs(high))
    match kind:
        case "deviations":
            return f"STDDEV_POP({column})", 0.0
        case "squares":
            return f"AVG({column} * {column})", far * far
        case "distances":
            return f"AVG(abs({column} - {middle:.6g}))", high - low
        case "roots":
            return f"AVG(sqrt(abs({column})))", far**0.5
        case _:
            return f"AVG(floor({column} / {step}) * {step})", high - low


@click.command()
@click.option("--table", "names", multiple=True, type=click.Choice(list(EVERY)), default=list(EVERY))
@click.option("--epsilon", default="1")
@click.option("--seeds", default=1)
@click.option("--bins", type=int, help="Equal bins of every number column; default: as declared.")
def main(names: tuple[str, ...], epsilon: str, seeds: int, bins: int | None) -> None:
    rows: list[Row] = [
        row for name in names for seed in range(seeds) for row in study(name, Fraction(epsilon), seed, curves, bins)
    ]
    told = "" if bins is None else f", {bins} equal bins"
    title = f"Curves of number columns{told}, epsilon {epsilon}, delta 1e-6: {ASKED} questions"
    show(title, rows, "curves", [command_text("curves", epsilon=epsilon, seeds=seeds)])


if __name__ == "__main__":
    main()
