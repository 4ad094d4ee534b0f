"""Weighted sums where few questions are planned: ``python -m benchmarks.few_products [--planned 100] [--rules 27]``.

Tables and number columns are those of ``benchmarks.numbers``. Averages and sums of a number column times one of whole
numbers, and deviations of number columns, under conditions on other columns: coverage of the 95 % bars, median error
and median bar, in their unit, and how many were not shown. ``--rules``: as ledgers of these rules of models answer.
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


def asked(
    writer: Writer, _: Sequence[str], integers: Sequence[str], __: dict[str, np.ndarray], number: int
) -> list[tuple[str, str]]:
    """(kind, statement), one of each kind in turn."""
    out: list[tuple[str, str]] = []
    while integers and len(out) < number:
        column, whole = writer.number(), integers[len(out) // 3 % len(integers)]
        for kind, text in (
            ("AVG of a product", f"AVG({column} * {whole})"),
            ("SUM of a product", f"SUM({column} * {whole})"),
            ("STDDEV", f"STDDEV({column})"),
        ):
            out.append((kind, f"SELECT {text} FROM t WHERE {writer.groups()}"))
    return out


@click.command()
@click.option("--table", "names", multiple=True, type=click.Choice(list(TABLES)), default=list(TABLES))
@click.option("--epsilon", default="1")
@click.option("--planned", default=100)
@click.option("--seeds", default=3)
@click.option("--rules", default=NEWEST_MODELS)
def main(names: tuple[str, ...], epsilon: str, planned: int, seeds: int, rules: int) -> None:
    rows: list[Row] = [row for name in names for row in study(name, epsilon, planned, seeds, rules, asked)]
    title = f"Weighted sums, epsilon {epsilon}, {planned} planned, {seeds} sessions each, rules {rules}"
    told = command_text("few_products", epsilon=epsilon, planned=planned, seeds=seeds, rules=rules)
    show(title, rows, "few_products", [told])


if __name__ == "__main__":
    main()
