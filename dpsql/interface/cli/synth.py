"""``dpsql synth``: a synthetic table, to take away and query with any tool.

Making one may take minutes and may spend budget. What was paid is recorded step by step, so that the same command goes
on where it was broken off, and a command that was finished is free the second time.
"""

from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from dpsql.errors import DataError
from dpsql.interface.cli.common import opened, progress_line, session_options
from dpsql.interface.cli.own_files import refuse_own_files
from dpsql.interface.console import INTERRUPTED, Console
from dpsql.interface.dbapi.paths import Address, DatabasePath
from dpsql.interface.dbapi.session_view import SessionView
from dpsql.interface.render.style import escape

if TYPE_CHECKING:
    from dpsql.synthesis.released import SyntheticTable
    from dpsql.synthesis.wanted import Wanted

ENDINGS = (".parquet", ".csv")


class _WithMethods(click.Command):
    """Its help lists the methods that there are."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from dpsql.synthesis.methods import METHODS

        with formatter.section("Methods"):
            formatter.write_dl([(word, entry.words) for word, entry in METHODS.items()])


def _known(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """The name of a method; they are not loaded for ``--help`` of other commands."""
    from dpsql.synthesis.methods import METHODS

    if value not in METHODS:
        raise click.BadParameter(f"there is no method {value!r}: there are {', '.join(METHODS)}")
    return value


@click.command(cls=_WithMethods)
@session_options
@click.option("--table", metavar="NAME", help="The private table. Default: the only one.")
@click.option(
    "--method",
    default="session",
    show_default=True,
    metavar="NAME",
    callback=_known,
    help="How it is made: one of those below.",
)
@click.option(
    "--workload",
    "workloads",
    multiple=True,
    metavar="FILE.sql|WORD",
    help="What the table should answer well: statements, marginals:2, prefixes:COLUMN, cuts:random:1000; repeatable.",
)
@click.option("--epsilon", metavar="E", help="What the run may spend of the budget; for methods that pay.")
@click.option(
    "--instead-of-first-look",
    is_flag=True,
    help="The run may also spend what is kept for first looks; questions that come later do without.",
)
@click.option(
    "--rows",
    type=click.IntRange(min=1),
    metavar="N",
    help="Rows to make. Default: as many as the private table has.",
)
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="One of the method's own; repeatable.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of random queries and values inside bins.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="OUT.parquet or OUT.csv; needed.")
@click.option("--compare", is_flag=True, help="Run every method on a public table; -o FILE.png draws the errors.")
@click.option("--public", is_flag=True, help="With --compare: these rows are public, and may be compared with.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a table and a picture.")
def synth(
    database: DatabasePath,
    policy: Path | None,
    ledger: str | None,
    new_budget: bool,
    table: str | None,
    method: str,
    workloads: tuple[str, ...],
    epsilon: str | None,
    instead_of_first_look: bool,
    rows: int | None,
    options: tuple[str, ...],
    seed: int,
    output: Path | None,
    compare: bool,
    public: bool,
    as_json: bool,
) -> None:
    """Make a synthetic table to take away.

    From what was released already, which is free after a first look, or with a share of the budget.
    """
    console = Console()
    chosen = dict(_option(text) for text in options)
    refuse_own_files(output, database, policy, ledger)
    if compare or public:
        if not (compare and public):
            raise click.UsageError("--compare tells true errors: it needs --public, the owner's word that all rows are")
        if isinstance(database, Address):
            raise click.UsageError("--compare reads a file: copy the tables into one with dpsql extract")
        from dpsql.interface.cli.comparing import run_comparison

        run_comparison(console, database, policy, table, workloads, epsilon, rows, chosen, seed, output, as_json)
        return
    path = _checked(output)
    from dpsql.interface.table_file import write_table
    from dpsql.interface.wanted import wanted

    keeps = not instead_of_first_look
    asked = wanted(table or "", method, list(workloads) or None, epsilon, rows, seed, chosen, keeps_first_look=keeps)
    try:
        with opened(console, database, policy, ledger, new_budget) as session:
            made = _make(console, session, replace(asked, table=table or _only_table(session)))
            write_table(made.to_arrow(), path)
            left = session.budget().remaining_epsilon
    except KeyboardInterrupt:
        console.notice("interrupted; what was paid is recorded, and the same command goes on from there")
        click.get_current_context().exit(INTERRUPTED)
    _show(console, made, path, as_json)
    free = "free" if made.charged == 0 else f"charged epsilon {made.charged:.3g}"
    console.notice(f"{free}; epsilon {left:.3g} is left")


def _make(console: Console, session: SessionView, asked: "Wanted") -> "SyntheticTable":
    """The table, after what there is to know before it is begun."""
    session.on_progress(lambda name, what, done, of: console.progress(progress_line("", name, what, done, of)))
    for sentence in session.foresee(asked).sentences:
        console.notice(sentence)
    return session.synthesize(asked)


def _show(console: Console, made: "SyntheticTable", path: Path, as_json: bool) -> None:
    from dpsql.interface.render.quality import render_quality, synthetic_object
    from dpsql.interface.render.structured import to_json

    if as_json:
        console.text(to_json(synthetic_object(made, str(path)), indent=2) + "\n")
    else:
        console.lines([f"{escape(str(path))}: {made.rows:,} rows, made by {made.facts['method']}", ""])
        console.lines(render_quality(made.report, console.out))
    for note in made.notes:
        console.notice(note)


def _checked(output: Path | None) -> Path:
    """Where the rows go; said before anything is charged."""
    if output is None:
        raise click.UsageError("say where the rows go: add -o OUT.parquet")
    if output.suffix.lower() not in ENDINGS:
        raise click.UsageError(f"{output} ends in neither {' nor '.join(ENDINGS)}")
    if not output.absolute().parent.is_dir():
        raise click.UsageError(f"there is no folder {quote(str(output.absolute().parent))}")
    return output


def _option(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise click.UsageError(f"--option {text}: write NAME=VALUE")
    return name.strip(), value


def _only_table(session: SessionView) -> str:
    names = [t.name for t in session.tables()]
    if len(names) != 1:
        raise DataError("the policy has several tables", hint="add --table; there are: " + ", ".join(names))
    return names[0]
