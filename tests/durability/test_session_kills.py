"""Whole sessions killed at any moment: paid answers stay as they were, the spend never falls, the budget holds."""

import json
import multiprocessing
import random
import signal
import time
from collections.abc import Callable, Mapping
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from tests.durability import session_script as script

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["tests.durability.ledger_script", "tests.durability.session_script"])

WRITES = [f"{kind}:{part}" for kind in ("reserve", "hard", "release", "free") for part in ("begin", "appended")]
WRITES += [f"{kind}:{part}" for kind in ("reserve", "hard", "release", "free") for part in ("committed", "anchored")]
WRITES += ["remember:begin", "remember:written", "remember:committed"]
CREATES = ["create:written", "create:named"]
RECOVERS = ["recover:begin", "recover:appended", "recover:committed", "recover:anchored"]
ONCE = ("free", "create", "recover")
"""Steps that a session passes at most once."""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("original") / "city"
    script.prepare(directory)
    return directory


@pytest.fixture(autouse=True)
def registry_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSQL_STATE_HOME", "/nonexistent")  # each session sets it; what was set comes back afterwards


def start(target: Callable[..., None], *arguments: Any) -> BaseProcess:
    process = processes.Process(target=target, args=arguments)
    process.start()
    return process


def lines(directory: Path) -> list[dict[str, Any]]:
    """What was shown so far; a line that is being written while we read is none yet."""
    shown = directory / "shown"
    written = shown.read_text().splitlines(keepends=True) if shown.exists() else []
    return [json.loads(line) for line in written if line.endswith("\n")]


class Tail:
    """What is shown from now on, read on from where it was read last."""

    def __init__(self, directory: Path) -> None:
        self._shown = directory / "shown"
        self._read = self._shown.stat().st_size if self._shown.exists() else 0
        self._lines = 0

    def lines(self) -> int:
        """How many lines were written."""
        if self._shown.exists() and self._shown.stat().st_size > self._read:
            with self._shown.open("rb") as file:
                file.seek(self._read)
                written = file.read()
            self._lines += written.count(b"\n")
            self._read += len(written)
        return self._lines


def paid(answer: tuple[float, float]) -> bool:
    """Measured by a hard round. What a table's first answer charges is for its row count, which the ledger has."""
    return answer[1] >= script.HARD_SHARE


def kept_answers(shown: list[dict[str, Any]]) -> dict[str, tuple[float, float]]:
    """Answers by key that must never change: paid ones, and easy ones before a paid one or before the end of a run."""
    kept: dict[str, tuple[float, float]] = {}
    waiting: dict[str, tuple[float, float]] = {}
    run = None
    for line in shown:
        if line["run"] != run:
            run, waiting = line["run"], {}
        answers: Mapping[str, tuple[float, float]] = line.get("answers", {})
        for key, answer in answers.items():
            assert key not in kept or kept[key] == answer, line
        fresh = {key: answer for key, answer in answers.items() if key not in kept}
        if line.get("charged", 0.0) >= script.HARD_SHARE or "end" in line:
            kept.update(waiting)
            waiting = {}
        kept.update({key: answer for key, answer in fresh.items() if paid(answer)})
        waiting.update({key: answer for key, answer in fresh.items() if not paid(answer)})
    return kept


def examine(directory: Path, spent_before: int) -> int:
    """Open the session that comes next; check it against all that was shown; the units spent."""
    kept = kept_answers(lines(directory))
    with script.connect(directory) as con:
        ledger, plan = script.ledger_of(con), script.plan_of(con)
        totals = ledger.totals()
        assert totals.reserved == 0  # nobody lives
        assert spent_before <= totals.spent <= plan.total_units
        assert con.budget.spent_epsilon <= con.budget.epsilon
        for key, shown in kept.items():
            answer = ledger.lookup(key)
            assert answer is not None
            assert [answer.value, answer.charged] == list(shown)
        assert sum(charged for _, charged in kept.values()) <= con.budget.spent_epsilon + 1e-9
        again = [line["text"] for line in lines(directory) if line.get("answers") and set(line["answers"]) <= set(kept)]
        for text in set(again):
            assert {key: list(answer) for key, answer in script.ask(con, text).items()}.items() <= {
                key: list(answer) for key, answer in kept.items()
            }.items()
        assert ledger.totals() == totals  # equal questions are free
    return int(totals.spent)


def finish(directory: Path, spent: int) -> None:
    """A last session that nobody kills, then one whose file of easy answers was lost: paid ones are in the ledger."""
    process = start(script.run_for_good, directory, 10**6, 20)
    process.join(60)
    assert process.exitcode == 0
    examine(directory, spent)
    (directory / "city.dpsql.ledger.answers").unlink()
    with script.connect(directory) as con:
        for key, shown in kept_answers(lines(directory)).items():
            if paid(shown):
                answer = script.ledger_of(con).lookup(key)
                assert answer is not None
                assert [answer.value, answer.charged] == list(shown)


def kill_at_steps(original: Path, tmp_path: Path, times: int) -> None:
    for step in (*WRITES, *CREATES, *RECOVERS):
        directory = script.copied(original, tmp_path / step.replace(":", "-"))
        spent, killed = 0, 0
        for round_ in range(1 if step in CREATES else times):
            if step in RECOVERS:  # there must be something to recover
                process = start(script.run_until_step, directory, 1000 + round_, "hard:anchored", 1)
                process.join(60)
            occurrence = 1 if step.startswith(ONCE) else 1 + 2 * round_
            for attempt in range(6):  # a session whose last test was hard has nothing to free
                process = start(script.run_until_step, directory, 10 * round_ + attempt, step, occurrence)
                process.join(60)
                assert process.exitcode in (0, -signal.SIGKILL)
                spent = examine(directory, spent)
                killed += process.exitcode != 0
                if process.exitcode != 0:
                    break
        assert killed > 0, step
    finish(directory, spent)


def kill_at_random(original: Path, tmp_path: Path, times: int, seed: int) -> None:
    directory = script.copied(original, tmp_path / f"random {seed}")
    moments = random.Random(seed)  # noqa: S311 - when to kill
    spent = 0
    for round_ in range(times):
        shown = Tail(directory)
        process = start(script.run_for_good, directory, round_)
        answered = moments.randint(0, 12)  # counted, not timed: the machine may be busy
        while process.is_alive() and shown.lines() <= answered:
            time.sleep(0.002)
        process.join(moments.uniform(0, 0.02))
        process.kill()
        process.join(30)
        if round_ % 2 == 0:
            spent = examine(directory, spent)
    assert len(kept_answers(lines(directory))) > 10
    finish(directory, spent)


def test_killed_at_each_write(original: Path, tmp_path: Path) -> None:
    kill_at_steps(original, tmp_path, 1)


def test_killed_at_random(original: Path, tmp_path: Path) -> None:
    kill_at_random(original, tmp_path, 20, seed=1)


@pytest.mark.slow
def test_killed_at_each_write_often(original: Path, tmp_path: Path) -> None:
    kill_at_steps(original, tmp_path, 6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 8))
def test_killed_at_random_often(original: Path, tmp_path: Path, seed: int) -> None:
    kill_at_random(original, tmp_path, 60, seed)
