"""Killed at any moment: nothing shown is missing, the spend never falls, the budget holds."""

import multiprocessing
import random
import signal
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from dpsql.ledger import Totals
from tests.durability import ledger_script as script

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["tests.durability.ledger_script"])


def start(target: Callable[..., None], *arguments: Any) -> BaseProcess:
    process = processes.Process(target=target, args=arguments)
    process.start()
    return process


def examine(directory: Path, spent_before: int, budget: int) -> int:
    """Open the ledger as the next session would; check it against what was shown; the units spent."""
    shown = directory / "shown"
    words = [line.split() for line in shown.read_text().splitlines()] if shown.exists() else []
    with script.open_ledger(directory) as ledger:
        totals = ledger.totals()
        assert totals.reserved == 0  # nobody lives
        assert spent_before <= totals.spent <= budget
        events = ledger.events()
        released = {event.reservation: event.payload["values"] for event in events if event.kind == "release"}
        hard = {event.reservation for event in events if event.kind == "hard"}
        freed = {event.reservation for event in events if event.kind == "free"}
        cost = {event.reservation: event.cost for event in events if event.kind in ("release", "burn")}
        for word, number in ((word, int(number)) for word, number in words):
            if word == "shown":
                assert released[number] == [number]
                answer = ledger.lookup(f"released {number}")
                assert answer is not None
                assert answer.value == number
            if word == "coin":
                assert number not in freed
                assert cost[number] == (script.COST if number in hard else script.BURN)
        assert totals.spent == sum(cost.values())
    return totals.spent


def kill_at_steps(tmp_path: Path, times: int) -> int:
    for step in script.STEPS:
        directory = tmp_path / step.replace(":", "-")
        directory.mkdir()
        spent = 0
        for round_ in range(times):
            if step.startswith("create") and round_ > 0:
                break
            process = start(script.play_until_step, directory, round_, step, 1 + round_ % 3 * (step[:5] != "close"))
            process.join(30)
            assert process.exitcode == -signal.SIGKILL, (step, process.exitcode)
            spent = examine(directory, spent, 10**9)
        litter = {entry.name for entry in directory.iterdir()} - {"a.ledger", "a.ledger.answers", "state", "shown"}
        assert not {name for name in litter if ".new-" not in name}
    return len(script.STEPS)


def kill_at_random(tmp_path: Path, times: int, seed: int) -> None:
    moments = random.Random(seed)  # noqa: S311 - when to kill
    budget = times * script.COST * 8
    spent = 0
    for round_ in range(times):
        process = start(script.play_for_good, tmp_path, round_, budget)
        while (
            f"ready {round_}\n" not in ((tmp_path / "shown").read_text() if (tmp_path / "shown").exists() else "")
            and process.is_alive()
        ):
            time.sleep(0.001)
        process.join(moments.uniform(0, 0.03))
        process.kill()
        process.join(30)
        spent = examine(tmp_path, spent, budget)
    assert spent > 0  # some were killed half-way: how many depends on the machine


def test_killed_at_every_step(tmp_path: Path) -> None:
    assert kill_at_steps(tmp_path, 5) == 24


def test_killed_at_random(tmp_path: Path) -> None:
    kill_at_random(tmp_path, 150, seed=1)


@pytest.mark.slow
def test_killed_at_every_step_often(tmp_path: Path) -> None:
    kill_at_steps(tmp_path, 20)


@pytest.mark.slow
def test_killed_at_random_often(tmp_path: Path) -> None:
    for seed in range(10):
        directory = tmp_path / str(seed)
        directory.mkdir()
        kill_at_random(directory, 300, seed)


def test_a_killed_test_costs_the_test_and_a_killed_measurement_everything(tmp_path: Path) -> None:
    for step, spent in (("reserve:anchored", script.BURN), ("hard:anchored", script.COST)):
        directory = tmp_path / step.replace(":", "-")
        directory.mkdir()
        process = start(script.play_until_step, directory, 2, step, 1)
        process.join(30)
        with script.open_ledger(directory) as ledger:
            freed = sum(1 for event in ledger.events() if event.kind == "free")
            assert ledger.totals() == Totals(spent, 0), freed
            assert [event.kind for event in ledger.events()][-1] == "burn"


def test_several_processes_share_one_budget(tmp_path: Path) -> None:
    budget = 60 * script.COST
    script.open_ledger(tmp_path).close()
    crowd = [start(script.reserve_many, tmp_path, seed, 25, budget) for seed in range(8)]
    for process in crowd:
        process.join(60)
    assert [process.exitcode for process in crowd] == [0] * 8
    assert examine_shown(tmp_path) == budget // script.COST


def examine_shown(directory: Path) -> int:
    with script.open_ledger(directory) as ledger:
        released = sorted(event.reservation for event in ledger.events() if event.kind == "release")
        assert ledger.totals() == Totals(len(released) * script.COST, 0)
    shown = [int(line.split()[1]) for line in (directory / "shown").read_text().splitlines()]
    assert sorted(shown) == released
    return len(released)
