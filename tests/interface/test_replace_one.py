"""Under replace-one, neighbours of views and of several tables: whatever is not noisy is the same on both."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dpsql

PRIVACY = 'version = 1\nprivacy = { epsilon = 0.5, delta = 1e-6, neighbors = "replace-one" }\n'
PEOPLE = """
CREATE TABLE people AS SELECT i AS id, i % 10 AS age, i % 3 = 0 AS member FROM range(500) t(i);
CREATE TABLE visits AS SELECT i AS id, i % 7 AS day FROM range(0, 500, 2) t(i);
CREATE VIEW adults AS SELECT * FROM people WHERE age >= 5;
CREATE VIEW visitors AS SELECT age, member FROM people JOIN visits USING (id);
"""
COLUMNS = 'age = { type = "integer", min = 0, max = 9 }\nmember = { type = "boolean" }\n'
DAYS = 'day = { type = "integer", min = 0, max = 6 }\n'
ADULT_BECOMES_CHILD = ("UPDATE people SET age = 1 WHERE id = 17",)
ANOTHER_PERSON = ("UPDATE people SET id = 1001 WHERE id = 16",)
ONE_WITHOUT_A_VISIT = ("UPDATE people SET age = 3 WHERE id = 16", "DELETE FROM visits WHERE id = 16")
TWINS = {
    "a view with a condition": (f"[tables.adults.columns]\n{COLUMNS}", ("adults",), ADULT_BECOMES_CHILD),
    "a view that joins": (f"[tables.visitors.columns]\n{COLUMNS}", ("visitors",), ANOTHER_PERSON),
    "a person in two tables": (
        f"[tables.people.columns]\n{COLUMNS}[tables.visits.columns]\n{DAYS}",
        ("people", "visits"),
        ONE_WITHOUT_A_VISIT,
    ),
    "beside a table whose row count is public": (
        f'[tables.people]\nrow_count = "public"\n[tables.people.columns]\n{COLUMNS}[tables.visits.columns]\n{DAYS}',
        ("people", "visits"),
        ONE_WITHOUT_A_VISIT,
    ),
}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))


def shown(tables: str, names: Sequence[str], changes: Sequence[str]) -> list[Any]:
    """All that is not noisy: plans, charges, bars, and the numbers that claim to be exact."""
    with duckdb.connect() as database:
        for statement in (PEOPLE, *changes):
            database.execute(statement)
        out: list[Any] = []
        with dpsql.connect(database, policy=dpsql.load_policy(PRIVACY + tables), ledger=":memory:") as con:
            texts = [f"SELECT COUNT(*) FROM {name}{where}" for name in names for where in ("", " WHERE 1 = 1")]
            out += [repr(con.explain(text)) for text in texts]
            for text in texts:
                answers = con.execute(text).answers
                out += [(a.error, a.source, a.charged, a.error != 0 or a.value) for a in answers]
                out.append(con.budget.spent_epsilon)
        return out


@pytest.mark.parametrize("twins", TWINS)
def test_neighbours_cannot_be_told_apart(twins: str) -> None:
    tables, names, changes = TWINS[twins]
    assert shown(tables, names, ()) == shown(tables, names, changes)


def test_a_row_count_that_is_declared_public_is_exact_and_free() -> None:
    tables, names, _ = TWINS["beside a table whose row count is public"]
    people, *_ = (entry for entry in shown(tables, names, ()) if isinstance(entry, tuple))
    assert people == (0.0, "measurement", 0.0, 500)


@pytest.mark.parametrize("view", ["adults", "visitors"])
def test_the_row_count_of_a_view_cannot_be_declared_public(view: str) -> None:
    rules = f'{PRIVACY}[tables.{view}]\nrow_count = "public"\n[tables.{view}.columns]\n{COLUMNS}'
    with duckdb.connect() as database:
        database.execute(PEOPLE)
        with pytest.raises(dpsql.PolicyError, match="view") as caught:
            dpsql.connect(database, policy=dpsql.load_policy(rules), ledger=":memory:")
    assert caught.value.path == f"tables.{view}.row_count" and caught.value.hint
