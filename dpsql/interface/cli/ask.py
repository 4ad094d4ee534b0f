"""The analyst's commands: query, explain, budget, shell.

They need a session and nothing else, and nothing they print is private.
"""

from pathlib import Path

import click

from dpsql.interface.cli.common import (
    decoded,
    format_of,
    opened,
    output_options,
    parameter_option,
    session_options,
    terms_options,
    within_option,
)
from dpsql.interface.cli.own_files import refuse_own_files
from dpsql.interface.console import Console, standard_input
from dpsql.interface.dbapi.paths import DatabasePath
from dpsql.interface.render import WITH_NOTES, Format

_PARQUET_NEEDS_FILE = "parquet is binary: add -o FILE"


@click.command()
@session_options
@click.argument("sql")
@parameter_option
@terms_options
@output_options
def query(
    database: DatabasePath,
    sql: str,
    policy: Path | None,
    ledger: str | None,
    new_budget: bool,
    params: tuple[str, ...],
    within: float | None,
    max_charge: float | None,
    form: Format | None,
    output: Path | None,
) -> None:
    """Answer one statement; SQL of - is read from standard input."""
    console = Console()
    refuse_own_files(output, database, policy, ledger)
    form = format_of(form, output)
    if form == "parquet" and output is None and console.out_is_terminal:
        raise click.UsageError(_PARQUET_NEEDS_FILE)
    from dpsql.interface.asked import ask, price
    from dpsql.interface.cli.parameters import chosen, parse_parameters, unused
    from dpsql.interface.render.result import render_result
    from dpsql.interface.render.style import PLAIN
    from dpsql.result import Terms

    values, terms = parse_parameters(params), Terms(within, max_charge)
    text = _statement(sql)
    names = _names(text)
    console.notices(unused(values, names))
    with opened(console, database, policy, ledger, new_budget) as session:
        given = chosen(values, names)
        console.notices([words] if (words := price(session, text, given, terms)) is not None else [])
        asked = ask(session, text, given, terms)
        style = console.out if output is None else PLAIN
        rendered = render_result(
            asked.result, form, style, budget=asked.budget, seconds=asked.seconds, charged=asked.charged
        )
        if output is not None:
            output.write_bytes(rendered if isinstance(rendered, bytes) else rendered.encode())
        else:
            console.text(rendered)
        if form not in WITH_NOTES:
            console.notes(asked.result.notes)


@click.command()
@session_options
@click.argument("sql")
@parameter_option
@within_option
def explain(
    database: DatabasePath,
    sql: str,
    policy: Path | None,
    ledger: str | None,
    new_budget: bool,
    params: tuple[str, ...],
    within: float | None,
) -> None:
    """Show what a statement would ask and cost at most; free."""
    console = Console()
    from dpsql.interface.cli.parameters import chosen, parse_parameters, unused
    from dpsql.interface.render.explanation import render_explanation
    from dpsql.result import Terms

    values = parse_parameters(params)
    text = _statement(sql)
    names = _names(text)
    console.notices(unused(values, names))
    with opened(console, database, policy, ledger, new_budget) as session:
        explanation = session.explain(text, chosen(values, names), Terms(within))
    console.lines(render_explanation(explanation, console.out))


@click.command()
@session_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a drawing.")
def budget(database: DatabasePath, policy: Path | None, ledger: str | None, new_budget: bool, as_json: bool) -> None:
    """Show what has been spent and what is left."""
    console = Console()
    from dpsql.interface.render.budget import budget_object, render_budget
    from dpsql.interface.render.structured import to_json

    with opened(console, database, policy, ledger, new_budget) as session:
        state = session.budget()
    if as_json:
        console.text(to_json(budget_object(state), indent=2) + "\n")
    else:
        console.lines(render_budget(state, console.out))


@click.command()
@session_options
def shell(database: DatabasePath, policy: Path | None, ledger: str | None, new_budget: bool) -> None:
    """Ask interactively; what is piped in is run without a prompt."""
    console = Console()
    from dpsql.interface.shell.repl import run_shell

    with opened(console, database, policy, ledger, new_budget) as session:
        code = run_shell(session, console, title=database.name)
    click.get_current_context().exit(code)


def _statement(sql: str) -> str:
    """The text to run, with one trailing semicolon taken off by the session itself."""
    return decoded(standard_input().buffer.read(), "standard input") if sql == "-" else sql


def _names(text: str) -> frozenset[str]:
    from dpsql.interface.splitter import split

    return frozenset(name for piece in split(text) for name in piece.parameters)
