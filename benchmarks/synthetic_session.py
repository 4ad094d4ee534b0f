"""A session's synthetic table: ``python -m benchmarks.synthetic_session [--table flights] [--queries 10000]``.

A session answers ad-hoc statements, then gives its rows away for nothing. Shown: how far the rows' answers to the same
statements are from the session's own, and how many of them lie within the 95 % error that the session printed; CPU
seconds and peak memory of making the rows; and for tables of a few columns the mean distance of all contingencies of
three columns from the truth. ``--table twenty`` is the generated table of ``benchmarks.forty``, its first 20 columns.
"""

import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import click
import duckdb
import numpy as np

import dpsql
from benchmarks.catalog import TABLES
from benchmarks.forty import forty
from benchmarks.report import show
from benchmarks.tables import BenchmarkTable
from benchmarks.workload import questions
from dpsql.domain import TableDomain
from dpsql.result import Answer
from dpsql.synthesis.released import SyntheticTable

Row = dict[str, object]
Said = dict[str, tuple[list[tuple[object, ...]], list[Answer]]]
TWENTY = 20


def twenty(folder: Path, rows: int = 100_000) -> BenchmarkTable:
    """The first 20 columns of ``forty``: 100,000 rows, 2 to 24 values each."""
    whole = forty(folder, rows)
    domain = TableDomain("t", whole.domain.columns[:TWENTY])
    return replace(whole, domain=domain, columns=whole.columns[:TWENTY])


BUILDERS: dict[str, Callable[[Path], BenchmarkTable]] = {**TABLES, "twenty": twenty}


@dataclass(frozen=True)
class Made:
    """What a session said, the rows it gave, and what making them took."""

    said: Said
    table: SyntheticTable
    session_cpu: float
    rows_cpu: float


def made(table: BenchmarkTable, queries: int, epsilon: Fraction, seed: int) -> Made:
    """A session that answers the workload of ``seed``, then its rows."""
    asked = [q.sql for q in questions(table.domain.name, table.columns, queries, seed, table.text)]
    policy = table.policy(epsilon, max(queries, 1000), strategy="auto")
    said: Said = {}
    with dpsql.connect(table.path, policy=policy, ledger=":memory:") as con:
        begin = time.process_time()
        for sql in asked:
            cursor = con.execute(sql)
            said[sql] = cursor.fetchall(), list(cursor.answers)
        answered = time.process_time()
        rows = con.synthesize(table.domain.name)
        return Made(said, rows, answered - begin, time.process_time() - answered)


def distances(table: BenchmarkTable, found: Made, *, strings: bool) -> list[tuple[float, float | None]]:
    """For each released number its distance from the rows' own answer, in counts, and its printed error.

    ``strings``: of statements that list strings of the text column, else of all others.
    """
    out: list[tuple[float, float | None]] = []
    scale = found.table.synthetic.scale
    with duckdb.connect() as con:
        con.register("made", found.table.to_arrow())
        con.execute(f"CREATE TABLE {table.domain.name} AS SELECT * FROM made")
        for sql, (rows, answers) in found.said.items():
            if (table.text is not None and f"{table.text.name} " in sql) != strings:
                continue
            counts = {r[:-1]: r[-1] for r in con.execute(sql).fetchall()}
            for row, answer in zip(rows, answers, strict=True):
                out.append((abs(counts.get(row[:-1], 0) * scale - float(answer.value)), answer.error))
    return out


def row_of(table: BenchmarkTable, found: Made, *, strings: bool) -> Row:
    """One line of the report."""
    off = distances(table, found, strings=strings)
    known = [(d, e) for d, e in off if e is not None]
    errors = np.array([d for d, _ in off])
    return {
        "statements": "that list strings" if strings else "of columns with a list of values",
        "numbers": len(off),
        "mean distance": float(errors.mean()),
        "p95": float(np.quantile(errors, 0.95)),
        "max": float(errors.max()),
        "mean error printed": float(np.mean([e for _, e in known])),
        "within": f"{np.mean([d <= e for d, e in known]):.2%} of {len(known):,}",
        "session CPU s": found.session_cpu,
        "rows CPU s": found.rows_cpu,
        "rows": len(found.table.synthetic.codes),
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


@click.command()
@click.option("--table", "name", type=click.Choice(list(BUILDERS)), default="flights")
@click.option("--queries", default=10_000)
@click.option("--epsilon", default="1")
@click.option("--seeds", default=1)
def main(name: str, queries: int, epsilon: str, seeds: int) -> None:
    out: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        table = BUILDERS[name](Path(folder))
        for seed in range(1, seeds + 1):
            found = made(table, queries, Fraction(epsilon), seed)
            for strings in (False, True) if table.text is not None else (False,):
                out.append({"seed": seed, **row_of(table, found, strings=strings)})
    show(
        f"Synthetic table of a session: {name}, epsilon {epsilon}, delta 1e-6, {queries:,} statements",
        out,
        f"synthetic_session_{name}_{queries}_eps{epsilon}",
    )


if __name__ == "__main__":
    main()
