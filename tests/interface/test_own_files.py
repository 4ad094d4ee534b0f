"""What a command writes never takes the place of a file that its session reads or writes."""

import os
from pathlib import Path

import pytest

from tests.support.command_line import CommandLine
from tests.support.fake_session import FakeSession, counts

NAMES = {
    "census.duckdb": "the database",
    "census.duckdb.wal": "the database's log",
    "census.dpsql.toml": "the policy",
    "census.dpsql.ledger": "the ledger",
    "census.dpsql.ledger.answers": "a file of the ledger's",
    "queries.sql": "the file of statements",
    "linked": "the ledger",
    "also.csv": "the database",
}


@pytest.fixture
def dpsql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    line = CommandLine(FakeSession(default=counts(values=(10,))), tmp_path, monkeypatch)
    (tmp_path / "queries.sql").write_text("SELECT 1")
    (tmp_path / "linked").symlink_to(tmp_path / "census.dpsql.ledger")  # of a ledger that is not there yet
    os.link(tmp_path / "census.duckdb", tmp_path / "also.csv")
    monkeypatch.chdir(tmp_path)
    return line


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("resume", [False, True])
def test_a_batch_overwrites_no_file_of_its_session(dpsql: CommandLine, tmp_path: Path, name: str, resume: bool) -> None:
    before = content(tmp_path)
    shown = dpsql("run", "queries.sql", "-o", name, *["--resume"] * resume)
    assert shown.exit_code == 2 and f"{name} is {NAMES[name]}, which" in shown.stderr
    assert "name another file" in shown.stderr
    assert content(tmp_path) == before and not dpsql.opened


@pytest.mark.parametrize("name", [n for n in NAMES if n != "queries.sql"])
def test_an_answer_overwrites_no_file_of_its_session(dpsql: CommandLine, tmp_path: Path, name: str) -> None:
    before = content(tmp_path)
    shown = dpsql("query", "SELECT 1", "-o", str(tmp_path / name))
    assert shown.exit_code == 2 and f"is {NAMES[name]}, which" in shown.stderr
    assert content(tmp_path) == before and not dpsql.opened


def test_named_policies_and_ledgers_count(dpsql: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "clinic.dpsql.toml").write_text('version = 1\n[source]\npath = "census.duckdb"\n')
    for arguments in (
        ["query", "census.duckdb", "SELECT 1", "--policy", "x.toml", "-o", "./x.toml"],
        ["query", "census.duckdb", "SELECT 1", "--ledger", "x.ledger", "-o", "x.ledger"],
        ["query", "clinic.dpsql.toml", "SELECT 1", "-o", "clinic.dpsql.toml"],
        ["query", "clinic.dpsql.toml", "SELECT 1", "-o", "clinic.dpsql.ledger"],
        ["query", "clinic.dpsql.toml", "SELECT 1", "-o", "census.duckdb"],
        ["query", "postgresql://db/clinic", "SELECT 1", "-o", "clinic.dpsql.ledger"],
        ["synth", "census.duckdb", "-o", "also.csv"],
        ["synth", "census.duckdb", "--compare", "--public", "-o", "also.csv"],
    ):
        before = content(tmp_path)
        shown = dpsql.plain(arguments)
        assert shown.exit_code == 2 and "which the output would overwrite" in shown.stderr, arguments
        assert content(tmp_path) == before and not dpsql.opened


def test_other_files_are_written(dpsql: CommandLine, tmp_path: Path) -> None:
    assert dpsql("query", "SELECT 1", "--ledger", ":memory:", "-o", "census.dpsql.ledger.csv").exit_code == 0
    assert dpsql("run", "-", "-o", "queries.sql", "--format", "table", stdin="SELECT 1").exit_code == 0
    assert "10" in (tmp_path / "census.dpsql.ledger.csv").read_text()
