"""Lowered statements, summed row by row, give DuckDB's own answers on random tables."""

from collections import Counter
from collections.abc import Sequence
from math import isclose
from typing import Any, get_args

import pytest

from dpsql.domain import ColumnDomain
from dpsql.errors import UnsupportedQuery
from dpsql.sql import FrontEnd
from tests.support.contingency import TABLE, TWIN, Counted, random_rows, seeded
from tests.support.exact import answer, front_end
from tests.support.predicates import atom, predicate

PREDICATES = 2_000
BATCH = 50


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return front_end()


@pytest.fixture(scope="module")
def counted() -> dict[str, Counted]:
    rows = random_rows(20, 500)
    return {"people": Counted(TABLE, rows), "twins": Counted(TWIN, rows)}


def count(front: FrontEnd, table: Counted, where: str) -> float:
    statement = front.lower(f"SELECT COUNT(*) FROM {table.table.name} WHERE ({where})")
    (block,) = statement.blocks
    return table.exact(block.aggregates[0].numerator[0])


def key(front: FrontEnd, where: str, table: str = "people") -> Any:
    (block,) = front.lower(f"SELECT COUNT(*) FROM {table} WHERE ({where})").blocks
    return [(t.coefficient, t.query.digest) for t in block.aggregates[0].numerator[0].terms]


def duckdb_counts(table: Counted, predicates: Sequence[str]) -> list[int]:
    out: list[int] = []
    for start in range(0, len(predicates), BATCH):
        items = ", ".join(f"COUNT(*) FILTER (WHERE {p})" for p in predicates[start : start + BATCH])
        out += table.connection.execute(f"SELECT {items} FROM {table.table.name}").fetchall()[0]
    return out


def test_the_table_has_every_kind_of_column() -> None:
    assert {type(c) for c in TABLE.columns} == set(get_args(ColumnDomain))


def test_counts_equal_duckdb(front: FrontEnd, counted: dict[str, Counted]) -> None:
    rng = seeded(1)
    table = counted["people"]
    predicates = [predicate(rng, rng.choice((1, 2, 2, 3))) for _ in range(PREDICATES)]
    ours = [count(front, table, p) for p in predicates]
    wrong = [(p, a, b) for p, a, b in zip(predicates, ours, duckdb_counts(table, predicates), strict=True) if a != b]
    assert wrong == []
    assert len({round(x) for x in ours}) > 100  # the predicates do select different rows
    assert sum("name" in p or "pet" in p for p in predicates) > PREDICATES // 4


def test_a_wrong_weight_would_be_noticed(front: FrontEnd, counted: dict[str, Counted]) -> None:
    """The law above is not vacuous: the count of the complement differs from the count on nearly every predicate."""
    rng = seeded(2)
    table = counted["people"]
    predicates = [atom(rng, text=True) for _ in range(100)]
    ours = [count(front, table, f"NOT ({p})") for p in predicates]
    theirs = duckdb_counts(table, predicates)
    assert sum(a != b for a, b in zip(ours, theirs, strict=True)) > 90


def test_text_columns_count_as_declared_categories_do(front: FrontEnd, counted: dict[str, Counted]) -> None:
    rng = seeded(3)
    for _ in range(150):
        p = predicate(rng, 2)
        assert count(front, counted["people"], p) == count(front, counted["twins"], p), p


def test_complement(front: FrontEnd, counted: dict[str, Counted]) -> None:
    rng = seeded(4)
    table = counted["people"]
    rows = count(front, table, "TRUE")
    assert rows == 500
    for _ in range(100):
        p = predicate(rng, 2)
        parts = [count(front, table, f"({p}) IS {word}") for word in ("TRUE", "FALSE", "NULL")]
        assert sum(parts) == rows, p


