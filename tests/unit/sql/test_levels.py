"""ROLLUP, CUBE and GROUPING SETS: levels are those of DuckDB, whatever is combined."""

import pytest

from dpsql.errors import UnsupportedQuery
from dpsql.sql import FrontEnd
from dpsql.sql.blocks.levels import MAX_LEVELS
from tests.support.contingency import TABLE, Counted, random_rows, seeded
from tests.support.exact import answer, front_end

COLUMNS = ("sex", "member", "upper(city)", "kids + 1")


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return front_end()


@pytest.fixture(scope="module")
def people() -> Counted:
    return Counted(TABLE, random_rows(37, 400))


def groupings(seed: int) -> str:
    """A random GROUP BY of plain entries and sets, nested at most once."""
    rng = seeded(seed)

    def some(least: int) -> list[str]:
        return rng.sample(COLUMNS, rng.randint(least, 3))

    def entry(kind: int) -> str:
        if kind == 0:
            return some(1)[0]
        if kind == 1:
            return f"ROLLUP ({', '.join(some(1))})"
        if kind == 2:
            one, *others = some(2)
            return f"CUBE ({one}, ({', '.join(others)}))"
        return f"GROUPING SETS (({', '.join(some(0))}), {some(1)[0]}, {entry(rng.randint(1, 2))})"

    return ", ".join(entry(rng.randint(0, 3)) for _ in range(2))


@pytest.mark.parametrize("seed", range(3))
def test_levels_are_those_of_duckdb(front: FrontEnd, people: Counted, seed: int) -> None:
    by = groupings(seed)
    shown = [c for c in COLUMNS if c in by]
    levels = f"GROUPING({', '.join(shown)}), GROUPING_ID({', '.join(reversed(shown))})"
    sql = f"SELECT {', '.join(shown)}, {levels}, COUNT(*), SUM(kids) FROM people GROUP BY {by} HAVING COUNT(*) > 0"
    names, rows = answer(front.lower(sql), {"people": people})
    relation = people.connection.execute(sql)
    assert names == [d[0] for d in relation.description]
    assert sorted(map(repr, plain(rows))) == sorted(map(repr, plain(relation.fetchall())))


def plain(rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return [tuple(v if v is None else float(v) if isinstance(v, (int, float)) else v for v in r) for r in rows]


def test_an_alias_in_filter_is_its_expression_at_every_level(front: FrontEnd, people: Counted) -> None:
    """By what it stands for, since DuckDB 1.5 reads no alias there."""
    sql = "SELECT kids > 1 AS many, COUNT(*) FILTER (WHERE {0}) FROM people GROUP BY ROLLUP (many)"
    named, meant = (answer(front.lower(sql.format(words)), {"people": people})[1] for words in ("many", "kids > 1"))
    assert plain(named) == plain(meant) and max(row[1] for row in named) > 0


def test_the_level_of_all_rows_is_there_without_rows(front: FrontEnd, people: Counted) -> None:
    sql = "SELECT sex, COUNT(*) FROM people WHERE age > 200 GROUP BY ROLLUP (sex)"
    _, rows = answer(front.lower(sql), {"people": people})
    assert rows == [(None, 0)]


def test_a_group_inside_an_aggregate_keeps_its_values(front: FrontEnd, people: Counted) -> None:
    sql = "SELECT kids, SUM(kids), COUNT(*) FILTER (WHERE kids > 0) FROM people GROUP BY ROLLUP (kids) ORDER BY 1"
    _, rows = answer(front.lower(sql), {"people": people})
    assert plain(rows)[-1] == plain([people.connection.execute(sql).fetchall()[-1]])[0]


def test_many_levels_are_refused(front: FrontEnd) -> None:
    rows = ", ".join(f"ROLLUP ({', '.join(COLUMNS)})" for _ in range(3))
    with pytest.raises(UnsupportedQuery, match=f"more than {MAX_LEVELS} sets"):
        front.lower(f"SELECT COUNT(*) FROM people GROUP BY {rows}")


def test_columns_of_one_name_are_not_told_apart_by_hidden_orders(front: FrontEnd) -> None:
    with pytest.raises(UnsupportedQuery, match="two columns have one name"):
        front.lower("SELECT sex AS s, COUNT(*) AS s FROM people GROUP BY ROLLUP (sex) ORDER BY GROUPING(sex)")
