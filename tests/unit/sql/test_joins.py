"""Joins with public tables: what DuckDB counts is counted, for random joins; what depends on rows is refused."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from dpsql.domain import CategoryDomain, TableDomain
from dpsql.errors import Error, UnsupportedQuery
from dpsql.public import DuckDbPublicSql
from dpsql.sql import FrontEnd
from tests.support.contingency import TABLE, Counted, random_rows, seeded
from tests.support.exact import POLICY, answer

TOWNS = {
    "city": ["Rome", "Bonn", "O'Hare", "Oslo", None],
    "country": ["Italy", "Germany", "USA", "Norway", "?"],
    "age": [18, 20, 22, 24, 19],
    "open": [True, None, False, True, True],
}
BANDS = {"low": [17, 19, 19, 22], "high": [18, 21, 25, 25], "band": ["a", "b", "c", None], "kids": [0, 1, 1, None]}
COUNTRIES = {"name": ["Italy", "Germany", "Norway"], "size": [60, 80, 5]}
PUBLIC = {"towns": pa.table(TOWNS), "bands": pa.table(BANDS), "countries": pa.table(COUNTRIES)}
JOINS = (
    "people p JOIN towns t ON p.city = t.city",
    "people p LEFT JOIN towns t ON p.city = t.city",
    "people p LEFT JOIN towns t ON p.city = t.city AND t.open AND p.kids > 0",
    "people p LEFT JOIN towns t ON p.city IS NOT DISTINCT FROM t.city",
    "towns t JOIN people p ON p.city = t.city",
    "towns t RIGHT JOIN people p ON p.city = t.city",
    "people p JOIN towns t ON upper(p.city) = upper(t.city) AND p.age >= t.age",
    "(SELECT city, age, kids, member, sex FROM people WHERE age > 17) p LEFT JOIN towns t USING (city)",
    "people p LEFT JOIN towns AS t ON t.age = p.age",
)
CONDITIONS = (
    "TRUE",
    "t.open",
    "p.member AND t.country <> 'USA'",
    "t.open IS NULL OR p.age > 20",
    "p.age + 1 > t.age",
    "t.country IN ('Italy', 'Norway') AND p.city = t.city",
)
QUESTIONS = (
    "SELECT COUNT(*), COUNT(t.open), COUNT(p.age), SUM(t.age) FROM {j} WHERE {c}",
    "SELECT t.country, COUNT(*), AVG(p.kids) FROM {j} WHERE {c} GROUP BY t.country",
    "SELECT p.sex, t.open, COUNT(*) AS n FROM {j} WHERE {c} GROUP BY ALL HAVING n > 0 ORDER BY n",
    "SELECT SUM(CASE WHEN t.open THEN p.kids * t.age ELSE 1 END) FROM {j} WHERE {c}",
    "SELECT x, COUNT(*) FROM (SELECT t.country || p.sex AS x FROM {j} WHERE {c}) AS q GROUP BY x",
)
SEVERAL = (
    "people p JOIN bands b ON p.age BETWEEN b.low AND b.high",
    "people p LEFT JOIN bands b ON p.kids = b.kids",
    "people p, bands b",
    "people p JOIN bands b ON p.age >= b.low JOIN towns t ON p.city = t.city",
)
SEVERAL_QUESTIONS = (
    "SELECT COUNT(*), COUNT(b.band), SUM(b.high) FROM {j} WHERE {c}",
    "SELECT p.sex, COUNT(*) AS n, AVG(p.age - b.low) FROM {j} WHERE {c} GROUP BY p.sex",
)
SEVERAL_CONDITIONS = ("TRUE", "b.band > 'a'", "p.member AND b.low < 20 OR p.age = 25", "p.hours > b.high")
CHAINS = (
    "SELECT t.country, c.size, COUNT(*) FROM people p JOIN towns t USING (city) JOIN countries c ON c.name = t.country"
    " GROUP BY ALL",
    "SELECT c.size, COUNT(*) FROM people p LEFT JOIN towns t USING (city) LEFT JOIN countries c ON c.name = country"
    " GROUP BY c.size",
    "SELECT SUM(size) FROM towns t, countries c, people p WHERE p.city = t.city AND t.country = c.name AND c.size > 50",
    "SELECT a.country, b.country, COUNT(*) FROM people p JOIN towns a ON p.city = a.city JOIN towns b ON p.age = b.age"
    " WHERE a.open OR b.open GROUP BY ALL",
    "SELECT COUNT(*) FROM people p JOIN towns a ON p.city = a.city JOIN towns b ON p.age = b.age WHERE a.open = b.open",
    "SELECT t.country, COUNT(p.kids) FROM towns t LEFT JOIN people p ON p.age = t.age GROUP BY t.country",
    "SELECT city, COUNT(p.kids), SUM(p.kids) FROM towns t LEFT JOIN people p USING (city)"
    " WHERE t.age < 24 AND t.age <> 19 GROUP BY city",
    "WITH big AS (SELECT name FROM countries WHERE size > 10), t AS (SELECT city, country FROM towns) SELECT t.country,"
    " COUNT(*) FROM people NATURAL JOIN t JOIN big ON big.name = t.country GROUP BY t.country",
    "SELECT t.open, COUNT(*) FROM (SELECT city, open FROM towns WHERE age < 24) t, people p WHERE t.city = p.city"
    " GROUP BY 1",
    "SELECT COUNT(*) FROM people p JOIN countries c ON FALSE",
    "SELECT c.name, COUNT(*) FROM people p JOIN (VALUES ('x', 20)) AS c (name, age) ON p.age = c.age GROUP BY c.name",
)


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return FrontEnd(replace(POLICY, public_tables=tuple(PUBLIC)), DuckDbPublicSql(PUBLIC.__getitem__, seconds=20.0))


@pytest.fixture(scope="module")
def people() -> Counted:
    """Enough rows that every combination of the columns that lead somewhere occurs."""
    counted = Counted(TABLE, random_rows(31, 1200))
    for name, table in PUBLIC.items():
        counted.connection.register(f"incoming_{name}", table)
        counted.connection.execute(f"CREATE TABLE {name} AS FROM incoming_{name}")
    return counted


def plain(rows: list[tuple[Any, ...]]) -> list[tuple[str, ...]]:
    """Rows in an order of their own; the sum of no row is 0 here."""
    return sorted(tuple(str(round(float(v), 6)) if isinstance(v, (int, float)) else str(v) for v in r) for r in rows)


def check(front: FrontEnd, people: Counted, text: str) -> None:
    _, found = answer(front.lower(text), {"people": people})
    expected = people.connection.execute(text).fetchall()
    shown = [tuple(0 if v is None and "SUM" in text and len(expected) == 1 else v for v in row) for row in expected]
    assert plain(found) in (plain(expected), plain(shown)), text


@pytest.mark.parametrize("seed", range(8))
def test_rows_that_find_one_row_are_counted_as_duckdb_counts_them(front: FrontEnd, people: Counted, seed: int) -> None:
    rng = seeded(seed)
    for question in QUESTIONS:
        check(front, people, question.format(j=rng.choice(JOINS), c=rng.choice(CONDITIONS)))


@pytest.mark.parametrize("join", SEVERAL)
def test_rows_that_find_several_count_several_times(front: FrontEnd, people: Counted, join: str) -> None:
    rng = seeded(len(join))
    for question in SEVERAL_QUESTIONS:
        check(front, people, question.format(j=join, c=rng.choice(SEVERAL_CONDITIONS)))


@pytest.mark.parametrize("text", CHAINS)
def test_chains_of_relations_are_followed(front: FrontEnd, people: Counted, text: str) -> None:
    check(front, people, text)


def test_a_look_up_is_one_question_for_each_of_its_groups(front: FrontEnd) -> None:
    statement = front.lower("SELECT t.open, COUNT(*) FROM people p JOIN towns t ON p.city = t.city GROUP BY t.open")
    (block,) = statement.blocks
    assert [len(f.terms) for f in block.aggregates[0].numerator] == [1, 1, 1]
    assert {t.query.touched for f in block.aggregates[0].numerator for t in f.terms} == {("city",)}


def test_look_ups_by_different_columns_stay_apart(front: FrontEnd) -> None:
    joined = "people p JOIN towns a ON p.city = a.city JOIN towns b ON p.age = b.age"
    text = f"SELECT COUNT(*) FROM {joined} WHERE a.open AND b.open"
    (form,) = front.lower(text).blocks[0].aggregates[0].numerator
    assert [f.columns for t in form.terms for f in t.query.factors] == [("age",), ("city",)]


def test_a_look_up_with_many_keys_may_be_mentioned_often() -> None:
    codes = tuple(f"{i:04d}" for i in range(600))
    table = TableDomain("people", (CategoryDomain("zip", codes),))
    states = pa.array([f"state {i % 7}" for i in range(600)]).dictionary_encode()
    zips = pa.table({"zip": codes, "town": [f"the town number {i}" for i in range(600)], "state": states})
    policy = replace(POLICY, tables=(table,), public_tables=("zips",))
    front = FrontEnd(policy, DuckDbPublicSql({"zips": zips}.__getitem__, seconds=20.0))
    found = front.lower(
        "SELECT state, COUNT(*) FILTER (WHERE town LIKE '%7'), COUNT(town) FROM people LEFT JOIN zips USING (zip)"
        " WHERE town <> 'x' AND town NOT LIKE '%13%' GROUP BY state"
    )
    assert len(found.blocks[0].groups) == 7


@pytest.mark.parametrize(
    ("join", "words"),
    [
        ("people p LEFT JOIN towns t ON p.name = t.city", "by name"),
        ("people p JOIN people q ON p.age = q.age", "declared with its unit"),
        ("people p FULL JOIN towns t ON p.city = t.city", "FULL"),
        ("people p SEMI JOIN towns t ON p.city = t.city", "write WHERE key IN (SELECT key FROM the public table)"),
        ("towns t LEFT JOIN people p ON p.city = t.city", "depend on which rows there are"),
        ("people p JOIN (SELECT * FROM read_csv('x')) r ON TRUE", "table functions"),
        ("people p, towns a, towns b, bands c", "more than 32 rows"),
        ("people p JOIN towns t ON p.city = t.city AND random() < 0.5", "random"),
    ],
)
def test_what_is_refused_says_why(front: FrontEnd, join: str, words: str) -> None:
    with pytest.raises(Error) as caught:
        front.lower(f"SELECT COUNT(*) FROM {join}")
    assert words in f"{caught.value} {caught.value.hint}"
    assert caught.value.hint


@pytest.mark.parametrize(
    "select",
    [
        "t.country, COUNT(*) {f} GROUP BY t.country",
        "t.country, COUNT(1) {f} GROUP BY t.country",
        "t.country, COUNT(coalesce(p.age, 0)) {f} GROUP BY t.country",
        "p.sex, COUNT(p.age) {f} GROUP BY p.sex",
        "COUNT(p.age) {f} WHERE p.age IS NULL",
    ],
)
def test_rows_kept_without_a_private_row_add_nothing_or_are_refused(front: FrontEnd, select: str) -> None:
    with pytest.raises(Error):
        front.lower("SELECT " + select.format(f="FROM towns t LEFT JOIN people p ON p.city = t.city"))


@pytest.mark.parametrize(
    ("join", "told", "kept"),
    [
        (
            "towns t LEFT JOIN people p ON p.city = t.city",
            "in t 2 rows have keys that no row of people is declared to have: 'Oslo'; NULL",
            "t LEFT JOIN (SELECT city, COUNT(*) AS n FROM people GROUP BY city) AS counted ON counted.city = t.city",
        ),
        (
            "(SELECT * FROM towns WHERE city = 'Oslo') AS t LEFT JOIN people AS p USING (city)",
            "in t a row has a key that no row of people is declared to have: 'Oslo'",
            "t LEFT JOIN (SELECT city, COUNT(*) AS n FROM people GROUP BY city) AS counted ON counted.city = t.city",
        ),
        (
            "towns AS t LEFT JOIN people AS p ON p.city = t.city AND p.age = t.age",
            "in t 2 rows have keys that no row of people is declared to have: 'Oslo' and 24; NULL and 19",
            "group by the key in a subquery, and LEFT JOIN that",
        ),
    ],
)
def test_keys_that_no_private_row_can_have_are_named(front: FrontEnd, join: str, told: str, kept: str) -> None:
    with pytest.raises(UnsupportedQuery) as caught:
        front.lower(f"SELECT t.country, COUNT(p.age) FROM {join} GROUP BY t.country")
    assert str(caught.value).endswith(told)
    assert caught.value.hint == f"write JOIN, which leaves them out; or keep them beside counts: {kept}"
    if kept.startswith("t LEFT JOIN"):
        assert front.lower(f"SELECT country, coalesce(counted.n, 0) AS n FROM towns AS {kept}").blocks


def test_a_join_by_private_columns_alone_misses_no_row_of_a_relation(front: FrontEnd) -> None:
    one = "(SELECT country FROM towns WHERE city = 'Rome') AS t"
    assert front.lower(f"SELECT country, COUNT(p.age) FROM {one} LEFT JOIN people AS p ON p.member GROUP BY 1").blocks


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("SELECT c.size, COUNT(*) FROM people p JOIN countries c ON p.name = c.name GROUP BY 1", "in a subquery"),
        ("SELECT c.size, COUNT(*) FROM people p, countries c WHERE p.name = c.name GROUP BY 1", "one group at a time"),
        ("SELECT MAX(c.size) FROM people p JOIN countries c ON p.name = c.name", "WHERE name IN (SELECT"),
    ],
)
def test_a_key_that_is_not_listed_is_said_to_be_it(front: FrontEnd, text: str, hint: str) -> None:
    """Each key stands once in the public table; of a text column the join counts the rows of each of its rows."""
    with pytest.raises(UnsupportedQuery, match="by name, whose values are not listed one by one") as caught:
        front.lower(text)
    assert hint in (caught.value.hint or "")


def test_a_key_that_finds_several_rows_is_said_to_find_them(front: FrontEnd) -> None:
    with pytest.raises(UnsupportedQuery, match="a row finds several rows in this join"):
        front.lower("SELECT b.band, COUNT(*) FROM people p JOIN bands b ON p.kids = b.kids GROUP BY 1")
