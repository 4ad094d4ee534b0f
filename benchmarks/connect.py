"""What a connect costs as tables grow: ``python -m benchmarks.connect [--rows 100000 --rows 1000000]``.

CPU seconds of ``dpsql.connect`` in a process of its own: the first one reads every row to know the table again, later
ones find that the file has not changed. Beside it DuckDB's own sum over the columns, in the same process.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import click
import duckdb

from benchmarks.report import show

POLICY = """version = 1
[privacy]
epsilon = 1.0
delta = 1e-6
[tables.grown.columns]
a = { type = "integer", min = 0, max = 2 }
b = { type = "integer", min = 0, max = 100 }
c = { type = "integer", min = 0, max = 20 }
d = { type = "integer", min = 0, max = 20 }
"""
SETTLED = 2.5
"""Seconds: a file that was written just now is read again."""
TIMED = """
import json, sys, time, duckdb, dpsql
path, ledger, ask = sys.argv[1], sys.argv[2], sys.argv[3] == "ask"
import dpsql.engine.duckdb.engine, dpsql.session, dpsql.planning, dpsql.public.locked_duckdb, dpsql.ledger
begun = time.process_time()
con = dpsql.connect(path, ledger=ledger)
connected = time.process_time() - begun
begun = time.process_time()
if ask:
    con.execute("SELECT COUNT(*) FROM grown WHERE a = 1 AND b < 50")
asked = time.process_time() - begun
con.close()
print(json.dumps([connected, asked]))
"""


def timed(path: Path, *, ask: bool) -> tuple[float, float]:
    """CPU seconds of a connect, and of one question after it, in a new process."""
    words = [sys.executable, "-c", TIMED, str(path), str(path.with_suffix(".ledger")), "ask" if ask else "no"]
    state = os.environ | {"DPSQL_STATE_HOME": str(path.parent / "state")}
    told = subprocess.run(words, capture_output=True, text=True, check=True, env=state).stdout
    connected, asked = json.loads(told.splitlines()[-1])
    return float(connected), float(asked)


def own_sum(path: Path) -> float:
    """CPU seconds of DuckDB's own sum over the four columns."""
    with duckdb.connect(str(path), read_only=True) as con:
        begun = time.process_time()
        con.execute("SELECT sum(a), sum(b), sum(c), sum(d) FROM grown").fetchall()
        return time.process_time() - begun


@click.command()
@click.option("--rows", "sizes", type=int, multiple=True, default=(100_000, 1_000_000, 10_000_000))
def main(sizes: Sequence[int]) -> None:
    found: list[dict[str, object]] = []
    for rows in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "grown.duckdb"
            with duckdb.connect(str(path)) as con:
                con.execute(
                    "CREATE TABLE grown AS SELECT hash(range) % 3 AS a, hash(range, 1) % 101 AS b, "
                    f"hash(range, 2) % 21 AS c, hash(range, 3) % 21 AS d FROM range({rows})"
                )
            path.with_suffix(".dpsql.toml").write_text(POLICY)
            time.sleep(SETTLED)
            first, _ = timed(path, ask=True)
            again = [timed(path, ask=False)[0] for _ in range(3)]
            found.append(
                {
                    "rows": rows,
                    "first connect, cpu s": first,
                    "reconnect, cpu s": sorted(again)[1],
                    "duckdb's sum, cpu s": own_sum(path),
                }
            )
    show("Connecting", found, "connect")


if __name__ == "__main__":
    main()
