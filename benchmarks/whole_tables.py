"""What one contingency of all columns is worth beside those of three and fewer, simulated: ``python -m
benchmarks.whole_tables [--table choices4] [--epsilon .1] [--pure-columns 5] [--rules 18]``.

Tables of few columns have their true counts, and numpy's noise for the contingencies that a plan at this epsilon and
delta 1e-6 measures first (96 % of its precision, neighbours that add or remove a row). A share of it goes to the whole
table, whatever the plan would choose. Errors in counts of conditions on one to six columns: mean, 99 % quantile and
largest, and the mean for each number of columns.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import click
import duckdb
import numpy as np
import numpy.typing as npt

from benchmarks.report import show
from benchmarks.simulated_tables import warm_plan
from benchmarks.strangers.narrow import NARROW
from benchmarks.strangers.newcomers import NEWCOMERS
from benchmarks.tables import BenchmarkTable, adult6
from dpsql.accounting.plan import NEWEST_MODELS
from dpsql.domain import FiniteDomain, IntegerDomain, NumberDomain
from dpsql.hypothesis import MODEL_RULES, NEWEST, Axis, DenseHypothesis, Measurement, ModelRules, coarsen
from dpsql.planning.contingencies import PlannedContingency, planned_contingencies

Floats = npt.NDArray[np.float64]
Row = dict[str, object]
TABLES = {"adult6": adult6, **NARROW, "military": NEWCOMERS["military"], "fertility": NEWCOMERS["fertility"]}
DEFAULT = ("adult6", *NARROW)
SHARES = (0.0, 0.05, 0.1, 0.2, 0.3)
QUESTIONS, MOST_COLUMNS = 1500, 6
HARD_ROUNDS, RELEASE_SHARE = 6, 0.96


def counts_of(table: BenchmarkTable) -> Floats:
    """The true rows of each cell."""
    columns = table.domain.finite
    out = np.zeros(table.domain.shape([c.name for c in columns]))
    with duckdb.connect(str(table.path), read_only=True) as con:
        names = ", ".join(c.name for c in columns)
        for *values, rows in con.execute(f"SELECT {names}, COUNT(*) FROM {table.domain.name} GROUP BY ALL").fetchall():
            out[tuple(_cell(c, v) for c, v in zip(columns, values, strict=True))] += rows
    return out


def _cell(column: FiniteDomain, value: object) -> int:
    if value is None:
        return column.size - 1
    if isinstance(column, NumberDomain):
        place = int(np.searchsorted(column.edges, float(str(value)), side="right")) - 1
        return min(max(place, 0), len(column.edges) - 2)
    if isinstance(column, IntegerDomain):
        return min(max(int(str(value)), column.low), column.high) - column.low
    values: Sequence[object] = column.values
    return list(values).index(value) if value in values else column.size - 1


def conditions(shape: Sequence[int], rng: np.random.Generator) -> list[tuple[int, list[Floats]]]:
    """How many columns, and the cells of each that a row may be in: one of them, or up to half."""
    out = []
    for i in range(QUESTIONS):
        number = 1 + i % min(MOST_COLUMNS, len(shape))
        weights = [np.ones(size) for size in shape]
        for axis in rng.choice(len(shape), number, replace=False):
            size = shape[axis]
            cells = 1 if rng.random() < 0.4 else int(rng.integers(1, max(2, size // 2 + 1)))
            weights[axis] = np.zeros(size)
            weights[axis][rng.choice(size, cells, replace=False)] = 1.0
        out.append((number, weights))
    return out


def rows_in(cells: Floats, weights: Sequence[Floats]) -> float:
    for w in reversed(weights):
        cells = cells @ w
    return float(cells)


def measured(
    counts: Floats, names: Sequence[str], table: str, planned: PlannedContingency, precision: float, seed: Sequence[int]
) -> Measurement:
    places = [names.index(c) for c in planned.columns]
    marginal = counts.sum(axis=tuple(i for i in range(counts.ndim) if i not in places))
    axes = tuple(
        Axis.difference_of(c) if c in planned.differences else Axis.cells((c,), (counts.shape[names.index(c)],))
        for c in planned.columns
    )
    values, sigma = coarsen(np.ascontiguousarray(marginal), axes), planned.sigma(precision)
    noise = np.random.default_rng(seed).normal(0.0, sigma, values.shape)
    return Measurement(table, axes, np.rint(values + noise).astype(np.int64), sigma)


def errors(
    table: BenchmarkTable, counts: Floats, share: float, precision: float, seed: int, rules: ModelRules
) -> Floats:
    """Of every condition, in counts."""
    rows, names = float(counts.sum()), [c.name for c in table.domain.finite]
    chosen = planned_contingencies(table.domain, rows, precision, differences=True, beside=False)
    if share > 0.0:
        kept = [replace(p, share=p.share * (1.0 - share)) for p in chosen]
        chosen = (*kept, PlannedContingency(tuple(names), share))
    model = DenseHypothesis(table.domain, rows, rules)
    for number, planned in enumerate(chosen):
        model.absorb(measured(counts, names, table.domain.name, planned, precision, (seed, number)))
    found = model.contingency(tuple(names))
    asked = conditions(counts.shape, np.random.default_rng(5))
    return np.array([abs(rows_in(found, w) - rows_in(counts, w)) for _, w in asked])


def row(
    name: str, table: BenchmarkTable, counts: Floats, share: float, precision: float, seeds: int, rules: ModelRules
) -> Row:
    off = np.array([errors(table, counts, share, precision, seed, rules) for seed in range(seeds)])
    numbers = np.array([n for n, _ in conditions(counts.shape, np.random.default_rng(5))])
    found: Row = {"table": name, "rows per cell": round(float(counts.sum()) / counts.size, 1)}
    noise = (precision * 0.1) ** -0.5 * counts.size**0.5 / float(counts.sum())
    found |= {"noise": round(noise, 4), "share": share, "mean": round(float(off.mean()), 1)}
    found |= {"p99": round(float(np.quantile(off, 0.99, axis=1).mean()), 1)}
    found |= {"max": round(float(off.max(axis=1).mean()), 1)}
    return found | {f"{n} columns": round(float(off[:, numbers == n].mean()), 1) for n in range(1, numbers.max() + 1)}


@click.command()
@click.option("--table", "tables", type=click.Choice(list(TABLES)), multiple=True, default=DEFAULT)
@click.option("--epsilon", default="1")
@click.option("--seeds", default=2)
@click.option("--pure-columns", default=NEWEST.pure_columns, help="Of how many columns interactions are taken apart.")
@click.option("--rules", "version", default=NEWEST_MODELS, help="As ledgers of these rules of models fit them.")
def main(tables: Sequence[str], epsilon: str, seeds: int, pure_columns: int, version: int) -> None:
    rules = replace(MODEL_RULES[version], pure_columns=pure_columns)
    plan, rows = warm_plan(Fraction(epsilon), HARD_ROUNDS, RELEASE_SHARE), []
    precision = float(plan.release_precision)
    for name in tables:
        with tempfile.TemporaryDirectory() as folder:
            table = TABLES[name](Path(folder))
            counts = counts_of(table)
            rows += [row(name, table, counts, share, precision, seeds, rules) for share in SHARES]
    notes = ["noise: sd of the whole table's noise at a share of a tenth, over the rows"]
    show(f"One contingency of all columns, epsilon {epsilon}, {seeds} seeds", rows, f"whole_tables_eps{epsilon}", notes)


if __name__ == "__main__":
    main()
