"""Bounds and charges that an analyst names, from Python, the shell, the command line and a file of statements."""

import json
from pathlib import Path

import duckdb
import pytest
from click.testing import Result

import dpsql
from dpsql.interface.cli import cli
from dpsql.interface.console import Console
from dpsql.interface.shell.repl import run_lines
from dpsql.interface.shell.shell import Shell
from dpsql.result import NO_TERMS, Terms
from tests.support.command_line import runner
from tests.support.fake_session import FakeSession

POLICY = """\
version = 1
[privacy]
epsilon = 1.0
delta = 1e-6
[mechanism]
strategy = "pmw"
hard_rounds = 1
ON_DEMAND
[tables.people.columns]
age = { type = "integer", min = 0, max = 9, nullable = false }
member = { type = "boolean", nullable = false }
region = { type = "category", values = ["north", "south"], nullable = false }
"""
SQL = "SELECT region, COUNT(*) AS n FROM people WHERE member GROUP BY region ORDER BY n"


def made(folder: Path, words: str) -> Path:
    path = folder / "census.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT (i % 10)::INTEGER AS age, i % 10 < 2 AS member,"
            " if(i % 4 = 0, 'north', 'south') AS region FROM range(2000) t(i)"
        )
    path.with_name("census.dpsql.toml").write_text(POLICY.replace("ON_DEMAND", words))
    return path


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    return made(tmp_path, "on_demand = 0.2")


def run(command: str, database: Path, *arguments: str, stdin: str | None = None) -> Result:
    return runner().invoke(cli, [command, str(database), *arguments], input=stdin, catch_exceptions=False)


def purse(database: Path) -> dict[str, float]:
    found: dict[str, float] = json.loads(run("budget", database, "--json").stdout)["purses"]["on demand"]
    return found


def test_from_python_every_group_has_the_bound_and_it_is_paid_once(database: Path) -> None:
    with dpsql.connect(database) as con:
        explained = con.explain(SQL, within=40)
        cursor = con.execute(SQL, within=40)
        assert all(a.error is not None and a.error <= 40 and a.error_kind == "exact" for a in cursor.answers)
        assert cursor.result.charged == pytest.approx(explained.worst_charge) == con.budget.spent_epsilon
        assert {name: spent for name, spent, _ in con.budget.purses}["on demand"] == con.budget.spent_epsilon
        assert con.execute(SQL, max_charge=0).fetchall() == con.execute(SQL).fetchall() == cursor.fetchall()
        assert cursor.explanation.worst_charge == 0.0
        spent = con.budget.spent_epsilon
        for sql, terms in ((SQL, {"within": 2.0}), ("SELECT COUNT(*) FROM people WHERE age < 3", {"max_charge": 0.0})):
            with pytest.raises(dpsql.BudgetExhausted) as refused:
                con.execute(sql, **terms)
            assert refused.value.charged == 0.0 == con.budget.spent_epsilon - spent
        for number in (0, -1, float("nan"), float("inf"), "25", True):
            with pytest.raises(dpsql.ProgrammingError, match="within"):
                con.execute(SQL, within=number)  # type: ignore[arg-type]
        with pytest.raises(dpsql.ProgrammingError, match="max_charge"):
            con.execute(SQL, max_charge=-0.1)


@pytest.mark.parametrize("asked", ["SUM(age)", "AVG(age)", "MEDIAN(age)", "MAX(age), COUNT(*)", "COUNT(DISTINCT age)"])
def test_what_is_no_count_of_rows_is_refused_in_words(database: Path, asked: str) -> None:
    with dpsql.connect(database) as con:
        with pytest.raises(dpsql.UnsupportedQuery, match="counts of rows"):
            con.execute(f"SELECT {asked} FROM people", within=40)
        with pytest.raises(dpsql.UnsupportedQuery, match="counts of rows"):
            con.explain(f"SELECT {asked} FROM people", within=40)
        assert con.budget.spent_epsilon == 0.0


def test_what_is_computed_from_the_counts_is_free_and_has_its_own_error(database: Path) -> None:
    with dpsql.connect(database) as con:
        cursor = con.execute(f"SELECT SUM(n) AS whole FROM ({SQL})", within=40)
        assert cursor.answers[0].error is not None
        assert con.execute(SQL).result.charged == 0.0


def test_a_session_that_is_opened_again_goes_on(database: Path) -> None:
    with dpsql.connect(database) as con:
        first = con.execute(SQL, within=40).fetchall()
        left = con.budget.purses
    with dpsql.connect(database) as con:
        assert con.execute(SQL, within=40).fetchall() == first == con.execute(SQL).fetchall()
        assert con.budget.purses == left


