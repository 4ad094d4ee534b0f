"""Sessions in processes of their own, killed at a named write step."""

import multiprocessing
import signal
from collections.abc import Callable
from pathlib import Path

from tests.durability import session_script as script

STEPS = ["reserve:appended", "reserve:committed", "release:begin", "release:appended", "release:committed"]
"""Every step of a release that is paid without a test."""

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["tests.durability.ledger_script", "tests.durability.session_script"])


def kill_while_asking(directory: Path, question: str, step: str, occurrence: int) -> None:
    """Ask in another process, which dies when it comes to the step for the ``occurrence``-th time."""
    _kill(script.ask_until_step, directory, question, step, occurrence)


def kill_while_synthesizing(directory: Path, question: str, step: str, occurrence: int) -> None:
    """The same, with a synthetic table of four steps after the question."""
    _kill(script.synthesize_until_step, directory, question, step, occurrence)


def _kill(work: Callable[[Path, str, str, int], None], *arguments: object) -> None:
    process = _processes.Process(target=work, args=arguments)
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
