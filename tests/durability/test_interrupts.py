"""Ctrl-C at any line while a row count is measured: nobody is kept waiting, nothing known is paid again."""

import gc
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any

import pytest

import dpsql
from dpsql.domain import CategoryDomain, TableDomain
from dpsql.engine.memory import MemoryEngine
from dpsql.errors import LedgerError
from dpsql.ledger import SqliteLedger
from dpsql.planning import make_plan
from dpsql.planning.shares import Shares
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.query import LinearQuery
from dpsql.session.asker import Asker
from tests.support.entropy import SeededEntropy
from tests.support.waiting import impatient

TABLE = TableDomain("t", (CategoryDomain("a", ("x", "y"), nullable=False),))
RULES = Policy(Privacy(Fraction(1), Fraction(1, 10**6), planned_queries=1000), (TABLE,), Mechanism("pmw"))
PLAN = make_plan(RULES)
COST = Shares(PLAN, RULES).row_count(TABLE)
PACKAGE = f"{Path(dpsql.__file__).parent}/"
LEAST = 1220
"""Lines of dpsql that measuring a row count runs through, at least."""


class Counted(SeededEntropy):
    draws = 0

    def discrete_gaussian(self, sigma: Fraction, size: int) -> list[int]:
        self.draws += 1
        return super().discrete_gaussian(sigma, size)


class Process:
    """A session of its own on the ledger at ``path``."""

    def __init__(self, path: Path, seed: int, on_step: Callable[[str], None] | None = None) -> None:
        header = {"policy": "p", "data": "d", "plan": PLAN.to_json()}
        self.ledger = SqliteLedger.open(path, header, on_step=on_step)
        self.entropy = Counted(seed)
        engine = MemoryEngine(RULES, {"t": {"a": ["x"] * 900 + ["y"] * 100}})
        self.asker = Asker(RULES, PLAN, engine, self.ledger, self.entropy)

    def know(self) -> float:
        self.asker.catch_up()
        self.asker.check([LinearQuery("t", ())])
        return self.asker.first_touches("t")


@pytest.fixture(autouse=True)
def nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    impatient(monkeypatch, 0.5)


def interrupted_at(line: int, work: Callable[[], object]) -> bool:
    """Whether ``work`` came to its so many-th line within dpsql, where it was interrupted.

    Nothing is collected meanwhile: what a collector runs, others' objects and hooks, swallows an interrupt.
    """
    seen = 0

    def local(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal seen
        seen += event == "line"
        if event == "line" and seen == line:
            raise KeyboardInterrupt
        return local

    def calls(frame: FrameType, event: str, argument: Any) -> Any:
        return local if frame.f_code.co_filename.startswith(PACKAGE) else None

    before = sys.gettrace()
    gc.disable()
    sys.settrace(calls)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
        gc.enable()
    return seen >= line


def test_only_lines_of_the_package_are_counted_wherever_it_stands() -> None:
    """A clone may be named dpsql and hold its environment: others' lines are none of the package's."""
    stands = "/anywhere/dpsql/.venv/lib/site-packages/other.py"
    other = FunctionType((lambda: None).__code__.replace(co_filename=stands), {})
    assert not interrupted_at(1, other)
    assert interrupted_at(1, lambda: make_plan(RULES))


def refuses(ledger: SqliteLedger) -> bool:
    try:
        ledger.totals()
    except LedgerError:
        return True
    return False


@pytest.mark.parametrize("every", [61, pytest.param(1, marks=pytest.mark.slow)])
def test_an_interrupt_anywhere_keeps_nobody_waiting(tmp_path: Path, every: int) -> None:
    line, paid_twice = 1, 0
    while True:
        path = tmp_path / f"{line}.ledger"
        mine, other = Process(path, 1), Process(path, 2)
        if not interrupted_at(line, mine.know):
            break
        if refuses(mine.ledger):  # interrupted while it was being recorded: this session refuses everything
            mine.ledger.close()
        else:
            mine.know()
        other.know()
        released = [e for e in other.ledger.events() if e.kind == "release"]
        assert len(released) == 1
        totals = other.ledger.totals()
        drawn = mine.entropy.draws + other.entropy.draws
        assert drawn * COST <= totals.spent + totals.reserved <= 2 * COST
        paid_twice += totals.spent > COST
        mine.ledger.close()
        other.ledger.close()
        line += every
    assert line > LEAST
    assert paid_twice > 0  # noise that was lost is paid: some interrupt came after it


def test_a_release_that_was_recorded_is_not_paid_again(tmp_path: Path) -> None:
    def interrupt(step: str) -> None:
        if step == "release:anchored" and armed:
            armed.clear()
            raise KeyboardInterrupt

    armed = {"once"}
    process = Process(tmp_path / "a.ledger", 1, interrupt)
    with pytest.raises(KeyboardInterrupt):
        process.know()
    assert process.know() == 0.0
    assert process.ledger.totals().spent == COST
    replayed = Process(tmp_path / "a.ledger", 2)
    assert process.asker.purses.unbegun() == replayed.asker.purses.unbegun() == 0
    assert process.asker.purses.shares() == replayed.asker.purses.shares()
