"""The command ``dpsql demo``, apart from the tour itself, which loads DuckDB and the data only when it runs."""

from pathlib import Path

import click

from dpsql.interface.console import Console


@click.command()
@click.option(
    "--keep", type=click.Path(file_okay=False, path_type=Path), help="Keep the databases and policies in this folder."
)
def demo(keep: Path | None) -> None:
    """A guided tour on real, public data; takes no arguments."""
    console = Console()
    from dpsql.interface.demo.run import run_demo

    run_demo(console, keep)
