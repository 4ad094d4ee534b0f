"""Statements of known shape mean what they mean when they are read whole, or are left to that."""

import random
from collections.abc import Callable
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpsql.domain import BooleanDomain, CategoryDomain, DateDomain, IntegerDomain, NumberDomain, TableDomain, TextDomain
from dpsql.errors import Error
from dpsql.policy import Policy, Privacy
from dpsql.query import Form, LinearQuery
from dpsql.sql.blocks.block import Services
from dpsql.sql.blocks.naming import Namer
from dpsql.sql.blocks.reading import Reader
from dpsql.sql.counting.evaluate import Evaluator
from dpsql.sql.counting.key_source import KeyLookup
from dpsql.sql.shapes import Shapes
from dpsql.sql.statement import Statement
from dpsql.sql.text.limits import check_text
from tests.support.exact import public_sql

PEOPLE = TableDomain(
    "people",
    (
        IntegerDomain("age", -3, 20),
        NumberDomain("weight", (0.0, 0.1, 0.5, 2.5, 40.0), nullable=False, reading="cell"),
        CategoryDomain("City", ("Brno", "Žďár", "it's", "a, b) AND (c", "")),
        CategoryDomain("date", ("x", "y")),
        CategoryDomain("order", ("x", "y")),
        IntegerDomain("list", 0, 3),
        IntegerDomain("range", 0, 3),
        BooleanDomain("member"),
        TextDomain("name"),
        DateDomain("joined", date(2020, 1, 1), date(2020, 1, 9)),
        NumberDomain("hours", (0.0, 10.0, 20.5, 40.0), nullable=False),
        NumberDomain("pay", (-5.0, 0.0, 0.25, 100.0), outside="null"),
    ),
)
POLICY = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (PEOPLE,))


Lower = Callable[..., Statement | None]


def services() -> Services:
    return Services(Evaluator(public_sql()), Namer(public_sql()))


@pytest.fixture(scope="module")
def ordinary() -> Lower:
    reader = Reader(POLICY, public_sql(), services())

    def lower(text: str, parameters: Any = None) -> Statement:
        return reader.read(check_text(text), parameters, KeyLookup(None)).statement

    return lower


@pytest.fixture(scope="module")
def shaped() -> Lower:
    """The second look: a frame is read when it comes again."""
    own = services()
    shapes = Shapes(Reader(POLICY, public_sql(), own), own)

    def lower(text: str, parameters: Any = None) -> Statement | None:
        shapes.lower(text, parameters)
        return shapes.lower(text, parameters)

    return lower


def described(statement: Statement) -> object:
    """Everything that a session reads of a statement."""

    def query(q: LinearQuery) -> object:
        keyed = q.keyed and (q.keyed.text_columns, q.keyed.strings, q.keyed.columns, q.keyed.weights.tolist())
        weights = [(f.columns, f.unit, f.weights.tolist()) for f in q.factors]
        return q.digest, q.table, q.scope, q.unit, weights, keyed, q.value, q.intervals

    def forms(found: tuple[Form, ...] | None) -> object:
        return found and [(f.constant, [(t.coefficient, t.doubt, query(t.query)) for t in f.terms]) for f in found]

    blocks = [
        (
            *(b.name, b.table, b.group_columns, b.group_types, b.groups, b.needs_intervals),
            (b.cut, b.matched, b.units),
            [(a.column, a.sql_type, forms(a.numerator), forms(a.denominator), a.low, a.high) for a in b.aggregates],
            [forms(a.forms(g)) for a in b.aggregates for g in range(len(b.groups))],
        )
        for b in statement.blocks
    ]
    outer = (statement.direct, statement.outer_sql, statement.row_column, statement.outer_columns)
    return statement.text, blocks, outer, statement.public_tables, statement.awaited, statement.grouped


