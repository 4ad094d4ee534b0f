"""Interrupted first looks: ``python -m benchmarks.survival [--tries 100] [--columns 42] [--rows 4000] [--epsilon 1]``.

Sessions of their own ask the same questions of a table that was never looked at. Some are left alone; some get Ctrl-C
at a random moment and ask again what they were at; some are killed then, and another session asks. Their mean errors
are compared, and what their ledgers hold with their plans.
"""

import json
import multiprocessing
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import click
import duckdb
import numpy as np
import pyarrow as pa

import dpsql
from benchmarks.report import show
from dpsql.accounting import Accountant, Plan
from dpsql.hypothesis import learn_calibration
from dpsql.ledger import SqliteLedger, stored_header
from dpsql.session.model import error_bars

TABLE, LEDGER = "looked.duckdb", "looked.ledger"
VALUES = "abcde"
ASKED = 6
"""Columns whose pairs are asked about, with a few triples; of all others the values alone."""


_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["dpsql.interface.dbapi.opening", "pyarrow"])


@dataclass(frozen=True)
class Look:
    """What became of one try: mean absolute error in counts; share of the budget that was burnt.

    ``met``: whether the signal came while a session was asking; ``seconds``: how long that one asked.
    """

    error: float
    burnt: float
    overspent: bool
    met: bool
    seconds: float


def statements(columns: int, *, text: bool = False) -> list[str]:
    """Strings, if there are any; pairs and triples of the first columns, then each column alone."""
    names = [f"c{i}" for i in range(columns)]
    words = ["SELECT w, COUNT(*) FROM looked WHERE w IN ('w1', 'w2', 'w3', 'w4', 'w5') GROUP BY w"] if text else []
    groups = [*combinations(names[:ASKED], 2), *combinations(names[:4], 3), *((n,) for n in names)]
    return words + [f"SELECT {', '.join(g)}, COUNT(*) FROM looked GROUP BY ALL ORDER BY ALL" for g in groups]


def prepare(folder: Path, columns: int, *, rows: int, epsilon: str, text: bool) -> None:
    """A table whose columns lean on hidden kinds of rows, and its policy."""
    rng = np.random.default_rng(42)
    kind = rng.integers(0, 4, rows)
    data: dict[str, Any] = {}
    for i in range(columns):
        shares = rng.dirichlet(np.full(len(VALUES), 0.7), size=4)
        codes = (rng.random(rows)[:, None] > np.cumsum(shares, axis=1)[kind]).sum(axis=1).clip(0, len(VALUES) - 1)
        data[f"c{i}"] = np.array(list(VALUES))[codes].tolist()
    if text:
        data["w"] = [f"w{n}" for n in rng.zipf(1.5, rows).clip(max=2000).tolist()]
    with duckdb.connect(str(folder / TABLE)) as con:
        con.register("generated", pa.table(data))
        con.execute("CREATE TABLE looked AS FROM generated")
    finite = "".join(f'c{i} = {{ type = "category", values = {json.dumps(list(VALUES))} }}\n' for i in range(columns))
    words = 'w = { type = "text" }\n' if text else ""
    privacy = f"version = 1\n[privacy]\nepsilon = {epsilon}\ndelta = 1e-6\n"
    (folder / "policy.toml").write_text(f"{privacy}[tables.looked.columns]\n{finite}{words}", encoding="utf-8")


def session(folder: Path, asked: Sequence[str], ready: Connection) -> None:
    """Asks all, again what an interrupt cut off; says when it begins, writes what was answered. Runs as a process."""
    os.environ["DPSQL_STATE_HOME"] = str(folder / "state")
    # the width of error bars is not measured here, and they take longest to learn
    error_bars.learn_calibration = partial(learn_calibration, simulations=1, queries=40)  # type: ignore[assignment]
    con = dpsql.connect(folder / TABLE, policy=folder / "policy.toml", ledger=folder / LEDGER)
    ready.send("begins")
    answers: list[Any] = []
    while len(answers) < len(asked):
        with suppress(KeyboardInterrupt):
            answers.append(con.execute(asked[len(answers)]).fetchall())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # from here on nobody asks
    con.close()
    (folder / "answers.json").write_text(json.dumps(answers), encoding="utf-8")


def started(folder: Path, asked: Sequence[str]) -> Any:
    """The process of a session that is about to ask."""
    reader, writer = _processes.Pipe(duplex=False)
    process = _processes.Process(target=session, args=(folder, asked, writer))
    process.start()
    writer.close()
    with suppress(EOFError):
        reader.recv()
    return process


