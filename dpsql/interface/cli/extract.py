"""``dpsql extract``: the owner's copy of private tables from files and other databases."""

from pathlib import Path
from shlex import quote

import click

from dpsql.interface.console import Console


@click.command()
@click.argument("sources", metavar="[TABLE=]SOURCE...", nargs=-1)
@click.option(
    "--policy", type=click.Path(dir_okay=False, path_type=Path), help="Default: NAME.dpsql.toml beside the output."
)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The DuckDB file to write."
)
@click.option("--force", is_flag=True, help="Replace an earlier extract.")
def extract(sources: tuple[str, ...], policy: Path | None, output: Path, force: bool) -> None:
    """Owner only: copy tables from elsewhere into a DuckDB file.

    SOURCE is a file or folder of Parquet or CSV, a DuckDB file or postgresql://...

    Without SOURCE from where the policy's [source] says.
    """
    console = Console()
    from dpsql.interface import extracting
    from dpsql.interface.dbapi.database import source_of
    from dpsql.interface.dbapi.paths import default_policy_path
    from dpsql.policy_file import load_policy

    written = default_policy_path(output) if policy is None else policy
    rules = load_policy(written)
    sources = sources or (str(source_of(written)),)
    extracting.extract(extracting.named_sources(sources, rules), rules, output, replace=force)
    names = [t.name for t in rules.tables] + list(rules.public_tables)
    console.lines([f"{output}: {', '.join(names)}, {output.stat().st_size / 1e6:,.1f} MB"])
    console.notices([f"{output} holds private rows; only you can read it"])
    option = "" if policy is None or policy == default_policy_path(output) else f" --policy {quote(str(policy))}"
    console.notice(f"next: dpsql shell {quote(str(output))}{option}")
