"""Python's collector of cycles, less often while a statement makes many values that are in none.

Thousands of groups are some hundred thousand small objects. By default the collector looks at all that are alive again
and again while they are made, for a quarter of the statement's time, and finds nothing.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

OBJECTS = 200_000
"""New objects after which the collector looks at them."""


class _Statements:
    """How many are being answered in this process, and what its threshold was before the first of them."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.running = 0
        self.before = 0


_statements = _Statements()


@contextmanager
def collected_seldom() -> Iterator[None]:
    """Within its block the youngest objects are looked at after OBJECTS of them. It belongs to the whole process, so
    several sessions share it and the last one restores what was; where nobody collects, nothing is changed.

    >>> before = gc.get_threshold()
    >>> with collected_seldom():
    ...     gc.get_threshold()[0]
    200000
    >>> gc.get_threshold() == before
    True
    """
    with _statements.lock:
        _statements.running += 1
        if _statements.running == 1:
            _statements.before = gc.get_threshold()[0]
            _set(max(_statements.before, OBJECTS) if _statements.before else 0)
    try:
        yield
    finally:
        with _statements.lock:
            _statements.running -= 1
            if _statements.running == 0:
                _set(_statements.before)


def _set(objects: int) -> None:
    gc.set_threshold(objects, *gc.get_threshold()[1:])
