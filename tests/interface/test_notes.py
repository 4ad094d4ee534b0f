"""What is said beside the numbers, wherever they are shown: the API, every format of the command line, the shell."""

import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from pyarrow import parquet

import dpsql
from dpsql.interface.cli import cli
from tests.support.command_line import runner

POLICY = """version = 1
[privacy]
epsilon = 4.0
delta = 1e-6
[mechanism]
strategy = "pmw"
[tables.visits]
unit = "customer_id"
max_rows_per_unit = 3
[tables.visits.columns]
gender = { type = "category", values = ["male", "female"] }
age = { type = "integer", min = 17, max = 90 }
"""
CAP = "visits counts at most 3 rows of each customer_id; rows without one are together a single customer_id"
MALE = "'Male' is not among the declared values of gender (did you mean 'male'?); rows with other values count as NULL"
QUESTION = "SELECT COUNT(*) AS n FROM visits WHERE gender = 'Male'"
BY_GENDER = "SELECT gender, COUNT(*) AS n FROM visits GROUP BY gender"


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "visits.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(
            "CREATE TABLE visits AS SELECT CASE WHEN i % 2 = 0 THEN 'male' ELSE 'Male' END AS gender, "
            "17 + i % 60 AS age, i % 1000 AS customer_id FROM range(5000) t(i)"
        )
    path.with_suffix(".dpsql.toml").write_text(POLICY)
    return path


@pytest.fixture
def con(database: Path) -> Iterator[dpsql.Connection]:
    with dpsql.connect(database) as con:
        yield con


def run(database: Path, command: str, *arguments: str, stdin: str | None = None) -> tuple[str, str]:
    """Standard output and standard error."""
    found = runner().invoke(cli, [command, str(database), *arguments], input=stdin, catch_exceptions=False)
    assert found.exit_code == 0, found.stderr
    return found.stdout, found.stderr


def notes(err: str) -> list[str]:
    return [line for line in err.splitlines() if line.startswith("note:")]


def test_a_cursor_has_notes_and_messages(con: dpsql.Connection) -> None:
    cursor = con.cursor()
    assert cursor.messages == []
    cursor.execute(QUESTION)
    assert [(note.kind, str(note)) for note in cursor.notes] == [("undeclared", MALE), ("cap", CAP)]
    assert [kind for kind, _ in cursor.messages] == [dpsql.Warning, dpsql.Warning]
    assert [str(value) for _, value in cursor.messages] == [MALE, CAP]
    assert cursor.fetchall() == [(0,)]
    with pytest.raises(dpsql.Error):
        cursor.execute("nonsense")
    assert cursor.messages == []


def test_notes_depend_on_nothing_private(con: dpsql.Connection) -> None:
    """The explanation, which touches no data, has the notes that the answer has."""
    for text in (QUESTION, BY_GENDER):
        before = [note for note in con.explain(text).notes if note.kind != "plan"]
        assert before == list(con.execute(text).notes)


def test_a_null_group_stands_for_undeclared_values(con: dpsql.Connection) -> None:
    null = "NULL of gender stands for values that are not declared, too"
    assert [note.text for note in con.execute(BY_GENDER).notes] == [null, CAP]
    only = con.execute("SELECT gender, COUNT(*) FROM visits WHERE gender = 'male' GROUP BY gender")
    assert [note.text for note in only.notes] == [CAP]


def test_a_null_group_of_an_expression_does_too(con: dpsql.Connection) -> None:
    null = "NULL of gender stands for values that are not declared, too"
    text = "SELECT upper(gender) AS g, COUNT(*) FROM visits {} GROUP BY g"
    assert [note.text for note in con.execute(text.format("")).notes] == [null, CAP]
    assert [note.text for note in con.execute(text.format("WHERE gender = 'male'")).notes] == [CAP]


