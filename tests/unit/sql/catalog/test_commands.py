"""Statements that are no SELECT: each form is known, everything else is left to the parser."""

import pytest

from dpsql.errors import Error, UnknownName, UnsupportedQuery
from dpsql.public import DuckDbPublicSql
from dpsql.sql import FrontEnd, Statement
from dpsql.sql.catalog import catalog_of, read_command
from dpsql.sql.catalog.commands import Command
from tests.support.exact import POLICY, front_end, public_sql

PUBLIC = public_sql()


def command(text: str) -> Command | None:
    return read_command(text, catalog_of(POLICY, PUBLIC))


def rows(front: FrontEnd, text: str) -> list[tuple[object, ...]]:
    return shown(front.lower(text), PUBLIC)[1]


def shown(statement: Statement, public: DuckDbPublicSql) -> tuple[list[str], list[tuple[object, ...]]]:
    assert statement.blocks == ()
    table = public.run(statement.outer_sql or "", {}, statement.public_tables)
    return table.column_names, list(zip(*(c.to_pylist() for c in table.columns), strict=True))


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return front_end()


@pytest.mark.parametrize(
    "text",
    [
        *("BEGIN", "begin transaction;", "START TRANSACTION", "COMMIT", "END", "ROLLBACK WORK", "ABORT"),
        *("SET threads = 4", "SET search_path TO 'main'", "RESET threads", "USE memory.main", "PRAGMA threads=2"),
        *("/* a tool */ -- says\n BEGIN", "  COMMIT ; "),
    ],
)
def test_what_changes_nothing_says_so(front: FrontEnd, text: str) -> None:
    statement = front.lower(text)
    assert shown(statement, PUBLIC) == (["Success"], [])
    (notice,) = statement.notices
    assert "does nothing" in notice


@pytest.mark.parametrize(
    "text", ["DESCRIBE people", "desc main.people", 'SHOW "people";', "DESCRIBE TABLE memory.main.PEOPLE"]
)
def test_describe_shows_the_declared_columns(front: FrontEnd, text: str) -> None:
    found = rows(front, text)
    assert found[0] == ("age", "BIGINT", "YES", None, None, "17 to 25")
    assert ("kids", "BIGINT", "NO", None, None, "0 to 2") in found
    assert ("name", "VARCHAR", "YES", None, None, "any string") in found


def test_public_tables_are_described_by_their_own_columns(front: FrontEnd) -> None:
    assert [r[:2] for r in rows(front, "DESCRIBE cities")] == [
        ("city", "VARCHAR"),
        ("country", "VARCHAR"),
        ("age", "BIGINT"),
    ]


def test_tables_are_listed(front: FrontEnd) -> None:
    names = [("cities",), ("people",), ("pets",), ("twins",)]
    assert rows(front, "SHOW TABLES") == rows(front, "PRAGMA show_tables") == names
    found = rows(front, "SHOW ALL TABLES")
    assert [r[2] for r in found] == [n for (n,) in names]
    assert found[2][3:] == (["species", "animal_name"], ["VARCHAR", "VARCHAR"], False)
    assert rows(front, "SHOW DATABASES") == [("memory",)]


def test_a_query_is_described_by_its_columns(front: FrontEnd) -> None:
    text = "DESCRIBE SELECT sex, COUNT(*) AS n, AVG(age) AS m FROM people GROUP BY sex"
    assert [r[:2] for r in rows(front, text)] == [("sex", "VARCHAR"), ("n", "BIGINT"), ("m", "DOUBLE")]
    text = (
        "DESC WITH t AS (SELECT joined, COUNT(*) AS n FROM people GROUP BY ALL) SELECT *, n / 2 AS h FROM t ORDER BY 2"
    )
    assert [r[:2] for r in rows(front, text)] == [("joined", "DATE"), ("n", "BIGINT"), ("h", "DOUBLE")]


def test_summarize_shows_what_is_declared(front: FrontEnd) -> None:
    found = {str(r[0]): r[2:] for r in rows(front, "SUMMARIZE people")}
    nothing = (None,) * 7
    assert found["age"] == ("17", "25", 9, *nothing)
    assert found["hours"] == ("0.0", "40.0", 3, *nothing)
    assert found["city"] == ("", "Rome", 4, *nothing)
    assert found["member"] == ("false", "true", 2, *nothing)
    assert found["name"] == (None, None, None, *nothing)


def test_a_plan_is_asked_for_by_explain(front: FrontEnd) -> None:
    for word, notices in (("EXPLAIN", 0), ("explain analyze", 1)):
        statement = front.lower(f"{word} SELECT COUNT(*) FROM people WHERE age > ?", [18])
        assert statement.explained
        assert len(statement.notices) == notices
        assert [b.table for b in statement.blocks] == ["people"]


@pytest.mark.parametrize(
    ("text", "column"),
    [("EXPLAIN SELECT COUNT(*) FROM peple", 30), ("DESCRIBE peple", 10), ("PRAGMA table_info('peple')", 20)],
)
def test_what_is_wrong_has_its_place(front: FrontEnd, text: str, column: int) -> None:
    with pytest.raises(UnknownName) as caught:
        front.lower(text)
    assert (caught.value.line, caught.value.column) == (1, column)


@pytest.mark.parametrize(
    "text",
    [
        *("BEGIN; SELECT COUNT(*) FROM people", "SET threads = 4; SELECT 1", "PRAGMA database_list", "SHOW", "EXPLAIN"),
        *("DESCRIBE people, pets", "SUMMARIZE", "PRAGMA version", "BEGIN people", "EXPLAIN DROP TABLE people"),
        *("SUMMARIZE SELECT * FROM people", "DESCRIBE 'people'", "PRAGMA table_info(people, pets)"),
    ],
)
def test_what_is_more_than_a_command_is_refused(front: FrontEnd, text: str) -> None:
    with pytest.raises(Error) as caught:
        front.lower(text)
    assert isinstance(caught.value, UnsupportedQuery)
    assert caught.value.line == 1


@pytest.mark.parametrize(
    "text", ["SELECT 1", "FROM people SELECT COUNT(*)", "-- BEGIN\nSELECT 1", "'BEGIN'", "", "(SELECT 1)"]
)
def test_no_other_text_is_a_command(text: str) -> None:
    assert command(text) is None
