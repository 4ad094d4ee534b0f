"""Processes that begin on a fresh ledger at once: the first look is made once, and all of them answer."""

import json
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.durability import session_script as script
from tests.support import city
from tests.support.lessons import learned_briefly

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["tests.durability.ledger_script", "tests.durability.session_script"])

POLICY = city.policy_text("epsilon = 8.0\ndelta = 1e-6\n")
QUESTION = "SELECT age, member, COUNT(*) FROM people GROUP BY ALL"


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPSQL_STATE_HOME", "/nonexistent")  # each session sets it; what was set comes back afterwards
    learned_briefly(monkeypatch)
    script.prepare(tmp_path / "city", policy=POLICY)
    return tmp_path / "city"


def shown(directory: Path) -> list[dict[str, Any]]:
    file = directory / "shown"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def check_made_once(directory: Path, burnt: int) -> None:
    """Every portion of the first look is reserved once, but for those that were given back or lost."""
    with script.connect(directory) as con:
        assert script.ledger_of(con).totals().reserved == 0
        events = script.ledger_of(con).events()
        freed = {e.reservation for e in events if e.kind == "free"}
        lost = {e.reservation for e in events if e.kind == "burn"}
        begun = [e for e in events if e.kind == "reserve" and e.payload["purpose"] == "warm start"]
        kept = [e.payload for e in begun if e.sequence not in freed | lost]
        portions = [(*c, before) for p in kept for c, (before, _) in zip(p["columns"], p["portions"], strict=True)]
        assert len(portions) == len(set(portions)) > 10
        assert len(lost) == burnt


def at_once(directory: Path, count: int) -> None:
    crowd = [processes.Process(target=script.ask_first, args=(directory, run, QUESTION)) for run in range(count)]
    for process in crowd:
        process.start()
    for process in crowd:
        process.join(600)
    assert [process.exitcode for process in crowd] == [0] * count
    answers = [line["answers"] for line in shown(directory) if "answers" in line]
    assert len(answers) == count
    assert all(answers)
    check_made_once(directory, burnt=0)


def test_three_processes_make_one_first_look(directory: Path) -> None:
    at_once(directory, 3)


def test_eight_processes_make_one_first_look(directory: Path) -> None:
    at_once(directory, 8)


def test_whoever_waits_takes_over_from_the_dead_and_an_interrupt_leaves_nothing(directory: Path) -> None:
    """Two wait for a session that has stopped; one is interrupted, then the stopped one is killed."""
    holder = processes.Process(target=script.ask_and_stop_at_step, args=(directory, QUESTION, "reserve:committed", 2))
    holder.start()
    until(lambda: any("stopped" in line for line in shown(directory)))
    crowd = [processes.Process(target=script.ask_first, args=(directory, run, QUESTION)) for run in range(2)]
    for process in crowd:
        process.start()
    until(lambda: {line["run"] for line in shown(directory) if "waits" in line} == {0, 1})
    assert all(process.is_alive() for process in crowd)
    assert crowd[0].pid is not None
    os.kill(crowd[0].pid, signal.SIGINT)
    crowd[0].join(60)
    assert crowd[0].exitcode == 1  # KeyboardInterrupt, not the holder's fate
    holder.kill()
    crowd[1].join(120)
    assert crowd[1].exitcode == 0
    assert [line["run"] for line in shown(directory) if "answers" in line] == [1]
    check_made_once(directory, burnt=1)