READ = [
    "SELECT COUNT( * ) AS N FROM people WHERE age = 3 ;\n",
    "SELECT MAX(age), median(age), stddev(age), COUNT(DISTINCT \"City\") FROM people WHERE age > 2 AND City = 'Brno'",
    "SELECT City, MIN(joined), mode(age) FROM people WHERE age > 2 AND city = 'Brno' GROUP BY City",
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
    "SELECT COUNT(*) FROM people AS p WHERE p.\"age\" = 3 AND \"City\" NOT IN ('Brno', 'x') AND NOT weight > 0.1",
    "SELECT COUNT(*) FROM people WHERE (age = 3) AND age IN (1, NULL) AND city IS NOT NULL AND member IS NULL",
    "SELECT COUNT(*) FROM people WHERE city LIKE 'B%' AND city < 'x' AND age = '3'",
    "SELECT COUNT(*) FROM people WHERE name IN ('a', 'b') AND age = 1 AND name <> 'c' AND range = 2 AND list = age",
    "SELECT COUNT(*) FROM people WHERE age IN (1.5, 2) AND joined = '2020-01-02' AND member = TRUE",
    "SELECT age, SUM(weight) AS s, AVG(age) FROM people WHERE age > 3 AND weight < 2.5 GROUP BY 1 ORDER BY 2 LIMIT 3",
    "SELECT city, SUM(1.0) FROM people WHERE age = 3 GROUP BY ALL HAVING COUNT(*) > 2",
    "SELECT COUNT(*) FILTER (WHERE age > 3) AS n, SUM(age) FROM people WHERE city = 'it''s' AND member = FALSE",
    "SELECT age % 2 AS e, COUNT(*) n FROM people WHERE city IN ('Brno', '') GROUP BY e",
    "SELECT DISTINCT city FROM people WHERE age BETWEEN 2 AND 4 AND city <> 'Brno'",
    "SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n) FROM people WHERE age = 3",
    "SELECT CITY , count(*) AS n FROM people WHERE age > 3 AND City IN ('it''s', 'Brno') GROUP BY city;",
    "SELECT city, COUNT(*) FROM people WHERE city = 'x GROUP BY age' GROUP BY city",
    "SELECT member, COUNT(*) AS a FROM people WHERE age BETWEEN 5 AND 4 GROUP BY member",
    "SELECT member, COUNT(*) FROM people WHERE weight = 0.1 GROUP BY MEMBER",
    "SELECT weight, COUNT(*) AS w FROM people WHERE weight < 1 AND weight > 0.1 GROUP BY weight",
    "SELECT COUNT(*) FROM people WHERE hours BETWEEN 5 AND 12 AND city = 'Brno' AND age > 2",
    "SELECT COUNT(*) FROM people WHERE hours >= 10 AND hours < 40 AND pay > 0.1 AND hours <> 12",
    "SELECT COUNT(*) FROM people WHERE hours > 1 AND hours > 3 AND pay BETWEEN -3 AND 0.2 AND member = TRUE",
    "SELECT COUNT(*) FROM people WHERE pay IS NULL AND hours = 3",
    "SELECT COUNT(*) FROM people WHERE pay IS NOT NULL AND hours <= 10",
    "SELECT COUNT(*) FROM people WHERE hours > 100 AND age = 3",
    "SELECT COUNT(*) FROM people WHERE hours >= 0 AND pay <= 100",
    "SELECT COUNT(*) FROM people WHERE hours IN (1, 10, 11) AND age = 3",
    "SELECT COUNT(*) FROM people WHERE hours > pay AND age = 3",
    "SELECT city, COUNT(*) FROM people WHERE hours > 3 AND pay < 7.5 GROUP BY city",
    "SELECT member, COUNT(*) FROM people WHERE hours = 7 AND member IS NOT NULL AND name = 'a' GROUP BY member",
    "SELECT COUNT(*) FROM people WHERE hours > 3 AND name = 'a'",
]


@pytest.mark.parametrize("text", READ)
def test_what_is_of_known_shape_means_the_same(ordinary: Lower, shaped: Lower, text: str) -> None:
    found, expected = shaped(text), ordinary(text)
    assert found is not None
    assert expected is not None
    assert described(found) == described(expected)


