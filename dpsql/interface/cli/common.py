"""What several commands share: the database argument, the options for policy and ledger, an open session.

Every command finds database, policy and ledger by the same rules, and opens and closes its session in the same way.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

import click

from dpsql.errors import PolicyWarning
from dpsql.interface.console import Console
from dpsql.interface.dbapi.paths import Address, DatabasePath, named_ledger
from dpsql.interface.dbapi.session_view import SessionView
from dpsql.interface.render import FORMATS, Format
from dpsql.interface.render.style import escape

Command = TypeVar("Command", bound=Callable[..., Any])


class _FileType(click.Path):
    """An existing file; an address is refused without being shown."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if Address.is_one(value):
            self.fail("a policy is drafted from a file, not from a server: write it as docs/policy.md says")
        return super().convert(value, parameter, context)


database_argument = click.argument("database", type=_FileType(exists=True, dir_okay=False, path_type=Path))


class _DatabaseType(click.Path):
    """An existing file, a policy among them, or the address of a server's database."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if Address.is_one(value):
            return Address(value)
        ledger = named_ledger(value)
        if ledger is not None:
            self.fail(ledger, parameter, context)
        return super().convert(value, parameter, context)


session_argument = click.argument("database", type=_DatabaseType(exists=True, dir_okay=False, path_type=Path))


def takes_source(command: click.Command) -> bool:
    """Whether its first argument is a database to open, or the address of one."""
    return any(isinstance(p.type, _DatabaseType) for p in command.params)


def session_options(command: Command) -> Command:
    """``DATABASE --policy --ledger --new-budget``."""
    options = [
        session_argument,
        click.option(
            "--policy",
            type=click.Path(dir_okay=False, path_type=Path),
            help="Policy file. Default: NAME.dpsql.toml beside the database.",
        ),
        click.option(
            "--ledger",
            type=click.Path(dir_okay=False),
            help="Ledger file. Default: NAME.dpsql.ledger beside the database.",
        ),
        click.option(
            "--new-budget", is_flag=True, help="Owner: spend a second budget on people who have a ledger already."
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


parameter_option = click.option(
    "-p", "--param", "params", multiple=True, metavar="NAME=VALUE", help="Value for $NAME in the SQL; repeatable."
)


def output_options(command: Command) -> Command:
    """``--format --output``."""
    for option in (
        click.option(
            "-o",
            "--output",
            type=click.Path(dir_okay=False, writable=True, path_type=Path),
            help="Write to a file.",
        ),
        click.option(
            "--format",
            "form",
            type=click.Choice(FORMATS),
            help="Default: by OUTPUT's ending, .csv, .json, .jsonl, .parquet, .md or .txt; else table.",
        ),
    ):
        command = option(command)
    return command


def decoded(data: bytes, name: str) -> str:
    """Statements that a file or a pipe holds, whatever the locale says; ``name`` is for the refusal of other bytes."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise click.UsageError(f"{name} is not UTF-8 text: save or convert it as UTF-8") from None


_ENDINGS: dict[str, Format] = {
    "csv": "csv",
    "json": "json",
    "jsonl": "jsonl",
    "parquet": "parquet",
    "md": "markdown",
    "txt": "table",
    "": "table",
}


def format_of(form: Format | None, output: Path | None) -> Format:
    """The format that is asked for, or that the name of the output speaks of.

    >>> format_of(None, Path("out.CSV")), format_of("table", Path("out.csv")), format_of(None, Path("out"))
    ('csv', 'table', 'table')
    """
    ending = "" if output is None else output.suffix.lower().removeprefix(".")
    found = form or _ENDINGS.get(ending)
    if found is None:
        known = ", ".join(f".{e}" for e in _ENDINGS if e)
        raise click.UsageError(f"no format is named by .{ending}: give --format, or a name that ends in {known}")
    return found


class _Number(click.FloatRange):
    """A number from ``min`` on; neither ``nan``, which is in no range and beyond none, nor ``inf``."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        number = super().convert(value, parameter, context)
        if not isfinite(number):
            self.fail(f"{value} is not a number from {self.min:g} on", parameter, context)
        return number


def terms_options(command: Command) -> Command:
    """``--within --max-charge``."""
    for option in (
        click.option(
            "--max-charge",
            type=_Number(min=0),
            metavar="EPSILON",
            help="Charge at most this; 0 for what is free.",
        ),
        within_option,
    ):
        command = option(command)
    return command


within_option = click.option(
    "--within",
    type=_Number(min=1),
    metavar="COUNTS",
    help="Pay for a 95 % bound of so many counts, from what the owner set aside.",
)


@contextmanager
def opened(
    console: Console, database: DatabasePath, policy: Path | None, ledger: str | None, new_budget: bool
) -> Iterator[SessionView]:
    """An open session, closed at the end; its notices go to standard error."""
    from dpsql.interface.dbapi import connect  # brings in DuckDB, NumPy and the rest, which --help does not need

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)  # they are among the notices
        opened = connect.connect(database, policy, ledger, new_budget=new_budget)
    with opened as connection:
        console.notices(connection.notices)
        session = connection.session
        session.on_progress(
            lambda table, what, done, of: console.progress(progress_line("first look at ", table, what, done, of))
        )
        yield session


def progress_line(doing: str, table: str, what: str, done: int, of: int) -> str:
    """What a session tells of its progress, in words.

    >>> progress_line("first look at ", "adult", "contingencies", 3, 12)
    'first look at adult: 3 of 12 contingencies'
    >>> progress_line("first look at ", "adult for the first time", "in another session", 7, 0)
    'waiting for another session, which measures adult for the first time: 7 s'
    """
    if of == 0:
        return f"waiting for another session, which measures {escape(table)}: {done} s"
    return f"{doing}{escape(table)}: {done} of {of} {what}"
