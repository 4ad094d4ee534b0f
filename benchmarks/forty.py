"""Forty columns: ``python -m benchmarks.forty [--queries 2000] [--rows 100000] [--epsilon 1]``.

A generated table of 40 columns, 2 to 24 values each, that lean on five hidden kinds of rows and on their neighbours.
No tensor fits its universe and its 780 pairs are measured when a question first touches them. Errors are compared with
Gaussian noise for each statement that is told in advance how many different ones there will be, its answers cut at 0.
Numbers are counted as often as they are asked for, of both. ``--table-seed`` generates another table.
"""

import resource
import tempfile
from fractions import Fraction
from pathlib import Path

import click
import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.accuracy_dense import Row, run, truths
from benchmarks.report import show, summary
from benchmarks.strangers.sessions import gaussian_sigma
from benchmarks.tables import BenchmarkTable
from benchmarks.workload import Column, dense_statements
from dpsql.domain import CategoryDomain, ColumnDomain, IntegerDomain, TableDomain

COLUMNS = 40
KINDS = 5
SIZES = (2, 3, 4, 5, 6, 8, 12, 24)


def forty(folder: Path, rows: int, seed: int = 40) -> BenchmarkTable:
    """The table and its domains; every fourth column is a whole number, the others are categories."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(KINDS, size=rows, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    data: dict[str, object] = {}
    domains: list[ColumnDomain] = []
    columns: list[Column] = []
    before = kind
    for i in range(COLUMNS):
        name, size = f"c{i:02d}", SIZES[i % len(SIZES)]
        shares = rng.dirichlet(np.full(size, 0.7), size=KINDS)
        own = (rng.random(rows)[:, None] > np.cumsum(shares, axis=1)[kind]).sum(axis=1).clip(0, size - 1)
        codes = np.where(rng.random(rows) < 0.3, before % size, own)
        before = codes
        if i % 4 == 0:
            data[name] = codes.astype(np.int64)
            domains.append(IntegerDomain(name, 0, size - 1, nullable=False))
            columns.append(Column(name, tuple(range(size)), ordered=True))
        else:
            values = tuple(f"v{j:02d}" for j in range(size))
            data[name] = pa.array(np.array(values)[codes])
            domains.append(CategoryDomain(name, values, nullable=False))
            columns.append(Column(name, values))
    path = folder / "forty.duckdb"
    with duckdb.connect(str(path)) as con:
        con.register("generated", pa.table(data))
        con.execute("CREATE TABLE t AS SELECT * FROM generated")
    return BenchmarkTable(path, TableDomain("t", tuple(domains)), tuple(columns))


def gaussian_cut(table: BenchmarkTable, queries: int, epsilon: Fraction, seed: int) -> tuple[list[float], int]:
    """Errors of the numbers that ``run`` asks for, in its order, and the number of distinct statements: the cells of a
    GROUP BY are one release, repeats have the first answer."""
    statements = dense_statements(table.domain.name, table.columns, queries, seed)
    expected = truths(table, statements)
    sigma, rng = gaussian_sigma(epsilon, len(expected)), np.random.default_rng(seed)
    sizes = {c.name: len(c.values) for c in table.columns}
    off: dict[str, np.ndarray] = {}
    for sql, groups in expected.items():
        grouped = sql.partition(" GROUP BY ")[2]
        true = np.zeros(sizes[grouped] if grouped else 1)  # groups without rows are answered too
        true[: len(groups)] = list(groups.values())
        off[sql] = np.maximum(0.0, true + np.rint(rng.normal(0.0, sigma, len(true)))) - true
    return np.concatenate([off[sql] for sql in statements]).tolist(), len(expected)


@click.command()
@click.option("--queries", default=2000)
@click.option("--rows", default=100_000)
@click.option("--seeds", default=1)
@click.option("--epsilon", default="1")
@click.option("--table-seed", default=40)
def main(queries: int, rows: int, seeds: int, epsilon: str, table_seed: int) -> None:
    out: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        table = forty(Path(name), rows, table_seed)
        for seed in range(1, seeds + 1):
            errors, extra = run(table, queries, Fraction(epsilon), seed, "auto")
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            ours = summary(errors)
            gaussian, distinct = gaussian_cut(table, queries, Fraction(epsilon), seed)
            theirs = summary(gaussian)
            extra |= {f"{k}/G": round(ours[k] / theirs[k], 3) for k in ("mean", "p95", "max")}
            out.append({"method": "dpsql auto", "seed": seed, **ours, **extra, "peak MB": memory})
            told = f"Gaussian per statement, told the {distinct:,}, cut at 0"
            out.append({"method": told, "seed": seed, **theirs})
    show(
        f"{COLUMNS} columns, {rows:,} rows, epsilon {epsilon}, delta 1e-6, {queries:,} statements",
        out,
        f"forty_{queries}_eps{epsilon}",
        [f"absolute errors in counts of {rows:,} rows"],
    )


if __name__ == "__main__":
    main()
