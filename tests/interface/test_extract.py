"""``dpsql extract`` from an owner's desk: one command, one file, one budget."""

import os
from pathlib import Path

import duckdb
import pytest
from click.testing import Result

import dpsql as dpsql_module
from dpsql.errors import InterfaceError, LedgerError, OperationalError, PolicyError
from dpsql.interface.cli import cli
from tests.support.command_line import runner

POLICY = """\
version = 1
privacy = { epsilon = 1.0, delta = 1e-6 }
[tables.people.columns]
age = { type = "integer", min = 0, max = 3 }
[tables.pets]
unit = "owner"
[tables.pets.columns]
kind = { type = "category", values = ["Dog", "Cat"] }
[public]
tables = ["Towns"]
"""


def dpsql(*arguments: object) -> Result:
    return runner().invoke(cli, [str(a) for a in arguments], catch_exceptions=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE t AS SELECT i % 4 AS age, i // 3 AS owner, 'Dog' AS kind, 'A' AS town FROM range(300) r(i)"
        )
        for name in ("people.parquet", "pets.csv", "towns.csv"):
            con.execute(f"COPY t TO '{tmp_path / name}'").fetchall()
    (tmp_path / "x.dpsql.toml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


SOURCES = ("people=people.parquet", "PETS=pets.csv", "towns=towns.csv")


def test_tables_from_files_are_asked_like_any_others(folder: Path) -> None:
    shown = dpsql("extract", *SOURCES, "-o", "x.duckdb")
    assert shown.exit_code == 0, shown.stderr
    assert shown.stdout.startswith("x.duckdb: people, pets, Towns, ")
    assert "only you can read it" in shown.stderr and "next: dpsql shell x.duckdb\n" in shown.stderr
    assert dpsql("extract", *SOURCES, "-o", "x.duckdb").exit_code == 1
    assert dpsql("extract", *SOURCES, "-o", "x.duckdb", "--force").exit_code == 0
    with dpsql_module.connect("x.duckdb", ledger="x.ledger") as con:
        found = con.execute("SELECT count(*) FROM pets WHERE kind = 'Dog'").fetchall()
    assert abs(found[0][0] - 100) < 60
    os.unlink("towns.csv")  # noqa: PTH108
    assert dpsql("check", "x.duckdb").exit_code == 0


def test_a_second_extract_of_the_same_people_is_no_second_budget(folder: Path) -> None:
    sources = {"people": "people.parquet", "pets": "pets.csv", "towns": "towns.csv"}
    dpsql_module.extract(sources, "x.dpsql.toml", "x.duckdb")
    with dpsql_module.connect("x.duckdb") as con:
        con.execute("SELECT count(*) FROM people").fetchall()
    with duckdb.connect() as con:
        con.execute("COPY (SELECT i % 4 AS age FROM range(301) r(i)) TO 'people.parquet'").fetchall()
        con.execute("COPY (SELECT 'Cat' AS kind, i AS owner FROM range(9) r(i)) TO 'pets.csv'").fetchall()
    dpsql_module.extract(sources, "x.dpsql.toml", "later.duckdb")
    with pytest.raises(LedgerError, match="already has a ledger"):
        dpsql_module.connect("later.duckdb", policy="x.dpsql.toml")


def test_sources_and_tables_must_fit(folder: Path) -> None:
    def refused(error: type[Exception], source: object, words: str) -> None:
        with pytest.raises(error, match=words) as caught:
            dpsql_module.extract(source, "x.dpsql.toml", "x.duckdb")
        assert getattr(caught.value, "hint", "")

    refused(PolicyError, "people.parquet", "cannot be both people and pets")
    refused(PolicyError, {"people": "people.parquet"}, "no source")
    refused(PolicyError, {"": "people.parquet", "horses": "pets.csv"}, "no such table")
    refused(InterfaceError, 3, "not int")
    refused(InterfaceError, "", "not the path")
    shown = dpsql("extract", "people=people.parquet", "people=pets.csv", "-o", "x.duckdb")
    assert shown.exit_code == 1 and "two sources" in shown.stderr
    assert not (folder / "x.duckdb").exists()
    assert issubclass(InterfaceError, dpsql_module.Error) and issubclass(OperationalError, dpsql_module.Error)


LONG = "x" * 300


@pytest.mark.parametrize(
    "source", [LONG, f"{LONG}.parquet", f"{LONG}.metadata.json@3", f"{LONG}@v3", "a/" * 3000, "a\0b", "a\udcff.csv"]
)
def test_a_name_that_no_file_has_is_no_source(folder: Path, source: str) -> None:
    with pytest.raises(dpsql_module.Error) as caught:
        dpsql_module.extract({"": "people.parquet", "towns": source}, "x.dpsql.toml", "x.duckdb")
    assert getattr(caught.value, "hint", "")


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("output", [LONG, "x" * 250, f"{LONG}/x.duckdb", "people.parquet/x", "a\0b", "a\udcff", ""])
def test_a_name_that_no_file_can_have_is_no_output(folder: Path, output: str, replace: bool) -> None:
    with pytest.raises(dpsql_module.Error, match=r"not the path|cannot be written") as caught:
        dpsql_module.extract(dict(s.split("=") for s in SOURCES), "x.dpsql.toml", output, replace=replace)
    assert getattr(caught.value, "hint", "") and not list(folder.glob(".*"))
