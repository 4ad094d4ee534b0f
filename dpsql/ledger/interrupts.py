"""Ctrl-C held back while something is recorded: between a reservation and its release it would burn what was reserved.

A draw whose release was not recorded counts as spent, because nobody can prove that nothing of it left the process. So
an interrupt waits until there is nothing to lose. A kill cannot wait, and costs what was reserved.
"""

import _signal  # ``signal`` makes members of an enum of what this takes and gives: 6 us where a test takes 10
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Holds SIGINT within its block; after it, whoever handled it before hears of it once, however often it was sent.

    Only in the main thread, where Python runs handlers, and not where it is ignored or handled outside Python. Blocks
    may be nested: the outermost one delivers. Also a decorator of functions.

    >>> try:
    ...     with interrupts_held():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("goes on")
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    goes on
    interrupted
    """
    pressed: list[int] = []
    before = _signal.getsignal(signal.SIGINT) if threading.current_thread() is threading.main_thread() else None
    if before is None or before == signal.SIG_IGN:
        yield
        return
    _signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        yield
    finally:
        _signal.signal(signal.SIGINT, before)
        if pressed:
            signal.raise_signal(signal.SIGINT)
