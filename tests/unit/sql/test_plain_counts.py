"""Plain counts: read without a syntax tree, they mean what they mean on the ordinary way, or are left to it."""

import random
from fractions import Fraction
from unittest.mock import patch

import pytest

from dpsql.domain import BooleanDomain, CategoryDomain, IntegerDomain, NumberDomain, TableDomain, TextDomain
from dpsql.errors import Error
from dpsql.policy import Policy, Privacy
from dpsql.query import LinearQuery
from dpsql.sql import FrontEnd, frontend
from dpsql.sql.plain import PlainCounts
from dpsql.sql.statement import Statement
from tests.support.exact import public_sql
from tests.support.held import held

PEOPLE = TableDomain(
    "people",
    (
        IntegerDomain("age", -3, 20),
        NumberDomain("weight", (0.0, 0.1, 0.5, 2.5, 40.0), nullable=False),
        CategoryDomain("City", ("Brno", "Žďár", "it's", "a, b) AND (c", "")),
        CategoryDomain("date", ("x", "y")),
        CategoryDomain("order", ("x", "y")),
        IntegerDomain("list", 0, 3),
        IntegerDomain("range", 0, 3),
        BooleanDomain("member"),
        TextDomain("name"),
    ),
)
POLICY = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (PEOPLE,))


@pytest.fixture(scope="module")
def ordinary() -> FrontEnd:
    class Nothing(PlainCounts):
        def lower(self, text: str) -> None:
            return None

    with patch.object(frontend, "PlainCounts", Nothing):
        return FrontEnd(POLICY, public_sql())


@pytest.fixture(scope="module")
def plain() -> PlainCounts:
    return PlainCounts(POLICY)


def described(statement: Statement) -> object:
    """Everything that a session reads of a direct statement."""
    (block,) = statement.blocks
    (aggregate,) = block.aggregates

    def query(q: LinearQuery) -> object:
        return q.table, q.key, q.scope, [(f.columns, f.unit, f.weights.tolist()) for f in q.factors], q.keyed

    terms = [(f.constant, [(t.coefficient, query(t.query)) for t in f.terms]) for f in aggregate.numerator]
    rest = (aggregate.column, aggregate.sql_type, aggregate.denominator, aggregate.low, aggregate.high)
    shape = (block.name, block.table, block.group_columns, block.group_types, block.groups, block.needs_intervals)
    outer = (statement.direct, statement.outer_sql, statement.row_column, statement.outer_columns)
    return statement.text, shape, rest, terms, outer, statement.public_tables


READ = [
    "SELECT COUNT(*) FROM people",
    "select count(*) as n from PEOPLE;",
    "SELECT COUNT( * ) AS N FROM people WHERE age = 3 ;\n",
    "SELECT COUNT(*) FROM people WHERE age BETWEEN -1 AND 7 AND city='Brno' AND weight < 2.5",
    "SELECT COUNT(*) FROM people WHERE CITY IN ('Brno' , 'it''s','nowhere') AND age <> 3 AND age != 4 AND age >= 1",
    "SELECT COUNT(*)\tFROM people\nWHERE city = 'a, b) AND (c' AND weight IN (0.1, 0.5, 40)",
    "SELECT COUNT(*) FROM people WHERE city = 'Žďár' AND city = 'Brno'",
    "SELECT COUNT(*) FROM people WHERE age > 100",
    "SELECT COUNT(*) FROM people WHERE age >= -3 AND weight >= 0",
    "SELECT COUNT(*) FROM people WHERE weight >= 0",
    "SELECT COUNT(*) FROM people WHERE age IN (- 1, 2) AND age < 999999999999999",
    "SELECT COUNT(*) FROM people WHERE city IN ('')",
    "SELECT COUNT(*) FROM people WHERE weight = 0.10000000000000",
    "SELECT COUNT(*) FROM people WHERE date = 'x' AND order = 'y'",
    "SELECT age, COUNT(*) FROM people GROUP BY age",
    "SELECT CITY , count(*) AS n FROM people WHERE age > 3 AND City IN ('it''s', 'Brno') GROUP BY city;",
    "SELECT city, COUNT(*) FROM people WHERE city = 'x GROUP BY age' GROUP BY city",
    "SELECT member, COUNT(*) AS age FROM people WHERE age BETWEEN 5 AND 4 GROUP BY member",
    "SELECT member, COUNT(*) FROM people WHERE weight = 0.1 GROUP BY MEMBER",
    "SELECT weight, COUNT(*) AS weight FROM people WHERE weight < 1 AND weight > 0.1 GROUP BY weight",
]


@pytest.mark.parametrize("text", READ)
def test_what_is_read_means_the_same(ordinary: FrontEnd, plain: PlainCounts, text: str) -> None:
    found = plain.lower(text)
    assert found is not None
    assert described(found) == described(ordinary.lower(text))


