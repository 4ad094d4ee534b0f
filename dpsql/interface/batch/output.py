"""What a batch writes: results one after another, statement by statement, in one stream.

``table``, ``markdown`` and ``csv``: results one after another, a blank line between them (table and Markdown with the
statement's number above). ``json``: one array, an object per statement (statement, line, rows and notes, or error).
``jsonl``: an object per row (statement, row). ``parquet``: a file per statement, OUT-001.parquet and so on when there
are several.

A statement that failed has its place in all of them, so that what is behind it can be told: in ``csv`` a block of its
own with the columns statement, error and hint, of Parquet files its number is missing.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from dpsql.errors import Error
from dpsql.interface.asked import Asked
from dpsql.interface.render import WITH_NOTES, Format
from dpsql.interface.render.result import render_result
from dpsql.interface.render.structured import csv_text, json_rows, to_json
from dpsql.interface.render.style import Style, escape, shorten
from dpsql.interface.splitter import Piece
from dpsql.result import Note, Result

ALIKE = 8
"""Different notes of one kind that a batch says beside its results: conditions on numbers can have one each."""
_OF_TABLES = frozenset({"cap", "left out", "null"})
"""Kinds of which each table has one: they say which rows its numbers speak of, and all are said."""
_HEADLINE = 90
_MORE = "further notes like those above are left out here; --format json has them all, beside their statements"


def parts_of(out: Path, count: int) -> list[Path]:
    """The files of ``count`` statements that have one each.

    >>> [part.name for part in parts_of(Path("out.parquet"), 2)], parts_of(Path("out"), 1)[0].name
    (['out-001.parquet', 'out-002.parquet'], 'out')
    """
    if count == 1:
        return [out]
    digits, ending = max(3, len(str(count))), out.suffix or ".parquet"
    return [out.with_name(f"{out.stem}-{number:0{digits}d}{ending}") for number in range(1, count + 1)]


class BatchOutput:
    """Renders results as they come. ``write`` takes bytes; ``parts``: the statements' files where each has its own."""

    def __init__(self, write: Callable[[bytes], None], form: Format, style: Style, parts: Sequence[Path] = ()) -> None:
        self._write = write
        self._form = form
        self._style = style
        self._parts = parts
        self._said: dict[str, set[Note]] = {}

    def begin(self, done: int) -> None:
        """Before the first statement; ``done`` statements are there already."""
        if self._form == "json" and done == 0:
            self._text("[")

    def result(self, number: int, piece: Piece, asked: Asked) -> None:
        """One answered statement; ``number`` counts from 1."""
        result = asked.result
        match self._form:
            case "json":
                notes = {"notes": [note.text for note in result.notes]} if result.notes else {}
                self._object(number, {"statement": number, "line": piece.line, "rows": json_rows(result)} | notes)
            case "jsonl":
                self._text("".join(to_json({"statement": number, "row": r}) + "\n" for r in json_rows(result)))
            case "parquet":
                parquet = render_result(result, self._form, self._style)
                self._parts[number - 1].write_bytes(parquet if isinstance(parquet, bytes) else parquet.encode())
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

    def beside(self, result: Result) -> list[Note]:
        """Notes that the format has no place for, each once in a batch; of a kind that has many the first alone."""
        new = []
        for note in () if self._form in (*WITH_NOTES, "json") else result.notes:
            said = self._said.setdefault(note.kind, set())
            if note in said or (len(said) > ALIKE and note.kind not in _OF_TABLES):
                continue
            said.add(note)
            few = len(said) <= ALIKE or note.kind in _OF_TABLES
            new.append(note if few else Note(note.kind, _MORE))
        return new

    def failure(self, number: int, piece: Piece, error: Error) -> None:
        """One refused statement of a batch that goes on."""
        if self._form == "json":
            failed = {"statement": number, "line": piece.line, "error": error.message, "hint": error.hint}
            self._object(number, failed)
        elif self._form == "jsonl":
            self._text(to_json({"statement": number, "error": error.message, "hint": error.hint}) + "\n")
        elif self._form == "csv":
            self._headline(number, piece)
            rows = [("statement", "error", "hint"), (str(number), error.message, error.hint)]
            self._text(csv_text(rows, escaped=self._style.terminal))
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

    def _text(self, text: str) -> None:
        self._write(text.encode("utf-8", "backslashreplace"))
