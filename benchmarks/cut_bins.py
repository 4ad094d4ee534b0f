"""Shares of bins that conditions cut: ``python -m benchmarks.cut_bins [--per-bin 16] [--stands-out 3.5]``.

For each number column of the tables of ``benchmarks.numbers``, with the bins that a policy gets that says nothing of
them: how far 300 thresholds of two digits at places of random rows are off where rows are taken to be evenly spread in
the bin that is cut, and where they are counted at and between marks with noise of sd 40 (true counts of bins, numpy's
noise; ``--older``: as by rules 30); the share of those within 1.96 sds and what is doubtful. Then by how much the share
of a bin that random groups have differs from all rows', in 2 sqrt(s (1 - s)) and beyond chance, as a root mean square:
what ``CUT_SHIFT`` allows. Marks of all bins are counted, so that it takes no ledger.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import click
import duckdb
import numpy as np

from benchmarks.number_tables import TABLES, Numbers
from benchmarks.numbers import Row
from benchmarks.report import show
from dpsql.domain import NumberDomain, marks, marks_of
from dpsql.hypothesis import Axis, Measurement
from dpsql.hypothesis.values import marked_cells, places
from dpsql.hypothesis.values.marked_cells import MarkedCells
from dpsql.policy_file import parse_policy
from dpsql.query import Interval

SIGMA, THRESHOLDS, LEAST = 40.0, 300, 20
Array = np.ndarray


def column(
    title: str, domain: NumberDomain, x: Array, groups: Sequence[Array], seed: int, number: int, together: bool
) -> Row:
    """One line of the report. ``groups``: codes of other columns, each of the shape of ``x``."""
    rng = np.random.default_rng([seed, 7])
    x = np.clip(x, domain.edges[0], domain.edges[-1])
    edges, at = np.array(domain.edges), np.array(marks_of(domain.edges))
    bins = np.minimum(np.searchsorted(edges, x, side="right") - 1, len(edges) - 2)
    place = np.searchsorted(at, x, side="right") - 1
    rows = np.bincount(bins, minlength=len(edges) - 1).astype(float)
    counts = np.bincount(2 * place + (x != at[place]), minlength=2 * len(at))
    noisy = counts + np.rint(SIGMA * rng.normal(size=len(counts))).astype(np.int64)
    axis = Axis.cells((domain.name,), (len(counts),))
    told, even = Measurement("t", (axis,), noisy, SIGMA), MarkedCells.of(domain)
    known = MarkedCells.of(domain, rows, told, together=together)
    off: dict[str, list[float]] = {"evenly": [], "counted": [], "bar": []}
    in_order = np.sort(x)  # rows come in any order, and thresholds are to be the same in each run
    for _ in range(THRESHOLDS):
        low = float(f"{rng.choice(in_order):.2g}")
        interval = Interval(domain.name, low, domain.edges[-1])
        inside, true = known.inside(interval), float((x >= low).sum())
        off["evenly"].append(abs(float(even.inside(interval).share @ rows) - true))
        off["counted"].append(abs(float(inside.share @ rows) - true))
        off["bar"].append(1.96 * float(np.sqrt(((inside.sd * rows) ** 2).sum())) + float(inside.doubt @ rows) + 1.0)
    return {
        "column": title,
        "rows": len(x),
        "marks": len(at),
        "evenly": float(np.mean(off["evenly"])),
        "counted": float(np.mean(off["counted"])),
        "bar": float(np.mean(off["bar"])),
        "covered": f"{float((np.array(off['counted']) <= np.array(off['bar'])).mean()):.1%}",
        "groups": _of_groups(x, bins, groups, rng, number),
    }


def _of_groups(x: Array, bins: Array, groups: Sequence[Array], rng: np.random.Generator, number: int) -> float:
    squares = []
    for _ in range(number):
        low = float(f"{rng.choice(x):.2g}")
        here = bins == bins[int(np.argmin(np.abs(x - low)))]
        inside = np.ones(len(x), dtype=bool)
        for i in rng.choice(len(groups), rng.integers(1, min(3, len(groups)) + 1), replace=False).tolist():
            codes = np.unique(groups[i])
            chosen = 1 if rng.random() < 0.6 else int(rng.integers(1, max(2, len(codes) // 2 + 1)))
            inside &= np.isin(groups[i], rng.choice(codes, chosen, replace=False))
        share, n, of = float((x[here] >= low).mean()), int((inside & here).sum()), int(here.sum())
        if n < LEAST or n == of or not 0.02 < share < 0.98:
            continue
        spread, others = share * (1.0 - share), 1.0 - n / of
        distance = (float((x[inside & here] >= low).mean()) - share) ** 2 - spread / n * others
        squares.append(distance / (4.0 * spread * others**2))
    return float(np.sqrt(max(0.0, np.mean(squares)))) if squares else float("nan")


def study(name: str, seed: int, groups: int, together: bool) -> list[Row]:
    made, table = TABLES[name]
    text = f"version = 1\n[privacy]\nepsilon = 1\ndelta = 1e-6\n[tables.t.columns]\n{table.columns}\n"
    domains = {c.name: c for c in parse_policy(text).tables[0].columns if isinstance(c, NumberDomain)}
    with tempfile.TemporaryDirectory() as folder, duckdb.connect(str(Path(folder) / "t.duckdb")) as con:
        con.execute(f"CREATE TABLE t AS SELECT {table.source} FROM {made(con)}")
        numbers = table.numbers
        return [column(f"{name}.{n}", domains[n], *_columns(con, table, n), seed, groups, together) for n in numbers]


def _columns(con: duckdb.DuckDBPyConnection, table: Numbers, number: str) -> tuple[Array, list[Array]]:
    names = ", ".join(f"dense_rank() OVER (ORDER BY {g}) AS {g}" for g in table.groups)
    found = con.execute(f"SELECT {number}::DOUBLE AS x, {names} FROM t WHERE {number} IS NOT NULL").fetchnumpy()
    return np.asarray(found["x"], dtype=np.float64), [np.asarray(found[g]) for g in table.groups]


@click.command()
@click.option("--table", "names", multiple=True, type=click.Choice(list(TABLES)), default=list(TABLES))
@click.option("--per-bin", default=marks.PER_BIN)
@click.option("--stands-out", default=marked_cells.STANDS_OUT)
@click.option("--smooth", default=marked_cells.SMOOTH)
@click.option("--groups", default=600, help="Random groups; 0 is fast.")
@click.option("--seeds", default=3)
@click.option("--older", is_flag=True, help="As by rules 30.")
def main(
    names: Sequence[str], per_bin: int, stands_out: float, smooth: float, groups: int, seeds: int, older: bool
) -> None:
    marks_of.cache_clear()
    places.places_of.cache_clear()
    with (
        patch.object(marks, "PER_BIN", per_bin),
        patch.object(marked_cells, "STANDS_OUT", stands_out),
        patch.object(marked_cells, "SMOOTH", smooth),
    ):
        rows = [row for name in names for seed in range(seeds) for row in study(name, seed, groups, not older)]
    before = ", rules 30" if older else ""
    show(
        f"Cut bins, {per_bin} marks or more, cells that stand out by {stands_out:g} sds, smooth {smooth:g}{before}",
        rows,
        "cut_bins",
        ["errors and bars in rows, means over 300 thresholds"],
    )


if __name__ == "__main__":
    main()