LEFT = [
    "SELECT COUNT(*) FROM people WHERE age = 3 OR age = 4",
    "SELECT COUNT(*) FROM people WHERE age = 3 -- and so on",
    "SELECT COUNT(*) FROM people WHERE age = 3 /* */ AND age = 4",
    "SELECT COUNT(*) FROM people WHERE age = 3 + 1",
    "SELECT COUNT(*) FROM people WHERE age = 1e1",
    "SELECT COUNT(*) FROM people WHERE city = 'a' 'b'",
    "SELECT COUNT(*) FROM people WHERE city = E'a'",
    "SELECT COUNT(*) FROM people WHERE member",
    "SELECT name, COUNT(*) FROM people GROUP BY name",
    "SELECT age, COUNT(*) FROM people WHERE city = 'x GROUP BY age",
    "SELECT COUNT(*) FROM people WHERE age = 3 AND",
    "SELECT COUNT(*) FROM people WHERE age = 3; SELECT 1",
    "SELECT COUNT(*) FROM people WHERE age = -- 3\n 4",
    "SELECT COUNT(*) FROM nobody",
    "SELECT COUNT(*) FROM people WHERE height = 3",
    "SELECT COUNT(*) FROM people WHERE city = '\0'",
    "SELECT COUNT(*) FROM people WHERE city = '\ud800'",
    "SELECT COUNT(*) FROM people WHERE age \u0130N (1, 2)",
    "SELECT COUNT(*) FROM people",
    "SELECT COUNT(*) FROM people WHERE 1 = 2",
    "SELECT COUNT(*) FROM people WHERE age = 3 LIMIT 0",
    "SELECT age FROM people WHERE age = 3",
    "SELECT COUNT(*) FROM people WHERE age = ?",
    "SELECT COUNT(*) FROM people WHERE age = $1",
    "SELECT COUNT(*) FROM people, people WHERE age = 3",
    "SELECT COUNT(*) FROM (SELECT * FROM people WHERE age = 3)",
    "WITH p AS (SELECT * FROM people) SELECT COUNT(*) FROM p WHERE age = 3",
    "SELECT COUNT(*) FROM people WHERE age IN (SELECT 1)",
    "SELECT COUNT(*) FROM people WHERE age = 3 UNION ALL SELECT COUNT(*) FROM people WHERE age = 4",
    "SELECT weight, COUNT(*) AS weight FROM people WHERE weight < 1 AND weight > 0.1 GROUP BY weight",
    "SELECT COUNT(*) FROM people WHERE age IN ($a,$b)",
    "SELECT COUNT(*) FROM people WHERE age = $a AND city = ''",
    "SELECT age AS city, COUNT(*) FROM people WHERE city = 'x' GROUP BY age",
    "SELECT COUNT(*) FROM people WHERE age = 3 {# AND age = 4 #} AND age > 1",
    "SELECT COUNT(*) FROM people WHERE age = 3\fAND\fage > 1",
    "SELECT COUNT(*) FROM people WHERE age BETWEEN 1 AND 2 = TRUE",
    "SELECT COUNT(*) FROM people WHERE lower(city) = 'x'",
    "SELECT COUNT(*) FROM people WHERE name LIKE '%a'",
]


@pytest.mark.parametrize("text", LEFT)
def test_what_is_of_no_known_shape_is_left_to_the_ordinary_way(shaped: Lower, text: str) -> None:
    assert shaped(text) is None


COLUMNS: dict[str, list[Any]] = {
    "age": [-4, 0, 3, 20, 7, 10**20, 3.0, 0.5, "3"],
    "weight": [0, 0.1, 0.3, 2.5, 40.0, -0.0, 1e-7, -2.5],
    "City": ["Brno", "it's", "nowhere", "", "Žďár", "a, b) AND (c", "?", "$x", "--", 3],
    "name": ["Rex", "O'Neil", "?"],
    "list": [0, 1, 2],
    "joined": ["2020-01-02", date(2020, 1, 3)],
    "member": [True, False],
    "hours": [0, 5.5, 10, 20.5, 39.9, 40, -1, 1e300],
    "pay": [-5, -0.5, 0, 0.25, 7, 100, "3"],
}
HEADS = [
    "SELECT COUNT(*)",
    "SELECT count(*) AS n, SUM(age) FILTER (WHERE City = 'Brno') AS s",
    "SELECT AVG(weight) AS w",
]
GROUPED = [
    ("SELECT City, COUNT(*)", "GROUP BY City"),
    ("SELECT age % 3 AS g, COUNT(*) AS n", "GROUP BY g ORDER BY n, g"),
]


def written(value: Any) -> str:
    match value:
        case str():
            return "'" + value.replace("'", "''") + "'"
        case date():
            return f"DATE '{value}'"
        case None:
            return "NULL"
        case _:
            return str(value)


