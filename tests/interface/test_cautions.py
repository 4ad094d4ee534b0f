"""A policy that may protect less than it seems to: who is told, where, and which names."""

import warnings
from pathlib import Path

import duckdb
import pytest

import dpsql
from dpsql.interface.cli import cli
from tests.support.command_line import runner

POLICY = """version = 1
[privacy]
epsilon = {epsilon}
delta = 1e-6
[mechanism]
strategy = "pmw"
[tables.visits]
{unit}
[tables.visits.columns]
first = {{ type = "boolean" }}
{more}
"""
LARGE = "epsilon = 40 is above 10: such a guarantee hardly protects a single person"


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "visits.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE visits AS SELECT i % 2 = 0 AS first, i % 50 AS patient_id FROM range(200) t(i)")
    return path


def rules(database: Path, epsilon: int = 1, unit: str = "", more: str = "") -> None:
    database.with_suffix(".dpsql.toml").write_text(POLICY.format(epsilon=epsilon, unit=unit, more=more))


def test_connect_warns_where_the_caller_stands(database: Path) -> None:
    rules(database, 40, more='patient_id = { type = "integer", min = 0, max = 99 }')
    with pytest.warns(dpsql.PolicyWarning) as found, dpsql.connect(database) as con:
        pass
    large, unit = found
    assert str(large.message) == LARGE and 'unit = "patient_id"' in str(unit.message)
    assert {Path(warning.filename) for warning in found} == {Path(__file__)}
    assert issubclass(dpsql.PolicyWarning, dpsql.Warning) and issubclass(dpsql.Warning, Warning)
    with pytest.raises(dpsql.InterfaceError):
        _ = con.notices


def test_they_are_among_the_notices(database: Path) -> None:
    rules(database, 40)
    with dpsql.connect(database) as con:
        assert con.notices[-2] == LARGE
        assert con.notices[-1].startswith("each row of visits is protected by itself") and "patient" not in str(
            con.notices
        )


def test_a_policy_with_a_unit_and_a_usual_epsilon_is_silent(database: Path) -> None:
    rules(database, unit='unit = "patient_id"\nmax_rows_per_unit = 4')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dpsql.connect(database, ledger=":memory:").close()


@pytest.mark.parametrize("command", [("shell",), ("budget",), ("query", "SELECT 1")])
def test_the_command_line_says_it_once_and_names_nothing_undeclared(database: Path, command: tuple[str, ...]) -> None:
    rules(database, 40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = runner().invoke(cli, [command[0], str(database), *command[1:]], input="", catch_exceptions=False)
    assert shown.exit_code == 0 and shown.stderr.count(f"notice: {LARGE}\n") == 1
    assert shown.stderr.count("each row of visits is protected by itself") == 1 and "patient" not in shown.output


def test_who_protects_rows_alone_hears_of_it_until_the_first_question_is_paid(database: Path) -> None:
    rules(database, 40)
    asked = ["query", str(database), "SELECT COUNT(*) FROM visits WHERE first"]
    first, second = (runner().invoke(cli, asked, catch_exceptions=False).stderr for _ in range(2))
    assert "each row of visits is protected by itself" in first and LARGE in first
    assert "each row of visits is protected by itself" not in second and LARGE in second
    with pytest.warns(dpsql.PolicyWarning) as found, dpsql.connect(database) as con:
        assert not any("by itself" in notice for notice in con.notices)
    assert [str(warning.message) for warning in found] == [LARGE]
    shown = runner().invoke(cli, ["check", str(database)], catch_exceptions=False)
    assert "each row of visits is protected by itself" in shown.stderr


def test_a_unit_of_one_row_says_that_rows_are_people(database: Path) -> None:
    rules(database, unit='unit = "patient_id"')
    assert "by itself" not in runner().invoke(cli, ["check", str(database)], catch_exceptions=False).stderr


def test_the_owner_is_told_the_name(database: Path) -> None:
    rules(database)
    shown = runner().invoke(cli, ["check", str(database)], catch_exceptions=False)
    assert 'if rows can have the same patient_id, name it in the policy, as unit = "patient_id"' in shown.stderr
