"""A PostgreSQL server of the tests' own, on a socket in a folder of its own; skipped with a reason where there is none.

It does not run as root, so as root it is another user's: any system user who can start it will do.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

_USERS = ("postgres", "nobody")
_SETTINGS = ("listen_addresses=", "fsync=off", "full_page_writes=off", "autovacuum=off", "shared_buffers=32MB")


def obstacle() -> str | None:
    """Why there is no server here; ``None`` where there is one."""
    missing = [name for name in ("initdb", "pg_ctl", "postgres") if shutil.which(name) is None]
    if missing:
        return f"PostgreSQL is not installed: no {missing[0]} on the PATH"
    if os.geteuid() == 0 and (shutil.which("setpriv") is None or _user() is None):
        return "PostgreSQL does not run as root, and there is no other user to run it as"
    return None


def _user() -> pwd.struct_passwd | None:
    for name in _USERS:
        with suppress(KeyError):
            return pwd.getpwnam(name)
    return None


@contextmanager
def server() -> Iterator[str]:
    """The address of a new, empty database, as its superuser ``owner``."""
    reason = obstacle()
    if reason is not None:
        pytest.skip(reason)
    folder, other = Path(tempfile.mkdtemp(prefix="dpsql-pg-")), _user() if os.geteuid() == 0 else None
    other_user: list[str] = []
    if other is not None:
        os.chown(folder, other.pw_uid, other.pw_gid)
        other_user = ["setpriv", f"--reuid={other.pw_uid}", f"--regid={other.pw_gid}", "--clear-groups"]

    def run(*command: str) -> None:
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
        done = subprocess.run(
            [*other_user, *command], cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            check=False, timeout=60,
        )  # fmt: skip
        if done.returncode != 0:
            pytest.skip(f"PostgreSQL does not start here: {done.stderr.decode(errors='replace').strip()[-200:]}")

    try:
        run("initdb", "-D", "data", "-U", "owner", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        options = " ".join(f"-c {setting}" for setting in _SETTINGS)
        run("pg_ctl", "-D", "data", "-w", "-l", "log", "-o", f"-k {folder} {options}", "start")
        try:
            yield f"postgresql://owner@/postgres?host={folder}"
        finally:
            with suppress(subprocess.SubprocessError):
                run("pg_ctl", "-D", "data", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
