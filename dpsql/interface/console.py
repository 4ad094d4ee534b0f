"""The two streams of the command line: results on standard output, everything else on standard error.

Scripts read standard output. Progress, notes and errors must never mix with results, and a terminal that cannot show a
sign must not stop them.
"""

import io
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import IO, Any, TextIO

import click

from dpsql.errors import CHARGED, BudgetExhausted, Error, OperationalError
from dpsql.interface.render.layout import broken
from dpsql.interface.render.style import Style, escape
from dpsql.result import Note

OK, QUERY_ERROR, USAGE, EXHAUSTED, INTERRUPTED = 0, 1, 2, 3, 130
"""Exit codes of every command."""
_CHUNK = 1 << 14
_SIGNS = "±─█…"


def exit_code(error: Error) -> int:
    """3 when the budget does not allow it, else 1."""
    return EXHAUSTED if isinstance(error, BudgetExhausted) else QUERY_ERROR


def standard_input() -> TextIO:
    """The stream that statements are piped into. OperationalError when the process was started without one."""
    if sys.stdin is None:
        raise OperationalError("standard input is closed", hint="pipe the statements in, or name a file of them")
    return sys.stdin


class Console:
    """Writes to the process's streams as they are now. ``out`` and ``err`` are the styles that suit them."""

    def __init__(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # data that the terminal cannot show is no failure
        self._out = _style(sys.stdout)
        self._err = _style(sys.stderr)
        self._progress = False

    @property
    def out(self) -> Style:
        """The style of results; a terminal may have got another width since the last one."""
        return replace(self._out, columns=_columns(sys.stdout)) if self._out.terminal else self._out

    @property
    def err(self) -> Style:
        """The style of everything else."""
        return replace(self._err, columns=_columns(sys.stderr)) if self._err.terminal else self._err

    @property
    def out_is_terminal(self) -> bool:
        return _is_terminal(sys.stdout)

    @property
    def err_is_terminal(self) -> bool:
        return _is_terminal(sys.stderr)

    def lines(self, lines: Iterable[str]) -> None:
        """Result lines."""
        self.text("".join(f"{line}\n" for line in lines))

    def text(self, text: str | bytes) -> None:
        """Result text as it is."""
        self.clear_progress()
        for start in range(0, len(text), _CHUNK):  # an unbuffered stream hides that a long write was cut short
            click.echo(text[start : start + _CHUNK], nl=False, color=True)

    def notice(self, text: str) -> None:
        """One line about what happened, beside the results."""
        for line in broken([escape(text)], self.err):
            self._say(self.err.dim(line))

    def notices(self, texts: Iterable[str]) -> None:
        """What there is to know about how a session was opened."""
        for text in texts:
            self._told("notice:", self.err.yellow, escape(text))

    def notes(self, notes: Iterable[Note]) -> None:
        """Notes on a result whose format has no place for them."""
        for note in notes:
            self._told("note:", self.err.cyan, escape(note.text))

    def error(self, error: Error, where: str = "", message: str | None = None) -> None:
        """``error: ...``, ``hint: ...`` and what was charged all the same.

        Messages may quote what the analyst typed, so they are escaped.

        ``message`` in place of the error's, where ``where`` says part of it already.
        """
        place = f"{escape(where)}: " if where else ""
        self._told("error:", self.err.red, f"{place}{_lines(error.message if message is None else message)}")
        self._told("hint:", self.err.cyan, _lines(error.hint))
        for note in error.__notes__:
            if note.startswith(CHARGED):  # by a statement that failed when it was paid
                self._told(CHARGED, self.err.yellow, escape(note.removeprefix(CHARGED).lstrip()))

    def interrupted(self, stopped: BaseException, hint: str = "") -> None:
        """That it was, and what the statement had paid."""
        self.notice("; ".join(["interrupted", *getattr(stopped, "__notes__", ()), *([hint] if hint else ())]))

    def progress(self, text: str) -> None:
        """A line that the next one replaces; only on a terminal."""
        if self.err_is_terminal:
            click.echo(f"\r\x1b[K{text}", nl=False, err=True, color=True)
            self._progress = True

    def clear_progress(self) -> None:
        if self._progress:
            click.echo("\r\x1b[K", nl=False, err=True, color=True)
            self._progress = False

    def _told(self, label: str, paint: Callable[[str], str], text: str) -> None:
        first, *more = broken(f"{label} {text}".split("\n"), self.err)
        self._say("\n".join([paint(label) + first.removeprefix(label), *more]))

    def _say(self, line: str) -> None:
        self.clear_progress()
        if sys.stderr is not None:  # is closed: older versions of Click write to it anyhow
            click.echo(line, err=True, color=True)


def _lines(text: str) -> str:
    return "\n".join(escape(line) for line in text.split("\n"))


def _is_terminal(stream: IO[Any] | None) -> bool:
    return stream is not None and not stream.closed and stream.isatty()


def _columns(stream: IO[Any] | None) -> int:
    """Of the terminal behind a stream; 0 where it does not say."""
    try:
        return 0 if stream is None else os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):  # no terminal, or closed
        return 0


def _style(stream: IO[Any] | None) -> Style:
    dull = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    try:
        _SIGNS.encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        encodes = False
    else:
        encodes = True
    terminal = _is_terminal(stream)
    return Style(colour=terminal and not dull, unicode=encodes, terminal=terminal)