class Maker:
    """Random statements; each value is written out, or a place and a parameter."""

    def __init__(self, seed: int, *, named: bool = False) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - texts, not noise
        self.named = named

    def statement(self, share: float) -> tuple[str, Any]:
        self.share = share
        self.values: list[Any] = []
        head, tail = self.rng.choice([*[(h, "") for h in HEADS], *GROUPED])
        where = " AND ".join(self.condition() for _ in range(self.rng.randint(1, 4)))
        text = f"{head} FROM people WHERE {where} {tail}".rstrip()
        if not self.values:
            return text, None
        return text, {f"v{i}": v for i, v in enumerate(self.values)} if self.named else self.values

    def value(self, value: Any) -> str:
        if self.rng.random() >= self.share:
            return written(value)
        self.values.append(value)
        return f"$v{len(self.values) - 1}" if self.named else "?"

    def condition(self) -> str:
        rng = self.rng
        column, values = rng.choice([*COLUMNS.items()])
        match rng.randrange(8):
            case 0 | 1:
                several = rng.sample(values, rng.randint(1, len(values)))
                word = rng.choice(["IN", "NOT IN", "in"])
                if rng.random() < self.share:
                    given = self.value([*several, *several][: rng.randint(1, 4)])
                    if given[0] in "?$":
                        return f"{column} {word} {rng.choice(['', '('])}{given}".replace(f"({given}", f"({given})")
                return f"{column} {word} ({', '.join(self.value(v) for v in several)})"
            case 2:
                return f"{column} BETWEEN {self.value(rng.choice(values))} AND {self.value(rng.choice(values))}"
            case 3:
                return f"{column} {rng.choice(['IS NULL', 'IS NOT NULL', 'LIKE ' + self.value('B%')])}"
            case 4:
                return f"NOT {column} = {self.value(rng.choice(values))}"
            case _:
                symbol = rng.choice(["=", "=", "<", "<=", ">", ">=", "<>", "!="])
                pair = [column, self.value(rng.choice([*values, None]))]
                return f" {symbol} ".join(pair if rng.random() < 0.8 else pair[::-1])


@pytest.mark.parametrize(("seed", "share", "named"), [(1, 0, False), (2, 0.5, False), (3, 1, False), (4, 0.7, True)])
def test_random_statements_mean_the_same(ordinary: Lower, shaped: Lower, seed: int, share: float, named: bool) -> None:
    maker = Maker(seed, named=named)
    read = 0
    for _ in range(300):
        text, parameters = maker.statement(share)
        found = shaped(text, parameters)
        if found is None:
            continue
        read += 1
        try:
            expected = ordinary(text, parameters)
        except Error as error:
            raise AssertionError(f"of known shape, but refused: {text!r} {parameters}: {error}") from None
        assert expected is not None
        assert described(found) == described(expected), (text, parameters)
    assert read > 60


def test_damaged_texts_are_refused_or_mean_the_same(ordinary: Lower, shaped: Lower) -> None:
    """One character is changed: what is still read must also be answered on the ordinary way, equally."""
    rng = random.Random(5)  # noqa: S311 - texts, not noise
    for _ in range(1200):
        text = list(rng.choice(READ))
        position = rng.randrange(len(text))
        text[position] = rng.choice(
            ["", "'", "-", "(", ")", " ", ";", "A", "0", ".", ",", '"', "=", "/*", "\\", "$", "?"]
        )
        damaged = "".join(text)
        found = shaped(damaged)
        if found is None:
            continue
        try:
            expected = ordinary(damaged)
        except Error as error:
            raise AssertionError(f"read, but refused on the ordinary way: {damaged!r}: {error}") from None
        assert expected is not None
        assert described(found) == described(expected), damaged


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("age = ?", []),
        ("age = ?", [1, 2]),
        ("age = ?", {"a": 1}),
        ("age = $a", {"a": 1, "b": 2}),
        ("age = $a", [1]),
        ("age = ? AND age > $a", {"a": 1}),
        ("age = ?", [[1]]),
        ("age IN ?", [[]]),
        ("age IN (?, ?)", [[1], [2]]),
        ("age IN ?", [[1, [2]]]),
        ("city = ?", ["\ud800"]),
        ("city = ?", ["a\0b"]),
        ("age = ?", [10**40]),
        ("age = ?", [float("nan")]),
        ("age = ?", [object()]),
        ("age = 1", [1]),
        ("age = ?", [np.timedelta64(3, "ns")]),
        ("age = ?", [np.datetime64(3, "ns")]),
        ("age IN ?", [[np.timedelta64(3, "Y")]]),
    ],
)
def test_parameters_that_do_not_fit_are_left_to_the_ordinary_way(shaped: Lower, text: str, parameters: Any) -> None:
    assert shaped(f"SELECT COUNT(*) FROM people WHERE {text}", parameters) is None


@pytest.mark.parametrize("value", [np.int64(3), np.float64(0.5), np.str_("it's")])
def test_values_of_numpy_are_read(ordinary: Lower, shaped: Lower, value: Any) -> None:
    column = "city" if isinstance(value, np.str_) else "weight"
    found = shaped(f"SELECT COUNT(*) FROM people WHERE {column} = ?", [value])
    expected = ordinary(f"SELECT COUNT(*) FROM people WHERE {column} = ?", [value])
    assert found is not None
    assert expected is not None
    assert described(found) == described(expected)
