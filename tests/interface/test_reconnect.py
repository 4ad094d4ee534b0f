"""A second connect to an unchanged file reads no row, and a changed one is noticed."""

import os
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

import dpsql
from dpsql.engine.duckdb.identity import contents
from dpsql.engine.duckdb.reader import Reader
from dpsql.errors import LedgerError
from dpsql.interface.cli import cli

POLICY = """version = 1
[privacy]
epsilon = 1.0
delta = 1e-6
[tables.people.columns]
age = { type = "integer", min = 0, max = 9 }
"""


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE people AS SELECT range % 10 AS age FROM range(500)")
    path.with_suffix(".dpsql.toml").write_text(POLICY)
    aged(path)
    return path


def aged(path: Path) -> None:
    """As if it had been written an hour ago; the time of this change itself cannot be set."""
    hour = path.stat().st_mtime_ns - 3_600_000_000_000
    os.utime(path, ns=(hour, hour))


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tables whose rows were read to know them again; two seconds are taken to have passed since any write."""
    read, found = contents.content_fingerprint, list[str]()

    def noted(reader: Reader, source: contents.Source, rules: int) -> str:
        found.append(source.name)
        return read(reader, source, rules)

    monkeypatch.setattr(contents, "content_fingerprint", noted)
    monkeypatch.setattr("dpsql.engine.duckdb.identity.file_state.SETTLED", 0)
    return found


def test_counts_of_a_large_file_lie_beside_the_ledger(
    database: Path, scans: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted, original = list[str](), Reader.integers

    def noted(self: Reader, what: str, sql: str) -> object:
        counted.append(what)
        return original(self, what, sql)

    monkeypatch.setattr(Reader, "integers", noted)
    monkeypatch.setattr("dpsql.engine.duckdb.engine.LEAST_ROWS", 500)
    for age in (3, 5):
        with dpsql.connect(database) as con:
            con.execute("SELECT age, COUNT(*) FROM people GROUP BY age").fetchall()
            con.execute(f"SELECT COUNT(*) FROM people WHERE age < {age}").fetchall()
        assert counted == ["counting rows of people"] and scans == ["people"]
        assert len(list(database.with_suffix(".dpsql.ledger.cells").iterdir())) == 1


def test_an_unchanged_file_is_not_read_again(database: Path, scans: list[str]) -> None:
    with dpsql.connect(database) as con:
        first = con.execute("SELECT COUNT(*) FROM people").fetchall()
    assert scans == ["people"]
    with dpsql.connect(database) as con:
        assert con.execute("SELECT COUNT(*) FROM people").fetchall() == first
    assert scans == ["people"]


def test_other_rows_are_another_ledger(database: Path, scans: list[str]) -> None:
    with dpsql.connect(database) as con:
        con.execute("SELECT COUNT(*) FROM people")
    with duckdb.connect(str(database)) as con:
        con.execute("UPDATE people SET age = 3 WHERE rowid = 0")
    with pytest.raises(LedgerError):
        dpsql.connect(database)
    assert scans.count("people") >= 2


def test_a_view_is_read_each_time(database: Path, scans: list[str]) -> None:
    with duckdb.connect(str(database)) as con:
        con.execute("ALTER TABLE people RENAME TO all_people; CREATE VIEW people AS SELECT age FROM all_people")
    dpsql.connect(database).close()
    before = len(scans)
    dpsql.connect(database).close()
    assert scans[before:] == ["people"]  # and not the stored table behind it


def test_an_open_connection_is_read_each_time(database: Path, scans: list[str], tmp_path: Path) -> None:
    with duckdb.connect(str(database), read_only=True) as con:
        for _ in range(2):
            dpsql.connect(con, database.with_suffix(".dpsql.toml"), tmp_path / "own.ledger").close()
    assert scans == ["people", "people"]


def test_check_can_read_every_row_again(database: Path, scans: list[str]) -> None:
    told = CliRunner().invoke(cli, ["check", str(database), "--verify"])
    assert told.exit_code == 0
    assert "no ledger is known of the rows as they are now" in told.output
    dpsql.connect(database).close()
    del scans[:]
    told = CliRunner().invoke(cli, ["check", str(database), "--verify"])
    assert f"these are the rows of {database.with_suffix('.dpsql.ledger')}" in told.output
    assert scans == ["people"]
