"""OR and NOT beside numbers: ``python -m benchmarks.tied_conditions [--table prices] [--epsilon 1] [--rules 26]``.

Tables and number columns are those of ``benchmarks.numbers``. Conditions on two or three other columns are tied by OR,
or by AND with NOT before them, and stand alone or beside a condition on a number column: rows that meet them, sums and
averages of the number column. Coverage of the 95 % bars, median error and median bar, in the column's unit or in rows.
"""

from collections.abc import Sequence

import click
import numpy as np

from benchmarks.few_averages import study
from benchmarks.number_tables import TABLES
from benchmarks.numbers import Writer
from benchmarks.options import command_text
from benchmarks.report import show
from dpsql.accounting.plan import NEWEST_MODELS

PLANNED = 1_000


def asked(
    writer: Writer, _: Sequence[str], __: Sequence[str], values: dict[str, np.ndarray], number: int
) -> list[tuple[str, str]]:
    """(kind, statement), one of each kind in turn; of ``t``, whose number columns hold ``values``."""
    out: list[tuple[str, str]] = []
    while len(out) < number:
        some = writer.some(2 + len(out) % 8 // 4)
        tied = f"({' OR '.join(some)})" if len(out) % 16 < 8 else f"NOT ({' AND '.join(some)})"
        column = writer.number()
        stretch = f"{tied} AND {column} BETWEEN {writer.stretch(values, column)}"
        out += [
            ("rows in a stretch", f"SELECT COUNT(*) FROM t WHERE {stretch}"),
            ("sums", f"SELECT SUM({column}) FROM t WHERE {tied}"),
            ("averages", f"SELECT AVG({column}) FROM t WHERE {tied}"),
            ("averages of a stretch", f"SELECT AVG({column}) FROM t WHERE {stretch}"),
        ]
    return out


@click.command()
@click.option("--table", "names", multiple=True, type=click.Choice(list(TABLES)), default=list(TABLES))
@click.option("--epsilon", default="1")
@click.option("--seeds", default=1)
@click.option("--rules", default=NEWEST_MODELS)
def main(names: tuple[str, ...], epsilon: str, seeds: int, rules: int) -> None:
    rows = [row for name in names for row in study(name, epsilon, PLANNED, seeds, rules, asked)]
    title = f"OR and NOT beside numbers, epsilon {epsilon}, {seeds} sessions each, rules {rules}"
    show(title, rows, "tied_conditions", [command_text("tied_conditions", epsilon=epsilon, seeds=seeds, rules=rules)])


if __name__ == "__main__":
    main()