def test_de_morgan(front: FrontEnd) -> None:
    rng = seeded(5)
    for _ in range(100):
        a, b = predicate(rng, 1), predicate(rng, 1)
        assert key(front, f"NOT (({a}) AND ({b}))") == key(front, f"(NOT ({a})) OR (NOT ({b}))"), (a, b)
        assert key(front, f"NOT (({a}) OR ({b}))") == key(front, f"(NOT ({a})) AND (NOT ({b}))"), (a, b)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("age > 20 AND sex = 'Male'", "sex = 'Male' AND 20 < age"),
        ("age BETWEEN 18 AND 20", "age >= 18 AND age <= 20"),
        ("age IN (18, 19, 18)", "age = 19 OR age = 18"),
        ("age >= 18", "age IS NOT NULL AND NOT age < 18"),
        ("sex = 'Male'", "people.sex = 'Male' AND (TRUE)"),
        ("member", "member = TRUE"),
        ("city IN ('Rome', 'Bonn')", "city IN ('Bonn', 'Rome', 'Paris')"),
        ("joined >= DATE '2020-01-01'", "year(joined) = 2020"),
        ("name IN ('b', 'a', 'b')", "name = 'a' OR name = 'b'"),
        ("name IN ('a', 'b') AND name <> 'b'", "name = 'a'"),
        ("name <> 'a'", "NOT (name = 'a')"),
        ("name = 'a' AND sex = 'Male'", "(name = 'a' AND sex = 'Male') OR FALSE"),
        ("name IN ('a', 'b') AND name LIKE 'a%'", "name = 'a'"),
        ("name IS NOT NULL", "NOT (name IS NULL)"),
        ("name = 'a' AND pet = 'b'", "pet = 'b' AND name = 'a'"),
        ("age > 20 AND member", "CASE WHEN age > 20 THEN member ELSE FALSE END"),
    ],
)
def test_equal_questions_have_equal_keys(front: FrontEnd, one: str, other: str) -> None:
    assert key(front, one) == key(front, other)
    assert key(front, one) != key(front, f"({one}) AND kids = 0")


GROUPED = (
    "SELECT sex, COUNT(*) FROM people GROUP BY sex",
    "SELECT age, sex, COUNT(*) AS n, SUM(kids) FROM people WHERE age < 20 GROUP BY age, sex",
    "SELECT age // 2 AS half, COUNT(*), AVG(kids) FROM people WHERE city = 'Rome' OR member GROUP BY half",
    "SELECT CASE WHEN age < 20 THEN 'young' WHEN age < 22 THEN 'old' END, COUNT(*) FROM people GROUP BY 1",
    "SELECT name, COUNT(*) FROM people WHERE name IN ('a', 'b', 'ab') GROUP BY name",
    "SELECT upper(name) u, sex, COUNT(*) FROM people WHERE name IN ('a', 'b') AND age > 18 GROUP BY u, sex",
    "SELECT name, pet, COUNT(*), SUM(kids) FROM people WHERE name IN ('a', 'b') AND pet = 'a' GROUP BY ALL",
    "SELECT name = 'a' AS is_a, COUNT(*) FROM people GROUP BY is_a",
    "SELECT joined, AVG(hours), SUM(hours / 3) FROM people GROUP BY joined",
    "SELECT year(joined) y, member, COUNT(*) FILTER (WHERE kids > 0) FROM people GROUP BY y, member",
    "SELECT hours, COUNT(age), COUNT(name) FROM people GROUP BY hours",
    "SELECT age % 2, kids, COUNT(*) FROM people WHERE age % 2 = kids AND age > 17 GROUP BY ALL",
)


