"""Derived columns in a session: counted like others, bound to the ledger, in DuckDB alone."""

from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

import dpsql
from dpsql.interface.cli import cli

COLUMNS = """[tables.pets.columns]
age = { type = "integer", min = 0, max = 30 }
is_mix = { type = "boolean", sql = "species LIKE '%Mix%'" }
stage = { type = "category", values = ["young", "old"], sql = "CASE WHEN age < 5 THEN 'young' WHEN age < 20 THEN 'old' END" }
year_born = { type = "integer", min = 2020, max = 2021, sql = "year(born)" }
share = { type = "number", min = 0, max = 1, bins = 10, sql = "weight / 100" }
age_outside = { type = "boolean", sql = "age NOT BETWEEN 0 AND 30" }
"""  # noqa: E501 - a line of TOML
HEAD = "version = 1\nprivacy = { epsilon = 100, delta = 1e-6 }\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    with duckdb.connect(str(tmp_path / "pets.duckdb")) as con:
        con.execute(
            "CREATE TABLE pets AS SELECT i // 2 AS owner, i % 35 AS age, (i % 101)::DOUBLE AS weight, "
            "['Dog Mix', 'cat', 'Mixed bird', NULL][1 + i % 4] AS species, "
            "DATE '2020-01-01' + (i % 700)::INTEGER AS born FROM range(7000) t(i)"
        )
    (tmp_path / "pets.toml").write_text(HEAD + COLUMNS)
    return tmp_path


def session(folder: Path, ledger: str = "pets.ledger") -> dpsql.Connection:
    return dpsql.connect(folder / "pets.duckdb", policy=folder / "pets.toml", ledger=folder / ledger)


def test_they_are_counted_as_any_column(folder: Path) -> None:
    with duckdb.connect(str(folder / "pets.duckdb"), read_only=True) as con:
        truth = dict(con.execute("SELECT species LIKE '%Mix%', count(*) FROM pets GROUP BY 1").fetchall())
        stages = con.execute(
            "SELECT count(*) FILTER (age < 5), count(*) FILTER (age BETWEEN 5 AND 19), count(*) FILTER (age > 19), "
            "count(*) FILTER (age > 30), sum(weight / 100) FILTER (year(born) = 2021 AND species LIKE '%Mix%') "
            "FROM pets"
        ).fetchone()
    assert stages is not None
    with session(folder) as con:
        for value, n in con.execute("SELECT is_mix, COUNT(*) FROM pets GROUP BY is_mix").fetchall():
            assert abs(n - truth[value]) < 40
        found = dict(con.execute("SELECT stage, COUNT(*) FROM pets GROUP BY stage").fetchall())
        assert all(abs(found[s] - n) < 40 for s, n in zip(("young", "old", None), stages, strict=False))
        ((outside,),) = con.execute("SELECT COUNT(*) FROM pets WHERE age_outside").fetchall()
        assert abs(outside - stages[3]) < 40
        ((total,),) = con.execute("SELECT SUM(share) FROM pets WHERE year_born = 2021 AND is_mix").fetchall()
        assert abs(total - stages[4]) < 40
        assert ("is_mix", "BOOLEAN") in [row[:2] for row in con.execute("DESCRIBE pets").fetchall()]


def test_what_they_are_made_of_stays_hidden(folder: Path) -> None:
    with session(folder) as con, pytest.raises(dpsql.ProgrammingError, match="species"):
        con.execute("SELECT COUNT(*) FROM pets WHERE species = 'cat'")


def test_with_a_unit_the_rows_are_those_that_count(folder: Path) -> None:
    (folder / "pets.toml").write_text(HEAD + '[tables.pets]\nunit = "owner"\n' + COLUMNS)
    with session(folder) as con:
        ((n,),) = con.execute("SELECT COUNT(*) FROM pets WHERE is_mix OR NOT is_mix OR is_mix IS NULL").fetchall()
        assert abs(n - 3500) < 40
        parts = [con.execute(f"SELECT COUNT(*) FROM pets WHERE {w}").fetchall()[0][0] for w in ("is_mix", "NOT is_mix")]
        assert 1000 < parts[0] < 2600 and 200 < parts[1] < 1900


def test_a_ledger_goes_on_with_the_same_expression_alone(folder: Path) -> None:
    with session(folder) as con:
        con.execute("SELECT COUNT(*) FROM pets WHERE is_mix")
    with session(folder) as con:
        assert con.budget.queries_answered == 1
    (folder / "pets.toml").write_text(HEAD + COLUMNS.replace("%Mix%", "%cat%"))
    with pytest.raises(dpsql.Error, match="is_mix"):
        session(folder)
    with pytest.raises(dpsql.Error, match="budget"):  # the same rows: another ledger is a second budget
        session(folder, "other.ledger")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('x = { type = "boolean", sql = "nothing > 3" }', "no column 'nothing'"),
        ('x = { type = "boolean", sql = "age = \'3\'" }', "a number and a text"),
        ('owner = { type = "boolean", sql = "age > 3" }', "has a column of this name"),
        ('x = { type = "boolean", sql = "age + 1" }', "cannot be declared as boolean"),
    ],
)
def test_what_does_not_fit_the_table_is_refused_at_connect(folder: Path, line: str, words: str) -> None:
    (folder / "pets.toml").write_text(HEAD + COLUMNS + line + "\n")
    with pytest.raises(dpsql.Error, match=words) as refused:
        session(folder)
    assert "tables.pets.columns." in str(refused.value) and not (folder / "pets.ledger").exists()


def test_check_counts_values_outside(folder: Path) -> None:
    (folder / "pets.toml").write_text(HEAD + COLUMNS.replace("max = 2021", "max = 2020"))
    found = CliRunner().invoke(cli, ["check", str(folder / "pets.duckdb"), "--policy", str(folder / "pets.toml")])
    assert found.exit_code == 0, found.output
    assert "year_born" in found.output


def test_extracts_and_views(folder: Path) -> None:
    with pytest.raises(dpsql.Error, match="no column is derived in an extract") as refused:
        dpsql.extract(folder / "pets.duckdb", folder / "pets.toml", folder / "out.duckdb")
    assert "view" in str(refused.value.hint) and not (folder / "out.duckdb").exists()
    with duckdb.connect(str(folder / "pets.duckdb")) as con:
        con.execute("ALTER TABLE pets RENAME TO animals; CREATE VIEW pets AS SELECT * FROM animals")
    with session(folder) as con:
        assert abs(con.execute("SELECT COUNT(*) FROM pets WHERE is_mix").fetchall()[0][0] - 3500) < 40
