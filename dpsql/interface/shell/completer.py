"""Completion of keywords, tables, columns, declared values and the shell's own commands. All of it is public.

A declared value that is mistyped is a wasted question; declared values are public, so that they may be offered.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from dpsql.domain import CategoryDomain, TableDomain
from dpsql.interface.render.listing import domain_text
from dpsql.interface.render.style import escape
from dpsql.interface.shell.shell import COMMANDS, SHELL_FORMATS

KEYWORDS = (
    *("SELECT", "FROM", "WHERE", "AND", "OR", "NOT", "IN", "IS", "NULL", "LIKE", "BETWEEN", "CASE", "WHEN", "THEN"),
    *("ELSE", "END", "AS", "GROUP BY", "HAVING", "ORDER BY", "ASC", "DESC", "LIMIT", "DISTINCT", "WITH", "UNION ALL"),
    *("COUNT(*)", "COUNT(", "SUM(", "AVG(", "FILTER (WHERE", "EXISTS", "TRUE", "FALSE", "DATE", "EXTRACT("),
)
_MOST = 200
_STRING = re.compile(r"(?:(?P<column>[\w\"]+)\s*(?:=|<>|!=|\bNOT\s+IN\s*\([^()]*|\bIN\s*\([^()]*)\s*)?$", re.IGNORECASE)
_WORD = re.compile(r"[\w\\.]*$")


class SqlCompleter(Completer):
    """Inside a string: the values of the column before it; elsewhere words."""

    def __init__(self, tables: Sequence[TableDomain]) -> None:
        self._tables = tables

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        before = document.text_before_cursor
        opened = _open_string(before)
        if opened is not None:
            typed = before[opened + 1 :]
            yield from _matching(typed, ((v, "") for v in self._values(before[:opened])), quoted=True)
            return
        word = _WORD.search(before)
        typed = "" if word is None else word.group()
        first = before.lstrip() == typed
        if first and typed.startswith(("\\", ".")):
            names = ((name.split()[0], what) for name, what in COMMANDS)
            yield from _matching(typed, dict.fromkeys(names))
        elif before.lstrip().startswith("\\d "):
            yield from _matching(typed, ((_name(t.name), "table") for t in self._tables))
        elif before.lstrip().startswith("\\o "):
            yield from _matching(typed, ((f, "") for f in SHELL_FORMATS))
        elif typed:
            yield from _matching(typed, self._words())

    def _words(self) -> Iterator[tuple[str, str]]:
        for table in self._tables:
            for column in table.columns:
                yield _name(column.name), domain_text(column)
        for table in self._tables:
            yield _name(table.name), "table"
        for keyword in KEYWORDS:
            yield keyword, ""

    def _values(self, before: str) -> Iterator[str]:
        match = _STRING.search(before)
        name = None if match is None or match["column"] is None else match["column"].strip('"').lower()
        columns = [c for t in self._tables for c in t.columns if isinstance(c, CategoryDomain)]
        chosen = [c for c in columns if c.name.lower() == name] or columns
        for column in chosen:
            yield from column.values


def _matching(typed: str, words: Iterable[tuple[str, str]], *, quoted: bool = False) -> Iterator[Completion]:
    seen: set[str] = set()
    for word, what in words:
        text = word.replace("'", "''") + "'" if quoted else word
        if word.lower().startswith(typed.lower()) and text not in seen and len(seen) < _MOST:
            seen.add(text)
            yield Completion(text, start_position=-len(typed), display=escape(word), display_meta=escape(what)[:50])


def _open_string(text: str) -> int | None:
    """Where the string starts that the cursor is in."""
    start: int | None = None
    for i, char in enumerate(text):
        if char == "'":
            start = i if start is None else None
    return start


def _name(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else '"' + name.replace('"', '""') + '"'