@pytest.mark.parametrize("sql", GROUPED)
def test_groups_equal_duckdb(front: FrontEnd, counted: dict[str, Counted], sql: str) -> None:
    names, ours = answer(front.lower(sql), counted)
    relation = counted["people"].connection.execute(sql)
    assert names == [d[0] for d in relation.description]
    theirs = relation.fetchall()
    keys = len(theirs[0]) - sum(name.startswith(("count", "sum", "avg", "n")) for name in names if name != "name")
    zero = [r for r in ours if not _same_key(r, theirs, keys)]
    assert all(not v for r in zero for v in r[keys:])  # a group that DuckDB does not print is empty
    kept = [r for r in ours if r not in zero]
    assert len(kept) == len(theirs)
    for row in kept:
        (match,) = [t for t in theirs if t[:keys] == row[:keys]]
        assert all(a == b or isclose(a, b, rel_tol=1e-6) for a, b in zip(row[keys:], match[keys:], strict=True)), row


def _same_key(row: tuple[Any, ...], others: list[tuple[Any, ...]], keys: int) -> bool:
    return any(o[:keys] == row[:keys] for o in others)


SUMS = (
    "SUM(age)", "SUM(age - 20)", "SUM(kids * age)", "SUM(hours)", "SUM(-hours)", "AVG(age)", "AVG(kids - age)",
    "AVG(hours * 1.5)", "SUM(CASE WHEN age > 20 THEN 1 ELSE 0 END)", "SUM(CASE WHEN name = 'a' THEN 2 ELSE -1 END)",
    "AVG(CASE WHEN member THEN 1 ELSE 0 END)", "AVG(CASE WHEN member THEN 1 END)", "SUM((age > 20)::INT)",
    "AVG((age > 20)::INT)", "COUNT(age)", "COUNT(name)", "COUNT(1)", "COUNT(NULL)", "COUNT()", "COUNT_IF(age > 20)",
    "countif(name <> 'a')", "COUNT(CASE WHEN name = 'a' OR pet = 'b' THEN 1 END)", "SUM(3)", "SUM(1.5)", "mean(kids)",
    "SUM(kids::DOUBLE)", "SUM(age) FILTER (WHERE sex = 'Male')", "AVG(kids) FILTER (name <> 'a')", "SUM(member::INT)",
    "SUM(CASE WHEN name IN ('a', 'b') THEN age ELSE kids END)", "COUNT(nullif(age, 20))", "SUM(age > 20)",
)  # fmt: skip


def test_sums_and_averages_equal_duckdb(front: FrontEnd, counted: dict[str, Counted]) -> None:
    rng = seeded(6)
    where = ["TRUE", *[predicate(rng, 2) for _ in range(4)]]
    for w in where:
        sql = f"SELECT {', '.join(SUMS)} FROM people WHERE {w}"
        names, ours = answer(front.lower(sql), counted)
        relation = counted["people"].connection.execute(sql)
        assert names == [d[0] for d in relation.description]
        (theirs,) = relation.fetchall()
        for label, a, b in zip(SUMS, ours[0], theirs, strict=True):
            if b is None and label.lower().startswith(("sum", "count_if", "countif")):
                b = 0  # a SUM over no row is 0 here: whether there are rows is private
            same = a == b if a is None or b is None else isclose(a, b, rel_tol=1e-6, abs_tol=1e-6)
            assert same, (label, w, a, b)


def test_infinite_support_is_refused(front: FrontEnd, counted: dict[str, Counted]) -> None:
    """A predicate whose answer depends on a string outside the list is refused, wherever it stands."""
    rng = seeded(7)
    open_ended = (
        "name LIKE 'a%'",
        "length(name) > 1",
        "name > 'a'",
        "name = pet",
        "upper(name) = 'A'",
        "name || 'x' = 'ax'",
    )
    seen: Counter[str] = Counter()
    for _ in range(60):
        bad, fine = rng.choice(open_ended), atom(rng, text=False)
        for shape in ("{0}", "NOT ({0})", "({0}) OR {1}", "CASE WHEN {1} THEN {0} END", "({0}) AND member"):
            with pytest.raises(UnsupportedQuery, match="every possible string") as caught:
                front.lower(f"SELECT COUNT(*) FROM people WHERE {shape.format(bad, fine)}")
            assert caught.value.line == 1
            seen[shape] += 1
    assert len(seen) == 5
