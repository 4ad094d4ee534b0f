"""The prompt on a terminal: multi-line input, history without answers, completion, the budget that is left.

All that needs a terminal is in here, so that everything else of the shell runs and is tested without one.
"""

import os
from io import StringIO
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import ColorDepth, Output

from dpsql.errors import Error
from dpsql.interface.render.number import epsilon
from dpsql.interface.shell.completer import SqlCompleter
from dpsql.interface.shell.line_reader import LineReader, is_command
from dpsql.interface.shell.shell import Shell
from dpsql.interface.splitter import command_start, is_complete
from dpsql.ledger import default_state_directory


def run_prompt(
    shell: Shell,
    *,
    title: str,
    history: History | None = None,
    source: Input | None = None,
    screen: Output | None = None,
) -> None:
    """Until ``\\q`` or Ctrl-D. ``source`` and ``screen`` stand in for the terminal in tests."""
    from dpsql import __version__

    budget = shell.session.budget()
    left = f"epsilon {epsilon(budget.remaining_epsilon)} of {epsilon(budget.epsilon)} left"
    shell.console.notice(f"dpsql {__version__} on {title}: {left}. \\? for help, \\q to leave.")
    session: PromptSession[str] = PromptSession(
        history=default_history() if history is None else history,
        completer=SqlCompleter(shell.session.tables()),
        complete_while_typing=False,
        multiline=True,
        enable_suspend=True,
        key_bindings=_bindings(),
        prompt_continuation=_continuation,
        color_depth=None if shell.console.out.colour else ColorDepth.DEPTH_1_BIT,
        input=source,
        output=screen,
    )
    unfinished = ""
    while not shell.leaving:
        try:
            text = session.prompt(_message(shell), default=unfinished)
        except KeyboardInterrupt:  # cancels the input, as in every shell
            unfinished = ""
            continue
        except EOFError:
            return
        unfinished = ""
        try:
            unfinished = run_input(shell, text)
        except KeyboardInterrupt as stopped:
            shell.console.interrupted(stopped)


def run_input(shell: Shell, text: str) -> str:
    """Everything that was entered at one prompt: a command, a bare word, or statements.

    Returns the statement in whose midst a command was entered, for the next prompt to go on with.
    """
    if is_command(text):
        shell.handle(text)
        return ""
    reader = LineReader()
    inputs = [i for line in StringIO(text, newline="") for i in reader.feed(line)]
    unfinished = reader.rest if _ends_with_command(text) else ""
    for one in inputs if unfinished else inputs + reader.finish():
        shell.handle(one.text)
    return unfinished


def _ends_with_command(text: str) -> bool:
    """Whether a command of the shell stands in the last line, behind or within a statement."""
    return "\\" in text and command_start(text, text.rstrip().rfind("\n") + 1) is not None


def default_history() -> History:
    """Statements, never answers, in the user's state folder; in memory when that cannot be written."""
    try:
        folder = default_state_directory()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / "history"
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    except (OSError, RuntimeError):  # read-only, no home
        return InMemoryHistory()
    return FileHistory(str(path))


def _message(shell: Shell) -> StyleAndTextTuples:
    try:
        budget = shell.session.budget()
    except Error:
        return [("bold", "dpsql> ")]
    share = budget.remaining_epsilon / budget.epsilon if budget.epsilon > 0 else 0.0
    colour = "ansigreen" if share > 0.5 else "ansiyellow" if share > 0.1 else "ansired"
    return [("bold", "dpsql"), (colour, f" {epsilon(budget.remaining_epsilon)} left"), ("bold", "> ")]


def _continuation(width: int, line_number: int, wrap_count: int) -> StyleAndTextTuples:
    return [("", "." * max(0, width - 2) + "> " if wrap_count == 0 else " " * width)]


def _on_an_empty_line() -> bool:
    """Whether Ctrl-D leaves, as in psql: what was begun above is given up."""
    document = get_app().current_buffer.document
    return document.is_cursor_at_the_end and not document.current_line


def _bindings() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("enter", filter=has_focus(DEFAULT_BUFFER))
    def _(event: KeyPressEvent) -> Any:
        buffer = event.current_buffer
        text = buffer.text
        if is_command(text) or is_complete(text) or _ends_with_command(text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    @bindings.add("c-d", filter=has_focus(DEFAULT_BUFFER) & Condition(_on_an_empty_line))
    def _(event: KeyPressEvent) -> Any:
        event.app.exit(exception=EOFError)

    return bindings
