"""Disks that fill up or fail, forks and threads: nothing is shown, nothing spent is lost."""

import errno
import os
import resource
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from dpsql.errors import BudgetExhausted, LedgerError
from dpsql.ledger import SqliteLedger, Totals
from dpsql.ledger.sqlite.file import SqliteFile
from tests.contracts.ledger_contract import EASY, HEADER, PAID, any_cost, within

COST, BURN = 10, 3


class Fault:
    """Raises once, when the named step is reached."""

    def __init__(self) -> None:
        self.step = ""
        self.error: Exception = sqlite3.OperationalError("disk I/O error")

    def __call__(self, step: str) -> None:
        if step == self.step:
            self.step = ""
            raise self.error


FAULTS = [
    sqlite3.OperationalError("disk I/O error"),
    sqlite3.DatabaseError("database disk image is malformed"),
    OSError(errno.ENOSPC, "No space left on device"),
    OSError(errno.EIO, "Input/output error"),
]

# What the next session must at least find spent when the operation failed: all that its coins can have revealed.
LEAST = {"reserve": 0, "hard": BURN, "release": COST, "free": 0}


def operate(ledger: SqliteLedger, kind: str, arm: Callable[[], None]) -> None:
    """Bring the ledger to where ``kind`` comes next, then do it with the fault armed."""
    if kind == "reserve":
        arm()
        ledger.reserve(COST, any_cost, {"burn": BURN})
        return
    number = ledger.reserve(COST, any_cost, {"burn": BURN})
    if kind == "release":
        ledger.hard(number, {})
    arm()
    if kind == "hard":
        ledger.hard(number, {})
    elif kind == "release":
        ledger.release(number, {"values": [1]}, [("paid", PAID)])
    else:
        ledger.free(number)


@pytest.mark.parametrize("error", FAULTS, ids=lambda error: f"{type(error).__name__}-{error}"[:30])
@pytest.mark.parametrize("site", ["begin", "appended", "committed", "anchored"])
@pytest.mark.parametrize("kind", ["reserve", "hard", "release", "free"])
def test_a_failed_append_poisons_and_loses_nothing(tmp_path: Path, kind: str, site: str, error: Exception) -> None:
    fault = Fault()
    fault.error = error
    path = tmp_path / "a.ledger"
    ledger = SqliteLedger.open(path, HEADER, on_step=fault)
    ledger.release(ledger.reserve(100, any_cost, {}), {})

    def arm() -> None:
        fault.step = f"{kind}:{site}"

    with pytest.raises(LedgerError) as raised:
        operate(ledger, kind, arm)
    assert fault.step == ""
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None
    assert "malformed" not in str(raised.value)
    for action in (ledger.totals, ledger.events, lambda: ledger.lookup("q"), lambda: ledger.reserve(1, any_cost, {})):
        with pytest.raises(LedgerError, match="stopped"):
            action()
    ledger.close()
    with SqliteLedger.open(path, HEADER) as after:
        totals = after.totals()
        assert totals.reserved == 0
        assert 100 + LEAST[kind] <= totals.spent <= 100 + COST
        shown = after.lookup("paid")
        assert shown is None or totals.spent == 100 + COST


@pytest.mark.parametrize("site", ["begin", "written", "committed"])
def test_failing_to_keep_free_answers_stops_nothing(tmp_path: Path, site: str) -> None:
    fault = Fault()
    with SqliteLedger.open(tmp_path / "a.ledger", HEADER, on_step=fault) as ledger:
        ledger.release(ledger.reserve(COST, any_cost, {}), {}, [("paid", PAID)])
        fault.step = f"remember:{site}"
        ledger.remember((f"q{i}", EASY) for i in range(300))
        assert fault.step == ""
        assert ledger.lookup("q0") in (EASY, None) and ledger.lookup("q299") in (EASY, None)
        ledger.remember([("later", EASY)])
        assert ledger.lookup("later") == EASY
        assert ledger.lookup("paid") == PAID
        assert ledger.totals() == Totals(COST, 0)
        ledger.reserve(1, any_cost, {})


@pytest.mark.parametrize("site", ["create:written", "create:named"])
def test_failing_to_create(tmp_path: Path, site: str) -> None:
    fault = Fault()
    fault.step = site
    path = tmp_path / "a.ledger"
    with pytest.raises(LedgerError) as raised:
        SqliteLedger.open(path, HEADER, on_step=fault)
    assert raised.value.__context__ is None
    assert [entry.name for entry in tmp_path.iterdir()] == ([] if site == "create:written" else ["a.ledger"])
    SqliteLedger.open(path, HEADER).close()


