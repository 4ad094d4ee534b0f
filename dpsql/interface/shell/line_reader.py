"""Lines gathered into inputs: typed, piped or read from a file, the same input must do the same."""

from dpsql.interface.splitter import command_start, split


class LineReader:
    r"""Gathers lines into inputs: a line that starts with ``\`` or ``.``, or a statement up to its semicolon.

    A command that begins with ``\`` may also stand in the midst of a statement, which then goes on behind it: no
    statement of DuckDB's has a backslash outside strings, names and comments.

    >>> reader = LineReader()
    >>> [reader.feed(line) for line in ("SELECT 1", "; SELECT", "\\budget", "2;", "\\q")]
    [[], ['SELECT 1'], ['\\budget'], ['SELECT\n2'], ['\\q']]
    """

    def __init__(self) -> None:
        self._rest = ""

    def feed(self, line: str) -> list[str]:
        """The inputs that ``line`` completes."""
        if not self._rest.strip() and is_command(line):
            return [line.strip()]
        if "\\" in line:
            at = command_start(self._rest + line, len(self._rest))
            if at is not None:
                before, command = line[: at - len(self._rest)], line[at - len(self._rest) :]
                return [*(self.feed(before) if before.strip() else ()), command.strip()]
        self._rest += line if line.endswith(("\n", "\r")) else line + "\n"
        return self._take() if ";" in line else []

    @property
    def rest(self) -> str:
        """What was fed and is not complete: a statement without its semicolon."""
        return self._rest

    def finish(self) -> list[str]:
        """What is left at the end, with or without a semicolon."""
        rest, self._rest = self._rest, ""
        return [p.text for p in split(rest)]

    def _take(self) -> list[str]:
        pieces = split(self._rest)
        self._rest = ""
        if pieces and not pieces[-1].ended:
            last = pieces.pop()
            self._rest = last.text if last.open is not None else last.text + "\n"
        return [p.text for p in pieces]


def is_command(line: str) -> bool:
    r"""Whether a line is a command of the shell: ``\d``, ``.read``.

    >>> is_command("\\d adult"), is_command(".read x.sql"), is_command(".5 + 1")
    (True, True, False)
    """
    text = line.lstrip()
    return text.startswith("\\") or (text.startswith(".") and text[1:2].isalpha())
