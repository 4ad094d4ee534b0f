"""Going on as an ordinary user: the superuser, as whom containers run, does not notice permissions."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dpsql.public import DuckDbPublicSql
from dpsql.sql.public_sql import GridColumn

NOBODY = 65534


def _reached_by_all() -> Path | None:
    """A folder for temporary files below folders that everybody may enter: the user's own may be below a closed one."""
    for name in (tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm"):  # noqa: S108 - no name in it is foreseen
        folder = Path(name).resolve()
        if folder.is_dir() and all(f.stat().st_mode & stat.S_IXOTH for f in (folder, *folder.parents)):
            return folder
    return None


def _start_public_work() -> None:
    """A process for public work that waits for the next connection: the superuser's Python may be closed to others."""
    public = DuckDbPublicSql(dict[str, Any]().__getitem__)
    public.truth([GridColumn("x", "BIGINT", (1,))], ["x = 1"])
    public.close()


@contextmanager
def ordinary_user() -> Iterator[Path]:
    """A folder of an ordinary user, as whom the process goes on in the block, if it is the superuser's."""
    superuser = os.geteuid() == 0
    above = _reached_by_all() if superuser else Path(tempfile.gettempdir())
    if above is None:
        pytest.skip("the superuser runs the tests, and no folder for temporary files is open to another user")
    folder = Path(tempfile.mkdtemp(dir=above))
    if superuser:
        _start_public_work()
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
