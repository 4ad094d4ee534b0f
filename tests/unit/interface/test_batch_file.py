"""How far a batch came: noted seldom, never further than what is written, and named as earlier versions did."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from dpsql import OperationalError
from dpsql.interface.batch.file import SECONDS, BatchDigest, BatchFile

STATEMENTS = ["SELECT 1", "SELECT 'two\udce9'", "SELECT 3"]


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def of_earlier_versions(statements: list[str], parameters: Any, form: str, done: int) -> str:
    told = (tuple(statements[:done]), len(statements) > 1, parameters, form)
    return sha256(repr(told).encode("utf-8", "surrogatepass")).hexdigest()


def named(statements: list[str] = STATEMENTS) -> BatchDigest:
    return BatchDigest(statements, [("a", 1)], "csv")


@pytest.mark.parametrize("statements", [[], STATEMENTS[:1], STATEMENTS])
def test_a_batch_has_the_name_that_it_had(statements: list[str]) -> None:
    """A run that an earlier version began goes on."""
    digest = named(statements)
    for done in (*range(5), 2, 1):
        assert digest(done) == of_earlier_versions(statements, [("a", 1)], "csv", done)


def test_each_statement_is_read_once() -> None:
    """12,000 statements took a minute beside an output file: all before it were read again behind each."""
    read = []

    class Statement(str):
        def __repr__(self) -> str:
            read.append(str(self))
            return super().__repr__()

    digest = named([Statement(i) for i in range(50)])
    assert len({digest(done) for done in range(51)}) == 51
    assert read == [str(i) for i in range(50)]


def progress(out: Path) -> tuple[int, int]:
    content = json.loads(out.with_name("out.progress").read_text())
    return content["done"], content["size"]


def test_progress_is_noted_seldom_and_at_the_end(tmp_path: Path) -> None:
    out, clock = tmp_path / "out", Clock()
    file = BatchFile(out, named(), clock=clock)
    assert file.open(resume=False) == 0 and progress(out) == (0, 0)
    file.write(b"one\n")
    file.done(1)
    assert progress(out) == (0, 0) and out.read_bytes() == b"one\n"
    clock.now += SECONDS
    file.write(b"two\n")
    file.done(2)
    assert progress(out) == (2, 8)
    file.write(b"torn")
    file.close(finished=False)
    assert progress(out) == (2, 8)


def test_what_was_written_beyond_the_noted_progress_is_not_written_twice(tmp_path: Path) -> None:
    """As after a kill: the file is further than it is known to be."""
    out = tmp_path / "out"
    killed = BatchFile(out, named(), clock=Clock())
    killed.open(resume=False)
    for number in (1, 2):
        killed.write(b"%d\n" % number)
        killed.done(number)
    later = BatchFile(out, named())
    assert later.open(resume=True) == 0
    for number in (1, 2, 3):
        later.write(b"%d\n" % number)
        later.done(number)
    later.close(finished=True)
    assert out.read_bytes() == b"1\n2\n3\n" and not out.with_name("out.progress").exists()
    killed.close(finished=True)


def test_progress_stays_before_what_failed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    file = BatchFile(out, named(), clock=Clock())
    file.open(resume=False)
    file.write(b"1\n")
    file.done(1)
    file.write(b"an error\n")
    file.failed()
    for number in (2, 3):
        file.write(b"%d\n" % number)
        file.done(number)
    file.close(finished=True)
    assert progress(out) == (1, 2)


def test_an_earlier_run_is_forgotten_before_its_output_is(tmp_path: Path) -> None:
    """Else a failure between the two would leave word of what is no longer there."""
    out = tmp_path / "out"
    out.mkdir()
    out.with_name("out.progress").write_text("an earlier run's")
    file = BatchFile(out, named())
    file.resumable = True
    with pytest.raises(OSError):
        file.open(resume=False)
    assert not out.with_name("out.progress").exists()


def test_another_batch_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    file = BatchFile(out, named())
    file.open(resume=False)
    file.done(1)
    file.close(finished=False)
    with pytest.raises(OperationalError, match="other statements"):
        BatchFile(out, named(["SELECT 0", *STATEMENTS[1:]])).open(resume=True)
    mended = BatchFile(out, named([STATEMENTS[0], "SELECT 2"]))
    assert mended.open(resume=True) == 1
    mended.close(finished=True)
