"""Values that are shown with no rows: ``python -m benchmarks.shown_as_none [--epsilon 0.1] [--rules 36]``.

Tables of the strangers' benchmark, all of their rows and a sample of a few thousand, where noise is large beside a
column's values. Each column is counted by its values: how many of these are shown as 0, how many of them are inside
their 95 % bars, and their median bar; the same of all others.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import click
import duckdb
import numpy as np

import dpsql
from benchmarks.followers import of_rules
from benchmarks.options import command_text
from benchmarks.report import show
from benchmarks.strangers.tables import STRANGERS
from benchmarks.tables import BenchmarkTable
from dpsql.accounting.plan import NEWEST_MODELS

TABLES = ("adult14", "fire", "loans", "nltcs", "flights", "pets")
PLANNED = 1_000
Found = list[tuple[float, float, float]]
"""(said, true, bar)."""


def _sampled(table: BenchmarkTable, rows: int) -> BenchmarkTable:
    """So many rows of it, by their hash: the same in each run."""
    path = table.path.with_name(f"few_{table.path.name}")
    name = table.domain.name
    with duckdb.connect(str(path)) as con:
        con.execute(f"ATTACH '{table.path}' AS held (READ_ONLY)")
        con.execute(f"CREATE TABLE {name} AS SELECT * FROM held.{name} AS t ORDER BY hash(t, rowid) LIMIT {rows}")
    return replace(table, path=path)


def counted(table: BenchmarkTable, epsilon: Fraction) -> Found:
    """One session's counts of each column by its values."""
    name, out = table.domain.name, []
    with duckdb.connect(str(table.path), read_only=True) as con:
        truth = {c.name: dict(con.execute(_by(c.name, name)).fetchall()) for c in table.columns}
    policy = table.policy(epsilon, PLANNED, strategy="auto")
    with dpsql.connect(table.path, policy=policy, ledger=":memory:", new_budget=True) as session:
        for column, true in truth.items():
            cursor = session.execute(_by(column, name))
            for (value, said), answer in zip(cursor.fetchall(), cursor.answers, strict=True):
                bar = np.inf if answer.error is None else float(answer.error)
                out.append((float(said), float(true.get(value, 0)), bar))
    return out


def _by(column: str, table: str) -> str:
    return f'SELECT "{column}", COUNT(*) FROM {table} GROUP BY 1'


def summary(what: str, found: Sequence[tuple[float, float, float]]) -> dict[str, object]:
    said, true, bars = np.array(found).reshape(-1, 3).T
    return {
        f"{what}": len(found),
        f"{what}, covered": f"{np.mean(np.abs(said - true) <= bars):.1%}" if found else "",
        f"{what}, median bar": float(np.median(bars)) if found else "",
    }


@click.command()
@click.option("--table", "names", multiple=True, type=click.Choice(TABLES), default=TABLES)
@click.option("--epsilon", default="0.1")
@click.option("--rows", default=3_000, help="Of the sample.")
@click.option("--seeds", default=3)
@click.option("--rules", default=NEWEST_MODELS)
def main(names: Sequence[str], epsilon: str, rows: int, seeds: int, rules: int) -> None:
    out = []
    with of_rules(rules):
        for name in names:
            with tempfile.TemporaryDirectory() as folder:
                whole = STRANGERS[name](Path(folder))
                for label, table in ((name, whole), (f"{name}, {rows:,} rows", _sampled(whole, rows))):
                    found = [n for _ in range(seeds) for n in counted(table, Fraction(epsilon))]
                    none, some = [n for n in found if n[0] == 0], [n for n in found if n[0] != 0]
                    out.append({"table": label, **summary("shown as 0", none), **summary("others", some)})
    title = f"Columns by their values, epsilon {epsilon}, {seeds} sessions each, rules {rules}"
    told = command_text("shown_as_none", epsilon=epsilon, rows=rows, seeds=seeds, rules=rules)
    show(title, out, "shown_as_none", [told])


if __name__ == "__main__":
    main()
