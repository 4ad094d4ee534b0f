"""Predicates on prefixes, summed row by row over the keys they were lowered to, give DuckDB's own counts."""

from typing import Any

import pytest

from dpsql.sql import FrontEnd
from tests.support.contingency import Counted, seeded
from tests.support.words import WORDS, atom, front_end, predicate, random_rows

PREDICATES = 1_200
BATCH = 40


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return front_end()


@pytest.fixture(scope="module")
def counted() -> Counted:
    return Counted(WORDS, random_rows(30, 700))


def form(front: FrontEnd, where: str) -> Any:
    (block,) = front.lower(f"SELECT COUNT(*) FROM words WHERE ({where})").blocks
    return block.aggregates[0].numerator[0]


def duckdb_counts(table: Counted, predicates: list[str]) -> list[int]:
    out: list[int] = []
    for start in range(0, len(predicates), BATCH):
        items = ", ".join(f"COUNT(*) FILTER (WHERE {p})" for p in predicates[start : start + BATCH])
        out += table.connection.execute(f"SELECT {items} FROM words").fetchall()[0]
    return out


def test_counts_equal_duckdb(front: FrontEnd, counted: Counted) -> None:
    rng = seeded(31)
    predicates = [predicate(rng, rng.choice((0, 1, 2, 2, 3))) for _ in range(PREDICATES)]
    ours = [counted.exact(form(front, p)) for p in predicates]
    theirs = duckdb_counts(counted, predicates)
    assert [(p, a, b) for p, a, b in zip(predicates, ours, theirs, strict=True) if a != b] == []
    assert len({round(x) for x in ours}) > 100


def test_a_wrong_weight_would_be_noticed(front: FrontEnd, counted: Counted) -> None:
    rng = seeded(32)
    predicates = [atom(rng) for _ in range(100)]
    ours = [counted.exact(form(front, f"NOT ({p})")) for p in predicates]
    assert sum(a != b for a, b in zip(ours, duckdb_counts(counted, predicates), strict=True)) > 90


@pytest.mark.parametrize(
    ("where", "terms"),
    [
        ("word LIKE 'ab%'", [(1, ("word[:2]",), (("ab",),))]),
        ("word NOT LIKE 'ab%'", [(1, (), ()), (-1, ("word[:2]",), (("ab",), (None,)))]),
        ("word LIKE 'ab%' OR word IS NULL", [(1, ("word[:2]",), (("ab",), (None,)))]),
        ("word IS NULL", [(1, ("word",), ((None,),))]),
        (
            "word NOT LIKE 'ab%' AND word <> 'b'",
            [(1, (), ()), (-1, ("word[:2]",), (("ab",),)), (-1, ("word",), (("b",), (None,)))],
        ),
        ("word LIKE 'ab%' OR word LIKE 'bc%'", [(1, ("word[:2]",), (("ab",), ("bc",)))]),
        ("word LIKE 'a%' OR word LIKE 'bc%'", [(1, ("word[:1]",), (("a",),)), (1, ("word[:2]",), (("bc",),))]),
        ("word LIKE 'a%' OR word LIKE 'ab%'", [(1, ("word[:1]",), (("a",),))]),
        ("word LIKE 'ab%' AND word LIKE 'a%'", [(1, ("word[:2]",), (("ab",),))]),
        ("word LIKE 'ab%' AND word <> 'abc'", [(1, ("word[:2]",), (("ab",),)), (-1, ("word",), (("abc",),))]),
        ("word LIKE 'ab%' OR word = 'b'", [(1, ("word[:2]",), (("ab",),)), (1, ("word",), (("b",),))]),
        ("word LIKE 'ab%' AND word IN ('abx', 'b')", [(1, ("word",), (("abx",),))]),
        ("left(word, 2) = 'a'", [(1, ("word",), (("a",),))]),
        ("left(word, 2) = 'abc'", []),
        ("word LIKE 'ab%' AND tag = 'x'", [(1, ("tag", "word[:2]"), (("x", "ab"),))]),
        ("word LIKE 'ab'", [(1, ("word",), (("ab",),))]),
        ("left(left(word, 4), 2) = 'ab'", [(1, ("word[:2]",), (("ab",),))]),
    ],
)
def test_questions_are_the_expected_ones(front: FrontEnd, where: str, terms: list[Any]) -> None:
    found = []
    for t in form(front, where).terms:
        keyed = t.query.keyed
        found.append(
            (t.coefficient, keyed.text_columns, keyed.strings) if keyed is not None else (t.coefficient, (), ())
        )
    assert sorted(found, key=repr) == sorted(terms, key=repr)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("word LIKE 'ab%'", "starts_with(word, 'ab')"),
        ("word LIKE 'ab%'", "left(word, 2) = 'ab'"),
        ("word LIKE 'ab%'", "substr(word, 1, 2) IN ('ab', 'abc')"),
        ("word ^@ 'ab'", "prefix(word, 'ab') AND TRUE"),
        ("word LIKE 'ab%%'", "word LIKE 'ab%' ESCAPE '!'"),
        ("NOT (word LIKE 'ab%')", "word NOT LIKE 'ab%'"),
        ("word LIKE '%'", "word IS NOT NULL"),
        ("word LIKE 'abcd%' OR word LIKE 'ab%'", "word LIKE 'ab%'"),
    ],
)
def test_equal_questions_have_equal_keys(front: FrontEnd, one: str, other: str) -> None:
    def key(where: str) -> Any:
        return [(t.coefficient, t.query.digest) for t in form(front, where).terms]

    assert key(one) == key(other)
    assert key(one) != key(f"({one}) AND old")
