"""The other side of ``worker.py``: processes for public work, started when they are needed and used again.

A process is started anew, never forked with the memory of this one: it gets the module path, no environment and no
file, so that nothing private is within its reach. Whatever goes wrong with it, it is killed,
and the next work gets a new one.
"""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import RLock
from weakref import WeakSet

from dpsql.errors import OperationalError
from dpsql.public import worker
from dpsql.public.worker import Header, Message

MEMORY = 1 << 30
"""Bytes that a process may have, its own code and the public tables among them."""
CODE = 192 << 20
"""Of these, for code and other mappings that the kernel's limit on data does not count."""
START_SECONDS, WALL_FACTOR = 60.0, 10.0
"""How long starting, and how much longer than its processor time a request may take, on a busy machine."""
KEPT, KEPT_BYTES = 2, 400_000_000
"""How many idle processes wait for the next connection, and how large they may have been."""
_ENDING_SECONDS = 5.0  # between the last word of a process and its end

_PASSED = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")
_SINGLE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
_PROGRAM = (
    "import json, runpy, sys; sys.path[:] = json.loads(sys.argv.pop()); runpy.run_path({!r}, run_name='__main__')"
)


class Died(Exception):
    """The process ended before it had answered. ``out_of_time``: by the limit on its time."""

    def __init__(self, *, out_of_time: bool) -> None:
        super().__init__("out of time" if out_of_time else "ended")
        self.out_of_time = out_of_time


class Process:
    """One running worker. Every failure but an answer ends it."""

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self.alive = True
        self._peak = 0
        self._line, theirs = socket.socketpair()
        with theirs:
            self._process = _start(theirs, memory)
        _ALL.add(self)
        try:
            self._line.settimeout(START_SECONDS)
            worker.receive(self._line)
        except BaseException as error:
            self.kill()
            if not isinstance(error, OSError | EOFError):
                raise
            failed = True
        else:
            failed = False
        if failed:
            raise OperationalError(
                "the process for public work does not start", hint="see that this machine lets Python start Python"
            )

    def ask(self, header: Header, blocks: Sequence[bytes], seconds: float) -> Message:
        """The reply to one request within ``seconds`` of processor time. Raises Died; a Ctrl-C kills too."""
        answered = False
        try:
            self._line.settimeout(WALL_FACTOR * (1 + seconds))
            worker.send(self._line, {**header, "seconds": max(seconds, 1e-3)}, list(blocks))
            reply = worker.receive(self._line)
            answered = True
            self._peak = reply[0]["peak"]
            return reply
        except TimeoutError:
            late = True
        except (OSError, EOFError):
            late = self._ended() == -signal.SIGPROF
        finally:
            if not answered:
                self.kill()
        raise Died(out_of_time=late)

    def _ended(self) -> int | None:
        """How the process ended, which tells the limit that it met."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(_ENDING_SECONDS)
        return None

    @property
    def may_be_used_again(self) -> bool:
        return self.alive and self._peak < KEPT_BYTES

    def kill(self) -> None:
        """End the process at once; idempotent."""
        self.alive = False
        self._line.close()
        self._process.kill()
        self._process.wait()

    def forget(self) -> None:
        """After a fork: this copy has no worker, the other process has."""
        self.alive = False
        self._line.close()
        self._process.returncode = 0


def _start(line: socket.socket, memory: int) -> "subprocess.Popen[bytes]":
    program = _PROGRAM.format(str(Path(worker.__file__)))
    command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", program, str(memory - CODE), json.dumps(sys.path)]
    try:
        return subprocess.Popen(  # noqa: S603 - our own program, and no shell
            command,
            stdin=line.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={**{k: os.environ[k] for k in _PASSED if k in os.environ}, **_SINGLE},
            start_new_session=True,  # a terminal's signals are ours
        )
    except OSError:
        pass
    raise OperationalError(
        "the process for public work cannot be started", hint="see that this machine lets Python start Python"
    )


class Idle:
    """Processes that wait for their next connection; ``IDLE`` holds those of this process."""

    def __init__(self) -> None:
        self._lock = RLock()  # a collection of garbage gives back while this thread takes
        self._waiting: list[Process] = []

    def take(self, memory: int) -> Process:
        """One that waits, or a new one. Raises OperationalError when none can be started."""
        with self._lock:
            for i, process in enumerate(self._waiting):
                if process.memory == memory:
                    return self._waiting.pop(i)
        return Process(memory)

    def give_back(self, process: Process) -> None:
        """Keep it for the next connection, or end it."""
        with self._lock:
            if process.may_be_used_again and len(self._waiting) < KEPT:
                self._waiting.append(process)
                return
        if process.alive:
            process.kill()

    def end(self) -> None:
        """End all that wait."""
        waiting, self._waiting = self._waiting, []
        for process in waiting:
            process.kill()

    def forget(self) -> None:
        """After a fork: all processes are the other one's."""
        self._lock = RLock()
        self._waiting = []
        for process in list(_ALL):
            process.forget()


_ALL: "WeakSet[Process]" = WeakSet()
IDLE = Idle()
atexit.register(IDLE.end)
os.register_at_fork(after_in_child=IDLE.forget)
