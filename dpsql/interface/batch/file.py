"""The output file of a batch, such that a later run can go on where a broken one ended.

What was written is not asked again, so the file must say by itself how far it came, and of which batch it is.
"""

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from dpsql.errors import OperationalError
from dpsql.interface.render import Format

SECONDS = 1.0
"""Progress is noted so often at most: a run that is killed asks again, free of charge, what was not noted."""


@dataclass(frozen=True)
class Progress:
    """How far a batch came: ``done`` statements, ``size`` bytes of the output; ``batch`` names those."""

    batch: str
    done: int
    size: int


class BatchDigest:
    """Names what was done of a batch: other parameters, another format or another one of these statements are another
    batch, and so is one statement in place of several. Those that follow may be mended."""

    def __init__(self, statements: Sequence[str], parameters: object, form: Format) -> None:
        self._statements = statements
        self._rest = repr((len(statements) > 1, parameters, form)).removeprefix("(")
        self._begin()

    def _begin(self) -> None:
        self._count = 0
        self._told = sha256(b"((")

    def __call__(self, done: int) -> str:
        """Of the first ``done`` statements; each is read once where ``done`` grows."""
        done = min(done, len(self._statements))
        if done < self._count:
            self._begin()
        for number in range(self._count, done):
            comma = ", " if number else ""
            self._told.update((comma + repr(self._statements[number])).encode("utf-8", "surrogatepass"))
        self._count = done
        whole = self._told.copy()  # what repr makes of ((statements), ...): the files of earlier versions hold it
        whole.update(("," if done == 1 else "").encode() + b"), " + self._rest.encode("utf-8", "surrogatepass"))
        return whole.hexdigest()


class BatchFile:
    """The file of ``-o`` and, beside it, ``OUT.progress`` while there is something to go on with.

    ``batch``: names the batch, of so many of whose statements are done. ``parts``: the files of the statements where
    each has its own, and ``OUT`` itself is left alone, or is that of the only one. A pipe or a device is written to as
    it is: nothing can be resumed there.
    """

    def __init__(
        self,
        path: Path,
        batch: Callable[[int], str],
        *,
        parts: Sequence[Path] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._batch = batch
        self._parts = parts
        self._clock = clock
        self.resumable = (parts is not None and len(parts) > 1) or not path.exists() or path.is_file()
        self._file: BinaryIO | None = None
        self.reached = 0
        """Statements that are done before the first that is not, or that failed."""
        self._size = self._reached_size = 0
        self._noted: int | None = None
        self._noted_at = 0.0
        self._failed = False

    @property
    def _beside(self) -> Path:
        return self._path.with_name(self._path.name + ".progress")

    def open(self, *, resume: bool) -> int:
        """Open for writing; the number of statements that are done (0 without ``resume``).

        Raises OperationalError when ``OUT.progress`` is of another batch, or the output is less than it says, and
        where there is output without it: that is finished, and would be lost.
        """
        progress = self._read() if resume and self.resumable else None
        if progress is None:
            if resume and self.resumable:
                self._check_nothing_lost()
            if self.resumable:
                self._beside.unlink(missing_ok=True)
            self._file = None if self._parts is not None else self._path.open("wb")
        else:
            self._check(progress)
            self._size, self.reached, self._reached_size = progress.size, progress.done, progress.size
            if self._parts is None:
                self._file = self._path.open("r+b")
                self._file.truncate(progress.size)
                self._file.seek(progress.size)
        for part in (self._parts or ())[self.reached :]:
            if part.is_file() and not part.is_symlink():  # as /dev/stdout is
                part.unlink()  # an earlier run's, which would stand for a statement that fails in this one
        self._note()
        return self.reached

    def write(self, content: bytes) -> None:
        """Append."""
        if self._file is not None:
            self._file.write(content)
            self._size += len(content)

    def done(self, count: int) -> None:
        """Note that ``count`` statements are written; none behind one that failed, where a later run goes on."""
        if self._file is not None:
            self._file.flush()
        if self._failed:
            return
        self.reached, self._reached_size = count, self._size
        if self._clock() >= self._noted_at + SECONDS:
            self._note()

    def failed(self) -> None:
        """A statement failed: a later run begins with it, whatever was written behind it."""
        self._failed = True

    def close(self, *, finished: bool) -> None:
        """Close; a finished batch of which no statement failed leaves no progress behind."""
        try:
            if finished and not self._failed and self.resumable:
                self._beside.unlink(missing_ok=True)
            elif self._noted != self.reached:
                self._note()
        finally:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _note(self) -> None:
        """Note how far the batch came, once what it says is on the disk."""
        if not self.resumable:
            return
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
        progress = Progress(self._batch(self.reached), self.reached, self._reached_size)
        fresh = self._beside.with_name(self._beside.name + ".new")
        with fresh.open("w") as file:
            file.write(json.dumps(asdict(progress)))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._beside)
        self._noted, self._noted_at = self.reached, self._clock()

    def _check(self, progress: Progress) -> None:
        again = "run without --resume to start again: answers already given are free"
        name, beside = self._path.name, self._beside.name
        if progress.done < 0 or progress.size < 0 or progress.batch != self._batch(progress.done):
            raise OperationalError(f"{beside} is of other statements, another format or other parameters", hint=again)
        for part in (self._parts or ())[: progress.done]:
            if not part.is_file():
                raise OperationalError(f"{part.name} is not there, which {beside} says is done", hint=again)
        if self._parts is None and (not self._path.is_file() or self._path.stat().st_size < progress.size):
            raise OperationalError(f"{name} is shorter than {beside} says", hint=again)

    def _check_nothing_lost(self) -> None:
        for written in (self._path,) if self._parts is None else self._parts:
            if written.is_file() and written.stat().st_size:
                raise OperationalError(
                    f"{written.name} is there without {self._beside.name}: there is nothing to go on with",
                    hint="it is finished, or not a batch's; run without --resume to write it anew",
                )

    def _read(self) -> Progress | None:
        try:
            content = json.loads(self._beside.read_text())
            progress = Progress(str(content["batch"]), int(content["done"]), int(content["size"]))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, OverflowError):
            progress = Progress("", -1, 0)  # no batch of ours: refused above
        return progress
