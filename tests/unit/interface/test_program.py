"""The program's own process: what holds for the whole of it."""

import gc
from pathlib import Path

import pytest
from click.testing import CliRunner

from dpsql.collector import OBJECTS
from dpsql.interface.cli import cli, program


def test_nothing_is_collected_after_each_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr(program.cli, "main", lambda **_: seen.append(gc.get_threshold()[0]))
    before = gc.get_threshold()
    program.main()
    assert seen == [OBJECTS]
    assert gc.get_threshold() == before


def test_ctrl_c_while_the_arguments_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("click.Group.parse_args", pressed)
    with pytest.raises(SystemExit) as left:
        program.cli.main(["--version"])
    assert left.value.code == 130


def test_no_line_of_the_list_of_commands_is_cut() -> None:
    shown = CliRunner().invoke(cli, ["--help"], terminal_width=80).stdout
    assert "Commands:" in shown and "..." not in shown.partition("Commands:")[2]


def test_a_database_in_place_of_a_command_is_told_which_one(tmp_path: Path) -> None:
    database = tmp_path / "my people.duckdb"
    database.touch()
    shown = CliRunner().invoke(cli, [str(database)])
    assert shown.exit_code == 2 and f"dpsql shell '{database}'" in shown.output
    assert "No such command 'peopel'" in CliRunner().invoke(cli, ["peopel"]).output
