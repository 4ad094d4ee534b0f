"""A text column of many strings: what its first touch costs beyond DuckDB's own GROUP BY. Time is CPU seconds.

``python -m benchmarks.many_strings --rows 10000000 --strings 100000``: one process makes the table, another asks it.
"""

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import duckdb

import dpsql

POLICY = """
version = 1

[privacy]
epsilon = 1.0
delta = 1e-6

[tables.t.columns.w]
type = "text"

[tables.t.columns.b]
type = "boolean"
"""


def main() -> None:
    """Make the table, ask for one string, and print what that took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--strings", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DPSQL_STATE_HOME"] = str(Path(folder, "state"))
        file = Path(folder, "many.duckdb")
        with duckdb.connect(str(file)) as con:
            con.execute(
                f"CREATE TABLE t AS SELECT 's' || (hash(range) % {options.strings})::VARCHAR AS w, range % 2 = 0 AS b "
                f"FROM range({options.rows})"
            )
        begin = time.process_time()
        with duckdb.connect(str(file), read_only=True) as con:
            con.execute("CREATE TEMP TABLE g AS SELECT w, count(*) AS n FROM t GROUP BY w")
        grouped = time.process_time() - begin
        _asked(file, Path(folder), grouped)


def _asked(file: Path, folder: Path, grouped: float) -> None:
    policy = folder / "policy.toml"
    policy.write_text(POLICY)
    begin = time.process_time()
    with dpsql.connect(file, policy=policy, ledger=folder / "many.ledger") as con:
        opened = time.process_time() - begin
        for text in ("SELECT COUNT(*) FROM t WHERE b", "SELECT COUNT(*) FROM t WHERE w = 's7'"):
            begin = time.process_time()
            con.execute(text).fetchall()
            sys.stdout.write(f"{time.process_time() - begin:.2f} s {text}\n")
        for text in ("SELECT COUNT(*) FROM t WHERE w = 's8'", "SELECT COUNT(*) FROM t WHERE w = 's7' AND b"):
            begin = time.process_time()
            con.execute(text).fetchall()
            sys.stdout.write(f"{time.process_time() - begin:.2f} s {text}\n")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(f"GROUP BY alone {grouped:.2f} s, opening {opened:.2f} s, at most {peak:,.0f} MB\n")


if __name__ == "__main__":
    main()
