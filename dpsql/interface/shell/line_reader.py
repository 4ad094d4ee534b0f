"""Lines gathered into inputs: typed, piped or read from a file, the same input must do the same."""

from typing import NamedTuple

from dpsql.interface.splitter import Piece, command_start, split

LEAVING = ("quit", "exit")
HELP = "help"
_WORDS = (*LEAVING, HELP)
"""Commands without a sign before them, on a line of their own: no statement begins with one."""


class Input(NamedTuple):
    """A command or a statement, and where its first character stands: ``line`` and ``column`` count from 1."""

    text: str
    line: int
    column: int


class LineReader:
    r"""Gathers lines into inputs: a line that starts with ``\`` or ``.``, a word as
    ``quit`` alone on its line, or a statement up to its semicolon.

    A command that begins with ``\`` may also stand in the midst of a statement, which then goes on behind it: no
    statement of DuckDB's has a backslash outside strings, names and comments.

    >>> reader = LineReader()
    >>> [[i.text for i in reader.feed(line)] for line in ("SELECT 1", "; SELECT", "\\budget", "2;", "\\q")]
    [[], ['SELECT 1'], ['\\budget'], ['SELECT\n2'], ['\\q']]
    """

    def __init__(self) -> None:
        self._rest = ""
        self._fed = 0
        self._begun, self._left = 1, 1  # where what is not complete begins

    def feed(self, line: str) -> list[Input]:
        """The inputs that ``line`` completes."""
        self._fed += 1
        return self._gather(line)

    def _gather(self, line: str) -> list[Input]:
        if not self._rest.strip():
            self._rest, self._begun, self._left = "", self._fed, 1
            if is_command(line):
                return [Input(line.strip(), self._fed, 1)]
        if "\\" in line:
            at = command_start(self._rest + line, len(self._rest))
            if at is not None:
                before, command = line[: at - len(self._rest)], line[at - len(self._rest) :]
                found = Input(command.strip(), self._fed, len(before) + 1)
                return [*(self._gather(before) if before.strip() else ()), found]
        self._rest += line if line.endswith(("\n", "\r")) else line + "\n"
        return self._take() if ";" in line else []

    @property
    def rest(self) -> str:
        """What was fed and is not complete: a statement without its semicolon."""
        return self._rest

    def finish(self) -> list[Input]:
        """What is left at the end, with or without a semicolon."""
        rest, self._rest = self._rest, ""
        return [self._input(p) for p in split(rest)]

    def _take(self) -> list[Input]:
        pieces = split(self._rest)
        self._rest = ""
        last = pieces.pop() if pieces and not pieces[-1].ended else None
        found = [self._input(p) for p in pieces]
        if last is not None:
            _, self._begun, self._left = self._input(last)
            self._rest = last.text if last.open is not None else last.text + "\n"
        return found

    def _input(self, piece: Piece) -> Input:
        column = piece.column + (self._left - 1 if piece.line == 1 else 0)
        return Input(piece.text, self._begun + piece.line - 1, column)


def is_command(line: str) -> bool:
    r"""Whether a line is a command of the shell: ``\d``, ``.read``, ``quit``.

    >>> [is_command(line) for line in ("\\d adult", ".read x.sql", ".5 + 1", "Quit\n", "quit x")]
    [True, True, False, True, False]
    """
    text = line.strip()
    return text.startswith("\\") or (text.startswith(".") and text[1:2].isalpha()) or text.lower() in _WORDS