@pytest.mark.parametrize("room", [0, 1, 24, 100, 4000, 4096 + 24 + 24, 5000, 8300])
@pytest.mark.parametrize("kind", ["reserve", "hard", "release", "free"])
def test_a_file_that_cannot_grow(tmp_path: Path, kind: str, room: int) -> None:
    """The system itself refuses to write beyond ``room`` more bytes, at whatever write that happens to be."""
    path = tmp_path / "a.ledger"
    ledger = SqliteLedger.open(path, HEADER)
    wal = path.with_name("a.ledger-wal")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def arm() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (wal.stat().st_size + room, hard))

    failed = False
    try:
        operate(ledger, kind, arm)
    except LedgerError:
        failed = True
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    if room < 4096 + 24:
        assert failed
    if failed:
        with pytest.raises(LedgerError, match="stopped"):
            ledger.totals()
    ledger.close()
    with SqliteLedger.open(path, HEADER) as after:
        assert after.totals().reserved == 0
        assert (LEAST[kind] if failed or kind == "release" else 0) <= after.totals().spent <= COST


def test_interrupted_while_recording_a_hard_outcome(tmp_path: Path) -> None:
    fault = Fault()
    fault.error = KeyboardInterrupt()  # type: ignore[assignment]
    path = tmp_path / "a.ledger"
    with SqliteLedger.open(path, HEADER, on_step=fault) as ledger:
        number = ledger.reserve(COST, any_cost, {"burn": BURN})
        fault.step = "hard:appended"
        with pytest.raises(KeyboardInterrupt):
            ledger.hard(number, {})
        with pytest.raises(LedgerError):
            ledger.free(number)
    with SqliteLedger.open(path, HEADER) as ledger:
        assert ledger.totals() == Totals(BURN, 0)


def test_threads_share_one_budget(tmp_path: Path) -> None:
    budget = 100 * COST
    failures: list[BaseException] = []
    released: list[int] = []

    def work(number: int) -> None:
        for round_ in range(10):
            try:
                reservation = ledger.reserve(COST, within(budget, COST), {"burn": BURN})
                ledger.remember([(f"{number} {round_}", EASY)])
                if (number + round_) % 2:
                    ledger.release(reservation, {"values": [number]})
                    released.append(reservation)
                else:
                    ledger.free(reservation)
                ledger.lookup(f"{number} {round_}")
                ledger.changed()
            except BudgetExhausted:
                continue
            except BaseException as error:  # noqa: BLE001 - collected for the assertion below
                failures.append(error)

    with SqliteLedger.open(tmp_path / "a.ledger", HEADER) as ledger:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert ledger.totals() == Totals(len(released) * COST, 0)
        assert len(released) == len(set(released)) <= 100
        peak = spent = 0
        for event in ledger.events():
            spent += event.cost if event.kind == "reserve" else -COST if event.kind == "free" else 0
            peak = max(peak, spent)
        assert peak <= budget


