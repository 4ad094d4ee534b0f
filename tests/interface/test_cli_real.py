"""The command line on a real database, with real noise, from draft to exhausted budget."""

import csv
import json
from pathlib import Path

import duckdb
import pytest
from click.testing import Result

from dpsql.interface.cli import cli
from tests.support.command_line import runner

POLICY = """\
version = 1
[privacy]
epsilon = 1.0
delta = 1e-6
[mechanism]
strategy = "pmw"
hard_rounds = 1
when_spent = "refuse"
[tables.people.columns]
age = { type = "integer", min = 0, max = 9, nullable = false }
member = { type = "boolean", nullable = false }
region = { type = "category", values = ["north", "south"], nullable = false }
"""
ROWS = 20_000


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "census.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT (i % 10)::INTEGER AS age, i % 10 < 2 AS member,"
            f" if(i % 4 = 0, 'north', 'south') AS region FROM range({ROWS}) t(i)"
        )
    path.with_name("census.dpsql.toml").write_text(POLICY)
    return path


def dpsql(command: str, database: Path, *arguments: str, stdin: str | None = None) -> Result:
    return runner().invoke(cli, [command, str(database), *arguments], input=stdin, catch_exceptions=False)


def rows(shown: Result) -> list[dict[str, dict[str, float]]]:
    assert shown.exit_code == 0, shown.stderr
    found: list[dict[str, dict[str, float]]] = json.loads(shown.stdout)
    return found


def test_an_answer_lies_near_the_truth_and_is_free_the_second_time(database: Path) -> None:
    sql = "SELECT COUNT(*) AS n FROM people WHERE member AND age >= $low"
    first = rows(dpsql("query", database, sql, "-p", "low=1", "--format", "json"))
    answer = first[0]["n"]
    assert abs(answer["value"] - ROWS / 10) < 20 * max(answer["error"], 1)
    before = json.loads(dpsql("budget", database, "--json").stdout)
    second = rows(dpsql("query", database, sql, "-p", "low=1", "--format", "json"))
    assert second[0]["n"]["value"] == answer["value"]
    assert json.loads(dpsql("budget", database, "--json").stdout)["spent_epsilon"] == before["spent_epsilon"]


def test_explain_charges_nothing(database: Path) -> None:
    shown = dpsql("explain", database, "SELECT member, COUNT(*) FROM people GROUP BY member")
    assert shown.exit_code == 0
    assert "nothing was charged" in shown.stdout
    assert json.loads(dpsql("budget", database, "--json").stdout)["spent_epsilon"] == 0


def test_refusals_are_1_and_free(database: Path) -> None:
    for sql in ("SELECT age FROM people", "SELECT COUNT(*) FROM nobody", "SELEC", "DROP TABLE people", ""):
        shown = dpsql("query", database, sql)
        assert (shown.exit_code, shown.stdout) == (1, ""), sql
        assert "\nhint: " in shown.stderr
    assert json.loads(dpsql("budget", database, "--json").stdout)["spent_epsilon"] == 0


def test_exhausted_is_3_and_what_was_answered_stays_free(database: Path, tmp_path: Path) -> None:
    script = tmp_path / "many.sql"
    conditions = ("member", "region = 'north'", "age < 2", "age = 3 AND region = 'south'", "age > 7 AND NOT member")
    script.write_text(";\n".join(f"SELECT COUNT(*) AS n FROM people WHERE {c}" for c in conditions))
    out = tmp_path / "out.csv"
    shown = dpsql("run", database, str(script), "--format", "csv", "-o", str(out), "--keep-going")
    assert shown.exit_code == 3
    assert "hint: equal questions stay free" in shown.stderr
    answered = [r for r in csv.reader(out.read_text().splitlines()) if r and r[0] != "n"]
    assert answered
    again = tmp_path / "again.csv"
    assert dpsql("run", database, str(script), "--format", "csv", "-o", str(again), "--keep-going").exit_code == 3
    assert again.read_text() == out.read_text()


def test_shell_over_a_pipe(database: Path) -> None:
    shown = dpsql(
        "shell", database, stdin="\\d people\nSELECT COUNT(*) AS n FROM people;\nSELECT nonsense;\n\\budget\n"
    )
    assert shown.exit_code == 1
    assert "age     integer   0 to 9                  no" in shown.stdout
    assert "(1 row)" in shown.stdout
    assert "hint: " in shown.stderr
    assert "epsilon" in shown.stdout


def test_a_shell_shows_public_tables_and_their_columns(database: Path) -> None:
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE TABLE places AS SELECT 'north' AS region, 7 AS height")
    database.with_name("census.dpsql.toml").write_text(f'{POLICY}[public]\ntables = ["places"]\n')
    shown = dpsql("shell", database, stdin="\\d\n\\d PLACES\n")
    assert shown.exit_code == 0
    assert "places        2         none: public" in shown.stdout
    assert "height  INTEGER" in shown.stdout


def test_draft_then_ask(database: Path) -> None:
    assert dpsql("init", database, "--force").exit_code == 0
    shown = dpsql("query", database, "SELECT COUNT(*) AS n FROM people WHERE member", "--format", "csv")
    assert shown.exit_code == 0
    assert shown.stdout.startswith("n,n_error,n_low,n_high,n_source,n_certified\n")


def test_check_finds_nothing_outside(database: Path) -> None:
    shown = dpsql("check", database).stdout.splitlines()
    assert shown == ["people: all 20,000 rows are counted", "every value lies in its declared domain"]