def test_the_command_line_says_beforehand_what_it_costs(database: Path) -> None:
    shown = run("explain", database, SQL, "--within", "40")
    assert "new measurement" in shown.stdout and "of what was set aside on demand" in shown.stdout
    assert purse(database)["spent"] == 0.0
    shown = run("query", database, SQL, "--within", "40", "--format", "json")
    assert shown.exit_code == 0
    assert "within 40: costs epsilon" in shown.stderr
    assert purse(database)["spent"] == pytest.approx(sum(r["n"]["charged"] for r in json.loads(shown.stdout)))
    assert "free" in run("query", database, SQL, "--within", "40").stderr
    spent = purse(database)["spent"]
    assert run("query", database, SQL, "--within", "1").exit_code == 3
    assert run("query", database, "SELECT COUNT(*) FROM people", "--max-charge", "0").exit_code == 3
    assert run("query", database, SQL, "--within", "0").exit_code == 2
    assert purse(database)["spent"] == spent


def test_a_file_of_statements_has_one_bound(database: Path, tmp_path: Path) -> None:
    file = tmp_path / "many.sql"
    file.write_text("SELECT COUNT(*) AS n FROM people WHERE age = 1;\nSELECT COUNT(*) AS n FROM people WHERE member;\n")
    shown = run("run", database, str(file), "--within", "60", "--format", "jsonl")
    assert shown.exit_code == 0
    assert "statement 2, within 60: costs" in shown.stderr
    assert purse(database)["spent"] > 0
    assert run("run", database, str(file), "--max-charge", "0").exit_code == 0  # given before


def test_the_shell_sets_a_bound_until_it_is_taken_back(capsys: pytest.CaptureFixture[str]) -> None:
    session = FakeSession()
    shell = Shell(session, Console(), read_lines=run_lines)
    for line in ("\\within 25", "SELECT 1", "\\within", "\\within off", "SELECT 1", "\\within many", "\\within 0"):
        shell.handle(line)
    assert session.terms == [Terms(within=25.0), NO_TERMS]
    shown = capsys.readouterr()
    assert shown.err.count("counts within 25") == 2
    assert "write \\within 25" in shown.err and "within is a bound in counts" in shown.err


def test_the_shell_says_beforehand_what_it_costs(database: Path) -> None:
    shown = run("shell", database, stdin=f"\\within 40\n\\explain {SQL}\n{SQL};\n")
    assert shown.exit_code == 0
    assert "within 40: costs epsilon" in shown.stderr
    assert "new measurement" in shown.stdout


def test_a_ledger_begun_without_a_share_refuses_in_words_and_keeps_its_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    database = made(tmp_path, "")
    with dpsql.connect(database) as con, pytest.raises(dpsql.BudgetExhausted, match="sets nothing aside") as refused:
        con.execute(SQL, within=40)
    assert "on_demand" in refused.value.hint
    with dpsql.connect(database) as con:
        con.execute("SELECT COUNT(*) FROM people")
    database.with_name("census.dpsql.toml").write_text(POLICY.replace("ON_DEMAND", "on_demand = 0.2"))
    with pytest.raises(dpsql.LedgerError, match="on_demand"):
        dpsql.connect(database)
    for wrong in ("on_demand = 1.0", "on_demand = -0.1", 'on_demand = "much"'):
        with pytest.raises(dpsql.PolicyError, match="on_demand"):
            dpsql.load_policy(POLICY.replace("ON_DEMAND", wrong))


@pytest.mark.parametrize("words", ["", "on_demand = 0.0001"])
def test_a_bound_that_cannot_be_paid_is_refused_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    shown = run("query", made(tmp_path, words), SQL, "--within", "40")
    assert shown.exit_code == 3
    assert shown.stderr.count("costs epsilon") == 1 and "refused as things are" not in shown.stderr


@pytest.mark.parametrize("terms", [("--within", "-3"), ("--within", "0.5"), ("--max-charge", "-1")])
def test_bounds_and_charges_that_nothing_can_have_are_refused_as_usage(database: Path, terms: tuple[str, str]) -> None:
    shown = run("query", database, SQL, *terms)
    assert shown.exit_code == 2 and f"'{terms[0]}'" in shown.stderr
    assert run("query", database, SQL, "--max-charge", "0").exit_code == 3  # nothing is free yet
