"""``dpsql``: the command line. One module per group of commands; what is heavy is imported when a command runs."""

from dpsql.interface.cli.program import cli, main

__all__ = ["cli", "main"]
