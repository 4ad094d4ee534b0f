"""Going on as an ordinary user: the superuser, as whom containers run, does not notice permissions."""

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NOBODY = 65534


def _reached_by_all() -> Path | None:
    """A folder for temporary files below folders that everybody may enter: the user's own may be below a closed one."""
    for name in (tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm"):  # noqa: S108 - no name in it is foreseen
        folder = Path(name).resolve()
        if folder.is_dir() and all(f.stat().st_mode & stat.S_IXOTH for f in (folder, *folder.parents)):
            return folder
    return None


def _python_is_open() -> bool:
    """Whether every user may start this Python, as public work does."""
    file = Path(sys.executable).resolve()
    return all(f.stat().st_mode & stat.S_IXOTH for f in (file, *file.parents))


@contextmanager
def ordinary_user() -> Iterator[Path]:
    """A folder of an ordinary user, as whom the process goes on in the block, if it is the superuser's."""
    superuser = os.geteuid() == 0
    above = _reached_by_all() if superuser else Path(tempfile.gettempdir())
    if above is None:
        pytest.skip("the superuser runs the tests, and no folder for temporary files is open to another user")
    if superuser and not _python_is_open():
        pytest.skip("the superuser runs the tests, and no other user may start this Python")
    folder = Path(tempfile.mkdtemp(dir=above))
    if superuser:
        os.chown(folder, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    try:
        yield folder
    finally:
        if superuser:
            os.seteuid(0)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o700)
        shutil.rmtree(folder)
