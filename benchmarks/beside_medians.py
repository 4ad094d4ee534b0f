"""Averages and sums beside medians: ``python -m benchmarks.beside_medians [--planned 100] [--rules 27]``.

Tables are those of ``benchmarks.numbers`` that have columns of whole numbers. One statement asks for two aggregates of
such a column, in groups or under a condition: of each the coverage of the 95 % bars, median error and median bar, in
the column's unit, and how many were not shown. ``--rules``: as ledgers of these rules of models answer.
"""

from collections.abc import Sequence

import click
import numpy as np

from benchmarks.few_averages import study
from benchmarks.number_tables import TABLES
from benchmarks.numbers import Row, Writer
from benchmarks.options import command_text
from benchmarks.report import show
from dpsql.accounting.plan import NEWEST_MODELS

PAIRS = {
    "AVG, MEDIAN": "AVG({0}), MEDIAN({0})",
    "AVG, MAX": "AVG({0}), MAX({0})",
    "SUM, COUNT(DISTINCT)": "SUM({0}), COUNT(DISTINCT {0})",
    "STDDEV, MIN": "STDDEV({0}), MIN({0})",
}


def asked(
    writer: Writer, groups: Sequence[str], integers: Sequence[str], _: dict[str, np.ndarray], number: int
) -> list[tuple[str, str]]:
    """(kind, statement), one of each kind in turn."""
    out: list[tuple[str, str]] = []
    while integers and len(out) < number:
        place = len(out) // len(PAIRS)
        column = integers[place % len(integers)]
        others = [g for g in groups if g != column]
        for kind, text in PAIRS.items():
            both = text.format(column)
            if place % 2 and others:
                group = others[place // 2 % len(others)]
                out.append((kind, f"SELECT {group}, {both} FROM t GROUP BY {group}"))
            else:
                out.append((kind, f"SELECT {both} FROM t WHERE {writer.groups()}"))
    return out


@click.command()
@click.option("--table", "names", multiple=True, type=click.Choice(list(TABLES)), default=list(TABLES))
@click.option("--epsilon", default="1")
@click.option("--planned", default=100)
@click.option("--seeds", default=3)
@click.option("--rules", default=NEWEST_MODELS)
def main(names: tuple[str, ...], epsilon: str, planned: int, seeds: int, rules: int) -> None:
    rows: list[Row] = []
    for name in names:
        rows += study(name, epsilon, planned, seeds, rules, asked, (": first", ": second"))
    title = f"Two aggregates of one column, epsilon {epsilon}, {planned} planned, {seeds} sessions each, rules {rules}"
    told = command_text("beside_medians", epsilon=epsilon, planned=planned, seeds=seeds, rules=rules)
    show(title, rows, "beside_medians", [told])


if __name__ == "__main__":
    main()
