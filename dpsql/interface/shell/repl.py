"""``dpsql shell``: on a terminal a prompt, elsewhere statements from standard input without prompt or echo.

Lines are gathered into inputs (``LineReader``), and the shell does the rest.
"""

from collections.abc import Iterable
from io import TextIOWrapper

from dpsql.interface.console import INTERRUPTED, Console, standard_input
from dpsql.interface.dbapi.session_view import SessionView
from dpsql.interface.shell.line_reader import LineReader
from dpsql.interface.shell.shell import Shell


def run_lines(shell: Shell, lines: Iterable[str]) -> None:
    """Run inputs as they arrive; errors do not stop the ones behind them."""
    reader = LineReader()
    for line in lines:
        for one in reader.feed(line):
            shell.handle(one.text, one)
        if shell.leaving:
            return
    for one in reader.finish():
        shell.handle(one.text, one)


def run_shell(session: SessionView, console: Console, *, title: str) -> int:
    """The exit code: 0 on a terminal; elsewhere that of the worst error, 130 when interrupted."""
    shell = Shell(session, console, read_lines=run_lines)
    source = standard_input()
    if source.isatty():
        from dpsql.interface.shell.prompt import run_prompt

        run_prompt(shell, title=title)
        return 0
    if isinstance(source, TextIOWrapper):
        # The text as it is, also between quotes, as a batch reads it; bytes that are no text fail in their statement.
        source.reconfigure(encoding="utf-8-sig", errors="surrogateescape", newline="")
    try:
        run_lines(shell, source)
    except KeyboardInterrupt as stopped:
        shell.console.interrupted(stopped)
        return INTERRUPTED
    return shell.code
