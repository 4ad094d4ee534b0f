"""How near clean pairs of columns are, simulated: ``python -m benchmarks.pair_cells [--table fire] [--sd 35]``.

Pairs of categories and whole numbers of a stranger's table have their true counts and numpy's noise of so many sds, the
single columns 1.2 times that. Cleaned by the newest rules and by those before, and as the nearest possible counts
alone: the mean error of questions (a range or a list on each column), of cells, and of cells as often as rows are in
them, in counts; and of cells between 1 and 30 sds, weighed so, the mean error with its sign in sds of the noise.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import click
import duckdb
import numpy as np
import numpy.typing as npt

from benchmarks.report import show
from benchmarks.strangers.tables import STRANGERS
from benchmarks.tables import BenchmarkTable
from dpsql.domain import CategoryDomain, IntegerDomain
from dpsql.hypothesis.local.nearest_counts import nearest_counts
from dpsql.hypothesis.local.pair_table import PairCounts, clean_pair
from dpsql.hypothesis.rules import NEWEST

Floats = npt.NDArray[np.float64]
Clean = Callable[[Floats, Floats, PairCounts, tuple[bool, bool]], Floats]
TABLES = ("flights", "fire", "adult14", "choices", "loans", "pets")
PAIRS, QUESTIONS, COLUMNS_SD = 14, 400, 1.2


def pairs(table: BenchmarkTable, rng: np.random.Generator) -> Iterator[tuple[tuple[bool, bool], Floats]]:
    """Whether each column has an order, and the true counts of both."""
    columns = [c for c in table.domain.finite if isinstance(c, CategoryDomain | IntegerDomain)]
    both = list(combinations(columns, 2))
    rng.shuffle(both)
    with duckdb.connect(str(table.path), read_only=True) as con:
        for left, right in both[:PAIRS]:
            places = [{v: i for i, v in enumerate(c.values)} for c in (left, right)]
            counts = np.zeros((left.size, right.size))
            sql = f"SELECT {left.name}, {right.name}, COUNT(*) FROM {table.domain.name} GROUP BY ALL"
            for a, b, rows in con.execute(sql).fetchall():
                counts[places[0].get(a, left.size - 1), places[1].get(b, right.size - 1)] += rows
            yield (left.ordered, right.ordered), counts


def condition(size: int, ordered: bool, rng: np.random.Generator) -> Floats:
    out = np.zeros(size)
    if ordered:
        low, high = sorted(rng.integers(size, size=2).tolist())
        out[low : high + 1] = 1.0
    else:
        out[rng.choice(size, size=int(rng.integers(1, max(2, size))), replace=False)] = 1.0
    return out


def _by_rules(halfway: bool) -> Clean:
    rules = replace(NEWEST, halfway=halfway)
    return lambda rows, columns, counts, ordered: clean_pair(rows, columns, [counts], ordered, rules).counts


CLEANED: dict[str, Clean] = {
    "shrunken (rules 11)": _by_rules(False),
    "halfway (rules 12)": _by_rules(True),
    "nearest": lambda rows, columns, counts, ordered: nearest_counts(counts.values, rows, columns),
}


def errors(table: BenchmarkTable, sd: float, seed: int) -> dict[str, Floats]:
    """By way of cleaning: questions, cells, cells by rows, and the signed error."""
    rng = np.random.default_rng(seed)
    found: dict[str, list[tuple[float, float, float, float]]] = {name: [] for name in CLEANED}
    for ordered, true in pairs(table, rng):
        rows, columns = (
            np.maximum(true.sum(axis=i) + rng.normal(0, COLUMNS_SD * sd, true.shape[1 - i]), 0.01) for i in (1, 0)
        )
        columns *= rows.sum() / columns.sum()
        labels = [np.arange(n, dtype=np.int64) for n in true.shape]
        counts = PairCounts(labels[0], labels[1], np.rint(true + rng.normal(0, sd, true.shape)), sd)
        asked = [[condition(n, o, rng) for n, o in zip(true.shape, ordered, strict=True)] for _ in range(QUESTIONS)]
        middle = true * ((true > sd) & (true < 30 * sd))
        for name, clean in CLEANED.items():
            gap = clean(rows, columns, counts, ordered) - true
            questions = float(np.mean([abs(left @ gap @ right) for left, right in asked]))
            by_rows = float((np.abs(gap) * true).sum() / true.sum())
            signed = float((gap * middle).sum() / max(middle.sum(), 1.0) / sd)
            found[name].append((questions, float(np.abs(gap).mean()), by_rows, signed))
    return {name: np.mean(each, axis=0) for name, each in found.items()}


@click.command()
@click.option("--table", "tables", type=click.Choice(list(STRANGERS)), multiple=True, default=TABLES)
@click.option("--sd", "sds", type=float, multiple=True, default=(15.0, 35.0, 120.0, 350.0))
@click.option("--seeds", default=2)
def main(tables: tuple[str, ...], sds: tuple[float, ...], seeds: int) -> None:
    rows: list[dict[str, object]] = []
    for name in tables:
        with tempfile.TemporaryDirectory() as folder:
            table = STRANGERS[name](Path(folder))
            for sd in sds:
                each = [errors(table, sd, seed) for seed in range(seeds)]
                for way in CLEANED:
                    numbers = np.mean([e[way] for e in each], axis=0).tolist()
                    named = zip(("questions", "cells", "cells by rows", "signed, sds"), numbers, strict=True)
                    rows.append({"table": name, "sd": sd, "pairs": way} | {k: round(v, 2) for k, v in named})
    show("Clean pairs of columns, mean errors", rows, "pair_cells")


if __name__ == "__main__":
    main()
