"""Speed as ratios within one run: ``python -m benchmarks.speed [--rows 10000000]``.

1. An easy answer through ``con.execute`` against DuckDB's own COUNT of the same statement, on Adult.
2. The same on generated rows: an easy answer must not grow with the rows.
3. A sparse query on a table with 1e6 distinct strings against one with 1e3.
4. A batch file of 10,000 short statements, none asked twice, through ``dpsql run`` on Adult's 6 and 14 columns.
5. Import of dpsql, and ``dpsql query`` from a cold start, in seconds.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import click
import duckdb

import dpsql
from benchmarks.accuracy_dense import Row
from benchmarks.report import show
from benchmarks.tables import BenchmarkTable, adult6, adult14
from benchmarks.workload import Column, dense_statements, questions
from dpsql.domain import CategoryDomain, DateDomain, IntegerDomain, NumberDomain, TableDomain, TextDomain
from dpsql.policy_file import dump_policy

BATCH = 10_000
WARM = 2_000
TIMED = 2_000
CHOSEN = "age > 30 AND sex = 'Male' AND income = '>50K'"


def milliseconds(ask: Callable[[str], object], statements: Sequence[str]) -> float:
    """Median time of one statement."""
    times = []
    for sql in statements:
        begin = time.perf_counter()
        ask(sql)
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e3


def dense_ratio(table: BenchmarkTable, title: str, strategy: str) -> Row:
    """New statements only (each asked once), after a warm-up that has used up most hard rounds."""
    distinct = list(dict.fromkeys(dense_statements(table.domain.name, table.columns, 4 * (WARM + TIMED), 7)))
    distinct = [s for s in distinct if "GROUP BY" not in s][: WARM + TIMED]
    with dpsql.connect(table.path, policy=table.policy(planned=10_000, strategy=strategy), ledger=":memory:") as con:
        for sql in distinct[:WARM]:
            con.execute(sql).fetchall()
        timed = distinct[WARM:]
        own = milliseconds(lambda s: con.execute(s).fetchall(), timed)
    with duckdb.connect(str(table.path), read_only=True) as db:
        for sql in distinct[:50]:
            db.execute(sql).fetchall()
        peer = milliseconds(lambda s: db.execute(s).fetchall(), timed[:500])
    return {"case": title, "dpsql ms": own, "DuckDB COUNT ms": peer, "ratio": own / peer}


def generated(folder: Path, rows: int) -> BenchmarkTable:
    path = folder / f"rows{rows}.duckdb"
    kinds = tuple(f"k{i}" for i in range(20))
    with duckdb.connect(str(path)) as con:
        con.execute(
            "CREATE TABLE t AS SELECT (hash(i) % 90)::BIGINT AS age, 'k' || (hash(i + 1) % 20) AS kind, "
            f"CASE WHEN hash(i + 2) % 3 = 0 THEN 'a' ELSE 'b' END AS side FROM range({rows}) r(i)"
        )
    domain = TableDomain(
        "t",
        (
            IntegerDomain("age", 0, 89, nullable=False),
            CategoryDomain("kind", kinds, nullable=False),
            CategoryDomain("side", ("a", "b"), nullable=False),
        ),
    )
    columns = (Column("age", tuple(range(90)), ordered=True), Column("kind", kinds), Column("side", ("a", "b")))
    return BenchmarkTable(path, domain, columns)


def strings(folder: Path, distinct: int) -> BenchmarkTable:
    path = folder / f"strings{distinct}.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(
            f"CREATE TABLE t AS SELECT 'word' || (i % {distinct}) AS word, i % 7 AS day FROM range(2000000) r(i)"
        )
    domain = TableDomain("t", (TextDomain("word"), IntegerDomain("day", 0, 6, nullable=False)))
    return BenchmarkTable(path, domain, ())


def sparse_ms(table: BenchmarkTable, distinct: int) -> float:
    step = max(1, distinct // 997)
    statements = [
        "SELECT COUNT(*) FROM t WHERE word IN ("
        + ", ".join(f"'word{(j * step + i * 31) % distinct}'" for j in range(10))
        + ")"
        for i in range(600)
    ]
    with dpsql.connect(table.path, policy=table.policy(), ledger=":memory:") as con:
        for sql in statements[:200]:
            con.execute(sql).fetchall()
        return milliseconds(lambda s: con.execute(s).fetchall(), statements[200:])


def batch(table: BenchmarkTable, folder: Path) -> Row:
    """Statements per second of ``dpsql run``, start and end of the process included; the warm start was before."""
    name = table.path.stem
    statements: dict[str, None] = {}
    numbers = {c.name for c in table.domain.columns if isinstance(c, NumberDomain)}  # their values are no groups
    for seed in range(1, 100):
        asked = questions(table.domain.name, table.columns, 2 * BATCH, seed)
        statements |= dict.fromkeys(q.sql for q in asked if q.group not in numbers)
        if len(statements) >= BATCH:
            break
    file = folder / f"{name}.sql"
    file.write_text(";\n".join(list(statements)[:BATCH]))
    (folder / f"{name}.dpsql.toml").write_text(policy_text(table))
    dpsql_ = [sys.executable, "-m", "dpsql"]
    ledger = ["--ledger", str(folder / f"{name}.batch.ledger"), "--new-budget"]
    warm = seconds([*dpsql_, "query", str(table.path), f"SELECT COUNT(*) FROM adult WHERE {CHOSEN}", *ledger], folder)
    before = core_seconds()
    taken = seconds([*dpsql_, "run", str(table.path), str(file), "--format", "jsonl", *ledger], folder)
    return {
        "case": f"dpsql run, {BATCH:,} statements, {len(table.columns)} columns",
        "statements/s": BATCH / taken,
        "statements per core second": BATCH / (core_seconds() - before),
        "warm s": warm,
    }


def policy_text(table: BenchmarkTable) -> str:
    """The table's policy as a file: there number columns hold their values, and bins are the model's affair."""
    policy = table.policy(strategy="auto")
    columns = tuple(
        replace(c, reading="value") if isinstance(c, NumberDomain | DateDomain) else c for c in table.domain.columns
    )
    return dump_policy(replace(policy, tables=(replace(table.domain, columns=columns),)))


def core_seconds() -> float:
    """Processor time of all child processes so far: on a busy machine it says more than the clock."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds(command: Sequence[str], folder: Path) -> float:
    """Wall time of a process with a registry of its own, so that the data may have a ledger elsewhere."""
    environment = {**os.environ, "DPSQL_STATE_HOME": str(folder / "state")}
    begin = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return time.perf_counter() - begin


