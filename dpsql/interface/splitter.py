"""A text of several statements cut at the semicolons that end them: strings, names and comments may hold others.

The shell must know when an input is complete and a batch where a statement ends, before any of them is parsed.
"""

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<line>--[^\n]*)
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
    pieces: list[Piece] = []
    places = _Places(text)
    start: int | None = None
    stop = position = 0
    parameters: set[str] = set()
    unclosed: str | None = None
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:  # cannot happen: the last alternative matches any character
            break
        kind = token.lastgroup
        position = token.end()
        if kind == "end":
            if start is not None:
                pieces.append(_piece(places, start, stop, parameters))
            start, parameters = None, set()
            continue
        if kind in ("space", "line"):
            if kind == "line" and start is not None:
                stop = position
            continue
        if kind == "block":
            closed = _block_end(text, position)
        else:
            if start is None:
                start = token.start()
            closed = _end(text, token)
            if kind == "parameter":
                parameters.add(token.group()[1:])
        if closed is None:
            unclosed = _OPEN[kind or "other"]
            position = len(text)
            start = token.start() if start is None else start
        else:
            position = closed
        if start is not None:
            stop = position
    if start is not None:
        pieces.append(_piece(places, start, stop, parameters, ended=False, unclosed=unclosed))
    return pieces


def is_complete(text: str) -> bool:
    """Whether ``text`` ends with a semicolon that ends a statement, or holds nothing at all."""
    pieces = split(text)
    return not pieces or pieces[-1].ended


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


def _piece(
    places: _Places, start: int, stop: int, parameters: set[str], *, ended: bool = True, unclosed: str | None = None
) -> Piece:
    text = places.text
    line, column = places.of(start)
    kept = text[start:stop] if unclosed is not None else text[start:stop].rstrip()
    return Piece(kept, line, column, frozenset(parameters), ended, unclosed)


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
