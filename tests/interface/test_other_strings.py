"""Expressions of text are evaluated on strings that were released: what bars say of rows with other strings."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import dpsql
from dpsql.result import Answer
from tests.support.seeded_sessions import seeded_sessions

# 'pen' to 'bag' have 3,000 rows and more each, 12,000 rows one of 6,000 names that nobody is shown
WARES = """
CREATE TABLE wares AS SELECT
  CASE WHEN i % 5 = 4 THEN 'item' || (i % 6000) WHEN i % 61 = 7 THEN NULL
    ELSE ['pen', 'ink', 'Cup', 'bag'][1 + (i * 31 % 97) % 4] END AS ware,
  ['north', 'south'][1 + (i * 13 % 101) % 2] AS side, (i * 7919 % 1009) % 50 - 10 AS price
FROM range(60000) t(i)"""
POLICY = """version = 1
[privacy]
epsilon = 8
delta = 1e-6
planned_queries = 200
[tables.wares.columns]
ware = { type = "text", prefixes = [2] }
side = { type = "category", values = ["north", "south"] }
price = { type = "integer", min = -10, max = 39 }
"""
NAMED = (
    "CASE WHEN ware IN ('pen', 'ink') THEN ware ELSE 'other' END",
    "CASE ware WHEN 'pen' THEN 'a' WHEN 'Cup' THEN 'b' ELSE 'other' END",
    "if(ware = 'pen', ware, 'other')",
    "CASE WHEN ware = 'pen' AND side = 'north' THEN 'a' WHEN ware LIKE 'in%' THEN 'i' ELSE 'other' END",
    "CASE WHEN ware IS NULL THEN 'none' WHEN ware <> 'pen' THEN 'other' ELSE ware END",
    "CASE WHEN side = 'south' THEN 'south' ELSE CASE ware WHEN 'bag' THEN ware ELSE 'rest' END END",
)
"""What only named strings are told apart by: known of every other one."""
OPEN = (
    "COUNT(*) FILTER (WHERE lower(ware) = 'cup')",
    "COUNT(*) FILTER (WHERE length(ware) > 3 OR ware = 'bag')",
    "COUNT(*) FILTER (WHERE ware NOT LIKE '%e%')",
    "COUNT(*) FILTER (WHERE ware ~ '^(item|pen)' AND side = 'south')",
    "SUM(price) FILTER (WHERE ware LIKE '%e%')",
    "AVG(price) FILTER (WHERE length(ware) > 2)",
    "AVG(CASE WHEN ware LIKE '%e%' THEN 1 ELSE 0 END)",
    "AVG((ware LIKE '%e%')::INT)",
    "COUNT(*) FILTER (WHERE ware IS NULL OR lower(ware) = 'item9')",
    "COUNT(*) FILTER (WHERE coalesce(ware, 'item9') = 'item9')",
)
BY_STRING = (
    "SUM(CASE WHEN ware LIKE 'item%' THEN price ELSE 0 END)",
    "SUM(length(ware))",
    "AVG(length(ware))",
    "SUM(length(ware) - CAST('3' AS INT))",
    "SUM(CASE WHEN length(ware) > 4 THEN 100 WHEN length(ware) > 2 THEN 1 ELSE 0 END)",
)
"""What a row adds depends on its string."""


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dpsql.Connection]:
    with seeded_sessions(tmp_path, monkeypatch, WARES, POLICY, (1,)) as (made,):
        yield made


def truth(sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as con:
        con.execute(WARES)
        return con.execute(sql).fetchall()


def one(con: dpsql.Connection, what: str) -> Answer:
    (answer,) = con.execute(f"SELECT {what} FROM wares").answers
    return answer


def holds(answer: Answer, true: float) -> bool:
    assert answer.interval is not None
    low, high = answer.interval
    return low <= true <= high


@pytest.mark.parametrize("key", NAMED)
def test_what_names_its_strings_is_known_of_all_others(session: dpsql.Connection, key: str) -> None:
    sql = f"SELECT {key} AS k, COUNT(*) FROM wares GROUP BY k"
    cursor, true = session.execute(sql), dict(truth(sql))
    found = dict(cursor.fetchall())
    for (k, number), answer in zip(found.items(), cursor.answers, strict=True):
        assert answer.error is not None and answer.error < 600.0
        assert abs(float(number) - float(str(true.get(k, 0)))) <= 1.5 * answer.error
    assert not [n for n in cursor.notes if "released" in n.text]


@pytest.mark.parametrize("what", OPEN)
def test_bars_hold_whichever_strings_were_not_released(session: dpsql.Connection, what: str) -> None:
    ((true,),) = truth(f"SELECT {what} FROM wares")
    answer = one(session, what)
    assert holds(answer, float(str(true)))
    assert not answer.certified
    assert "released" in session.execute(f"SELECT {what} FROM wares").notes[-1].text


@pytest.mark.parametrize("what", BY_STRING)
def test_of_what_strings_add_nothing_is_known(session: dpsql.Connection, what: str) -> None:
    answer = one(session, what)
    assert answer.error is None and answer.interval is None and not answer.certified


def test_they_end_where_rows_with_other_strings_do(session: dpsql.Connection) -> None:
    """About 12,000 have others, half of them to the south."""
    for more, least, most in (("", 11_900, 13_000), (" AND side = 'south'", 5_900, 6_700)):
        answer = one(session, f"COUNT(*) FILTER (WHERE ware ~ '^(item|pen)'{more})")
        assert answer.interval is not None and answer.value is not None
        assert least <= answer.interval[1] - answer.value <= most


def test_a_number_beside_that_names_its_strings_keeps_its_bar(session: dpsql.Connection) -> None:
    cursor = session.execute(
        "SELECT COUNT(*) FILTER (WHERE ware = 'pen'), COUNT(*) FILTER (WHERE lower(ware) = 'pen'), COUNT(*) FROM wares"
    )
    named, lower, rows = cursor.answers
    assert named.error is not None and rows.error is not None and lower.error is not None
    assert named.error < 300.0 and rows.error < 300.0 < 10_000.0 < lower.error


def test_a_group_of_a_string_itself_has_no_other_ones_rows(session: dpsql.Connection) -> None:
    sql = "SELECT coalesce(ware, 'none') AS k, COUNT(*) FROM wares GROUP BY k"
    cursor, true = session.execute(sql), dict(truth(sql))
    for (k, number), answer in zip(cursor.fetchall(), cursor.answers, strict=True):
        assert answer.error is not None and answer.error < 300.0
        assert abs(number - float(str(true[k]))) <= 1.5 * answer.error


def test_the_word_for_null_is_a_string_that_may_be_there(session: dpsql.Connection) -> None:
    """It is not released, so it is listed as if the statement had named it."""
    cursor = session.execute("SELECT coalesce(ware, 'item9') AS k, COUNT(*) FROM wares GROUP BY k")
    both = zip(cursor.fetchall(), cursor.answers, strict=True)
    (answer,) = [a for (k, _), a in both if k == "item9"]
    ((true,),) = truth("SELECT COUNT(*) FROM wares WHERE coalesce(ware, 'item9') = 'item9'")
    assert answer.error is not None and abs(float(answer.value or 0) - float(str(true))) <= 1.5 * answer.error


def test_several_numbers_of_values_have_no_bar(session: dpsql.Connection) -> None:
    answer = one(session, "MEDIAN(price) FILTER (WHERE length(ware) > 2)")
    assert answer.value is not None and answer.error is None


def test_of_what_no_released_string_meets_nothing_is_known(session: dpsql.Connection) -> None:
    answer = one(session, "COUNT(*) FILTER (WHERE ware ~ '^zz')")
    assert answer.value == 0 and answer.error is None


def test_nothing_is_charged_for_such_bars(session: dpsql.Connection) -> None:
    session.execute("SELECT COUNT(*) FROM wares WHERE ware IN ('pen', 'ink', 'Cup', 'bag')")
    session.execute("SELECT ware, COUNT(*) FROM wares GROUP BY ware")
    spent = session.budget.spent_epsilon
    session.execute("SELECT COUNT(*) FROM wares WHERE lower(ware) = 'cup'", max_charge=0)
    assert session.budget.spent_epsilon == spent


UNITS = """
CREATE TABLE wares AS SELECT
  CASE WHEN i % 5 = 4 THEN 'item' || (i % 6000) ELSE ['pen', 'ink'][1 + i % 2] END AS ware,
  ['north', 'south'][1 + (i * 13 % 101) % 2] AS side, i // 2 AS buyer
FROM range(20000) t(i)"""


def test_units_with_other_strings_are_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = POLICY.replace(
        "[tables.wares.columns]", '[tables.wares]\nunit = "buyer"\nmax_rows_per_unit = 2\n[tables.wares.columns]'
    ).replace("price = ", "# price = ")
    with seeded_sessions(tmp_path, monkeypatch, UNITS, policy, (1,)) as (made,):
        sql = "SELECT COUNT(*) FROM (SELECT buyer FROM wares WHERE ware LIKE '%e%' GROUP BY buyer HAVING COUNT(*) > 1)"
        (answer,) = made.execute(sql).answers
        assert answer.error is None and not answer.certified
