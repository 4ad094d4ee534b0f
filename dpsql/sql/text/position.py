"""Where in the text a node stands, and the refusal that names the place. Public.

A refusal that does not say where is a riddle in a long statement. Trees are rewritten on the way and new nodes have no
place, so the nearest one that has a place answers for them.
"""

import re
from collections.abc import Iterable

from sqlglot import exp

from dpsql.dialect.quoting import written
from dpsql.errors import UnsupportedQuery


def line_column(text: str, offset: int) -> tuple[int, int]:
    """Line and column, both from 1, of a character offset.

    >>> line_column("a\\nbc", 3)
    (2, 2)
    """
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


_SPANS = re.compile(r"'(?:[^']|'')*+'|\"(?:[^\"]|\"\")*+\"|--[^\n]*+|/\*.*?\*/|(?P<open>['\"`]|/\*)", re.DOTALL)


def unclosed(text: str) -> tuple[int, int]:
    """Where the string, name or comment begins that has no end; the text's start where none is found.

    >>> unclosed("SELECT 'a' || 'b")
    (1, 15)
    """
    opened = next((m.start() for m in _SPANS.finditer(text) if m["open"]), 0)
    return line_column(text, opened)


def first_place(text: str, name: str) -> tuple[int | None, int | None]:
    """Line and column where a name is first mentioned outside of strings and comments; (None, None) where it is not.

    >>> first_place("SELECT 'w', -- w\\n W FROM t", "w")
    (2, 2)
    """
    wanted = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])", re.IGNORECASE)
    read = _SPANS.sub(lambda m: m[0] if m[0].startswith('"') else " " * len(m[0]), text)
    found = wanted.search(read)
    return (None, None) if found is None else line_column(text, found.start())


def unquoted(text: str, offset: int, names: Iterable[str]) -> str | None:
    """Of names that SQL reads only between double quotes the one that is written without them at an offset, or before.

    >>> unquoted("SELECT order, n FROM t", 12, ["n", "order"])
    'order'
    """
    read = _SPANS.sub(lambda m: " " * len(m[0]), text)
    for name in names:
        for found in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", read, re.IGNORECASE):
            if written(name) != name and found.start() <= offset and not read[found.end() : offset].strip():
                return name
    return None


def place(text: str, node: exp.Expr | None) -> tuple[int | None, int | None]:
    """Line and column of the first known token of ``node``, or of what surrounds it; (None, None) for no node.

    The statement's start where no token is known.
    """
    if node is None:
        return None, None
    around: exp.Expr | None = node
    while around is not None:
        starts = [n.meta["start"] for n in around.walk() if n.meta.get("start") is not None]
        if starts:
            return line_column(text, min(starts))
        around = around.parent
    return line_column(text, len(text) - len(text.lstrip()))


def refusal(text: str, node: exp.Expr | None, reason: str, hint: str) -> UnsupportedQuery:
    """The refusal of ``node``, to be raised by the caller; nothing was charged."""
    line, column = place(text, node)
    return UnsupportedQuery(reason, line=line, column=column, hint=hint)
