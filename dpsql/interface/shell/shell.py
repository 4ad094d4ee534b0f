"""The shell behind the prompt: what it does with one statement or one of its own commands.

It holds the shell's settings and its session; the loops around it hand it one input at a time.
"""

from collections.abc import Callable, Iterable
from io import StringIO
from pathlib import Path

from dpsql.errors import Error, OperationalError, ProgrammingError
from dpsql.interface.asked import ask, price
from dpsql.interface.console import OK, Console, exit_code
from dpsql.interface.dbapi.session_view import SessionView
from dpsql.interface.render import FORMATS, WITH_NOTES, Format
from dpsql.interface.render.budget import render_budget
from dpsql.interface.render.explanation import render_explanation
from dpsql.interface.render.footer import duration
from dpsql.interface.render.layout import pairs
from dpsql.interface.render.listing import render_columns, render_public, render_tables
from dpsql.interface.render.result import render_result
from dpsql.interface.render.style import escape
from dpsql.interface.shell.line_reader import HELP, LEAVING, Input
from dpsql.interface.splitter import place_of
from dpsql.result import NO_TERMS, Terms

COMMANDS = (
    ("\\d", "list the tables"),
    ("\\d TABLE", "list a table's columns and their domains"),
    ("\\budget", "draw what is spent and what is left"),
    ("\\explain SQL", "show what a statement would ask and cost at most; free"),
    ("\\within N", "pay for a 95 % bound of N counts from now on; \\within off ends it"),
    ("\\hide", "leave out groups whose counts are within their errors, or show them again"),
    ("\\timing", "show the time each statement takes, or stop"),
    ("\\o FORMAT", "write results as table, csv, json, jsonl or markdown; alone: show the format in use"),
    (".read FILE.sql", "run the statements and commands in a file whose name ends in .sql, go on after errors"),
    ("\\?", "this list"),
    ("\\q", "leave; so do Ctrl-D, quit and exit"),
)
SHELL_FORMATS = tuple(f for f in FORMATS if f != "parquet")
_DEEPEST_READ = 8
_WRITES = ("\\copy", ".output", ".once")
_TO_FILE = "dpsql run FILE.sql -o OUT writes results to a file"
_HELP = "\\? lists the commands"
ReadLines = Callable[["Shell", Iterable[str]], None]


