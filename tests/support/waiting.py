"""Sessions that wait for others without end would hang a test: here they give up."""

import time

import pytest


class TookTooLong(Exception):
    """A session waited longer than the test would."""


def impatient(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """``TookTooLong`` once waiting has taken so many seconds in all."""
    slept = [0.0]

    def sleep(pause: float) -> None:
        slept[0] += pause
        if slept[0] > seconds:
            raise TookTooLong
        time.sleep(pause)

    monkeypatch.setattr("dpsql.first.turns.sleep", sleep)
