"""Who holds a reservation, and whether they still live.

A holder owns a lock file beside the ledger for as long as its process lives; the operating system drops the lock with
the process, however it ends. So a lock that can be taken, or a lock file that is gone, means a dead holder.
"""

import os
import secrets
import weakref
from contextlib import suppress
from pathlib import Path

from dpsql.ledger.os_lock import try_lock

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_STAT = Path("/proc/self/stat")


def boot_identity() -> str:
    """The running system's boot identity, ``-`` where there is none to read."""
    try:
        return _BOOT.read_text(encoding="utf-8").strip()
    except OSError:
        return "-"


def _start_time() -> str:
    """This process's start in ticks since boot: with the process number, unique on one boot."""
    try:
        # The command's name is in parentheses and may hold spaces; the start time is the 20th field after it.
        return _STAT.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return "-"


class Holder:
    """This session's identity and, from the first reservation on, its lock file. ``name`` is public."""

    def __init__(self, ledger: Path) -> None:
        self._ledger = ledger
        self._token = secrets.token_hex(16)
        self._descriptor: int | None = None
        self._locked = False
        self.name = f"{boot_identity()}/{os.getpid()}/{_start_time()}/{self._token}"
        _holders.add(self)

    def acquire(self) -> None:
        """Take the lock once; call under the ledger's write lock, so that no sweep sees the file before its lock."""
        if self._descriptor is None:
            self._descriptor = os.open(_lock_file(self._ledger, self._token), os.O_RDWR | os.O_CREAT, 0o600)
        if not self._locked:  # an interrupt may have come between the two
            self._locked = try_lock(self._descriptor)

    def drop(self, *, settled: bool) -> None:
        """Give the lock up. Only a holder with nothing left open (``settled``) also removes its file."""
        if self._descriptor is not None:
            if settled:
                with suppress(OSError):
                    _lock_file(self._ledger, self._token).unlink()
            self.forget()

    def forget(self) -> None:
        """Close without unlocking: after a fork the lock stays the parent's, whose descriptor is still open."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor, self._locked = None, False


_holders: "weakref.WeakSet[Holder]" = weakref.WeakSet()


def _forget_all() -> None:
    for holder in list(_holders):
        holder.forget()


os.register_at_fork(after_in_child=_forget_all)


def is_alive(ledger: Path, name: str) -> bool:
    """Whether the holder ``name`` of the ledger still holds its lock; removes the file of a dead one."""
    return not _remove_if_dead(_lock_file(ledger, name.rpartition("/")[2]))


def stale_files(ledger: Path) -> list[Path]:
    """All holders' lock files of the ledger; normally the living sessions' only."""
    prefix = _lock_file(ledger, "").name
    return [entry for entry in ledger.parent.iterdir() if entry.name.startswith(prefix)]


def sweep(ledger: Path) -> None:
    """Remove the lock files of dead holders; call under the ledger's write lock."""
    for path in stale_files(ledger):
        _remove_if_dead(path)


def _remove_if_dead(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return True
    except PermissionError:
        return False  # another user's: unknown, so its reservation stays reserved
    try:
        if not try_lock(descriptor):
            return False
        path.unlink(missing_ok=True)
        return True
    finally:
        os.close(descriptor)


def _lock_file(ledger: Path, token: str) -> Path:
    return ledger.with_name(f"{ledger.name}.holder-{token}")
