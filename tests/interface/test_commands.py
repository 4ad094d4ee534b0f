"""What tools send unasked is answered through a cursor, is free, and says nothing of the rows."""

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

import dpsql

POLICY = """version = 1
[privacy]
epsilon = 1.0
delta = 1e-6
[tables.visits]
[tables.visits.columns]
age = { type = "integer", min = 17, max = 90 }
sex = { type = "category", values = ["F", "M"] }
[public]
tables = ["places"]
"""
COMMANDS = (
    *("BEGIN", "SET threads = 1", "USE memory", "COMMIT", "SHOW TABLES", "SHOW ALL TABLES", "DESCRIBE visits"),
    *("SUMMARIZE visits", "PRAGMA table_info('visits')", "SELECT * FROM information_schema.columns"),
    *("SELECT * FROM duckdb_tables()", "DESCRIBE SELECT sex, COUNT(*) FROM visits GROUP BY sex"),
    "EXPLAIN SELECT COUNT(*) FROM visits WHERE age > 30",
)


@pytest.fixture
def connected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], dpsql.Connection]:
    """A session on a table of so many rows."""
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))

    def connect(rows: int) -> dpsql.Connection:
        path = tmp_path / f"{rows}.duckdb"
        with duckdb.connect(str(path)) as con:
            con.execute(
                f"CREATE TABLE visits AS SELECT 17 + i % 60 AS age, 'F' AS sex, i AS secret FROM range({rows}) t(i)"
            )
            con.execute("CREATE TABLE places (name VARCHAR)")
        path.with_suffix(".dpsql.toml").write_text(POLICY)
        return dpsql.connect(path)

    return connect


def test_commands_are_free_and_the_same_whatever_the_rows_are(connected: Callable[[int], dpsql.Connection]) -> None:
    found = []
    for rows in (10, 5000):
        with connected(rows) as con:
            found.append([(c.description, c.fetchall(), c.notes) for c in map(con.execute, COMMANDS)])
            assert con.budget.spent_epsilon == 0
            assert con.budget.queries_answered == 0
    assert found[0] == found[1]
    assert "secret" not in repr(found)


def test_a_notice_stands_beside_the_result(connected: Callable[[int], dpsql.Connection]) -> None:
    with connected(10) as con:
        cursor = con.execute("BEGIN")
        assert cursor.fetchall() == []
        assert [n.kind for n in cursor.notes] == ["statement"]
        assert "BEGIN does nothing" in str(cursor.messages[0][1])
        assert "declares" in con.execute("SUMMARIZE visits").notes[0].text


def test_explain_is_the_plan(connected: Callable[[int], dpsql.Connection]) -> None:
    question = "SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex ORDER BY n"
    with connected(10) as con:
        plan = con.explain(question)
        cursor = con.execute(f"EXPLAIN {question}")
        shown = dict(cursor.fetchall())
        assert [d[0] for d in cursor.description or ()] == ["explain_key", "explain_value"]
        assert shown["question"].startswith("visits (sex): ") and shown["question"].endswith(" cells")
        assert shown["answered from"] == plan.plans[0].source
        assert shown["error"].startswith("about ") and shown["costs"].startswith("at most epsilon ")
        assert shown["then"] == plan.outer
        assert cursor.notes == plan.notes
        assert con.explain(f"EXPLAIN {question}").plans == plan.plans
        assert cursor.answers == ()


def test_a_refused_statement_cannot_be_explained(connected: Callable[[int], dpsql.Connection]) -> None:
    with connected(10) as con, pytest.raises(dpsql.Error):
        con.execute("EXPLAIN SELECT age FROM visits")
