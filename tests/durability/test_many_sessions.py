"""Processes and threads, each with a connection of its own, on one ledger: one budget, one answer, no raw error."""

import json
import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

import dpsql
from dpsql.ledger import Registry, SqliteLedger
from tests.durability import ledger_script
from tests.durability import session_script as script
from tests.support import city

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["tests.durability.ledger_script", "tests.durability.session_script"])

TIGHT = city.policy_text("epsilon = 1.0\ndelta = 1e-6\n", 'strategy = "pmw"\nhard_rounds = 6\n')
STRICT = city.policy_text("epsilon = 1.0\ndelta = 1e-6\n", 'strategy = "pmw"\nhard_rounds = 2\nwhen_spent = "refuse"\n')
WARM = city.policy_text("epsilon = 8.0\ndelta = 1e-6\n")


@pytest.fixture(autouse=True)
def registry_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSQL_STATE_HOME", "/nonexistent")  # each session sets it; what was set comes back afterwards


def together(target: Callable[..., None], directory: Path, count: int, questions: int) -> None:
    crowd = [processes.Process(target=target, args=(directory, run, questions)) for run in range(count)]
    for process in crowd:
        process.start()
    for process in crowd:
        process.join(120)
    assert [process.exitcode for process in crowd] == [0] * count


def shown(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "shown").read_text().splitlines()]


def check_budget(directory: Path, at_least: float = 0.0) -> None:
    """Nothing over budget, nothing left reserved, and the ledger adds up to what was charged."""
    with script.connect(directory) as con:
        totals, plan = script.ledger_of(con).totals(), script.plan_of(con)
        assert totals.reserved == 0
        assert at_least * plan.total_units <= totals.spent <= plan.total_units
        events = script.ledger_of(con).events()
        assert totals.spent == sum(event.cost for event in events if event.kind in ("release", "burn"))
        assert not [event for event in events if event.kind == "burn"]  # nobody was killed
        hard = [event for event in events if event.kind == "hard"]
        assert len(hard) <= plan.hard_rounds


@pytest.mark.parametrize("policy", [script.POLICY, TIGHT], ids=["plenty", "tight"])
def test_processes_share_one_budget(tmp_path: Path, policy: str) -> None:
    script.prepare(tmp_path / "city", policy=policy)
    together(script.run_for_good, tmp_path / "city", 8, 12)
    lines = shown(tmp_path / "city")
    assert sum("answers" in line for line in lines) == 8 * 12
    check_budget(tmp_path / "city", 0.05)  # as many hard rounds as chance wants
    charged: dict[str, set[tuple[float, float]]] = {}
    for line in lines:
        for key, (value, charge) in line.get("answers", {}).items():
            if charge >= script.HARD_SHARE:
                charged.setdefault(key, set()).add((value, charge))
    with script.connect(tmp_path / "city") as con:
        for key, answers in charged.items():
            known = script.ledger_of(con).lookup(key)
            assert known is not None
            # two that ask at the very same time may both pay; from then on there is one answer
            assert known.charged < script.HARD_SHARE or (known.value, known.charged) in answers


class SlowRegistry(Registry):
    """Its first lock is granted only after another session has created the ledger."""

    def __init__(self, directory: Path, meanwhile: Callable[[], None]) -> None:
        super().__init__(directory)
        self._meanwhile: Callable[[], None] | None = meanwhile

    @contextmanager
    def exclusive(self, *data: str) -> Iterator[None]:
        if self._meanwhile is not None:
            meanwhile, self._meanwhile = self._meanwhile, None
            meanwhile()
        with super().exclusive(*data):
            yield


def test_a_ledger_created_by_another_session_meanwhile_is_opened(tmp_path: Path) -> None:
    def first() -> None:
        ledger_script.open_ledger(tmp_path).close()

    registry = SlowRegistry(tmp_path / "state", first)
    SqliteLedger.open(tmp_path / "a.ledger", ledger_script.HEADER, registry=registry).close()


def test_an_answer_is_the_same_in_the_next_process(tmp_path: Path) -> None:
    directory = tmp_path / "city"
    script.prepare(directory)
    together(script.ask_in_order, directory, 1, 12)
    with script.connect(directory) as con:
        spent = con.budget.spent_epsilon
    together(script.ask_in_order, directory, 4, 12)
    answers: dict[str, Any] = {}
    for line in shown(directory):
        if "answers" in line:
            assert answers.setdefault(line["text"], line["answers"]) == line["answers"]
    assert len(answers) == 12
    with script.connect(directory) as con:
        assert con.budget.spent_epsilon == spent


def test_a_released_answer_is_known_to_a_session_that_is_open_already(tmp_path: Path) -> None:
    directory = tmp_path / "city"
    script.prepare(directory)
    with script.connect(directory) as one, script.connect(directory) as other:
        for number, text in enumerate(script.QUESTIONS[:20]):
            first, second = (one, other) if number % 2 else (other, one)
            given = {key: a for key, a in script.ask(first, text).items() if a[1] >= script.HARD_SHARE}
            assert given.items() <= script.ask(second, text).items()


