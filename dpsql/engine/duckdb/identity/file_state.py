"""What tells one state of a database file from another without reading its rows, and what is remembered of that state.

A connect would otherwise read every row to know that none has changed. Whoever writes to a file changes its size, its
times or its header; only what could hide a change (a journal beside it, times that are too young to have moved on)
makes the rows be read again.
"""

import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Protocol

HEADER_BYTES = 12_288
"""A DuckDB file's three header blocks: each checkpoint writes one of the last two (its number, and a checksum)."""
SETTLED = 2_000_000_000
"""Nanoseconds since a file was last written after which another write has other times: the coarsest of file systems
count in 2 s."""


class KnownContent(Protocol):
    """Remembers digests of tables by the state of the file that they were read from."""

    def get(self, path: str, state: str, table: str) -> str | None:
        """The digest of a table of the file at that path in this state; ``None`` where none is known."""
        ...

    def keep(self, path: str, state: str, table: str, digest: str) -> None:
        """Remember it, and nothing of the file's other states."""
        ...


@dataclass(frozen=True)
class FileState:
    """Device, inode, size in bytes, times of the last write and of the last change (ns), digest of the header."""

    device: int
    inode: int
    size: int
    written: int
    changed: int
    header: str

    @classmethod
    def of(cls, path: Path) -> "FileState | None":
        """The state of a database file; ``None`` where it cannot vouch for the rows: a journal holds some of them, or
        it is no plain file.
        """
        try:
            if not stat.S_ISREG(path.stat().st_mode):  # a pipe would be waited for
                return None
            with path.open("rb") as file:
                found = os.fstat(file.fileno())
                header = sha256(file.read(HEADER_BYTES)).hexdigest()
            journal = Path(f"{path}.wal")
            if journal.exists() and journal.stat().st_size > 0:
                return None
        except OSError:
            return None
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, header)

    def is_settled(self, now: int) -> bool:
        """Whether a write after ``now`` (ns since 1970) would show in the times.

        >>> state = FileState(1, 2, 12_288, 5_000_000_000, 5_000_000_000, "")
        >>> state.is_settled(6_000_000_000), state.is_settled(7_000_000_001), state.is_settled(4_000_000_000)
        (False, True, False)
        """
        return now - max(self.written, self.changed) > SETTLED

    @property
    def text(self) -> str:
        """One line, equal for equal states."""
        return f"{self.device} {self.inode} {self.size} {self.written} {self.changed} {self.header}"


def descriptors(path: Path) -> int:
    """How many descriptors of this process are open on the file; 0 where the system does not tell.

    Within a process DuckDB shares one instance for a path, even after another file has taken the path. Only a connect
    that makes one more descriptor reads the file that is there.
    """
    try:
        of = path.stat()
        names = os.listdir("/dev/fd")  # noqa: PTH208 - names are all that is wanted
    except (OSError, ValueError):
        return 0
    found = 0
    for name in names:
        with suppress(OSError, ValueError):  # the listing's own is closed by now
            found += os.path.samestat(os.fstat(int(name)), of)
    return found


class FileContent:
    """Digests of one database file's tables, read from the rows where nobody remembers them.

    Made once the file is open: DuckDB lets nobody write to a file that is open for reading.
    """

    def __init__(self, path: Path, known: KnownContent, clock: Callable[[], int] = time.time_ns) -> None:
        self._path, self._known = path.resolve(), known
        self._state = FileState.of(self._path)
        self._settled = self._state is not None and self._state.is_settled(clock())

    def digest(self, table: str, read: Callable[[], str]) -> str:
        """The remembered digest, else that which ``read`` makes of the rows; remembered if the file stood still."""
        state = self._state
        if state is None:
            return read()
        found = self._known.get(str(self._path), state.text, table)
        if found is not None:
            return found
        found = read()
        if self._settled and FileState.of(self._path) == state:
            self._known.keep(str(self._path), state.text, table, found)
        return found
