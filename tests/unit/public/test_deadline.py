"""The watchdog of public work interrupts what is overdue, and is there only while there is work."""

import threading
from time import monotonic, sleep

import pytest

from dpsql.public import deadline
from dpsql.public.deadline import Deadline


def watchdogs() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "dpsql-deadline"}


def test_short_work_is_left_alone_and_long_work_is_not() -> None:
    interrupts: list[float] = []
    limit = Deadline(0.15, lambda: interrupts.append(monotonic()))
    for _ in range(20):
        with limit.limit():
            sleep(0.02)
    assert not interrupts
    with limit.limit():
        sleep(0.4)
    assert interrupts


def test_the_watchdog_ends_when_idle_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "IDLE", 0.1)
    limit = Deadline(9, lambda: None)
    for _ in range(2):
        before = watchdogs()
        with limit.limit():
            (mine,) = watchdogs() - before
        mine.join(5)
        assert not mine.is_alive()


def test_a_forgotten_connection_leaves_no_watchdog() -> None:
    before = watchdogs()
    limit = Deadline(9, lambda: None)
    with limit.limit():
        (mine,) = watchdogs() - before
    del limit
    mine.join(5)
    assert not mine.is_alive()
