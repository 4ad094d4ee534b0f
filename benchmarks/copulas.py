"""Pairs of columns in order, begun at a copula: ``python -m benchmarks.copulas [--table diamonds] [--epsilon 1]``.

For each two of a stranger's columns in order (``benchmarks.strangers``), noisy counts as so many columns get
them, cleaned from independence and from a copula (``dpsql.hypothesis.local.copula``). Errors of random ranges of both,
half of them around a row that is there: the geometric mean of how many times as large they are from the copula, over
pairs that begin there; and the same of questions that less than a hundredth of the rows meet. ``--null 0.3``: both
columns are NULL in so many of the rows.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from math import comb, log2
from pathlib import Path

import click
import duckdb
import numpy as np

from benchmarks.report import show
from benchmarks.strangers.__main__ import TABLES
from benchmarks.tables import BenchmarkTable
from dpsql.hypothesis.local.one_way import PartCounts, clean_one_way
from dpsql.hypothesis.local.pair_table import PairCounts, clean_pair
from dpsql.hypothesis.measurement import Labels
from dpsql.hypothesis.partition import atoms, indicator, part_sums
from dpsql.hypothesis.rules import NEWEST
from dpsql.query import Estimates

DEFAULT = ("adult14", "flights", "loans", "diamonds", "wages", "insurance", "crashes", "birds")
DEFAULT_DRAWN = tuple(f"drawn{seed}" for seed in (4, 7, 9, 11, 12, 15))
FEWEST, MOST_COLUMNS, QUESTIONS, NOISES = 4, 8, 200, 3
SD = 3.7
"""Of a count for all of epsilon 1, delta 1e-6; of the budget .6 is taken to be for columns and pairs, .12 of it for
columns alone."""
Row = dict[str, object]
Question = tuple[slice, slice]


def in_order(table: BenchmarkTable) -> list[tuple[Labels, int]]:
    """The cell of each row, below 0 where it has none, in the columns in order, and their numbers of cells."""
    out = []
    with duckdb.connect(str(table.path)) as con:
        for c in [c for c in table.columns if c.ordered and len(c.values) >= FEWEST][:MOST_COLUMNS]:
            found = con.execute(f'SELECT "{c.name}"::DOUBLE AS x FROM {table.domain.name}').fetchnumpy()["x"]
            x = np.ma.filled(np.ma.asarray(found), np.nan)
            starts = np.array(c.values, dtype=np.float64)
            cells = np.searchsorted(starts, np.where(np.isnan(x), starts[0] - 1.0, x), side="right") - 1
            out.append((cells.astype(np.int64), len(starts)))
    return out


def questions(rows: tuple[Labels, Labels], sizes: tuple[int, int], rng: np.random.Generator) -> Iterator[Question]:
    for number in range(QUESTIONS):
        one, ranges = rng.integers(len(rows[0])), []
        for cells, size in zip(rows, sizes, strict=True):
            if number % 2:
                width = max(1, int(size * rng.uniform(0.02, 0.3)))
                low = max(0, int(cells[one]) - int(rng.integers(width)))
                ranges.append(slice(low, low + width))
            else:
                low, high = sorted(rng.integers(size + 1, size=2).tolist())
                ranges.append(slice(low, max(high, low + 1)))
        yield ranges[0], ranges[1]


def study(table: BenchmarkTable, epsilon: float, seed: int, null: float) -> list[Estimates]:
    """Mean errors of all questions and of small ones, from independence and from a copula, for pairs that differ."""
    rng, number = np.random.default_rng([29, seed]), len(table.columns)
    alone, pair = (SD / epsilon / np.sqrt(0.6 * s) for s in (0.12 / number, 0.88 / comb(number, 2)))
    out = []
    for (x, width), (y, height) in combinations(in_order(table), 2):
        here = (x >= 0) & (y >= 0)
        rows, sizes = (x[here], y[here]), (width, height)
        true = np.zeros((width + 1, height + 1) if null else sizes)
        missing = rng.random(int(here.sum())) < null if null else np.zeros(int(here.sum()), dtype=bool)
        np.add.at(true, tuple(np.where(missing, -1, cells) for cells in rows), 1.0)
        rows = x[here][~missing], y[here][~missing]
        total = float(true.sum())
        asked = list(questions(rows, sizes, rng))
        truth = np.array([true[q].sum() for q in asked])
        errors = np.zeros((2, len(asked)))
        for _ in range(NOISES):
            released = [np.rint(o + rng.normal(0.0, alone, len(o))) for o in (true.sum(axis=1), true.sum(axis=0))]
            cells = [PartCounts(np.arange(len(o), dtype=np.int64), o, alone) for o in released]
            ones = [clean_one_way(len(c.values), [c], total, ordered=True, nullable=null > 0.0) for c in cells]
            left, right = (atoms(o, alone, pair, total, ordered=True) for o in released)
            parts = indicator(left) @ true @ indicator(right).T
            counts = PairCounts(left, right, np.rint(parts + rng.normal(0.0, pair, parts.shape)), pair)
            for place, rules in enumerate((replace(NEWEST, copulas=False), NEWEST)):
                clean = clean_pair(ones[0], ones[1], [counts], (True, True), rules, apart=(null > 0.0, null > 0.0))
                found = _spread(ones[0], clean.left) @ clean.counts @ _spread(ones[1], clean.right).T
                errors[place] += np.abs(np.array([found[q].sum() for q in asked]) - truth) / NOISES
        if (errors[0] != errors[1]).any():
            small = truth < 0.01 * total
            out.append(np.array([*errors.mean(axis=1), *errors[:, small].mean(axis=1)]))
    return out


def _spread(one: Estimates, parts: Labels) -> Estimates:
    """What each cell has of its part: cells by parts."""
    share = one / np.maximum(part_sums(parts, one)[parts], 1e-9)
    return np.asarray(indicator(parts).T * share[:, None])


def _row(table: str, found: Sequence[Estimates]) -> Row:
    means = np.array(found)
    times = [2.0 ** float(np.mean([log2(b / a) for a, b in means[:, pair]])) for pair in ((0, 1), (2, 3))]
    return {"table": table, "pairs": len(found), "all": round(times[0], 3), "small": round(times[1], 3)}


@click.command()
@click.option("--table", "tables", type=click.Choice(list(TABLES)), multiple=True, default=DEFAULT_DRAWN + DEFAULT)
@click.option("--epsilon", default=1.0)
@click.option("--null", default=0.0)
@click.option("--seeds", default=2)
def main(tables: Sequence[str], epsilon: float, null: float, seeds: int) -> None:
    rows: list[Row] = []
    every: list[Estimates] = []
    for name in tables:
        with tempfile.TemporaryDirectory() as folder:
            made = TABLES[name](Path(folder))
            found = [pair for seed in range(seeds) for pair in study(made, epsilon, seed, null)]
        rows += [_row(name, found)] if found else []
        every += found
    rows += [_row("all", every)] if every else []
    show(
        f"Pairs in order, epsilon {epsilon:g}", rows, "copulas", ["errors from a copula, times those from independence"]
    )


if __name__ == "__main__":
    main()
