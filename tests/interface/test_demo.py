"""The demonstration: its data, its questions, and how the tour reads."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import dpsql
from dpsql.domain import Parameters
from dpsql.interface.cli import cli
from dpsql.interface.console import Console
from dpsql.interface.dbapi.connection import Connection
from dpsql.interface.demo.databases import Truth, build
from dpsql.interface.demo.run import run_demo
from dpsql.interface.demo.tour import TOUR, random_questions
from dpsql.interface.splitter import split
from dpsql.policy_file import load_policy
from dpsql.result import NO_TERMS, Answer, Result, Terms
from tests.support.command_line import runner
from tests.support.fake_session import FakeSession
from tests.support.lessons import learned_briefly

ROOT = Path(__file__).parents[2]
DATA = files("dpsql.interface.demo") / "data"
ROWS = {"adult": 48_842, "pets": 52_519}


class DemoSession(FakeSession):
    """Answers from the database itself, off by three, the first time for a charge."""

    def __init__(self, database: Path) -> None:
        super().__init__()
        self._owner = duckdb.connect(str(database), read_only=True)

    def execute(self, text: str, parameters: Parameters = None, terms: Terms = NO_TERMS) -> Result:
        self.executed.append((text, parameters))
        relation = self._owner.sql(text)
        table = relation.to_arrow_table()
        last = table.num_columns - 1
        values = [v + 3 for v in table.column(last).to_pylist()]
        charged = 0.01 if len(self.executed) == 1 else 0.0
        answers = tuple(
            Answer(v, 4.0, (v - 4.0, v + 4.0), "exact", "measurement", True, charged=charged) for v in values
        )
        table = table.set_column(last, table.column_names[last], pa.array(values))
        return Result(table, tuple(str(t) for t in relation.types), {last: answers})

    def close(self) -> None:
        super().close()
        self._owner.close()


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[DemoSession]:
    made: list[DemoSession] = []

    def connect(database: Path, policy: Any, ledger: Any, **_: Any) -> Connection:
        assert ledger == ":memory:"
        made.append(DemoSession(database))
        return Connection(made[-1])

    monkeypatch.setattr("dpsql.interface.dbapi.connect.connect", connect)
    return made


def test_tour(sessions: list[DemoSession]) -> None:
    shown = runner().invoke(cli, ["demo"], catch_exceptions=False)
    assert (shown.exit_code, shown.stderr) == (0, "")
    lines = shown.stdout.splitlines()
    assert max(len(line) for line in lines) <= 100
    for i, step in enumerate(TOUR, start=1):
        assert f"{i}. {step.question}" in lines
    assert any("2,090 ± 4 *" in line and "2,087" in line for line in lines)
    assert lines[-1] == "        then: dpsql shell DIR/adult.duckdb"
    assert all(s.closed for s in sessions)


def test_kept_databases(sessions: list[DemoSession], tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    shown = runner().invoke(cli, ["demo", "--keep", str(folder)], catch_exceptions=False)
    assert shown.exit_code == 0
    assert sorted(p.name for p in folder.iterdir()) == [
        "adult.dpsql.toml",
        "adult.duckdb",
        "pets.dpsql.toml",
        "pets.duckdb",
    ]
    assert str(folder / "adult.duckdb") in shown.stdout


def test_a_tour_goes_on_where_its_tables_were_asked_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As README's session does; the tables are public, so that nobody is to be told of a second budget."""
    learned_briefly(monkeypatch)
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("dpsql.interface.demo.run.TOUR", ())
    built = build("adult", tmp_path)
    with dpsql.connect(built.database) as connection:
        connection.execute("SELECT COUNT(*) FROM adult")
    run_demo(Console(), None, questions=1)
    assert "Ask yourself" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["adult", "pets"])
def test_database_is_real_and_covered_by_its_policy(name: str, tmp_path: Path) -> None:
    built = build(name, tmp_path)
    (table,) = load_policy(built.policy).tables
    assert table.cells <= 1 << 24
    with duckdb.connect(str(built.database), read_only=True) as connection:
        (count,) = connection.execute(f"SELECT COUNT(*) FROM {name}").fetchone() or (0,)
        assert count == ROWS[name]
        described = {row[0]: row[2] for row in connection.execute(f"DESCRIBE {name}").fetchall()}
    for column in table.columns:
        assert column.nullable is (described[column.name] == "YES") or column.name == "issued"
    assert len(table.finite) >= (7 if name == "adult" else 3)


@pytest.mark.parametrize("name", ["adult", "pets"])
def test_example_policy_is_the_packaged_one(name: str) -> None:
    example = ROOT / "examples" / name / f"{name}.dpsql.toml"
    assert example.read_text() == (DATA / f"{name}.dpsql.toml").read_text()


@pytest.mark.parametrize("name", ["adult", "pets"])
def test_example_questions_are_valid_sql_on_the_real_tables(name: str) -> None:
    truth = Truth(name)
    pieces = split((ROOT / "examples" / name / "queries.sql").read_text())
    assert len(pieces) == 8
    for piece in pieces:
        assert truth.rows(piece.text.replace("$zip", "98103"))
    truth.close()


@pytest.mark.parametrize(("name", "parameters"), [("adult", []), ("pets", ["-p", "zip=98103"])])
def test_example_questions_are_answered(
    name: str, parameters: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    learned_briefly(monkeypatch)
    questions = ROOT / "examples" / name / "queries.sql"
    arguments = ["run", str(build(name, tmp_path).database), str(questions), *parameters]
    shown = runner().invoke(cli, arguments, catch_exceptions=False)
    assert shown.exit_code == 0, shown.stderr
    headlines = [line for line in shown.stdout.splitlines() if line.startswith("-- ")]
    example = (ROOT / "examples" / name / "expected.md").read_text()
    assert headlines == [line for line in example.splitlines() if line.startswith("-- ")]


def test_random_questions_are_the_same_for_the_same_seed() -> None:
    questions = list(random_questions(50))
    assert questions == list(random_questions(50))
    assert questions != list(random_questions(50, seed=1))
    assert questions == list(random_questions(200))[:50]
    assert len(set(random_questions(200))) == 200  # the tour says how many were free: none because it was asked before
    truth = Truth("adult")
    assert all(0 <= truth.rows(q)[0][0] <= ROWS["adult"] for q in questions)  # type: ignore[operator]
    truth.close()
