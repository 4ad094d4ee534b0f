"""Far ends of columns: ``python -m benchmarks.far_ends [--epsilon 1] [--table diamonds] [--values]``.

Rows that are among the highest of both of two columns in order, whose ranks have a correlation of .5 and more: from the
tenth, hundredth and thousandth part of each column's rows on. With ``--values`` the rows of single values of one column
in order among the highest tenth, ten at most. A session for each table, which plans a thousand questions and asks these
alone.
"""

import tempfile
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import click
import duckdb
import numpy as np

import dpsql
from benchmarks.report import show
from benchmarks.strangers.__main__ import TABLES
from benchmarks.tables import BenchmarkTable

DEFAULT = ("drawn4", "drawn7", "drawn9", "drawn12", "drawn15", "diamonds", "flights", "wages")
ENDS = (0.1, 0.01, 0.001)
FEWEST, TOGETHER, PLANNED, VALUES = 8, 0.5, 1_000, 10
Row = dict[str, object]


def conditions(table: BenchmarkTable) -> Iterator[tuple[float, str, int]]:
    """(share of rows, condition, rows that meet it) for the ends of each two columns that rise together."""
    name = table.domain.name
    columns = [c.name for c in table.columns if c.ordered and len(c.values) >= FEWEST]
    with duckdb.connect(str(table.path)) as con:
        for a, b in combinations(columns, 2):
            both = f'FROM {name} WHERE "{a}" IS NOT NULL AND "{b}" IS NOT NULL'
            ranks = f'SELECT rank() OVER (ORDER BY "{a}") AS x, rank() OVER (ORDER BY "{b}") AS y {both}'
            ((correlation,),) = con.execute(f"SELECT corr(x, y) FROM ({ranks})").fetchall()
            for end in ENDS if (correlation or 0.0) >= TOGETHER else ():
                ends = ", ".join(f'quantile_disc("{c}", {1.0 - end})' for c in (a, b))
                ((low, other),) = con.execute(f"SELECT {ends} {both}").fetchall()
                where = f'"{a}" >= {low} AND "{b}" >= {other}'
                ((rows,),) = con.execute(f"SELECT count(*) FROM {name} WHERE {where}").fetchall()
                yield end, where, rows


def values(table: BenchmarkTable) -> Iterator[tuple[float, str, int]]:
    """The same of single values of the highest tenth of each column in order, evenly spaced."""
    name = table.domain.name
    with duckdb.connect(str(table.path)) as con:
        for column in [c.name for c in table.columns if c.ordered and len(c.values) >= FEWEST]:
            ((low,),) = con.execute(f'SELECT quantile_disc("{column}", 0.9) FROM {name}').fetchall()
            found = con.execute(
                f'SELECT "{column}", count(*) FROM {name} WHERE "{column}" >= {low} GROUP BY 1 ORDER BY 1'
            ).fetchall()
            for value, rows in found[:: -(-len(found) // VALUES)]:
                yield ENDS[0], f'"{column}" = {value}', rows


def study(
    table: BenchmarkTable, asked: Sequence[tuple[float, str, int]], epsilon: Fraction
) -> list[tuple[float, float, float, float]]:
    """(share of rows, truth, error, bar) of each question."""
    out = []
    policy = table.policy(epsilon, PLANNED, strategy="auto")
    with dpsql.connect(table.path, policy=policy, ledger=":memory:") as con:
        for end, where, rows in asked:
            (answer,) = con.execute(f"SELECT COUNT(*) FROM {table.domain.name} WHERE {where}").answers
            out.append((end, float(rows), float(answer.value or 0) - rows, answer.error or 0.0))
    return out


def row(table: str, end: float, found: Sequence[tuple[float, float, float, float]]) -> Row:
    _, truth, off, bar = np.array(found).T
    return {
        "table": table,
        "end": end,
        "questions": len(found),
        "rows": float(truth.mean()),
        "said too low by": float(-off.mean()),
        "off by": float(np.abs(off).mean()),
        "inside": round(float((np.abs(off) <= bar).mean()), 2),
        "bar": float(np.median(bar)),
    }


@click.command()
@click.option("--table", "tables", type=click.Choice(list(TABLES)), multiple=True, default=DEFAULT)
@click.option("--epsilon", default="1")
@click.option("--seeds", default=1)
@click.option("--values", "single", is_flag=True, help="Single values of one column.")
def main(tables: Sequence[str], epsilon: str, seeds: int, single: bool) -> None:
    rows: list[Row] = []
    every: list[tuple[float, float, float, float]] = []
    for name in tables:
        with tempfile.TemporaryDirectory() as folder:
            made = TABLES[name](Path(folder))
            asked = list((values if single else conditions)(made))
            found = [one for _ in range(seeds) for one in study(made, asked, Fraction(epsilon))]
        rows += [row(name, end, here) for end in ENDS if (here := [f for f in found if f[0] == end])]
        every += found
    rows += [row("all", end, here) for end in ENDS if (here := [f for f in every if f[0] == end])]
    title = f"Far ends of {'one column' if single else 'two columns'}, epsilon {epsilon}"
    show(title, rows, "far_ends", ["means over questions; bar: median"])


if __name__ == "__main__":
    main()
