"""The program ``dpsql``: its commands in the order of a first hour, and what its exit codes mean."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import Any

import click

from dpsql.collector import collected_seldom
from dpsql.errors import Error, OperationalError
from dpsql.interface.cli.ask import budget, explain, query, shell
from dpsql.interface.cli.common import takes_source
from dpsql.interface.cli.demo import demo
from dpsql.interface.cli.extract import extract
from dpsql.interface.cli.owner import check, init
from dpsql.interface.cli.run import run
from dpsql.interface.cli.synth import synth
from dpsql.interface.console import INTERRUPTED, QUERY_ERROR, Console, exit_code


class Program(click.Group):
    """Turns what ends a command early into one of the documented exit codes."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            value = super().invoke(ctx)
            sys.stdout.flush()
        except Error as error:
            Console().error(error)
            ctx.exit(exit_code(error))
        except (KeyboardInterrupt, click.Abort) as stopped:
            Console().interrupted(stopped)
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            _forget_unwritten()
            ctx.exit(QUERY_ERROR)
        except OSError as error:
            _tell(error)
            ctx.exit(QUERY_ERROR)
        return value

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        try:
            return super().make_context(*arguments, **options)
        except KeyboardInterrupt:  # click has another exit code for it
            sys.exit(INTERRUPTED)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """What ``--source`` says is the DATABASE of a command that opens a session, or checks one's rows."""
        if args and args[0] not in self.commands and Path(args[0]).is_file():
            raise click.UsageError(f"{args[0]} is no command. To ask questions of it: dpsql shell {quote(args[0])}")
        name, command, rest = super().resolve_command(ctx, args)
        source = ctx.params.get("source")
        if source is None or command is None:
            return name, command, rest
        if not takes_source(command):
            raise click.UsageError(f"--source is not for {name}: see dpsql {name} --help")
        return name, command, [source, *rest]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # in the order of a first hour, not of the alphabet


def _tell(error: OSError) -> None:
    """What the system refused, where it can be said."""
    with suppress(OSError):  # standard error may be what cannot be written
        Console().error(Error(f"{error.filename or 'output'}: {error.strerror}", hint="check the path and the disk"))
    _forget_unwritten()


def _forget_unwritten() -> None:
    """The reader has gone, the disk is full: the interpreter must not try to flush the rest at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):  # no real file behind it
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _occupy_closed_streams() -> None:
    """No database and no ledger must get the number of a standard stream, to which anybody may write."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free


@click.group(
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
    no_args_is_help=True,
    epilog="Exit codes: 0 ok, 1 query error, 2 usage, 3 budget exhausted, 130 interrupted.",
)
@click.version_option(package_name="dpsql", prog_name="dpsql")
@click.option(
    "--source",
    metavar="SOURCE",
    help="In place of DATABASE: a file, a policy or postgresql://...; without a command its shell is opened.",
)
@click.pass_context
def cli(context: click.Context, source: str | None) -> None:
    """SQL counting queries on private DuckDB tables, answered with differential privacy.

    One fixed (epsilon, delta) holds for the whole session, however many questions are asked. Start with: dpsql demo
    """
    if context.invoked_subcommand is None:
        if source is None:
            raise click.UsageError("which command? see dpsql --help")
        with shell.make_context("shell", [source], parent=context) as asked:
            shell.invoke(asked)


for _command in (demo, init, shell, run, query, explain, synth, extract, budget, check):
    cli.add_command(_command)


def main() -> None:
    """The entry point of the ``dpsql`` script."""
    _occupy_closed_streams()
    if sys.stdout is None:  # said before anything is charged
        Console().error(OperationalError("standard output is closed", hint="send what nobody reads to /dev/null"))
        sys.exit(QUERY_ERROR)
    try:
        with collected_seldom():  # the process is ours: nothing is collected after each statement of a file
            cli.main(prog_name="dpsql")
    except KeyboardInterrupt:  # before or after the command itself
        sys.exit(INTERRUPTED)
    except OSError as error:  # before a command is invoked, help is written
        _tell(error)
        sys.exit(QUERY_ERROR)
    except Exception as error:  # noqa: BLE001 - a traceback with values must not reach a terminal or a log
        if sys.stderr is not None:
            click.echo(f"error: internal error ({type(error).__name__})", err=True)
            click.echo("hint: nothing was charged beyond what `dpsql budget` shows; please report this", err=True)
        sys.exit(QUERY_ERROR)
