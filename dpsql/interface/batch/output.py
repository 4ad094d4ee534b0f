"""Where a batch writes: one stream or file, statement after statement, such that a later run can go on from there.

``table``, ``markdown`` and ``csv``: results one after another, a blank line between them (table and Markdown with the
statement's number above). ``json``: one array, an object per statement (statement, line, rows or error). ``jsonl``: an
object per row (statement, row). ``parquet``: a file per statement, OUT-001.parquet and so on when there are several.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from dpsql.errors import Error, OperationalError
from dpsql.interface.asked import Asked
from dpsql.interface.render import Format
from dpsql.interface.render.result import render_result
from dpsql.interface.render.structured import json_rows, to_json
from dpsql.interface.render.style import Style, escape, shorten
from dpsql.interface.splitter import Piece

_HEADLINE = 90


@dataclass(frozen=True)
class Progress:
    """How far a batch came: ``done`` statements, ``size`` bytes of the output; ``batch`` names what was run."""

    batch: str
    done: int
    size: int


def batch_digest(text: str, parameters: object, form: Format) -> str:
    """Names a batch: another text, other parameters or another format are another batch."""
    return sha256(repr((text, parameters, form)).encode("utf-8", "surrogatepass")).hexdigest()


class BatchOutput:
    """Renders results as they come. ``write`` takes bytes or text; ``count`` is the number of statements."""

    def __init__(
        self, write: Callable[[bytes], None], form: Format, style: Style, count: int, out: Path | None
    ) -> None:
        self._write = write
        self._form = form
        self._style = style
        self._count = count
        self._out = out

    def begin(self, done: int) -> None:
        """Before the first statement; ``done`` statements are there already."""
        if self._form == "json" and done == 0:
            self._text("[")

    def result(self, number: int, piece: Piece, asked: Asked) -> None:
        """One answered statement; ``number`` counts from 1."""
        result = asked.result
        match self._form:
            case "json":
                self._object(number, {"statement": number, "line": piece.line, "rows": json_rows(result)})
            case "jsonl":
                self._text("".join(to_json({"statement": number, "row": r}) + "\n" for r in json_rows(result)))
            case "parquet":
                parquet = render_result(result, self._form, self._style)
                self._parquet(number, parquet if isinstance(parquet, bytes) else parquet.encode())
            case _:
                self._headline(number, piece)
                text = render_result(
                    result,
                    self._form,
                    self._style,
                    budget=asked.budget,
                    seconds=asked.seconds,
                    charged=asked.charged,
                )
                self._text(text if isinstance(text, str) else text.decode())

    def failure(self, number: int, piece: Piece, error: Error) -> None:
        """One refused statement of a batch that goes on; csv and parquet have no place for it."""
        if self._form == "json":
            failed = {"statement": number, "line": piece.line, "error": error.message, "hint": error.hint}
            self._object(number, failed)
        elif self._form == "jsonl":
            self._text(to_json({"statement": number, "error": error.message, "hint": error.hint}) + "\n")
        elif self._form in ("table", "markdown"):
            self._headline(number, piece)
            self._text(f"error: {escape(error.message)}\n")

    def end(self) -> None:
        """After the last statement that will be run now."""
        if self._form == "json":
            self._text("\n]\n")

    def _object(self, number: int, value: object) -> None:
        self._text(("\n" if number == 1 else ",\n") + to_json(value))

    def _headline(self, number: int, piece: Piece) -> None:
        blank = "\n" if number > 1 else ""
        statement = shorten(escape(" ".join(piece.text.split())), _HEADLINE, self._style)
        match self._form:
            case "table":
                self._text(blank + self._style.dim(f"-- {number}. {statement}") + "\n")
            case "markdown":
                self._text(f"{blank}**{number}.** `{statement.replace('`', chr(39))}`\n\n")
            case _:
                self._text(blank)

    def _parquet(self, number: int, content: bytes) -> None:
        if self._out is None or self._count == 1:
            self._write(content)
        else:
            digits = max(3, len(str(self._count)))
            name = f"{self._out.stem}-{number:0{digits}d}{self._out.suffix or '.parquet'}"
            self._out.with_name(name).write_bytes(content)

    def _text(self, text: str) -> None:
        self._write(text.encode("utf-8", "backslashreplace"))


class BatchFile:
    """The file of ``-o`` and, beside it, ``OUT.progress`` while the batch is not finished."""

    def __init__(self, path: Path, batch: str) -> None:
        self._path = path
        self._batch = batch
        self._file: BinaryIO | None = None

    @property
    def _beside(self) -> Path:
        return self._path.with_name(self._path.name + ".progress")

    def open(self, *, resume: bool) -> int:
        """Open for writing; the number of statements that are done (0 without ``resume``).

        Raises OperationalError when ``OUT.progress`` is of another batch, or ``OUT`` shorter than it says.
        """
        progress = self._read() if resume else None
        if progress is None:
            self._beside.unlink(missing_ok=True)
            self._file = self._path.open("wb")
            return 0
        again = "run without --resume to start again: answers already given are free"
        if progress.batch != self._batch:
            raise OperationalError(f"{self._beside.name} is of another file, format or parameters", hint=again)
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
        if self._file is None:
            return
        self._file.flush()
        fresh = self._beside.with_name(self._beside.name + ".new")
        fresh.write_text(json.dumps({"batch": self._batch, "done": count, "size": self._file.tell()}))
        fresh.replace(self._beside)

    def close(self, *, finished: bool) -> None:
        """Close; a finished batch leaves no progress behind."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if finished:
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