@click.command()
@click.option("--rows", default=10_000_000)
def main(rows: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        adult = adult6(folder)
        many_rows = generated(folder, rows)
        out: list[Row] = []
        strategies: tuple[str, ...] = ("auto", "pmw")
        for strategy in strategies:
            out.append(dense_ratio(adult, f"Adult, 48,842 rows, {strategy}", strategy))
            out.append(dense_ratio(many_rows, f"generated, {rows:,} rows, {strategy}", strategy))
        few, many = (sparse_ms(strings(folder, n), n) for n in (1_000, 1_000_000))
        out.append({"case": "sparse, 1e6 over 1e3 strings", "dpsql ms": many, "1e3 ms": few, "ratio": many / few})
        out.append(batch(adult, folder))
        out.append(batch(adult14(folder), folder))
        policy = folder / "adult6.dpsql.toml"
        policy.write_text(policy_text(adult))
        python = min(seconds([sys.executable, "-c", "pass"], folder) for _ in range(3))
        loaded = min(seconds([sys.executable, "-c", "import dpsql"], folder) for _ in range(3)) - python
        out.append({"case": "import dpsql", "dpsql ms": loaded * 1e3})
        query = [sys.executable, "-m", "dpsql", "query", str(adult.path), "--new-budget"]
        cold = [seconds([*query, f"SELECT COUNT(*) FROM adult WHERE age > {20 + 5 * i}"], folder) for i in range(4)]
        out.append({"case": "dpsql query, cold, first on a ledger (warm start)", "dpsql ms": cold[0] * 1e3})
        out.append({"case": "dpsql query, cold, a new question later", "dpsql ms": min(cold[1:]) * 1e3})
    show("Speed", out, "speed", ["medians within one run on one machine; ratios are what counts"])


if __name__ == "__main__":
    main()
