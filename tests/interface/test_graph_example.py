"""examples/graph: its commands are run in order, and what they print compared with every number masked."""

import re
from pathlib import Path

import duckdb
import pytest

from dpsql.interface.cli import cli
from tests.interface.test_synthetic_example import lines
from tests.support.command_line import runner

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "examples" / "graph" / "expected.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"```console\n\$ dpsql ([^\n]*)\n(.*?)```", PAGE, re.DOTALL)


def test_the_commands_print_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "data").mkdir()
    (statement,) = re.findall(r'duckdb data/friends.duckdb "([^"]*)"', PAGE)
    with duckdb.connect("data/friends.duckdb") as connection:
        connection.execute(statement)
    assert len(COMMANDS) == 2
    for arguments, expected in COMMANDS:
        shown = runner().invoke(cli, arguments.split(), catch_exceptions=False)
        assert shown.exit_code == 0, shown.stderr
        said = [line for line in shown.stderr.splitlines() if not line.startswith("notice: new ledger")]
        assert lines("\n".join([shown.stdout, *said])) == lines(expected)
