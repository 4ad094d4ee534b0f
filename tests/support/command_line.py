"""The command line on a session that needs no database."""

from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dpsql.interface.cli import cli
from dpsql.interface.dbapi.connection import Connection
from tests.support.fake_session import FakeSession


def runner() -> CliRunner:
    """Standard error beside standard output, not in it: from click 8.2 on there is nothing else."""
    apart = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}
    return CliRunner(**apart)


class CommandLine:
    """Runs ``dpsql`` in this process; ``opened`` holds the arguments that each session was opened with."""

    def __init__(self, session: FakeSession, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.session = session
        self.database = folder / "census.duckdb"
        self.database.touch()
        self.opened: list[tuple[Any, ...]] = []
        monkeypatch.setattr("dpsql.interface.dbapi.connect.connect", self._connect)

    def _connect(self, database: Any, policy: Any, ledger: Any, *, new_budget: bool) -> Connection:
        self.opened.append((database, policy, ledger, new_budget))
        return Connection(self.session)

    def __call__(self, command: str, *arguments: str, stdin: str | None = None) -> Result:
        return self.plain([command, str(self.database), *arguments], stdin=stdin)

    def plain(self, arguments: Sequence[str], stdin: str | None = None) -> Result:
        """Without the database argument."""
        return runner().invoke(cli, list(arguments), input=stdin, catch_exceptions=False)
