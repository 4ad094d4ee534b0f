"""``dpsql run``: a file of statements, one after another, into one output.

A batch may be broken off after an hour. What was answered is free the second time, so that going on is only a matter of
output.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpsql.errors import Error, LedgerError
from dpsql.interface.asked import ask, price
from dpsql.interface.cli.common import (
    decoded,
    format_of,
    opened,
    output_options,
    parameter_option,
    session_options,
    terms_options,
)
from dpsql.interface.cli.own_files import refuse_own_files
from dpsql.interface.cli.parameters import Scalar, chosen, parse_parameters, unused
from dpsql.interface.console import INTERRUPTED, OK, Console, exit_code, standard_input
from dpsql.interface.dbapi.paths import DatabasePath
from dpsql.interface.dbapi.session_view import SessionView
from dpsql.interface.render import Format
from dpsql.interface.render.style import PLAIN
from dpsql.interface.splitter import Piece, place_of, split
from dpsql.result import NO_TERMS, Terms

if TYPE_CHECKING:
    from dpsql.interface.batch.file import BatchFile
    from dpsql.interface.batch.output import BatchOutput


@click.command()
@session_options
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@parameter_option
@terms_options
@output_options
@click.option(
    "--resume",
    is_flag=True,
    help="Go on with OUTPUT at the first statement that failed or was not done; it and those behind it may be mended.",
)
@click.option(
    "--keep-going", is_flag=True, help="Go on after a statement that fails; OUTPUT says which, but for parquet."
)
def run(
    database: DatabasePath,
    file: Path,
    policy: Path | None,
    ledger: str | None,
    new_budget: bool,
    params: tuple[str, ...],
    within: float | None,
    max_charge: float | None,
    form: Format | None,
    output: Path | None,
    resume: bool,
    keep_going: bool,
) -> None:
    """Run a file of statements separated by semicolons.

    Of several statements --format parquet writes a file each: OUTPUT-001.parquet and so on.
    """
    console = Console()
    refuse_own_files(output, database, policy, ledger, file)
    form = format_of(form, output)
    if resume and output is None:
        raise click.UsageError("--resume goes on with an output file: add -o FILE")
    if form == "parquet" and output is None:
        raise click.UsageError("parquet is binary: add -o FILE")
    values, terms = parse_parameters(params), Terms(within, max_charge)
    text = _read(file)
    pieces = split(text)
    console.notices(unused(values, (name for piece in pieces for name in piece.parameters)))
    with opened(console, database, policy, ledger, new_budget) as session:
        from dpsql.interface.batch.file import BatchDigest, BatchFile
        from dpsql.interface.batch.output import BatchOutput, parts_of

        given = [*sorted(values.items()), *([terms] if terms != NO_TERMS else [])]
        digest = BatchDigest([piece.text for piece in pieces], given, form)
        parts = parts_of(output, len(pieces)) if output is not None and form == "parquet" else None
        target = None if output is None else BatchFile(output, digest, parts=parts)
        done = 0 if target is None else target.open(resume=resume)
        style = console.out if output is None else PLAIN
        write = console.text if target is None else target.write
        batch = _Batch(session, console, pieces, values, terms, str(file), keep_going)
        code = batch.run(BatchOutput(write, form, style, parts or ()), target, done)
    click.get_current_context().exit(code)


class _Batch:
    """The statements of one file and how they are run."""

    def __init__(
        self,
        session: SessionView,
        console: Console,
        pieces: list[Piece],
        values: Mapping[str, Scalar],
        terms: Terms,
        name: str,
        keep_going: bool,
    ) -> None:
        self._session = session
        self._console = console
        self._pieces = pieces
        self._values = values
        self._terms = terms
        self._name = name
        self._keep_going = keep_going

    def run(self, output: "BatchOutput", target: "BatchFile | None", done: int) -> int:
        """The exit code: 0, or that of the worst failure."""
        code = OK
        finished = False
        console = self._console
        if done:
            console.notice(f"{done} of {len(self._pieces)} statements were done before")
            self._names(self._pieces[:done])
        try:
            output.begin(done)
            for number, piece in enumerate(self._pieces[done:], start=done + 1):
                if target is not None:
                    console.progress(f"{number} of {len(self._pieces)} statements")
                error = self._one(output, number, piece)
                if error is not None:
                    self._told(number, piece, error)
                    code = max(code, exit_code(error))
                    if target is not None:
                        target.failed()
                    if not self._keep_going or isinstance(error, LedgerError):
                        break
                if target is not None:
                    target.done(number)
            else:
                finished = True
            output.end()
            if code != OK and target is not None and target.resumable:
                console.notice(_going_on(target))
        except KeyboardInterrupt as stopped:
            hint = _going_on(target) if target is not None and target.resumable else ""
            output.end()
            console.interrupted(stopped, hint)
            code = INTERRUPTED
        finally:
            console.clear_progress()
            if target is not None:
                target.close(finished=finished)
        return code

    def _told(self, number: int, piece: Piece, error: Error) -> None:
        """The failure with its place in the file, where the error knows one, else that of its statement."""
        place = place_of(error, piece.line, piece.column)
        self._console.error(error, f"{self._name}:{place.in_file}: statement {number}", place.message)

    def _names(self, pieces: Iterable[Piece]) -> None:
        """Names that statements which were done before gave to queries: a session does not outlive its process."""
        from dpsql.sql.catalog import gives_name

        for piece in pieces:
            if gives_name(piece.text):
                with suppress(Error):  # it was reported when it was done
                    ask(self._session, piece.text, chosen(self._values, piece.parameters), NO_TERMS)

    def _one(self, output: "BatchOutput", number: int, piece: Piece) -> Error | None:
        try:
            given = chosen(self._values, piece.parameters)
            words = price(self._session, piece.text, given, self._terms)
            if words is not None:
                self._console.notice(f"statement {number}, {words}")
            asked = ask(self._session, piece.text, given, self._terms)
            output.result(number, piece, asked)
            self._console.notes(output.beside(asked.result))
        except Error as error:
            if self._keep_going:
                output.failure(number, piece, error)
            return error
        return None


def _going_on(target: "BatchFile") -> str:
    return f"the same command with --resume goes on at statement {target.reached + 1}"


def _read(file: Path) -> str:
    if str(file) == "-":
        return decoded(standard_input().buffer.read(), "standard input")
    return decoded(file.read_bytes(), str(file))
