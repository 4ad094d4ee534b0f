"""A text column of many strings: what its first touch costs beyond DuckDB's own GROUP BY. Time is CPU seconds.

``python -m benchmarks.many_strings --rows 10000000 --strings 100000``: the table is made, and then asked. With
``--word 10`` each string has as many rows as any other, and its owner says that none has more than ten.
"""

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import duckdb

import dpsql

POLICY = """
version = 1

[privacy]
epsilon = 1.0
delta = 1e-6

[tables.t.columns.w]
type = "text"
{word}

[tables.t.columns.b]
type = "boolean"
"""


def main() -> None:
    """Make the table, ask for one string, and print what that took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--strings", type=int, default=100_000)
    parser.add_argument("--word", type=int, help="max_rows_per_value of the policy")
    options = parser.parse_args()
    number = "hash(range)" if options.word is None else "range"
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DPSQL_STATE_HOME"] = str(Path(folder, "state"))
        file = Path(folder, "many.duckdb")
        with duckdb.connect(str(file)) as con:
            con.execute(
                f"CREATE TABLE t AS SELECT 's' || ({number} % {options.strings})::VARCHAR AS w, range % 2 = 0 AS b "
                f"FROM range({options.rows})"
            )
        begin = time.process_time()
        with duckdb.connect(str(file), read_only=True) as con:
            con.execute("CREATE TEMP TABLE g AS SELECT w, count(*) AS n FROM t GROUP BY w")
        grouped = time.process_time() - begin
        _asked(file, Path(folder), grouped, options.word)


def _asked(file: Path, folder: Path, grouped: float, word: int | None) -> None:
    policy = folder / "policy.toml"
    policy.write_text(POLICY.format(word="" if word is None else f"max_rows_per_value = {word}"))
    begin = time.process_time()
    with dpsql.connect(file, policy=policy, ledger=folder / "many.ledger") as con:
        opened = time.process_time() - begin
        _listed_by_frequency(con)
        for condition in ("b", "w = 's7'", "w = 's8'", "w = 's7' AND b"):
            text = f"SELECT COUNT(*) FROM t WHERE {condition}"
            begin = time.process_time()
            (answer,) = con.execute(text).answers
            took = time.process_time() - begin
            sys.stdout.write(f"{took:.4f} s {text}: ±{answer.error:g}, charged epsilon {answer.charged:.3g}\n")
        looked_up = [_seconds(con, f"SELECT COUNT(*) FROM t WHERE w = 's{i}'") for i in range(100, 200)]
        sys.stdout.write(
            f"look-ups of other strings: median {1e3 * median(looked_up):.2f} ms, {1e3 * max(looked_up):.2f} at most\n"
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(f"GROUP BY alone {grouped:.2f} s, opening {opened:.2f} s, at most {peak:,.0f} MB\n")


def _seconds(con: dpsql.Connection, text: str) -> float:
    begin = time.process_time()
    con.execute(text).fetchall()
    return time.process_time() - begin


def _listed_by_frequency(con: dpsql.Connection) -> None:
    """What is said of the most frequent strings before anything is charged."""
    text = "SELECT w, COUNT(*) AS n FROM t GROUP BY w ORDER BY n DESC LIMIT 20"
    begin = time.process_time()
    try:
        told = "; ".join(note.text for note in con.explain(text).notes)
    except dpsql.UnsupportedQuery as error:
        told = str(error)
    sys.stdout.write(f"{time.process_time() - begin:.3f} s EXPLAIN {text}\n  {told}\n")
    sys.stdout.write(f"  charged so far: epsilon {con.budget.spent_epsilon:g}\n")


if __name__ == "__main__":
    main()
