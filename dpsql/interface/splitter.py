"""A text of several statements cut at the semicolons that end them: strings, names and comments may hold others.

The shell must know when an input is complete and a batch where a statement ends, before any of them is parsed.
"""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from dpsql.errors import Error

_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<line>--[^\n\r]*)
  | (?P<block>/\*)
  | (?P<escaped>[eE]')
  | (?P<string>')
  | (?P<name>")
  | (?P<word>[^\W\d][\w$]*)
  | (?P<number>\d[\w.]*)
  | (?P<dollar>\$(?:[^\W\d]\w*)?\$)
  | (?P<parameter>\$\w+)
  | (?P<end>;)
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_STRING_END = re.compile(r"[^']*(?:''[^']*)*'")
_ESCAPED_END = re.compile(r"[^'\\]*(?:(?:''|\\.)[^'\\]*)*'", re.DOTALL)
_NAME_END = re.compile(r'[^"]*(?:""[^"]*)*"')
_COMMAND = re.compile(r"\\[A-Za-z?]")
_BLOCK_MARK = re.compile(r"/\*|\*/")


@dataclass(frozen=True)
class Piece:
    """One statement without its semicolon and without comments before it.

    ``line`` and ``column`` of its first character in the whole text count from 1; ``parameters`` are the names behind
    ``$`` in it; ``ended`` is false for a last statement without semicolon, ``open`` names what it leaves unclosed.
    """

    text: str
    line: int
    column: int
    parameters: frozenset[str] = field(default=frozenset())
    ended: bool = True
    open: str | None = None


def split(text: str) -> list[Piece]:
    """The statements of ``text`` in order; those of blanks and comments alone are left out.

    >>> [p.text for p in split("SELECT ';' -- one; two\\n; /* no; */ SELECT $$a;b$$;")]
    ["SELECT ';' -- one; two", 'SELECT $$a;b$$']
    """
    cut = _Cut(text)
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:  # cannot happen: the last alternative matches any character
            break
        position = cut.take(token)
    return cut.finished()


class Place(NamedTuple):
    """Where an error is in the whole text; ``column`` is ``None`` where it is known of its statement alone.
    ``message``: the error's without its place in the statement."""

    line: int
    column: int | None
    message: str

    @property
    def in_file(self) -> str:
        """As it stands behind the name of a file: ``2:8``, or ``2``."""
        return f"{self.line}" if self.column is None else f"{self.line}:{self.column}"


def place_of(error: Error, line: int, column: int) -> Place:
    """The place of an error of the statement that begins at ``line`` and ``column``."""
    own, at = getattr(error, "line", None), getattr(error, "column", None)
    if not isinstance(own, int) or not isinstance(at, int):
        return Place(line, None, error.message)
    message = error.message.removeprefix(f"line {own}, column {at}: ")
    return Place(line + own - 1, at + (column - 1 if own == 1 else 0), message)


def is_complete(text: str) -> bool:
    """Whether ``text`` ends with a semicolon that ends a statement, or holds nothing at all."""
    pieces = split(text)
    return not pieces or pieces[-1].ended


def command_start(text: str, start: int = 0) -> int | None:
    r"""Where, from ``start`` on, a command of the shell begins: a backslash outside strings, names and comments.

    >>> command_start("SELECT '\\d' -- \\d\n\\d"), command_start("SELECT '\\d")
    (18, None)
    """
    cut, position = _Cut(text), 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:  # cannot happen: the last alternative matches any character
            break
        if token.start() >= start and _COMMAND.match(text, position) is not None:
            return position
        position = cut.take(token)
    return None


_OPEN = {
    "block": "a comment",
    "escaped": "a string",
    "string": "a string",
    "name": "a quoted name",
    "dollar": "a dollar-quoted string",
}


class _Places:
    """Lines and columns of places that come in order: each line is counted once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._at = self._begin = 0
        self._line = 1

    def of(self, offset: int) -> tuple[int, int]:
        """Line and column, from 1, of an offset that is no smaller than the one before."""
        lines = self.text.count("\n", self._at, offset)
        if lines:
            self._line += lines
            self._begin = self.text.rfind("\n", self._at, offset) + 1
        self._at = offset
        return self._line, offset - self._begin + 1


class _Cut:
    """The statements cut so far, and where the one begins and stops that is not ended yet."""

    def __init__(self, text: str) -> None:
        self._places = _Places(text)
        self._text = text
        self._pieces: list[Piece] = []
        self._begin()

    def _begin(self) -> None:
        self._start: int | None = None
        self._stop = 0
        self._parameters: set[str] = set()
        self._unclosed: str | None = None

    def take(self, token: re.Match[str]) -> int:
        """Take one token, or what it opens; where the next one begins."""
        match token.lastgroup:
            case "end":
                self._close(ended=True)
                return token.end()
            case "space":
                return token.end()
            case "line":
                return self._go_on(token.end())
            case "block":
                return self._go_on(self._closed(token, _block_end(self._text, token.end())))
            case kind:
                self._start = token.start() if self._start is None else self._start
                if kind == "parameter":
                    self._parameters.add(token.group()[1:])
                return self._go_on(self._closed(token, _end(self._text, token)))

    def finished(self) -> list[Piece]:
        """All statements, the last one without its semicolon included."""
        self._close(ended=False)
        return self._pieces

    def _go_on(self, position: int) -> int:
        """A comment counts to the statement that it stands in, and to none before one."""
        if self._start is not None:
            self._stop = position
        return position

    def _closed(self, token: re.Match[str], end: int | None) -> int:
        """``end``; or, for what is never closed, the end of the text, which belongs to it."""
        if end is not None:
            return end
        self._unclosed = _OPEN[token.lastgroup or "other"]
        self._start = token.start() if self._start is None else self._start
        return len(self._text)

    def _close(self, *, ended: bool) -> None:
        if self._start is not None:
            line, column = self._places.of(self._start)
            kept = self._text[self._start : self._stop]
            kept = kept if self._unclosed is not None else kept.rstrip()
            self._pieces.append(Piece(kept, line, column, frozenset(self._parameters), ended, self._unclosed))
        self._begin()


def _end(text: str, token: re.Match[str]) -> int | None:
    """Where the token that ``token`` opens ends; ``None`` when it is never closed."""
    pattern = {"string": _STRING_END, "escaped": _ESCAPED_END, "name": _NAME_END}.get(token.lastgroup or "")
    if pattern is not None:
        found = pattern.match(text, token.end())
        return None if found is None else found.end()
    if token.lastgroup == "dollar":
        at = text.find(token.group(), token.end())
        return None if at < 0 else at + len(token.group())
    return token.end()


def _block_end(text: str, position: int) -> int | None:
    """The end of a block comment; they nest."""
    depth = 1
    while depth:
        mark = _BLOCK_MARK.search(text, position)
        if mark is None:
            return None
        depth += 1 if mark.group() == "/*" else -1
        position = mark.end()
    return position
