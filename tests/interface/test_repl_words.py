"""What the shell says of words alone on a line, of files that it cannot read, and of the format of results."""

from pathlib import Path

import pytest

from dpsql.interface.console import Console
from dpsql.interface.shell.repl import run_lines
from dpsql.interface.shell.shell import Shell
from tests.support.fake_session import FakeSession

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def session() -> FakeSession:
    return FakeSession()


@pytest.fixture
def shell(session: FakeSession) -> Shell:
    return Shell(session, Console(), read_lines=run_lines)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["help\n", "SELECT 1;\n"], ["SELECT 1"]),
        (["SELECT 1;\n", "quit\n", "SELECT 2;\n"], ["SELECT 1"]),
        (["  EXIT \r\n", "SELECT 2;\n"], []),
        (["SELECT 1 AS\n", "help\n", ";\n"], ["SELECT 1 AS\nhelp"]),
    ],
)
def test_a_word_alone_on_a_line_is_no_part_of_the_next_statement(
    shell: Shell, session: FakeSession, lines: list[str], expected: list[str]
) -> None:
    run_lines(shell, lines)
    assert [text for text, _ in session.executed] == expected


def test_files_that_cannot_be_read_are_told_apart(shell: Shell, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "latin.sql").write_bytes(b"SELECT '\xe9';")
    (tmp_path / "folder.sql").mkdir()
    for name, said in (
        ("missing.sql", "there is no file "),
        ("latin.sql", "as UTF-8 text\nhint: save or convert it as UTF-8"),
        ("folder.sql", "cannot read "),
    ):
        shell.handle(f".read {tmp_path / name}")
        told = capsys.readouterr().err
        assert said in told
        assert ("UTF-8" in told) == (name == "latin.sql")


def test_a_format_that_is_not_named_is_shown(shell: Shell, capsys: Captured) -> None:
    shell.handle("\\o")
    assert capsys.readouterr().err == "results as table\n"
    shell.handle("\\o csv")
    capsys.readouterr()
    shell.handle(".mode ;")
    assert capsys.readouterr().err == "results as csv\n"


def test_the_list_of_commands_can_be_understood(shell: Shell, capsys: Captured) -> None:
    shell.handle("\\?")
    told = " ".join(capsys.readouterr().out.split())
    assert "alone: show the format in use" in told
    assert ".read FILE.sql run the statements and commands in a file whose name ends in .sql" in told


@pytest.mark.parametrize("name", ["budget", "\\budget", "BUDGET;"])
def test_help_on_one_command(shell: Shell, capsys: Captured, name: str) -> None:
    shell.handle(f"\\help {name}")
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("\\budget  draw what")


def test_help_by_another_name_of_a_command_or_of_none(shell: Shell, capsys: Captured) -> None:
    shell.handle(".help .schema")
    assert [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()] == ["\\d", "\\d TABLE"]
    shell.handle("\\? nothing")
    told = capsys.readouterr()
    assert told.out == "" and "there is no command nothing" in told.err


def test_read_takes_one_file(shell: Shell, session: FakeSession, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "old.sql and new.sql").write_text("SELECT 1;")
    shell.handle(f".read {tmp_path / 'old.sql and new.sql'}")
    assert [text for text, _ in session.executed] == ["SELECT 1"]
    capsys.readouterr()
    shell.handle(".read q.sql x")
    assert capsys.readouterr().err == "error: .read takes one file, and nothing behind it\nhint: write .read q.sql\n"
    shell.handle(".read notes.txt x")
    assert "which end in .sql" in capsys.readouterr().err


def test_hints_speak_no_python_in_the_shell(shell: Shell, capsys: Captured) -> None:
    shell.handle("\\within 0")
    told = capsys.readouterr().err
    assert "within is a bound in counts, 1 or more" in told and "within=" not in told