class Shell:
    """``leaving`` after ``\\q``; ``code`` is the exit code of the worst error so far."""

    def __init__(self, session: SessionView, console: Console, *, read_lines: ReadLines) -> None:
        self.session = session
        self.console = console
        self.leaving = False
        self.code = OK
        self._format: Format = "table"
        self._timing = False
        self._hides = False
        self._terms = NO_TERMS
        self._read_lines = read_lines
        self._files: list[str] = []

    def handle(self, text: str, at: Input | None = None) -> None:
        """Run one statement or command; a ``dpsql.Error`` is shown, never raised, with its line where many are read:
        ``at`` is the place of this one among them."""
        text = text.strip()
        if not text or self.leaving:
            return
        try:
            if text.startswith(("\\", ".")):
                self._command(text)
            elif text.lower() in LEAVING:
                self.leaving = True
            elif text.lower() == HELP:
                self._help("")
            else:
                self._statement(text)
        except Error as error:
            self._failed(error, at)
            self.code = max(self.code, exit_code(error))

    def _failed(self, error: Error, at: Input | None) -> None:
        if at is None:
            self.console.error(error)
            return
        place = place_of(error, at.line, at.column)
        if self._files:
            where = f"{self._files[-1]}:{place.in_file}"
        else:
            where = f"line {place.line}" + ("" if place.column is None else f", column {place.column}")
        self.console.error(error, where, place.message)

    def _statement(self, text: str) -> None:
        words = price(self.session, text, None, self._terms)
        if words is not None:
            self.console.notice(words)
        asked = ask(self.session, text, None, self._terms)
        seconds = asked.seconds if self._timing else None
        result = asked.result.without_empty() if self._hides else asked.result
        style = self.console.out
        self.console.text(
            render_result(result, self._format, style, budget=asked.budget, seconds=seconds, charged=asked.charged)
        )
        if self._format not in WITH_NOTES:
            self.console.notes(result.notes)
        if self._format == "table":
            self.console.lines([""])
        elif seconds is not None:
            self.console.notice(duration(seconds))

    def _command(self, text: str) -> None:
        name, rest = [*text.split(maxsplit=1), ""][:2]
        run = self._commands().get(name.rstrip(";"))
        if run is None:
            raise ProgrammingError(f"there is no command {name[:40]}", hint=_TO_FILE if name in _WRITES else _HELP)
        run(rest)

    def _commands(self) -> dict[str, Callable[[str], None]]:
        """What runs each command, under all of its names."""
        return {
            **dict.fromkeys(("\\d", "\\dt", "\\d+", "\\dt+", ".tables", ".schema"), self._describe),
            "\\budget": self._budget,
            "\\explain": self._explain,
            "\\within": self._set_within,
            "\\hide": self._toggle_hiding,
            **dict.fromkeys(("\\timing", ".timer"), self._toggle_timing),
            **dict.fromkeys(("\\o", ".mode"), self._set_format),
            **dict.fromkeys((".read", "\\i"), self._read),
            **dict.fromkeys(("\\q", "\\quit", ".quit", ".exit"), self._leave),
            **dict.fromkeys(("\\?", "\\h", "\\help", ".help"), self._help),
        }

    def _describe(self, name: str) -> None:
        tables, public = self.session.tables(), self.session.public_tables()
        wanted = name.rstrip("; ")
        quoted = wanted.startswith('"') and wanted.endswith('"') and len(wanted) > 1
        wanted = (wanted[1:-1].replace('""', '"') if quoted else wanted).lower()
        if not wanted:
            self.console.lines(render_tables(tables, public, self.console.out))
            return
        for table in tables:
            if table.name.lower() == wanted:
                self.console.lines(render_columns(table, self.console.out))
                return
        for table_name, columns in public.items():
            if table_name.lower() == wanted:
                self.console.lines(render_public(table_name, columns, self.console.out))
                return
        names = ", ".join([*(t.name for t in tables), *(f"{name} (public)" for name in public)])
        raise ProgrammingError(f"there is no table {wanted[:80]}", hint=f"tables: {names}")

    def _budget(self, rest: str) -> None:
        self.console.lines(render_budget(self.session.budget(), self.console.out))

    def _explain(self, sql: str) -> None:
        if not sql.rstrip(";").strip():
            raise ProgrammingError("\\explain needs a statement", hint="write \\explain SELECT ... on one line")
        self.console.lines(render_explanation(self.session.explain(sql, None, self._terms), self.console.out))

    def _set_within(self, rest: str) -> None:
        word = rest.rstrip("; ").lower()
        if word not in ("", "off"):
            try:
                self._terms = Terms(within=float(word))
            except ValueError:
                raise ProgrammingError("\\within takes a number of counts", hint="write \\within 25") from None
        elif word == "off":
            self._terms = NO_TERMS
        bound = self._terms.within
        self.console.notice("as the plan has it" if bound is None else f"counts within {bound:g}, paid where need be")

    def _toggle_hiding(self, rest: str) -> None:
        self._hides = _switched("\\hide", rest, self._hides)
        self.console.notice(f"groups that may be empty are {'hidden' if self._hides else 'shown'}")

    def _toggle_timing(self, rest: str) -> None:
        self._timing = _switched("\\timing", rest, self._timing)
        self.console.notice(f"timing is {'on' if self._timing else 'off'}")

    def _set_format(self, name: str) -> None:
        if not name.rstrip("; "):
            self.console.notice(f"results as {self._format}")
            return
        for form in SHELL_FORMATS:
            if form == name.rstrip("; ").lower():
                self._format = form
                self.console.notice(f"results as {form}")
                return
        raise ProgrammingError(f"no format {name[:40]!r}", hint=f"\\o {' | '.join(SHELL_FORMATS)}; {_TO_FILE}")

    def _read(self, name: str) -> None:
        if not name:
            raise ProgrammingError(".read needs a file", hint="write .read queries.sql")
        if len(self._files) >= _DEEPEST_READ:
            raise ProgrammingError(".read goes too deep", hint="does the file read itself?")
        path = Path(name.strip("'\""))
        first, *more = name.split()
        if path.suffix.lower() != ".sql" and more and first.lower().endswith(".sql"):
            raise ProgrammingError(".read takes one file, and nothing behind it", hint=f"write .read {first[:200]}")
        if path.suffix.lower() != ".sql":  # a syntax error quotes the text that it is about
            raise ProgrammingError(".read takes files of SQL, which end in .sql", hint="write .read queries.sql")
        text, said, hint = None, "", "check the path"
        try:
            text = path.expanduser().read_bytes().decode("utf-8-sig")
        except FileNotFoundError:
            said = f"there is no file {name[:200]}"
        except UnicodeDecodeError:
            said, hint = f"cannot read {name[:200]} as UTF-8 text", "save or convert it as UTF-8"
        except (OSError, ValueError, RuntimeError):  # the last: ~ of a user that there is not
            said = f"cannot read {name[:200]}"
        if text is None:
            raise OperationalError(said, hint=hint)
        self._files.append(path.name)
        try:
            self._read_lines(self, StringIO(text, newline=""))
        finally:
            self._files.pop()

    def _leave(self, rest: str) -> None:
        self.leaving = True

    def _help(self, rest: str) -> None:
        """All commands, or the lines of one, whose name may be without its first sign: ``\\help budget``."""
        word = rest.rstrip("; ").lower()
        commands = self._commands()
        named = [commands[n] for n in (word, f"\\{word}", f".{word}") if n in commands]
        listed = [(line, what) for line, what in COMMANDS if not word or commands[line.split()[0]] in named]
        if not listed:
            raise ProgrammingError(f"there is no command {word[:40]}", hint=_HELP)
        if not word:
            self.console.lines(["A statement ends with a semicolon. Equal questions are free.", ""])
        self.console.lines(pairs([(name, escape(what)) for name, what in listed], self.console.out))


def _switched(command: str, word: str, now: bool) -> bool:
    """What ``on``, ``off`` or no word makes of a setting."""
    word = word.rstrip("; ").lower()
    if word not in ("", "on", "off"):
        raise ProgrammingError(f"{command} is on or off, not {word[:40]}", hint=f"write {command} on, or {command} off")
    return word == "on" if word else not now
