"""Ctrl-C waits while something is recorded, and is delivered once, to whoever handled it before."""

import signal
import threading
from collections.abc import Iterator

import pytest

from dpsql.ledger import interrupts_held


@pytest.fixture(autouse=True)
def handler_as_before() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_an_interrupt_waits_for_the_end_of_the_outermost_block() -> None:
    done: list[str] = []

    def work() -> None:
        with interrupts_held():
            with interrupts_held():
                press()
                press()
                done.append("inner")
            done.append("outer")
        done.append("after")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["inner", "outer"]


def test_another_handler_hears_of_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        with interrupts_held():
            press()
            press()
            assert heard == []
        assert heard == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts_held():
            press()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_error_inside_is_followed_by_the_interrupt() -> None:
    def work() -> None:
        with interrupts_held():
            press()
            raise ValueError

    with pytest.raises(KeyboardInterrupt):
        work()
    with pytest.raises(ValueError), interrupts_held():
        raise ValueError


def test_other_threads_leave_signals_alone() -> None:
    failures: list[BaseException] = []

    def work() -> None:
        try:
            with interrupts_held():
                pass
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert failures == []


def test_a_decorated_function_may_be_called_again() -> None:
    calls: list[int] = []

    @interrupts_held()
    def work() -> None:
        calls.append(1)
        press()
        calls.append(2)

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            work()
    assert calls == [1, 2, 1, 2]
