"""What the processes do that the tests of whole sessions start and kill: ask, note what was answered, close."""

import json
import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from unittest.mock import patch

import dpsql
import dpsql.mechanism
import dpsql.public.locked_duckdb  # loaded once, before the processes are forked
import dpsql.synthesis.methods
from dpsql.accounting import Plan
from dpsql.ledger import SqliteLedger
from dpsql.ledger.protocol import Ledger
from dpsql.planning import make_plan
from dpsql.synthesis.released import SyntheticTable
from tests.support import city, inside, statements, walk

POLICY = city.policy_text("epsilon = 8.0\ndelta = 1e-6\n", 'strategy = "pmw"\nhard_rounds = 60\n')
PLAN = make_plan(dpsql.load_policy(POLICY))
HARD_SHARE = PLAN.as_epsilon(PLAN.hard_cost)
QUESTIONS = (
    "SELECT age, member, COUNT(*) FROM people GROUP BY ALL",
    "SELECT region, COUNT(*) FROM people GROUP BY region",
    "SELECT date_trunc('month', joined), COUNT(*) FROM people WHERE member GROUP BY ALL",
    "SELECT hours >= 20, region, COUNT(*) FROM people GROUP BY ALL",
    "SELECT day, kind, COUNT(*) FROM visits GROUP BY ALL",
    "SELECT age % 2, SUM(hours) FROM people GROUP BY ALL",
    *(f"SELECT COUNT(*) FROM people WHERE name = 'name{i}'" for i in (0, 2, 4, 26, 38, 52, 74)),
    *(f"SELECT COUNT(*) FROM visits WHERE place = 'place{i}'" for i in range(0, 20, 4)),
    *statements.COUNTS,
)


def prepare(directory: Path, rows: int = 2000, policy: str = POLICY) -> None:
    city.build(directory, rows=rows, policy=policy)


def copied(source: Path, directory: Path) -> Path:
    """The database and its policy in another directory, where a session begins with nothing spent."""
    directory.mkdir()
    for name in ("city.duckdb", "city.dpsql.toml"):
        shutil.copy(source / name, directory / name)
    return directory


def connect(directory: Path, on_step: Callable[[str], None] | None = None) -> dpsql.Connection:
    """A real session; each directory stands for a machine of its own. ``ledger_of`` gives its ledger."""
    os.environ["DPSQL_STATE_HOME"] = str(directory / "state")
    with patch.object(SqliteLedger, "open", partial(SqliteLedger.open, on_step=on_step)):
        return inside.connect(directory / "city.duckdb")


def ledger_of(con: dpsql.Connection) -> Ledger:
    ledger = inside.inside(con).ledger
    assert ledger is not None
    return ledger


def plan_of(con: dpsql.Connection) -> Plan:
    return inside.inside(con).plan


def note(directory: Path, **fields: object) -> None:
    """One line that outlives a kill: what the page cache has, the next reader sees."""
    descriptor = os.open(directory / "shown", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, json.dumps(fields).encode() + b"\n")
    os.close(descriptor)


def ask(con: dpsql.Connection, text: str) -> dict[str, tuple[float, float]]:
    """Value and original charge of each released number of a statement, by the key of its question."""
    return ask_and_pay(con, text)[0]


def ask_and_pay(con: dpsql.Connection, text: str) -> tuple[dict[str, tuple[float, float]], float]:
    """What ``ask`` gives, and what the statement charged this time."""
    charged = con.execute(text).result.charged
    ledger = ledger_of(con)
    found = {query.digest: ledger.lookup(query.digest) for query in city.queries(POLICY, text)}
    return {key: (answer.value, answer.charged) for key, answer in found.items() if answer is not None}, charged


def ask_and_show(directory: Path, run: int, texts: Sequence[str], con: dpsql.Connection) -> None:
    for text in texts:
        answers, charged = ask_and_pay(con, text)
        note(directory, run=run, text=text, answers=answers, charged=charged)


def shuffled(seed: int, count: int) -> list[str]:
    return random.Random(seed).sample(QUESTIONS, count)  # noqa: S311 - the order of questions, no noise


def dies_at(step: str, occurrence: int) -> Callable[[str], None]:
    left = [occurrence]

    def on_step(name: str) -> None:
        if name == step:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return on_step


def run_until_step(directory: Path, run: int, step: str, occurrence: int) -> None:
    """Dies by SIGKILL when the ledger reaches ``step`` for the ``occurrence``-th time."""
    with connect(directory, dies_at(step, occurrence)) as con:
        ask_and_show(directory, run, shuffled(run, 16), con)
    note(directory, run=run, end=True)


def ask_until_step(directory: Path, text: str, step: str, occurrence: int) -> None:
    """Asks one question, and dies by SIGKILL when the ledger reaches ``step`` for the ``occurrence``-th time."""
    with connect(directory, dies_at(step, occurrence)) as con:
        con.execute(text)


def ask_and_stop_at_step(directory: Path, text: str, step: str, occurrence: int) -> None:
    """Asks one question, and does nothing more when the ledger reaches ``step`` for the ``occurrence``-th time."""

    def stop(name: str) -> None:
        if name == step:
            left[0] -= 1
            if left[0] == 0:
                note(directory, stopped=True)
                time.sleep(600)

    left = [occurrence]
    with connect(directory, stop) as con:
        con.execute(text)


def ask_first(directory: Path, run: int, text: str) -> None:
    """Asks one question, and shows when it waits and what was answered."""
    with connect(directory) as con:
        inside.inside(con).asker.turns.on_wait = lambda what, seconds: note(directory, run=run, waits=what)
        note(directory, run=run, ready=True)
        ask_and_show(directory, run, [text], con)


def synthesize(con: dpsql.Connection, epsilon: float = 2.0) -> SyntheticTable:
    """A paid synthetic table of four steps."""
    with patch.object(dpsql.synthesis.methods, "METHODS", walk.methods()):
        return con.synthesize("people", walk.NAME, epsilon=epsilon)


def synthesize_until_step(directory: Path, text: str, step: str, occurrence: int) -> None:
    """As ``ask_until_step``, after a question, with a synthetic table."""
    with connect(directory, dies_at(step, occurrence)) as con:
        con.execute(text)
        synthesize(con)


def run_for_good(directory: Path, run: int, count: int = len(QUESTIONS)) -> None:
    """Asks every question once, closes, and says so, unless it is killed."""
    with connect(directory) as con:
        note(directory, run=run, ready=True)
        ask_and_show(directory, run, shuffled(run, count), con)
    note(directory, run=run, end=True)


def ask_in_order(directory: Path, run: int, count: int) -> None:
    """Asks the first questions, in the same order in each process."""
    with connect(directory) as con:
        ask_and_show(directory, run, QUESTIONS[:count], con)
