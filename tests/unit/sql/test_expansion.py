"""What would grow without bound is refused before DuckDB or the front end works on it."""

import time

import pytest

from dpsql.errors import UnsupportedQuery
from tests.support.exact import front_end

FRONT = front_end()


def chain(first: str, step: str, length: int) -> str:
    """A select list in which every name stands for twice the one before."""
    items = [f"{first} AS x0", *(f"{step.format(i)} AS x{i + 1}" for i in range(length))]
    return ", ".join(items)


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT {chain('age', 'x{0} + x{0}', 40)}, COUNT(*) FROM people GROUP BY ALL",
        f"SELECT {chain('COUNT(*)', 'x{0} + x{0}', 40)} FROM people GROUP BY sex HAVING x40 > 3",
        f"SELECT COUNT(*) AS n, {chain('age', 'x{0} + x{0}', 40)} FROM people WHERE x40 > 3",
        f"SELECT {chain('1', 'x{0} + x{0}', 40)}",
        "SELECT COUNT(*) FROM " + "(SELECT x + x AS x FROM " * 40 + "(SELECT age AS x FROM people)" + ")" * 40
        + " WHERE x > 5",
    ],
    ids=["groups", "aggregates", "condition", "public", "subqueries"],
)  # fmt: skip
def test_names_within_names_are_bounded(text: str) -> None:
    begin = time.perf_counter()
    with pytest.raises(UnsupportedQuery, match="stand for too much"):
        FRONT.lower(text)
    assert time.perf_counter() - begin < 2


def test_few_names_within_names_are_answered() -> None:
    FRONT.lower(f"SELECT {chain('COUNT(*)', 'x{0} + x{0}', 6)} FROM people")
    FRONT.lower("SELECT age + 1 AS age, age + 2 AS kids, COUNT(*) FROM people GROUP BY ALL ORDER BY age")
    FRONT.lower("SELECT COUNT(*) FROM (SELECT x + x AS x FROM (SELECT x + x AS x FROM (SELECT age AS x FROM people)))")


@pytest.mark.parametrize(
    "expression",
    [
        "lpad('a', 10000, 'b')", "rpad('a', (5), 'b')", "replace('abc', 'b', 'xx')", "format('{:>10s}', 'a')",
        "printf('%9999d', 1)", "regexp_replace('aaa', 'a+', '')",
        "replace(replace(replace('a', '&', 'and'), '<', 'less'), '>', 'more')",
    ],
)  # fmt: skip
def test_what_stays_small_is_answered(expression: str) -> None:
    FRONT.lower(f"SELECT {expression}")


@pytest.mark.parametrize(
    "expression",
    [
        "lpad('a', 10001, 'b')", "lpad('a', 1e9, 'b')", "lpad('a', -1, 'b')", "rpad('a', 5000 * 5000)",
        "printf('%10000d', 1)", "printf('%*d', 1000000, 1)", "printf(lpad('', 9, '%'), 1)", "format('{:{}}', 'a', 9)",
        "replace('aaaa', 'a', lpad('', 9999, 'b')) || replace('aaaa', 'a', 'bb')",
        "regexp_replace('a', '', '" + "b" * 1001 + "', 'g')",
    ],
)  # fmt: skip
def test_what_may_grow_is_refused_in_public_statements_and_conditions(expression: str) -> None:
    for text in (f"SELECT {expression}", f"SELECT COUNT(*) FROM people WHERE {expression} = sex"):
        with pytest.raises(UnsupportedQuery) as caught:
            FRONT.lower(text)
        assert caught.value.line == 1


def test_lengths_may_be_parameters() -> None:
    FRONT.lower("SELECT lpad('a', ?, '0')", [10])
    with pytest.raises(UnsupportedQuery):
        FRONT.lower("SELECT lpad('a', ?, '0')", [10**6])
