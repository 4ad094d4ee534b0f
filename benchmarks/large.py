"""A session on a large table: ``python -m benchmarks.large [--rows 10000000] [--unit] [--statements 1000]``.

Four columns of whole numbers, 3 x 101 x 21 x 21 cells, and with ``--unit`` three rows of each unit, two of which are
counted. Each line is a process of its own, its CPU seconds and the most memory that it held: the first connect reads
every row, later ones find that the file has not changed, and the counts that lie beside the ledger. Beside it DuckDB's
own GROUP BY of the four columns. The last line changes one byte of one row.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
import duckdb

from benchmarks.connect import POLICY, SETTLED
from benchmarks.report import show

UNIT = '[tables.grown]\nunit = "person"\nmax_rows_per_unit = 2\n'
SESSION = """
import json, resource, sys, time, dpsql
import dpsql.engine.duckdb.engine, dpsql.session, dpsql.planning, dpsql.public.locked_duckdb, dpsql.ledger
path, ledger, number, said = sys.argv[1], sys.argv[2], int(sys.argv[3]), {}
def spent(name, work):
    begun = time.process_time()
    found = work()
    said[name] = round(time.process_time() - begun, 3)
    return found
def statements():
    for i in range(number):
        a, b, c = i % 3, 1 + i * 7 % 100, i * 5 % 21
        con.execute(f"SELECT COUNT(*) FROM grown WHERE a = {a} AND b < {b} AND c >= {c}").fetchall()
try:
    con = spent("connect", lambda: dpsql.connect(path, ledger=ledger))
    spent("first question", lambda: con.execute("SELECT b, COUNT(*) FROM grown WHERE a = 1 GROUP BY b").fetchall())
    spent("statements", statements)
    con.close()
except dpsql.Error as error:
    said["refused"] = type(error).__name__ + (" of other data" if "belongs to other data" in str(error) else "")
said["MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print("\\n" + json.dumps(said))
"""
OWN = """
import json, resource, sys, time, duckdb
with duckdb.connect(sys.argv[1], read_only=True) as con:
    begun = time.process_time()
    con.execute("SELECT a, b, c, d, count(*) FROM grown GROUP BY ALL").fetchnumpy()
said = {"statements": round(time.process_time() - begun, 3)}
said["MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print("\\n" + json.dumps(said))
"""


def alone(name: str, program: str, path: Path, statements: int = 0) -> dict[str, object]:
    """What a program in a process of its own says of itself."""
    words = [sys.executable, "-c", program, str(path), str(path.with_suffix(".ledger")), str(statements)]
    state = os.environ | {"DPSQL_STATE_HOME": str(path.parent / "state")}
    told = subprocess.run(words, capture_output=True, text=True, check=True, env=state).stdout
    parts = ("connect", "first question", "statements", "MB", "refused")
    said = json.loads(told.splitlines()[-1])
    return {"process": name} | {part: said.get(part, "") for part in parts}


@click.command()
@click.option("--rows", default=10_000_000, show_default=True)
@click.option("--unit", is_flag=True, help="Protect units of three rows, of which two are counted.")
@click.option("--statements", default=1000, show_default=True, help="Asked in the first session.")
@click.option("--folder", type=click.Path(path_type=Path, file_okay=False), help="For the file; the system's if unset.")
def main(rows: int, unit: bool, statements: int, folder: Path | None) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as place:
        path = Path(place) / "grown.duckdb"
        with duckdb.connect(str(path)) as con:
            con.execute(
                "CREATE TABLE grown AS SELECT hash(range) % 3 AS a, hash(range, 1) % 101 AS b, hash(range, 2) % 21 c,"
                f" hash(range, 3) % 21 AS d, hash(range, 4) % {max(1, rows // 3)} AS person FROM range({rows})"
            )
        path.with_suffix(".dpsql.toml").write_text(
            POLICY.replace("[tables.grown.columns]", f"{UNIT if unit else ''}[tables.grown.columns]")
        )
        time.sleep(SETTLED)
        found = [alone("first", SESSION, path, statements)]
        found += [alone(name, SESSION, path, 10) for name in ("second, 10 statements", "third, 10 statements")]
        found.append(alone("DuckDB's own GROUP BY", OWN, path))
        with duckdb.connect(str(path)) as con:
            con.execute("UPDATE grown SET a = 2 - a WHERE rowid = 17 AND a <> 1 OR rowid = 18 AND a <> 1")
        time.sleep(SETTLED)
        found.append(alone("after a change", SESSION, path, 10))
    whose = "two of three rows of each unit" if unit else "no unit"
    show(f"{rows:,} rows, {whose}: CPU seconds", found, "large")


if __name__ == "__main__":
    main()
