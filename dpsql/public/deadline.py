"""A limit on the time of public work: a watchdog interrupts a call that takes too long.

The watchdog thread starts with the first call and ends when nothing was asked for a second, so that short calls pay
no thread each and an idle connection holds none. While it sleeps it holds no reference to what it watches.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, Thread
from time import monotonic, sleep
from weakref import ReferenceType, ref

TICK = 0.05
IDLE = 1.0


class Deadline:
    """Calls ``interrupt`` when a ``with deadline.limit():`` block outlasts ``seconds``; one block at a time."""

    def __init__(self, seconds: float, interrupt: Callable[[], None]) -> None:
        self._seconds = seconds
        self._interrupt = interrupt
        self._lock = Lock()
        self._ends: float | None = None
        self._last = 0.0
        self._thread: Thread | None = None

    @contextmanager
    def limit(self) -> Iterator[None]:
        """The block is interrupted when its time is over; what it raises then is up to the interrupted call."""
        with self._lock:
            self._last = monotonic()
            self._ends = self._last + self._seconds
            if self._thread is None or not self._thread.is_alive():  # not alive: after a fork
                self._thread = Thread(target=_watch, args=(ref(self),), name="dpsql-deadline", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._ends = None

    def _tick(self) -> bool:
        """Interrupt what is overdue; False when the watchdog may end."""
        with self._lock:
            now = monotonic()
            if self._ends is None:
                if now - self._last > IDLE:
                    self._thread = None
                    return False
            elif now >= self._ends:
                self._interrupt()  # again at every tick: a query may begin just after the first interrupt
            return True


def _watch(watched: "ReferenceType[Deadline]") -> None:
    while True:
        sleep(TICK)
        deadline = watched()
        if deadline is None or not deadline._tick():
            return
        del deadline
