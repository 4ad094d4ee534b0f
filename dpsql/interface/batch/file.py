"""The output file of a batch, such that a later run can go on where a broken one ended.

What was written is not asked again, so the file must say by itself how far it came, and of which batch it is.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from dpsql.errors import OperationalError
from dpsql.interface.render import Format


@dataclass(frozen=True)
class Progress:
    """How far a batch came: ``done`` statements, ``size`` bytes of the output; ``batch`` names those."""

    batch: str
    done: int
    size: int


def batch_digest(statements: Sequence[str], parameters: object, form: Format, done: int) -> str:
    """Names what was done of a batch: other parameters, another format or another one of these statements are another
    batch, and so is one statement in place of several. Those that follow may be mended."""
    told = (tuple(statements[:done]), len(statements) > 1, parameters, form)
    return sha256(repr(told).encode("utf-8", "surrogatepass")).hexdigest()


class BatchFile:
    """The file of ``-o`` and, beside it, ``OUT.progress`` while the batch is not finished.

    ``parts``: each statement has a file of its own, and ``OUT`` itself is left alone, or is that of the only one.
    ``batch``: names the batch, of so many of whose statements are done. A pipe or a device is written to as it is:
    nothing can be resumed there.
    """

    def __init__(self, path: Path, batch: Callable[[int], str], *, parts: bool = False) -> None:
        self._path = path
        self._batch = batch
        self._parts = parts
        self.resumable = parts or not path.exists() or path.is_file()
        self._file: BinaryIO | None = None

    @property
    def _beside(self) -> Path:
        return self._path.with_name(self._path.name + ".progress")

    def open(self, *, resume: bool) -> int:
        """Open for writing; the number of statements that are done (0 without ``resume``).

        Raises OperationalError when ``OUT.progress`` is of another batch, or ``OUT`` shorter than it says.
        """
        progress = self._read() if resume and self.resumable else None
        if progress is None:
            if self.resumable:
                self._beside.unlink(missing_ok=True)
            self._file = None if self._parts else self._path.open("wb")
            return 0
        again = "run without --resume to start again: answers already given are free"
        if progress.batch != self._batch(progress.done):
            of_other = f"{self._beside.name} is of other statements, another format or other parameters"
            raise OperationalError(of_other, hint=again)
        if self._parts:
            return progress.done
        if not self._path.is_file() or self._path.stat().st_size < progress.size:
            raise OperationalError(f"{self._path.name} is shorter than {self._beside.name} says", hint=again)
        self._file = self._path.open("r+b")
        self._file.truncate(progress.size)
        self._file.seek(progress.size)
        return progress.done

    def write(self, content: bytes) -> None:
        """Append."""
        if self._file is not None:
            self._file.write(content)

    def done(self, count: int) -> None:
        """Note that ``count`` statements are written."""
        size = 0
        if self._file is not None:
            self._file.flush()
        if not self.resumable:
            return
        if self._file is not None:
            size = self._file.tell()
        fresh = self._beside.with_name(self._beside.name + ".new")
        fresh.write_text(json.dumps({"batch": self._batch(count), "done": count, "size": size}))
        fresh.replace(self._beside)

    def close(self, *, finished: bool) -> None:
        """Close; a finished batch leaves no progress behind."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if finished and self.resumable:
            with suppress(FileNotFoundError):
                self._beside.unlink()

    def _read(self) -> Progress | None:
        try:
            content = json.loads(self._beside.read_text())
            progress = Progress(str(content["batch"]), int(content["done"]), int(content["size"]))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            progress = Progress("", 0, 0)  # no batch of ours: refused above
        return progress