def test_what_no_declared_value_fulfils_is_said_beside_a_public_0(con: dpsql.Connection) -> None:
    cursor = con.execute("SELECT COUNT(*) FROM visits WHERE upper(gender) = 'male'")
    assert cursor.fetchone() == (0,)
    asked = "no declared value of gender fulfils upper(gender) = 'male'"
    assert [note.text for note in cursor.notes] == [f"{asked}; rows with other values count as NULL", CAP]


def test_public_statements_have_none(con: dpsql.Connection) -> None:
    assert con.execute("SELECT 1").notes == ()


def test_tables_and_markdown_say_it_below(database: Path) -> None:
    for form in ("table", "markdown"):
        out, err = run(database, "query", QUESTION, "--format", form)
        assert f"note: {MALE}\n" in out.replace("\\", "") and f"note: {CAP}\n" in out and "note:" not in err


@pytest.mark.parametrize("form", ["csv", "json", "jsonl"])
def test_other_formats_say_it_on_standard_error(database: Path, form: str) -> None:
    out, err = run(database, "query", QUESTION, "--format", form)
    assert "declared" not in out and notes(err) == [f"note: {MALE}", f"note: {CAP}"]


def test_a_batch_says_each_note_once(database: Path, tmp_path: Path) -> None:
    file = tmp_path / "questions.sql"
    file.write_text(f"{QUESTION};\nSELECT COUNT(*) AS n FROM visits;\n")
    out, err = run(database, "run", str(file), "--format", "csv")
    assert "declared" not in out and notes(err) == [f"note: {MALE}", f"note: {CAP}"]
    out, err = run(database, "run", str(file), "--format", "json")
    assert [one.get("notes") for one in json.loads(out)] == [[MALE, CAP], [CAP]] and "note:" not in err
    out, err = run(database, "run", str(file), "--format", "table")
    assert out.count(f"note: {CAP}") == 2 and "note:" not in err


def test_parquet_holds_notes_in_its_metadata(database: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    _, err = run(database, "query", QUESTION, "--format", "parquet", "-o", str(path))
    assert json.loads(parquet.read_schema(path).metadata[b"dpsql.notes"]) == [MALE, CAP]
    assert notes(err) == [f"note: {MALE}", f"note: {CAP}"]


def test_the_shell_says_it_too(database: Path) -> None:
    out, _ = run(database, "shell", stdin=f"{QUESTION};\n")
    assert f"note: {MALE}\n" in out and f"note: {CAP}\n" in out
    out, err = run(database, "shell", stdin=f"\\o csv\n{QUESTION};\n")
    assert "declared" not in out and f"note: {MALE}\n" in err


def test_an_explanation_says_it_before_anything_is_asked(database: Path) -> None:
    out, _ = run(database, "explain", QUESTION)
    assert f"note    {MALE}\n" in out and f"note    {CAP}\n" in out


def test_averages_over_groups_that_may_have_no_row_say_so(con: dpsql.Connection) -> None:
    groups = "SELECT gender, age, COUNT(*) AS n FROM visits GROUP BY ALL"

    def said(sql: str) -> list[str]:
        found = con.execute(sql)
        return [str(n) for n in found.notes if n.kind == "few"]

    (note,) = said(f"SELECT AVG(n) FROM ({groups}) AS g")
    few, words = note.split(" of the 225 groups ")  # NULL is a value of both columns
    assert words == "that are averaged or counted may have no row; a condition on their count drops these"
    assert int(few) >= 150  # 'Male' is not declared: half of the rows are one group, and no row is female
    assert said(f"SELECT gender, COUNT(*) FROM ({groups}) AS g GROUP BY gender") == [note]
    assert said(f"SELECT AVG(n) FROM ({groups} HAVING n > 10) AS g") == []
    assert said(f"SELECT SUM(n) FROM ({groups}) AS g") == []
    assert (
        said("SELECT AVG(n) FROM (SELECT gender, COUNT(*) AS n FROM visits WHERE gender = 'male' GROUP BY 1) AS g")
        == []
    )
