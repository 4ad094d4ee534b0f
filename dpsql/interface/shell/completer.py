"""Completion of keywords, tables, columns, declared values and the shell's own commands. All of it is public.

A declared value that is mistyped is a wasted question; declared values are public, so that they may be offered.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from dpsql.dialect.quoting import written
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
    """Inside a string: the values of the column before it; inside a quoted name: names; elsewhere words."""

    def __init__(self, tables: Sequence[TableDomain]) -> None:
        self._tables = tables

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        before = document.text_before_cursor
        opened = _opened(before)
        if opened is not None:
            start, quote = opened
            offers = ((v, "") for v in self._values(before[:start])) if quote == "'" else self._names()
            yield from _matching(before[start + 1 :], ((v, v.replace(quote, quote * 2) + quote, w) for v, w in offers))
            return
        word = _WORD.search(before)
        typed = "" if word is None else word.group()
        first = before.lstrip() == typed
        if first and typed.startswith(("\\", ".")):
            names = ((name.split()[0], what) for name, what in COMMANDS)
            yield from _matching(typed, ((n, n, what) for n, what in names))
        elif before.lstrip().startswith("\\d "):
            yield from _matching(typed, ((t.name, written(t.name), "table") for t in self._tables))
        elif before.lstrip().startswith("\\o "):
            yield from _matching(typed, ((f, f, "") for f in SHELL_FORMATS))
        elif "." in typed:
            yield from _matching(typed.rpartition(".")[2], ((n, written(n), what) for n, what in self._columns()))
        elif typed:
            yield from _matching(typed, ((n, written(n), what) for n, what in self._names()))
            yield from _matching(typed, ((k, k, "") for k in KEYWORDS))

    def _columns(self) -> Iterator[tuple[str, str]]:
        for table in self._tables:
            for column in table.columns:
                yield column.name, domain_text(column)

    def _names(self) -> Iterator[tuple[str, str]]:
        yield from self._columns()
        for table in self._tables:
            yield table.name, "table"

    def _values(self, before: str) -> Iterator[str]:
        match = _STRING.search(before)
        name = None if match is None or match["column"] is None else match["column"].strip('"').lower()
        columns = [c for t in self._tables for c in t.columns if isinstance(c, CategoryDomain)]
        chosen = [c for c in columns if c.name.lower() == name] or columns
        for column in chosen:
            yield from column.values


def _matching(typed: str, offers: Iterable[tuple[str, str, str]]) -> Iterator[Completion]:
    """Of (word, text, what it is) those whose word begins with ``typed``: their text takes its place."""
    seen: set[str] = set()
    for word, text, what in offers:
        if word.lower().startswith(typed.lower()) and text not in seen and len(seen) < _MOST:
            seen.add(text)
            yield Completion(text, start_position=-len(typed), display=escape(word), display_meta=escape(what)[:50])


def _opened(text: str) -> tuple[int, str] | None:
    """Where the string or the quoted name starts that the cursor is in, and its quote."""
    start, quote = 0, ""
    for i, char in enumerate(text):
        if char == quote:
            quote = ""
        elif not quote and char in "'\"":
            start, quote = i, char
    return (start, quote) if quote else None
