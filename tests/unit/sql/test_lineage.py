"""What each output column is computed from: never less than what it reads."""

import pytest

from dpsql.sql import FrontEnd
from dpsql.sql.statement import Dependence
from tests.support.exact import front_end

G = "(SELECT sex, COUNT(*) AS n, COUNT(age) AS m FROM people GROUP BY sex)"
COUNT = "(SELECT COUNT(*) AS n FROM people WHERE age > 20)"


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return front_end()


def outputs(front: FrontEnd, text: str) -> list[str]:
    """For each output column its sources, with ``~`` where it is not of one row, ``#`` for a rank."""
    statement = front.lower(text)
    assert statement.redraw is not None, text
    return [_shown(d) for d in statement.redraw.outputs]


def _shown(d: Dependence) -> str:
    sources = " ".join(f"{table[-1]}.{column}" for table, column in sorted(d.sources))
    return sources + ("" if d.local else "~") + ("#" if d.rank else "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"SELECT sex, 100.0 * m / n AS p FROM {G}", ["", "1.a0 1.a1"]),
        (f"SELECT sex, n / 2, 1 AS one FROM {G}", ["", "1.a0", ""]),
        (f"SELECT sex, n / SUM(n) OVER () AS p FROM {G}", ["", "1.a0~"]),
        (f"SELECT sex, rank() OVER (ORDER BY n) AS r, m + 1 FROM {G}", ["", "1.a0~#", "1.a1"]),
        (f"SELECT r + 1, m FROM (SELECT rank() OVER (ORDER BY n) AS r, m FROM {G})", ["1.a0~", "1.a1"]),
        (f"SELECT SUM(n), COUNT(*), MAX(sex) FROM {G}", ["1.a0~", "~", "~"]),
        (f"SELECT COUNT(*), MAX(sex) FROM {G} WHERE n > 3", ["1.a0~", "1.a0~"]),
        (f"SELECT COUNT(*) FROM (SELECT * FROM {G} LIMIT 2)", ["1.a0 1.a1~"]),
        (f"SELECT COUNT(*), SUM(0) FROM (SELECT sex FROM {G} ORDER BY n LIMIT 2)", ["1.a0~", "1.a0~"]),
        (f"SELECT n > 5 AS big, CASE WHEN n > m THEN 'x' END AS label FROM {G}", ["1.a0", "1.a0 1.a1"]),
        (f"SELECT (SELECT n FROM {COUNT}) / n FROM {G}", ["1.a0 2.a0"]),
        (f"SELECT sex, n / (SELECT SUM(n) FROM {G}) AS p FROM {G}", ["", "1.a0 2.a0~"]),
        (f"SELECT n IN (SELECT m FROM {G}) FROM {G} ORDER BY n + 1", ["1.a0 2.a1~"]),
        (f"SELECT a.sex, a.n - b.n FROM {G} a JOIN {G} b USING (sex)", ["", "1.a0 2.a0"]),
        (f"SELECT * FROM {G} a JOIN {G} b USING (sex)", ["", "1.a0", "1.a1", "2.a0", "2.a1"]),
        (f"WITH g AS {G} SELECT a.n - b.n FROM g a, g b", ["1.a0~"]),
        (f"WITH g AS {G} SELECT sex, n - 1 AS d FROM g", ["", "1.a0"]),
        (f"SELECT 'a', n FROM {COUNT} UNION ALL SELECT 'b', n + 1 FROM {COUNT}", ["", "1.a0 2.a0"]),
        (f"SELECT n FROM {COUNT} UNION SELECT n + 1 FROM {COUNT}", ["1.a0 2.a0~"]),
        (f"SELECT DISTINCT n + 1 FROM {G}", ["1.a0~"]),
        (f"SELECT COUNT(*) FROM (SELECT n AS a, m AS a FROM {G} QUALIFY row_number() OVER () < a)", ["1.a0 1.a1~"]),
        (f"SELECT x + 1 FROM {G} t(s, x, y)", ["1.a0"]),
        (f"SELECT country, n * 2 FROM {G} JOIN cities ON sex = city", ["", "1.a0"]),
        (f"SELECT age, n * 2 FROM cities, {COUNT}", ["", "1.a0"]),
        (f"SELECT v, n * v FROM (VALUES (1), (2)) t(v), {COUNT}", ["", "1.a0"]),
        ("SELECT sex, COUNT(*) AS n, n * 2 AS d FROM people GROUP BY sex", ["", "1.a0", "1.a0"]),
        (f"SELECT * EXCLUDE (M) FROM {G}", ["", "1.a0"]),
        (f"SELECT t.* EXCLUDE m, n * 2 FROM {G} AS t", ["", "1.a0", "1.a0"]),
        ("SELECT AVG(age) * 2, DP_INTERVAL_LOW(COUNT(*)) / 2 FROM people", ["1.a0", "1.a1"]),
    ],
)
def test_outputs(front: FrontEnd, text: str, expected: list[str]) -> None:
    assert outputs(front, text) == expected


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT * REPLACE (m + 1 AS m) FROM {G} ORDER BY n / 2",
        f"SELECT * EXCLUDE (g.m) FROM {G} AS g ORDER BY n / 2",
        f"SELECT sex, n + 1 AS x FROM {G} UNION ALL BY NAME SELECT 1 AS x, 'a' AS sex",
        f"SELECT sex, n FROM {G} NATURAL JOIN (SELECT 'Male' AS sex)",
    ],
)
def test_what_is_not_followed_depends_on_everything(front: FrontEnd, text: str) -> None:
    statement = front.lower(text)
    assert statement.redraw is not None
    every = {(b.name, a.column) for b in statement.blocks for a in b.aggregates}
    numbers = [d for d in statement.redraw.outputs if d.sources]
    assert numbers
    assert all(d.sources == every and not d.local for d in numbers)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex ORDER BY n LIMIT 1",
        f"SELECT * FROM {G} WHERE n > 2",
        "SELECT 1 + 1 AS two",
        "SELECT COUNT(*) * 2 AS x FROM cities",
        "SELECT sex, age + 1 AS next, COUNT(*) FROM people GROUP BY ALL ORDER BY 3",
    ],
)
def test_where_nothing_is_computed_nothing_is_redrawn(front: FrontEnd, text: str) -> None:
    assert front.lower(text).redraw is None