def at_once(work: Callable[[int], list[str]], count: int) -> list[str]:
    """What so many threads return together; the first exception of any is raised."""
    with ThreadPoolExecutor(count) as pool:
        return [text for found in pool.map(work, range(count)) for text in found]


def in_threads(directory: Path, count: int, questions: int) -> list[str]:
    """Each thread opens, asks and closes; the texts that were answered. Anything but a spent budget is raised."""
    script.connect(directory).close()  # sets the place of the registry once
    ready = Barrier(count)

    def work(run: int) -> list[str]:
        answered: list[str] = []
        ready.wait(60)
        with dpsql.connect(directory / "city.duckdb") as con:
            for text in script.shuffled(run, questions):
                with suppress(dpsql.BudgetExhausted):
                    con.execute(text)
                    answered.append(text)
        return answered

    return at_once(work, count)


def test_threads_share_one_budget(tmp_path: Path) -> None:
    script.prepare(tmp_path / "city", policy=TIGHT)
    assert len(in_threads(tmp_path / "city", 16, 6)) == 16 * 6
    check_budget(tmp_path / "city", 0.1)


def test_threads_share_one_warm_start(tmp_path: Path) -> None:
    script.prepare(tmp_path / "city", policy=WARM)
    assert len(in_threads(tmp_path / "city", 6, 5)) == 6 * 5
    check_budget(tmp_path / "city", 0.4)
    with script.connect(tmp_path / "city") as con:
        events = script.ledger_of(con).events()
        freed = {event.reservation for event in events if event.kind == "free"}
        begun = [e for e in events if e.kind == "reserve" and e.payload["purpose"] == "warm start"]
        kept = [e.payload for e in begun if e.sequence not in freed]
        portions = [(*c, before) for p in kept for c, (before, _) in zip(p["columns"], p["portions"], strict=True)]
        assert len(portions) == len(set(portions)) > 10


def test_threads_are_refused_when_the_budget_is_spent(tmp_path: Path) -> None:
    script.prepare(tmp_path / "city", policy=STRICT)
    answered = in_threads(tmp_path / "city", 8, 16)
    assert 0 < len(answered) < 8 * 16
    check_budget(tmp_path / "city", 0.1)


def test_threads_share_one_connection(tmp_path: Path) -> None:
    script.prepare(tmp_path / "city")
    with script.connect(tmp_path / "city") as con:

        def work(run: int) -> list[str]:
            return [f"{text} {con.execute(text).fetchall()}" for text in script.shuffled(run % 3, 10)]

        found = at_once(work, 12)
    asked = {text for run in range(3) for text in script.shuffled(run, 10)}
    assert len(found) == 12 * 10
    assert len(set(found)) == len(asked)
    check_budget(tmp_path / "city")


@pytest.mark.slow
def test_many_processes_share_one_budget(tmp_path: Path) -> None:
    script.prepare(tmp_path / "city", policy=TIGHT)
    together(script.run_for_good, tmp_path / "city", 8, 40)
    check_budget(tmp_path / "city", 0.5)
    in_threads(tmp_path / "city", 32, 40)
    check_budget(tmp_path / "city", 0.5)


DEMANDS = city.policy_text("epsilon = 1.0\ndelta = 1e-6\n", 'strategy = "pmw"\nhard_rounds = 6\non_demand = 0.1\n')
WITHIN = 40.0


def demand(directory: Path, run: int, questions: int) -> None:
    with script.connect(directory) as con:
        for i in range(questions):
            try:
                cursor = con.execute(f"SELECT COUNT(*) FROM people WHERE age = {i} OR age = {run}", within=WITHIN)
            except dpsql.BudgetExhausted as refused:
                script.note(directory, run=run, charged=refused.charged)
            else:
                (answer,) = cursor.answers
                script.note(directory, run=run, answer=answer.value, error=answer.error, charged=answer.charged)


@pytest.mark.slow  # its twin in one process: tests/unit/session/terms/test_within.py
def test_processes_that_race_for_the_last_units_on_demand_never_overspend_them(tmp_path: Path) -> None:
    script.prepare(tmp_path / "city", policy=DEMANDS)
    together(demand, tmp_path / "city", 4, 6)
    lines = shown(tmp_path / "city")
    assert len(lines) == 4 * 6
    paid, refused = [x for x in lines if x["charged"] > 0], [x for x in lines if "answer" not in x]
    assert paid
    assert refused
    assert all(x["charged"] == 0.0 for x in refused)
    assert all(x["error"] <= WITHIN for x in lines if "answer" in x)
    check_budget(tmp_path / "city")
    with script.connect(tmp_path / "city") as con:
        plan, totals = script.plan_of(con), script.ledger_of(con).totals()
        assert totals.spent <= plan.on_demand_units
        assert totals.spent > plan.on_demand_units - 2 * totals.spent / len(paid)  # what was left paid for no other
        assert plan.as_epsilon(totals.spent) == pytest.approx(sum(x["charged"] for x in paid))
