"""Whole sessions on a table of a few people: averages stay in range, answers stand beside their rows."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import dpsql
from tests.support import city


@pytest.fixture
def con(tmp_path: Path) -> Iterator[dpsql.Connection]:
    with dpsql.connect(city.build(tmp_path / "city", rows=20), ledger=":memory:") as opened:
        yield opened


def test_averages_of_few_rows_stay_in_range(con: dpsql.Connection) -> None:
    cur = con.execute("SELECT region, member, AVG(age) AS mean, AVG(age + 100) FROM people GROUP BY ALL")
    rows = cur.fetchall()
    assert len(rows) == 12
    for low, column in ((0, 2), (100, 3)):
        for row, answer in zip(rows, cur.result.column_answers[column], strict=True):
            assert row[column] == answer.value
            if answer.value is None:
                assert answer.interval is None
                continue
            assert answer.interval is not None
            assert answer.error is not None
            assert low <= answer.interval[0] <= answer.value <= answer.interval[1] <= low + 9
            assert answer.error <= 9


def test_answers_follow_rows_through_a_subquery(con: dpsql.Connection) -> None:
    text = "SELECT * FROM (SELECT region, COUNT(*) AS n FROM people GROUP BY region) WHERE n IS NOT NULL ORDER BY n"
    cur = con.execute(text)
    rows = cur.fetchall()
    assert [n for _, n in rows] == [a.value for a in cur.result.column_answers[1]]
    assert len(rows) == 4


def test_a_count_of_no_row_has_a_public_answer(con: dpsql.Connection) -> None:
    cur = con.execute("SELECT COUNT(*) FROM people WHERE 1 = 0")
    assert cur.fetchall() == [(0,)]
    (answer,) = cur.answers
    assert (answer.value, answer.error, answer.source, answer.charged) == (0, 0, "public", 0)
    assert con.budget.queries_answered == 0


def test_a_cte_that_nobody_reads_is_not_asked(con: dpsql.Connection) -> None:
    before = con.budget.spent_epsilon
    cur = con.execute("WITH unread AS (SELECT COUNT(*) AS n FROM people WHERE member) SELECT 1 AS one")
    assert cur.fetchall() == [(1,)]
    assert con.budget.spent_epsilon == before
    assert con.budget.queries_answered == 0
