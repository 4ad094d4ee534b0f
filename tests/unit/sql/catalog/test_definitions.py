"""Names of a session: what they stand for, what they may be called, and that nothing grows."""

import pytest

from dpsql.errors import Error, SqlSyntaxError, UnknownName, UnsupportedQuery
from dpsql.sql import FrontEnd
from dpsql.sql.catalog import definitions
from tests.support.exact import front_end


@pytest.fixture
def front() -> FrontEnd:
    return front_end()


def give(front: FrontEnd, *texts: str) -> None:
    for text in texts:
        found = front.lower(text).defines
        assert found is not None
        front.define(found)


def outlines(front: FrontEnd, text: str) -> list[str]:
    return [q.digest for q in front.lower(text).queries]


@pytest.mark.parametrize(
    "create",
    [
        "CREATE VIEW v AS ",
        "create or replace temp table v as ",
        "CREATE TEMPORARY VIEW IF NOT EXISTS main.V AS\n",
        '/* a tool */ CREATE TABLE temp."v" AS ',
    ],
)
def test_a_name_asks_what_its_query_asks(front: FrontEnd, create: str) -> None:
    query = "SELECT sex, COUNT(*) AS n FROM people WHERE age > 20 GROUP BY sex"
    give(front, create + query)
    assert outlines(front, "SELECT sum(n) FROM v") == outlines(front, query)
    assert outlines(front, 'SELECT n FROM main."V" AS x WHERE n > 3' if "main" not in create else query) == outlines(
        front, query
    )


def test_a_name_may_stand_for_rows_that_are_counted(front: FrontEnd) -> None:
    give(front, "CREATE VIEW adults AS SELECT * FROM people WHERE age >= 18")
    counted = outlines(front, "SELECT COUNT(*) FROM people WHERE age >= 18 AND member")
    assert outlines(front, "SELECT COUNT(*) FROM adults WHERE member") == counted
    with pytest.raises(UnsupportedQuery, match="rows of the private table"):
        front.lower("SELECT * FROM adults")


def test_a_name_is_resolved_when_it_is_given(front: FrontEnd) -> None:
    give(front, "CREATE VIEW a AS SELECT 1 AS x", "CREATE VIEW b (y) AS SELECT x FROM a")
    before = front.lower("SELECT y FROM b").outer_sql
    give(front, "CREATE OR REPLACE VIEW a AS SELECT 2 AS x")
    assert front.lower("SELECT y FROM b").outer_sql == before
    assert "2 AS x" in (front.lower("SELECT x FROM a").outer_sql or "")


def test_a_cte_hides_a_name(front: FrontEnd) -> None:
    give(front, "CREATE VIEW v AS SELECT COUNT(*) AS n FROM people")
    assert front.lower("WITH v AS (SELECT 3 AS n) SELECT n FROM v").blocks == ()


def test_parameters_are_bound_when_a_name_is_given(front: FrontEnd) -> None:
    found = front.lower("CREATE VIEW v AS SELECT COUNT(*) AS n FROM people WHERE age > ?", [20]).defines
    assert found is not None
    front.define(found)
    assert outlines(front, "SELECT n FROM v") == outlines(front, "SELECT COUNT(*) FROM people WHERE age > 20")


def test_what_was_read_before_is_read_again(front: FrontEnd) -> None:
    give(front, "CREATE VIEW v AS SELECT COUNT(*) AS n FROM people")
    assert len(front.lower("SELECT n FROM v").queries) == 1
    give(front, "DROP VIEW v")
    with pytest.raises(UnknownName, match="'v'"):
        front.lower("SELECT n FROM v")


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("CREATE VIEW people AS SELECT 1", UnsupportedQuery, "there is a table people"),
        ("CREATE TABLE Cities AS SELECT 1", UnsupportedQuery, "there is a table Cities"),
        ("CREATE VIEW known AS SELECT 1", UnsupportedQuery, "a name of this session"),
        ("CREATE VIEW _released_1 AS SELECT 1", UnsupportedQuery, "are taken"),
        ("CREATE VIEW v AS SELECT agee FROM people", Error, "agee"),
        ("CREATE VIEW v AS SELECT * FROM peple", UnknownName, "peple"),
        ("CREATE VIEW v AS SELECT FROM WHERE", SqlSyntaxError, "syntax error"),
        ("CREATE VIEW v AS DROP TABLE people", UnsupportedQuery, "DROP is not a SELECT"),
        ("CREATE TABLE v (a INTEGER)", UnsupportedQuery, "CREATE is not a SELECT"),
        ("DROP TABLE people", UnsupportedQuery, "DROP is not a SELECT"),
        ("DROP TABLE IF EXISTS people", UnsupportedQuery, "DROP is not a SELECT"),
        ("DROP VIEW nothing", UnsupportedQuery, "DROP is not a SELECT"),
        ("CREATE VIEW v AS SELECT * FROM v", UnknownName, "'v'"),
    ],
)
def test_what_is_refused(front: FrontEnd, text: str, error: type[Error], words: str) -> None:
    give(front, "CREATE VIEW known AS SELECT 1 AS x")
    with pytest.raises(error, match=words):
        front.lower(text)


def test_names_within_names_do_not_grow_without_bound(front: FrontEnd) -> None:
    """Each reads all before it, so that its text doubles."""
    give(front, "CREATE VIEW v0 AS SELECT 1 AS x")
    with pytest.raises(Error) as caught:
        for n in range(1, 40):
            sources = ", ".join(f"v{i} AS t{i}" for i in range(n))
            give(front, f"CREATE VIEW v{n} AS SELECT t0.x FROM {sources}")
    assert "names within names" in str(caught.value)


def test_a_session_holds_so_many_names(front: FrontEnd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(definitions, "MAX_NAMES", 2)
    give(front, "CREATE VIEW a AS SELECT 1 AS x", "CREATE VIEW b AS SELECT 1 AS x")
    give(front, "CREATE OR REPLACE VIEW b AS SELECT 2 AS x")
    with pytest.raises(UnsupportedQuery, match="more than 2 names"):
        front.lower("CREATE VIEW c AS SELECT 1 AS x")
    give(front, "DROP VIEW a", "CREATE VIEW c AS SELECT 1 AS x")


def test_giving_the_same_name_twice_is_no_error_if_it_says_so(front: FrontEnd) -> None:
    give(
        front, "CREATE VIEW v AS SELECT 1 AS x", "CREATE VIEW IF NOT EXISTS v AS SELECT 2 AS x", "DROP VIEW IF EXISTS w"
    )
    assert "1 AS x" in (front.lower("SELECT x FROM v").outer_sql or "")
