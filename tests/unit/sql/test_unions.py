"""UNION ALL of private rows: what is added is what DuckDB counts, for random sides."""

import re

import pytest

from dpsql.errors import UnsupportedQuery
from dpsql.sql import FrontEnd
from dpsql.sql.blocks.unions import MAX_SIDES
from tests.support.contingency import TABLE, Counted, random_rows, seeded
from tests.support.exact import answer, front_end

SIDES = (
    "SELECT sex AS g, age AS x, member AS m FROM people WHERE {c}",
    "SELECT sex, kids, age > 20 FROM people p WHERE {c}",
    "(SELECT sex, age - 10 * kids, member FROM people WHERE {c})",
    "SELECT * FROM (SELECT sex AS g, kids + 1 AS y, kids = 1 FROM people WHERE {c}) AS q",
)
CONDITIONS = ("TRUE", "age > 19", "city = 'Rome' OR member", "hours IS NULL", "name = 'a'", "FALSE")
QUESTIONS = (
    "SELECT COUNT(*), COUNT(x), SUM(x), COUNT(*) FILTER (WHERE m) FROM {u} AS t",
    "SELECT COUNT(*), SUM(x) FROM {u} AS t WHERE x > 1 AND (m OR g = 'Male')",
    "SELECT g, COUNT(*) AS n, 2 * COUNT(x) FROM {u} AS t GROUP BY g HAVING COUNT(*) > 0 ORDER BY g",
    "WITH u AS {u} SELECT AVG(x), COUNT(*) FROM u WHERE x IS NOT NULL",
)


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return front_end()


@pytest.fixture(scope="module")
def people() -> Counted:
    return Counted(TABLE, random_rows(31, 150))


@pytest.mark.parametrize("seed", range(4))
def test_sides_are_added_as_duckdb_adds_them(front: FrontEnd, people: Counted, seed: int) -> None:
    rng = seeded(seed)
    sides = [rng.choice(SIDES).format(c=rng.choice(CONDITIONS)) for _ in range(rng.randint(2, 4))]
    if not sides[0].startswith("SELECT sex AS g"):
        sides.insert(0, SIDES[0].format(c=rng.choice(CONDITIONS)))
    for question in QUESTIONS:
        text = question.format(u=f"({' UNION ALL '.join(sides)})")
        _, found = answer(front.lower(text), {"people": people})
        expected = people.connection.execute(text).fetchall()
        assert [
            tuple(None if v is None else round(float(v), 6) if not isinstance(v, str) else v for v in r) for r in found
        ] == [
            tuple(
                (0.0 if re.match("SUM", q) else None)
                if v is None
                else round(float(v), 6)
                if not isinstance(v, str)
                else v
                for v, q in zip(r, _items(question), strict=True)
            )
            for r in expected
        ]


def _items(question: str) -> list[str]:
    """The items of the select list."""
    listed = question.split("SELECT ", 1)[1].split(" FROM {u}")[0].split(" FROM u ")[0]
    return [item.strip() for item in re.sub(r"FILTER \([^)]*\)", "", listed).split(",")]


def test_a_long_union_is_refused(front: FrontEnd) -> None:
    union = " UNION ALL ".join(["SELECT age FROM people"] * (MAX_SIDES + 1))
    with pytest.raises(UnsupportedQuery) as caught:
        front.lower(f"SELECT COUNT(*) FROM ({union})")
    assert caught.value.line == 1


def test_rows_of_a_union_are_not_shown(front: FrontEnd) -> None:
    for text in (
        "SELECT age FROM people UNION ALL SELECT age FROM people",
        "SELECT x FROM (SELECT age AS x FROM people UNION ALL SELECT kids FROM people) AS t",
    ):
        with pytest.raises(UnsupportedQuery):
            front.lower(text)