LEFT = [
    "SELECT COUNT(*) FROM people WHERE age = 3 OR age = 4",
    "SELECT COUNT(*) FROM people WHERE NOT age = 3",
    "SELECT COUNT(*) FROM people WHERE (age = 3)",
    "SELECT COUNT(*) FROM people WHERE age = 3 -- and so on",
    "SELECT COUNT(*) FROM people WHERE age = 3 /* */ AND age = 4",
    "SELECT COUNT(*), COUNT(*) FROM people",
    "SELECT COUNT(age) FROM people",
    'SELECT COUNT(*) FROM people WHERE "age" = 3',
    "SELECT COUNT(*) FROM people WHERE people.age = 3",
    "SELECT COUNT(*) FROM people WHERE age = 3 + 1",
    "SELECT COUNT(*) FROM people WHERE age = 3.0",
    "SELECT COUNT(*) FROM people WHERE age = 1e1",
    "SELECT COUNT(*) FROM people WHERE age = 1234567890123456",
    "SELECT COUNT(*) FROM people WHERE age = '3'",
    "SELECT COUNT(*) FROM people WHERE city = 3",
    "SELECT COUNT(*) FROM people WHERE city < 'Brno'",
    "SELECT COUNT(*) FROM people WHERE city = 'a' 'b'",
    "SELECT COUNT(*) FROM people WHERE city = E'a'",
    "SELECT COUNT(*) FROM people WHERE age NOT IN (1, 2)",
    "SELECT COUNT(*) FROM people WHERE age IN (1, NULL)",
    "SELECT COUNT(*) FROM people WHERE member",
    "SELECT COUNT(*) FROM people WHERE name = 'Rex'",
    "SELECT COUNT(*) FROM people p WHERE age = 3",
    "SELECT COUNT(*) FROM people WHERE age = 3 LIMIT 1",
    "SELECT COUNT(*) FROM people GROUP BY age",
    "SELECT age, COUNT(*) FROM people",
    "SELECT age, COUNT(*) FROM people GROUP BY city",
    "SELECT age, COUNT(*) FROM people GROUP BY 1",
    "SELECT age, COUNT(*) FROM people GROUP BY ALL",
    "SELECT age AS a, COUNT(*) FROM people GROUP BY age",
    "SELECT name, COUNT(*) FROM people GROUP BY name",
    "SELECT age, COUNT(*) FROM people GROUP BY age ORDER BY age",
    "SELECT age, COUNT(*) FROM people WHERE city = 'x GROUP BY age",
    "SELECT COUNT(*) FROM people WHERE age = 3 AND",
    "SELECT COUNT(*) FROM people WHERE age = 3; SELECT 1",
    "SELECT COUNT(*) FROM people WHERE age = -- 3\n 4",
    "SELECT COUNT(*) AS select FROM people",
    "SELECT COUNT(*) FROM nobody",
    "SELECT COUNT(*) FROM people WHERE height = 3",
    "SELECT COUNT(*) FROM people WHERE city = '\0'",
    "SELECT COUNT(*) FROM people WHERE city = '\ud800'",
    "SELECT COUNT(*) FROM people WHERE age\u00a0= 3",
    "SELECT COUNT(*) FROM people WHERE age \u0130N (1, 2)",
    "SELECT COUNT(*) FROM people WHERE list < 2",
    "SELECT COUNT(*) FROM people WHERE age = 1 AND range < 2 AND age > 0",
    "",
]


@pytest.mark.parametrize("text", LEFT)
def test_what_is_not_plain_is_left_to_the_ordinary_way(plain: PlainCounts, text: str) -> None:
    assert plain.lower(text) is None


def test_random_conjunctions_mean_the_same(ordinary: FrontEnd, plain: PlainCounts) -> None:
    rng = random.Random(11)  # noqa: S311 - texts, not noise
    cities = ["'Brno'", "'it''s'", "'nowhere'", "''", "'Žďár'"]
    numbers = ["-4", "0", "3", "- 2", "20", "007"]
    weights = ["0", "0.1", "0.3", "2.5", "40.0", "-0.0", "0.1000000000000001", "00.50"]

    def condition() -> str:
        column, values = rng.choice([("age", numbers), ("weight", weights), ("City", cities)])
        kind = rng.randrange(3)
        if kind == 0:
            return f"{column} IN ({', '.join(rng.sample(values, rng.randint(1, 4)))})"
        if kind == 1 and column != "City":
            return f"{column} BETWEEN {rng.choice(values)} AND {rng.choice(values)}"
        symbol = "=" if column == "City" else rng.choice(["=", "<", "<=", ">", ">=", "<>", "!="])
        return f"{column} {symbol} {rng.choice(values)}"

    read = 0
    for _ in range(400):
        group = rng.choice(["", "", "age", "weight", "member", "City"])
        text = f"SELECT {group + ', ' if group else ''}COUNT(*) FROM people WHERE "
        text += " AND ".join(condition() for _ in range(rng.randint(1, 4)))
        text += f" GROUP BY {group}" if group else ""
        found = plain.lower(text)
        if found is not None:
            read += 1
            assert described(found) == described(ordinary.lower(text)), text
    assert read > 200


def test_damaged_texts_are_refused_or_mean_the_same(ordinary: FrontEnd, plain: PlainCounts) -> None:
    """One character is changed: what is still read must also be answered on the ordinary way, equally."""
    rng = random.Random(5)  # noqa: S311 - texts, not noise
    for _ in range(1500):
        text = list(rng.choice(READ))
        position = rng.randrange(len(text))
        text[position] = rng.choice(
            ["", "'", "-", "(", ")", " ", ";", "A", "0", ".", ",", '"', "=", "/*", "\\", "$", "?"]
        )
        damaged = "".join(text)
        found = plain.lower(damaged)
        if found is None:
            continue
        try:
            expected = ordinary.lower(damaged)
        except Error as error:
            raise AssertionError(f"read, but refused on the ordinary way: {damaged!r}: {error}") from None
        assert described(found) == described(expected), damaged


def test_conditions_are_remembered_and_bounded(plain: PlainCounts) -> None:
    sizes = []
    for turn in range(4):
        for i in range(5_000):
            plain.lower(f"SELECT COUNT(*) FROM people WHERE age = {5_000 * turn + i}")
        sizes.append(held(plain))
    assert sizes[3] - sizes[2] < 1_000 < sizes[1] - sizes[0]
