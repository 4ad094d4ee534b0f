"""The page on files of statements is run; its numbers are noise and are masked."""

import re
import shlex
from pathlib import Path

import pytest

from dpsql.interface.cli import cli
from tests.support.command_line import runner
from tests.support.lessons import learned_briefly

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "batches.md").read_text(encoding="utf-8")
_NUMBER = re.compile(r"\d[\d_,]*(\.\d+)?|(hypothesis|measurement),(true|false)")


def masked(text: str) -> str:
    return _NUMBER.sub("#", text)


def run(command: str) -> str:
    """What a command of the page writes, standard error included."""
    program, *arguments = shlex.split(command)
    match program:
        case "dpsql":
            shown = runner().invoke(cli, arguments, catch_exceptions=False)
            return shown.stdout + shown.stderr
        case "cat":
            return Path(arguments[0]).read_text()
        case "sed":
            _, before, after, _ = arguments[1].split("/")
            file = Path(arguments[2])
            file.write_text(file.read_text().replace(before, after))
    return ""


def test_the_page_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    learned_briefly(monkeypatch)
    run("dpsql demo --keep .")
    run("dpsql budget adult.duckdb")  # begins the ledger, which is told once
    (statements,) = re.findall(r"```sql\n(.*?)```", PAGE, flags=re.DOTALL)
    Path("questions.sql").write_text(statements)
    commands = [
        part.partition("\n")
        for block in re.findall(r"```console\n\$ (.*?)```", PAGE, flags=re.DOTALL)
        for part in block.split("\n$ ")
    ]
    assert len(commands) == 5
    for command, _, expected in commands:
        assert masked(run(command)).strip() == masked(expected).strip()