def in_child(action: Callable[[], bool]) -> bool:
    """Whether ``action``, run in a forked child, returned True."""
    child = os.fork()
    if child == 0:
        verdict = 1
        try:
            verdict = 0 if action() else 1
        finally:
            os._exit(verdict)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_forked_child_cannot_use_the_parents_ledger(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    ledger = SqliteLedger.open(path, HEADER)
    number = ledger.reserve(COST, any_cost, {"burn": BURN})

    def child() -> bool:
        refusals = 0
        for action in (ledger.totals, ledger.events, lambda: ledger.free(number), lambda: ledger.lookup("q")):
            try:
                action()
            except LedgerError as error:
                refusals += "parent" in error.message
        ledger.close()
        with SqliteLedger.open(path, HEADER) as own:
            own.release(own.reserve(1, any_cost, {}), {})
            return refusals == 4 and own.totals() == Totals(1, COST)

    assert in_child(child)
    assert ledger.totals() == Totals(1, COST)  # the child's end has not taken the parent's lock away
    with SqliteLedger.open(path, HEADER) as other:
        assert other.totals() == Totals(1, COST)
    ledger.free(number)
    ledger.close()
    with SqliteLedger.open(path, HEADER) as after:
        assert after.totals() == Totals(1, 0)


def test_a_forked_child_does_not_keep_a_dead_parents_reservation(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    read, write = os.pipe()
    ready, started = os.pipe()

    def parent() -> bool:
        ledger = SqliteLedger.open(path, HEADER)
        ledger.reserve(COST, any_cost, {"burn": BURN})
        if os.fork() == 0:  # outlives its parent until the pipe is closed
            os.close(write)
            os.write(started, b"1")
            os.read(read, 1)
            os._exit(0)
        os.read(ready, 1)
        os._exit(0)

    assert in_child(parent)
    with SqliteLedger.open(path, HEADER) as ledger:
        assert ledger.totals() == Totals(BURN, 0)
    for descriptor in (write, read, ready, started):
        os.close(descriptor)


FORKING = """
import os, sys
from dpsql.ledger import SqliteLedger

header = {"policy": "policy digest", "data": "data fingerprint"}
ledger = SqliteLedger.open(sys.argv[1], header)
number = ledger.reserve(10, lambda totals: None, {"burn": 3})
child = os.fork()
if child == 0:
    sys.exit(7)  # an orderly end: exit handlers run, the interpreter is torn down
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
ledger.hard(number, {})
with SqliteLedger.open(sys.argv[1], header) as other:
    assert other.totals().reserved == 10, other.totals()
read, write = os.pipe()
if os.fork() == 0:
    del ledger
    os.write(write, b"1")
    sys.exit(0)
os.read(read, 1)
os._exit(0)  # the parent dies without closing; its child ends in its own time
"""


def test_an_orderly_end_of_a_child_leaves_the_parents_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    subprocess.run([sys.executable, "-c", FORKING, str(path)], check=True, timeout=60)
    with SqliteLedger.open(path, HEADER) as ledger:
        assert ledger.totals() == Totals(COST, 0)


def test_a_session_that_nobody_closed_gives_its_reservation_back(tmp_path: Path) -> None:
    program = (
        "import sys; from dpsql.ledger import SqliteLedger\n"
        "ledger = SqliteLedger.open(sys.argv[1], {'policy': 'policy digest', 'data': 'data fingerprint'})\n"
        "ledger.reserve(10, lambda totals: None, {'burn': 3}); ledger.remember([])\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "a.ledger")], check=True, timeout=60)
    with SqliteLedger.open(tmp_path / "a.ledger", HEADER) as ledger:
        assert [event.kind for event in ledger.events()] == ["reserve", "free"]


def full(*_: object) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    return error


def test_a_disk_without_space_for_a_new_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite's close says nothing where the last pages found no place: what is named as a ledger must be whole."""
    one = SqliteFile.one

    def without_space(file: SqliteFile, sql: str, values: Sequence[object] = ()) -> tuple[Any, ...]:
        if "checkpoint" in sql:
            raise full()
        return one(file, sql, values)

    with monkeypatch.context() as disk:
        disk.setattr(SqliteFile, "one", without_space)
        with pytest.raises(LedgerError, match="the disk is full"):
            SqliteLedger.open(tmp_path / "a.ledger", HEADER)
    assert not list(tmp_path.iterdir())
    SqliteLedger.open(tmp_path / "a.ledger", HEADER).close()


def test_a_disk_without_space_leaves_the_answers_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are whole, and found again once there is space; a session meanwhile does without."""
    path = tmp_path / "a.ledger"
    with SqliteLedger.open(path, HEADER) as ledger:
        ledger.remember([("q", EASY)])
    begin, left = SqliteFile.begin, [1]

    def without_space(file: SqliteFile) -> None:
        if left:
            left.pop()
            raise full()
        begin(file)

    with monkeypatch.context() as disk:
        disk.setattr(SqliteFile, "begin", without_space)
        with SqliteLedger.open(path, HEADER) as ledger:
            assert any("forgotten when the session ends" in notice for notice in ledger.notices)
            assert not left
    fault = Fault()
    with SqliteLedger.open(path, HEADER, on_step=fault) as ledger:
        assert ledger.lookup("q") == EASY
        fault.step, fault.error = "remember:begin", full()
        ledger.remember((f"q{i}", EASY) for i in range(300))
        assert fault.step == "" and ledger.lookup("q") == ledger.lookup("q299") == EASY
    assert not list(tmp_path.glob("*.aside-*"))
    with SqliteLedger.open(path, HEADER) as ledger:
        assert ledger.lookup("q") == ledger.lookup("q299") == EASY
