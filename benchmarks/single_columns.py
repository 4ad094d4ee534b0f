"""Counts of single columns: ``python -m benchmarks.single_columns [--sigma 13] [--seeds 12] [--fine]``.

True counts of the number columns of ``benchmarks.numbers``, in the bins that a policy gets that says nothing of them,
and of the columns of 3 to 400 values of other tables, each with a cell for NULL, with numpy's noise of that sd and a
number of rows with one and a half times as much. Absolute errors, in sds of the noise, of cells, of all cells below
one, of ranges, of random lists of cells and of the values of random rows: of counts cut at 0 and scaled to the rows, of
the nearest possible ones, and of those from long ranges down (``dpsql.hypothesis.columns.possible_counts``), as
measured and smoothed before (``dpsql.hypothesis.columns.contrasts``), these also beside what stands out, with the mean
over a table's other columns. ``--fine``: the columns of hundreds of values and more of ``benchmarks.fine_columns`` in
place of these.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import click
import duckdb
import numpy as np

from benchmarks.fine_columns import TABLES as FINE
from benchmarks.fine_columns import counts
from benchmarks.number_tables import TABLES
from benchmarks.report import show
from benchmarks.tables import ADULT, HERE
from benchmarks.text_tables import PETS
from dpsql.domain import NumberDomain
from dpsql.hypothesis.columns.contrasts import smoothed
from dpsql.hypothesis.columns.possible_counts import beside_peaks, nearest, peaks, top_down
from dpsql.policy_file import parse_policy
from dpsql.query import Estimates

FEWEST, MOST, LISTS = 3, 400, 200
OTHERS = {name: HERE / "data" / f"{name}.parquet" for name in ("fire", "loans", "flights", "files")} | {
    "adult": ADULT,
    "pets": PETS,
}
Row = dict[str, object]


def cut_and_scaled(cells: Estimates, total: float) -> Estimates:
    kept = np.maximum(cells, 0.0)
    return np.asarray(kept * (total / kept.sum()))


METHODS: dict[str, Callable[[Estimates, float, float], Estimates]] = {
    "scaled": lambda cells, total, _: cut_and_scaled(cells, total),
    "nearest": lambda cells, total, _: nearest(cells, total),
    "top down": lambda cells, total, _: top_down(cells, total, apart=True),
    "smoothed": lambda cells, total, sigma: top_down(smoothed(cells, sigma, apart=True), total, apart=True),
    "peaks": lambda cells, total, sigma: beside_what_stands_out(cells, total, sigma),
}


def beside_what_stands_out(cells: Estimates, total: float, sigma: float) -> Estimates:
    above = peaks(cells, sigma, apart=True)
    rest = smoothed(cells, sigma, apart=True, above=above) - above
    return beside_peaks(partial(top_down, apart=True), rest, above, total)


def numbers() -> Iterator[tuple[str, Estimates]]:
    """The rows in each bin of the number columns, and in none."""
    for name, (made, table) in TABLES.items():
        text = f"version = 1\n[privacy]\nepsilon = 1\ndelta = 1e-6\n[tables.t.columns]\n{table.columns}\n"
        domains = {c.name: c for c in parse_policy(text).tables[0].columns if isinstance(c, NumberDomain)}
        with tempfile.TemporaryDirectory() as folder, duckdb.connect(str(Path(folder) / "t.duckdb")) as con:
            con.execute(f"CREATE TABLE t AS SELECT {table.source} FROM {made(con)}")
            for number in table.numbers:
                found = con.execute(f"SELECT {number}::DOUBLE AS x FROM t").fetchnumpy()["x"]
                x = np.ma.filled(np.ma.asarray(found), np.nan)
                edges = np.array(domains[number].edges)
                known = np.clip(x[~np.isnan(x)], edges[0], edges[-1])
                yield f"{name}.{number}", np.append(np.histogram(known, edges)[0], np.isnan(x).sum()).astype(float)


def others() -> Iterator[tuple[str, Estimates]]:
    """The rows of each value of the columns of other tables, in order, and of NULL."""
    for name, path in OTHERS.items():
        for (column,) in duckdb.sql(f"SELECT column_name FROM (DESCRIBE SELECT * FROM '{path}')").fetchall():
            text = f"SELECT COUNT(*) FROM '{path}' WHERE \"{column}\" IS"
            values = duckdb.sql(f'{text} NOT NULL GROUP BY "{column}" ORDER BY "{column}"').fetchall()
            if FEWEST <= len(values) <= MOST:
                null = duckdb.sql(f"{text} NULL").fetchall()
                yield name, np.array([n for (n,) in [*values, *null]], dtype=float)


def errors(found: Estimates, true: Estimates, rng: np.random.Generator) -> Estimates:
    """Mean absolute errors of cells, of all below one, of ranges, of lists of half of the cells, of values of rows."""
    off, size = found - true, len(true)
    below = np.concatenate([[0.0], np.cumsum(off)])
    ends = np.sort(rng.integers(0, size + 1, (LISTS, 2)), axis=1)
    lists = np.abs((rng.random((LISTS, size)) < 0.5) @ off)
    ranges = np.abs(below[ends[:, 1]] - below[ends[:, 0]])
    common = float(np.abs(off) @ true / true.sum())
    return np.array([np.abs(off).mean(), np.abs(below[1:-1]).mean(), ranges.mean(), lists.mean(), common])


def study(true: Estimates, sigma: float, seeds: int) -> dict[str, Estimates]:
    """``errors`` by method, in sds."""
    found = {}
    for method, possible in METHODS.items():
        rng = np.random.default_rng(5)
        off = []
        for _ in range(seeds):
            noisy, total = true + rng.normal(0.0, sigma, len(true)), true.sum() + rng.normal(0.0, 1.5 * sigma)
            off.append(errors(possible(noisy, max(total, 1.0), sigma), true, rng))
        found[method] = np.mean(off, axis=0) / sigma
    return found


@click.command()
@click.option("--sigma", default=13.0)
@click.option("--seeds", default=12)
@click.option("--fine", is_flag=True, help="Columns of hundreds of values and more.")
def main(sigma: float, seeds: int, fine: bool) -> None:
    tables: dict[str, list[dict[str, Estimates]]] = {}
    many = ((f"{name}.{column}", true) for name, made in FINE.items() for column, true in counts(made()))
    for title, true in many if fine else [*numbers(), *others()]:
        tables.setdefault(title, []).append(study(true, sigma, seeds))
    rows = [_row(title, found) for title, found in tables.items()]
    show(
        f"Counts of single columns, noise of sd {sigma:g}",
        rows,
        "single_columns",
        ["cells, below, ranges, lists, rows"],
    )


def _row(title: str, found: Sequence[dict[str, Estimates]]) -> Row:
    row: Row = {"column": title, "columns": len(found)}
    for method in METHODS:
        mean = np.mean([f[method] for f in found], axis=0)
        row[method] = "  ".join(f"{e:.2f}" for e in mean)
    return row


if __name__ == "__main__":
    main()
