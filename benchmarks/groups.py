"""CPU of GROUP BY by its number of groups: ``python -m benchmarks.groups [--rows 100000] [--tested] [--wide]``.

A table of 10 x 100 x 1,000 values, whose pairs the first look has measured. Each statement is executed for the first
time, and again twice (the least is shown); CPU seconds of this process, which load beside it changes little. Python's
collector has run before each, so that none pays for what the one before it left. With ``--tested`` also groups over
three columns, each of which has a test of its own. With ``--wide`` instead a table of seven columns, and groups that
are about four, five and six of them, the condition's among these.
"""

import gc
import os
import tempfile
import time
from pathlib import Path

import click
import duckdb

import dpsql
from benchmarks.accuracy_dense import Row
from benchmarks.report import show
from benchmarks.tables import BenchmarkTable
from dpsql.domain import IntegerDomain, TableDomain

SIZES = {"a": 10, "b": 100, "d": 1000}
GROUPED = ("a", "b", "d", "a, b", "a, d")
AGGREGATES = ("COUNT(*)", "COUNT(*), SUM(b)")
WIDE_SIZES = {"a": 9, "b": 7, "d": 16, "e": 2, "f": 2, "g": 74, "h": 100}
WIDE_GROUPED = ("a, b, d", "a, b, d, e", "a, b, d, e, f")
WIDE_FIRST = "SELECT COUNT(*), SUM(h) FROM t WHERE a = {code} AND b < 5 AND g = {code}"
FIRST = "SELECT COUNT(*), SUM(b) FROM t WHERE a = {code} AND b < 7 AND d = {code}"


def table(folder: Path, rows: int, sizes: dict[str, int]) -> BenchmarkTable:
    path = folder / "groups.duckdb"
    with duckdb.connect(str(path)) as con:
        values = ", ".join(f"(hash(i + {k}) % {n})::BIGINT AS {c}" for k, (c, n) in enumerate(sizes.items()))
        con.execute(f"CREATE TABLE t AS SELECT {values} FROM range({rows}) r(i)")
    columns = tuple(IntegerDomain(c, 0, n - 1, nullable=False) for c, n in sizes.items())
    return BenchmarkTable(path, TableDomain("t", columns), ())


def timed(con: dpsql.Connection, statement: str) -> tuple[int, float]:
    """(rows, CPU seconds)."""
    gc.collect()
    begin = time.process_time()
    rows = con.execute(statement).fetchall()
    return len(rows), time.process_time() - begin


def measured(con: dpsql.Connection, statement: str) -> Row:
    rows, first = timed(con, statement)
    again = min(timed(con, statement)[1] for _ in range(2))
    return {"case": statement, "groups": rows, "first ms": first * 1e3, "again ms": again * 1e3}


@click.command()
@click.option("--rows", default=100_000)
@click.option("--tested", is_flag=True)
@click.option("--wide", is_flag=True)
def main(rows: int, tested: bool, wide: bool) -> None:
    statements = [f"SELECT {g}, {a} FROM t GROUP BY {g}" for g in GROUPED for a in AGGREGATES]
    if tested:
        statements += ["SELECT a, b, COUNT(*) FROM t WHERE d < 500 GROUP BY a, b"]
        statements += ["SELECT a, d, COUNT(*) FROM t WHERE b < 50 GROUP BY a, d"]
    if wide:
        statements = [f"SELECT {g}, COUNT(*) FROM t WHERE g = 30 GROUP BY {g}" for g in WIDE_GROUPED]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["DPSQL_STATE_HOME"] = str(folder / "state")
        made = table(folder, rows, WIDE_SIZES if wide else SIZES)
        with dpsql.connect(made.path, policy=made.policy(strategy="auto"), ledger=str(folder / "ledger")) as con:
            for code in range(3):  # the first look, error bars and whatever is loaded late
                con.execute((WIDE_FIRST if wide else FIRST).format(code=code)).fetchall()
            out = [measured(con, statement) for statement in statements]
    show("Groups", out, "groups", ["CPU of one process; the first look lies before"])


if __name__ == "__main__":
    main()
