"""Advisory file locks of the operating system, which vanish with the process that holds them.

SQLite's locks end with a transaction; whether a session is still alive needs a lock that ends with the process, however
it ends.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpsql.errors import LedgerError

_POLL = 0.005  # seconds


def try_lock(descriptor: int) -> bool:
    """Take the exclusive lock unless somebody else has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def locked(path: Path, timeout: float) -> Iterator[None]:
    """Hold the lock of a directory, or of a file that is created when missing; ``LedgerError`` after ``timeout`` s."""
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    descriptor = os.open(path, flags, 0o600)
    try:
        deadline = time.monotonic() + timeout
        while not try_lock(descriptor):
            if time.monotonic() >= deadline:
                raise LedgerError(f"{path} is locked by another process", hint="wait for it to finish, then try again")
            time.sleep(_POLL)
        yield
    finally:
        os.close(descriptor)