def look(original: Path, asked: Sequence[str], truths: Sequence[Any], sent: int | None, after: float) -> Look:
    """One try in a copy of ``original``: ``sent`` is the signal, ``after`` so many seconds of asking."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in (TABLE, "policy.toml"):
            shutil.copy(original / file, folder / file)
        process, met = started(folder, asked), False
        begin = time.monotonic()
        if sent is not None:
            time.sleep(after)
            met = process.exitcode is None and not (folder / "answers.json").exists()
            if met:
                os.kill(process.pid, sent)
        process.join()
        seconds = time.monotonic() - begin
        if process.exitcode == -signal.SIGKILL:
            process = started(folder, asked)
            process.join()
        if process.exitcode != 0:
            raise click.ClickException("a session failed")
        answers = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
        return Look(error_of(answers, truths), *spent(folder / LEDGER), met, seconds)


def error_of(answers: Sequence[Any], truths: Sequence[Any]) -> float:
    """Mean absolute error over the declared groups of all statements, in counts."""
    errors = []
    for shown, truth in zip(answers, truths, strict=True):
        found = {tuple(row[:-1]): row[-1] for row in shown}
        errors += [abs(count - truth.get(group, 0)) for group, count in found.items()]
    return float(np.mean(errors))


def spent(path: Path) -> tuple[float, bool]:
    """Share of the budget that was burnt; whether the plan's accountant would have refused any of it."""
    header = stored_header(path)
    plan = Plan.from_json(header["plan"])
    with SqliteLedger.open(path, header, create=False) as ledger:
        totals, events = ledger.totals(), ledger.events()
    burnt = sum(e.cost for e in events if e.kind == "burn")
    paid = sum(e.cost for e in events if e.kind in ("release", "burn"))
    overspent = paid != totals.spent or totals.spent + totals.reserved > plan.total_units
    try:
        Accountant.of(plan).check(totals.spent, totals.reserved, 0, tested=totals.tested + totals.testing)
    except dpsql.BudgetExhausted:
        overspent = True
    return burnt / plan.total_units, overspent


def truths_of(folder: Path, asked: Sequence[str]) -> list[dict[tuple[str, ...], int]]:
    with duckdb.connect(str(folder / TABLE), read_only=True) as con:
        return [{tuple(row[:-1]): row[-1] for row in con.execute(text).fetchall()} for text in asked]


def survive(folder: Path, asked: Sequence[str], tries: int, alone: int, *, seed: int) -> dict[str, list[Look]]:
    """``alone`` undisturbed looks, then ``tries`` with each signal, at moments evenly drawn from an undisturbed one."""
    rng, truths = np.random.default_rng(seed), truths_of(folder, asked)
    found = {"undisturbed": [look(folder, asked, truths, None, 0.0) for _ in range(alone)]}
    whole = float(np.median([one.seconds for one in found["undisturbed"]]))
    for name, number in (("interrupted", signal.SIGINT), ("killed", signal.SIGKILL)):
        moments = rng.uniform(0.0, whole, tries).tolist()
        found[name] = [look(folder, asked, truths, number, after) for after in moments]
    return found


def rows_of(found: dict[str, list[Look]]) -> list[dict[str, object]]:
    mean = float(np.mean([one.error for one in found["undisturbed"]]))
    return [
        {
            "sessions": name,
            "tries": len(looks),
            "met": sum(one.met for one in looks),
            "lost something": sum(one.burnt > 0 for one in looks),
            "lost at most, of the budget": max(one.burnt for one in looks),
            "mean error": float(np.mean([one.error for one in looks])),
            "worst session": max(one.error for one in looks),
            "of undisturbed": float(np.mean([one.error for one in looks])) / mean,
            "worst of undisturbed": max(one.error for one in looks) / mean,
            "overspent": sum(one.overspent for one in looks),
        }
        for name, looks in found.items()
    ]


@click.command()
@click.option("--tries", default=100)
@click.option("--alone", default=30, help="Sessions that nothing happens to.")
@click.option("--columns", default=42)
@click.option("--rows", default=4000)
@click.option("--epsilon", default="1")
@click.option("--seed", default=1)
@click.option("--text", is_flag=True, help="With a column of strings, asked about first.")
def main(tries: int, alone: int, columns: int, rows: int, epsilon: str, seed: int, text: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, columns, rows=rows, epsilon=epsilon, text=text)
        asked = statements(columns, text=text)
        show(
            f"First looks of {columns} columns, {rows:,} rows, epsilon {epsilon}, {len(asked)} statements",
            rows_of(survive(folder, asked, tries, alone, seed=seed)),
            f"survival_{columns}{'_text' if text else ''}",
            ["errors in counts; a signal is met when the session was still asking"],
        )


if __name__ == "__main__":
    main()
