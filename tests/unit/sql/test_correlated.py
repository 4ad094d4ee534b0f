"""Correlated subqueries over public tables: DuckDB's answers, or words."""

import re
from dataclasses import replace
from itertools import product

import pytest

from dpsql.domain import TextDomain
from dpsql.errors import DataError, Error, UnsupportedQuery
from dpsql.public import DuckDbPublicSql
from dpsql.sql import FrontEnd
from tests.support.contingency import TABLE, Counted
from tests.support.exact import POLICY
from tests.unit.sql.test_joins import PUBLIC, check, front, people

__all__ = ["front", "people"]
VALUES = (
    "(SELECT max(country) FROM towns t WHERE t.city = p.city)",
    "(SELECT country FROM towns t WHERE t.age = p.age + 1 AND t.open)",
    "(SELECT count(*) FROM bands b WHERE p.age BETWEEN b.low AND b.high)",
    "(SELECT band FROM bands WHERE low < p.age ORDER BY high DESC, low LIMIT 1)",
    "(SELECT x FROM (SELECT min(t.age) x FROM towns t JOIN countries c ON c.name = t.country WHERE c.size > p.kids))",
    "(SELECT sum(low) FROM bands b WHERE EXISTS (SELECT 1 FROM towns t WHERE t.age = b.low AND t.city = p.city))",
)
CONDITIONS = (
    "EXISTS (SELECT 1 FROM towns t WHERE t.city = p.city AND t.age > p.age)",
    "NOT EXISTS (SELECT 1 FROM bands b WHERE b.low + b.kids = p.age)",
    "p.kids IN (SELECT b.kids FROM bands b WHERE b.low < p.age)",
    "p.kids + 1 NOT IN (SELECT b.kids FROM bands b WHERE b.low < p.age AND b.kids IS NOT NULL)",
    "p.age > (SELECT avg(age) FROM towns t WHERE length(t.city) > p.kids)",
)
GROUPED = (
    "SELECT {v} AS v, COUNT(*) FROM people p GROUP BY ALL",
    "SELECT {v}, COUNT(*), AVG(p.kids) FROM people p GROUP BY 1",
    "SELECT p.age, p.city, p.kids, {v} AS v, COUNT(*) FROM people p GROUP BY p.age, city, 3",
    "SELECT COUNT(*) AS n, p.age FROM people p GROUP BY p.age, p.kids, p.city HAVING n > 0 AND {v} IS NOT NULL",
    "SELECT v, COUNT(*) FROM (SELECT {v} AS v, age FROM people p) AS q WHERE q.age > 18 GROUP BY v",
    "SELECT COUNT({v}), COUNT(*) FILTER (WHERE {v} IS NULL) FROM people p",
)


@pytest.mark.parametrize(("question", "value"), list(product(GROUPED, VALUES)))
def test_values_are_duckdbs(front: FrontEnd, people: Counted, question: str, value: str) -> None:
    check(front, people, question.format(v=value))


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_are_duckdbs(front: FrontEnd, people: Counted, condition: str) -> None:
    check(front, people, f"SELECT p.sex, COUNT(*) FROM people p WHERE p.member OR {condition} GROUP BY p.sex")
    check(front, people, f"SELECT COUNT_IF({condition}), COUNT(*) FROM people p")


def test_names_without_a_dot_are_looked_for_inside_first(front: FrontEnd, people: Counted) -> None:
    check(front, people, "SELECT COUNT(*) FROM people WHERE (SELECT max(size) FROM countries WHERE size > hours) > 60")
    check(front, people, "SELECT COUNT(*) FROM people WHERE (SELECT max(t.age) FROM towns t WHERE city = 'Rome') > 17")
    check(
        front, people, "SELECT COUNT(*) FROM people p JOIN towns t USING (city) WHERE (SELECT max(c.size) FROM"
        " countries c WHERE c.name = t.country) > 60",
    )  # fmt: skip


def test_a_column_of_the_result_has_duckdbs_words_for_its_name(front: FrontEnd, people: Counted) -> None:
    text = "SELECT (SELECT max(low) FROM bands b WHERE b.kids = p.kids), COUNT(*) FROM people p GROUP BY p.kids"
    (name, _) = (c.name for c in front.lower(text).direct or ())
    assert re.fullmatch(r"\(SELECT max\(low\) FROM bands AS b WHERE \(?b\.kids = p\.kids\)?\)", name, re.IGNORECASE)


REFUSED = {
    "SELECT COUNT(*) FROM people p WHERE p.age > (SELECT band FROM bands b WHERE b.low > p.age)": "More than one row",
    "SELECT (SELECT max(low) FROM bands b WHERE b.kids = p.kids), COUNT(*) FROM people p": "would show single rows",
    "SELECT sex, (SELECT max(low) FROM bands b WHERE b.kids = p.kids), COUNT(*) FROM people p GROUP BY sex": "GROUP BY",
    "SELECT COUNT(*) FROM people p WHERE age > (SELECT AVG(q.age) FROM people q WHERE q.sex = p.sex)": "public",
    "SELECT COUNT(*) FROM people p WHERE age > (SELECT max(random()) FROM bands b WHERE b.kids = p.kids)": "random",
    "WITH b AS (FROM bands) SELECT COUNT(*) FROM people p WHERE age > (SELECT max(low) FROM b WHERE b.kids = p.kids)":
        "no public table",
    "SELECT COUNT(*) FROM people p WHERE age > (SELECT max(low) FROM bands b WHERE b.none = p.kids)": "none",
    "SELECT COUNT(*) FROM people p WHERE age > (SELECT max(low) FROM bands b WHERE b.kids = p.none)": "none",
    "SELECT COUNT(*) FROM people p WHERE (SELECT max(cast(band AS INT) + p.age) FROM bands) = 1": "cast",
}  # fmt: skip


@pytest.mark.parametrize(("text", "words"), REFUSED.items())
def test_refusals_have_a_place_and_words(front: FrontEnd, text: str, words: str) -> None:
    with pytest.raises(Error, match="(?i)" + words) as caught:
        front.lower(text)
    assert re.match(r"line 1, column \d+: ", str(caught.value)) or isinstance(caught.value, DataError)
    assert caught.value.hint


def test_text_is_a_key_of_exists_alone() -> None:
    texts = replace(TABLE, columns=tuple(TextDomain("city") if c.name == "city" else c for c in TABLE.columns))
    policy = replace(POLICY, tables=(texts,), public_tables=tuple(PUBLIC))
    front = FrontEnd(policy, DuckDbPublicSql(PUBLIC.__getitem__, seconds=20.0))
    front.lower("SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM towns t WHERE t.city = p.city AND t.open)")
    with pytest.raises(UnsupportedQuery, match="not listed one by one"):
        front.lower("SELECT COUNT(*) FROM people p WHERE age > (SELECT max(age) FROM towns t WHERE t.city = p.city)")
