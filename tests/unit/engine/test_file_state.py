"""When an unchanged file vouches for its rows, and when they are read again."""

import os
import shutil
import threading
from contextlib import suppress
from pathlib import Path

import duckdb
import pytest

from dpsql.engine.duckdb.identity.file_state import SETTLED, FileContent, FileState

LATER = 10**19
"""A clock that is far past every file's times."""


class Kept:
    """Remembers without a disk."""

    def __init__(self) -> None:
        self.digests: dict[tuple[str, str, str], str] = {}

    def get(self, path: str, state: str, table: str) -> str | None:
        return self.digests.get((path, state, table))

    def keep(self, path: str, state: str, table: str, digest: str) -> None:
        self.digests[path, state, table] = digest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "a.duckdb"
    with duckdb.connect(str(file)) as con:
        con.execute("CREATE TABLE t AS SELECT range AS x FROM range(1000)")
    return file


def reads(path: Path, kept: Kept, now: int = LATER) -> bool:
    """Whether a new process would read the rows."""
    done = []

    def read() -> str:
        done.append(1)
        return "digest"

    assert FileContent(path, kept, lambda: now).digest("t", read) == "digest"
    return bool(done)


def test_an_unchanged_file_is_read_once(path: Path) -> None:
    kept = Kept()
    assert [reads(path, kept) for _ in range(3)] == [True, False, False]


def test_a_row_that_changes_is_noticed(path: Path) -> None:
    kept = Kept()
    assert reads(path, kept)
    size = path.stat().st_size
    with duckdb.connect(str(path)) as con:
        con.execute("UPDATE t SET x = -1 WHERE x = 7")
    assert reads(path, kept)
    assert abs(path.stat().st_size - size) >= 0  # whatever became of its size


def test_a_changed_byte_is_noticed_though_its_owner_set_the_time_back(path: Path) -> None:
    """What utime cannot set back is the time of that change."""
    kept, found = Kept(), path.stat()
    assert reads(path, kept)
    with path.open("r+b") as file:
        file.seek(found.st_size - 100)
        file.write(b"\1")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert path.stat().st_mtime_ns == found.st_mtime_ns
    assert reads(path, kept)


def test_a_header_tells_two_files_of_equal_times_apart(path: Path) -> None:
    state = FileState.of(path)
    assert state is not None
    with path.open("r+b") as file:
        file.seek(4_200)
        file.write(b"\1\2\3")
    changed = FileState.of(path)
    assert changed is not None
    assert changed.header != state.header


def test_a_copy_at_another_place_is_read(path: Path, tmp_path: Path) -> None:
    kept = Kept()
    assert reads(path, kept)
    shutil.copy2(path, tmp_path / "b.duckdb")
    assert reads(tmp_path / "b.duckdb", kept)


def test_a_copy_in_its_place_is_read(path: Path, tmp_path: Path) -> None:
    kept = Kept()
    assert reads(path, kept)
    shutil.copy2(path, tmp_path / "b.duckdb")
    (tmp_path / "b.duckdb").replace(path)
    assert reads(path, kept)


def test_a_link_is_the_file_that_it_leads_to(path: Path, tmp_path: Path) -> None:
    kept, link = Kept(), tmp_path / "link.duckdb"
    link.symlink_to(path)
    assert reads(path, kept)
    assert not reads(link, kept)


def test_a_file_with_a_journal_is_read_each_time(path: Path) -> None:
    kept, journal = Kept(), Path(f"{path}.wal")
    journal.write_bytes(b"")
    assert [reads(path, kept), reads(path, kept)] == [True, False]  # an empty one holds nothing
    journal.write_bytes(b"rows")
    assert [reads(path, kept), reads(path, kept)] == [True, True]


def test_what_was_written_just_now_is_not_remembered(path: Path) -> None:
    """A second write in the same tick of a coarse clock would show in nothing."""
    kept, found = Kept(), path.stat()
    last = max(found.st_mtime_ns, found.st_ctime_ns)
    assert [reads(path, kept, last + SETTLED) for _ in range(2)] == [True, True]
    assert [reads(path, kept, last + SETTLED + 1) for _ in range(2)] == [True, False]


def test_a_file_that_changed_while_it_was_read_is_not_remembered(path: Path) -> None:
    kept = Kept()

    def read() -> str:
        with path.open("ab") as file:
            file.write(b"\0")
        return "digest"

    FileContent(path, kept, lambda: LATER).digest("t", read)
    assert kept.digests == {}


def test_what_is_no_plain_file_vouches_for_nothing(tmp_path: Path) -> None:
    assert FileState.of(tmp_path / "missing") is None
    assert FileState.of(tmp_path) is None
    assert FileState.of(Path("/dev/null")) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.duckdb"
    os.mkfifo(pipe)
    asked = threading.Thread(target=FileState.of, args=(pipe,), daemon=True)
    asked.start()
    asked.join(5.0)
    waits = asked.is_alive()
    with suppress(OSError):  # lets a thread that waits for a writer go
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    assert not waits
