"""Which statements line answers up with rows, and that a count of no row is one public answer."""

import pytest

from dpsql.postprocess import combine
from dpsql.sql import FrontEnd
from tests.support.contingency import TABLE, Counted, random_rows
from tests.support.exact import answer, front_end

BLOCK = "(SELECT sex, COUNT(*) AS n, AVG(age) AS a FROM people GROUP BY sex)"


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return front_end()


@pytest.fixture(scope="module")
def tables() -> dict[str, Counted]:
    return {"people": Counted(TABLE, random_rows(21, 400))}


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (f"SELECT * FROM {BLOCK} WHERE n > 10 ORDER BY n DESC LIMIT 2", (None, "a0", "a1")),
        (f"SELECT n AS m, sex, n + 1 FROM {BLOCK} t WHERE t.n > 3 ORDER BY 1", ("a0", None, None)),
        (f"SELECT n, n AS again FROM {BLOCK} ORDER BY ALL", ("a0", "a0")),
        (f"WITH g AS {BLOCK} SELECT * FROM g", (None, "a0", "a1")),
        (f"WITH g AS {BLOCK}, h AS (SELECT a, sex FROM g) SELECT h.*, a FROM h", ("a1", None, "a1")),
        (f"WITH g AS {BLOCK} SELECT g.*, rank() OVER (ORDER BY n) FROM g ORDER BY ALL", (None, "a0", "a1", None)),
        (f"SELECT * FROM (SELECT n, sex AS _row FROM {BLOCK} LIMIT 3) ORDER BY n", ("a0", None)),
        ("SELECT * FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex HAVING n > 3 ORDER BY n)", (None, "a0")),
        ("SELECT n FROM (SELECT sex AS n, COUNT(*) AS n FROM people GROUP BY sex)", (None,)),
        ("SELECT n FROM (SELECT COUNT(*) AS n FROM people) AS n", ("a0",)),
        ("FROM (SELECT COUNT(*) FROM people)", ("a0",)),
        ("FROM ((SELECT COUNT(*) FROM people))", ("a0",)),
    ],
)
def test_rows_of_one_block(
    front: FrontEnd, tables: dict[str, Counted], text: str, columns: tuple[str | None, ...]
) -> None:
    statement = front.lower(text)
    assert statement.row_column is not None
    assert statement.outer_columns == columns
    names, rows = answer(statement, tables)  # checks that the row numbers lead to the values shown
    relation = tables["people"].connection.execute(text)
    assert names == [d[0] for d in relation.description]
    assert sorted(map(repr, rows)) == sorted(map(repr, relation.fetchall()))


@pytest.mark.parametrize(
    "text",
    [
        f"WITH g AS {BLOCK} SELECT g.n FROM g, g AS h",
        f"WITH g AS {BLOCK} SELECT n FROM g WHERE n > (SELECT AVG(n) FROM g)",
        f"SELECT SUM(n) FROM {BLOCK}",
        f"SELECT n FROM {BLOCK} GROUP BY n",
        f"SELECT DISTINCT n FROM {BLOCK}",
        f"SELECT q FROM {BLOCK} AS q ORDER BY n",
        f"SELECT * FROM (SELECT DISTINCT n FROM {BLOCK})",
        f"SELECT n FROM {BLOCK} CROSS JOIN (VALUES (1), (2)) AS v(x)",
        f"SELECT x FROM {BLOCK} t(x, y, z)",
        f"SELECT * EXCLUDE (a) FROM {BLOCK}",
        "SELECT * FROM (SELECT sex, sex, COUNT(*) FROM people GROUP BY sex)",
        f"SELECT n FROM {BLOCK} UNION SELECT 1",
        f"SELECT n FROM {BLOCK} UNION ALL BY NAME SELECT 1 AS n",
        f"SELECT n FROM {BLOCK} UNION ALL SELECT DISTINCT 1",
        f"SELECT * FROM {BLOCK} UNION ALL (SELECT * FROM {BLOCK} LIMIT 1)",
        f"SELECT * FROM (VALUES ('x', 1, 2.0)) UNION ALL SELECT * FROM {BLOCK} ORDER BY ALL",
        f"SELECT DISTINCT n FROM (SELECT n FROM {BLOCK} UNION ALL SELECT 1)",
        f"SELECT SUM(n) FROM (SELECT n FROM {BLOCK} UNION ALL SELECT 1)",
        f"SELECT * FROM (SELECT * FROM {BLOCK} UNION ALL SELECT 'x', 1, 2.0)",
    ],
)
def test_rows_that_are_no_blocks_rows(front: FrontEnd, text: str) -> None:
    statement = front.lower(text)
    assert statement.row_column is None
    assert statement.outer_columns == ()


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT n FROM {BLOCK} UNION ALL SELECT 1",
        f"SELECT sex, n FROM {BLOCK} UNION ALL SELECT sex, n + 1 FROM {BLOCK} ORDER BY 2 DESC, 1 LIMIT 5",
        "SELECT COUNT(*) FROM people UNION ALL SELECT COUNT(*) FROM people UNION ALL SELECT COUNT(age) FROM people",
        f"WITH g AS {BLOCK} SELECT sex, n FROM g UNION ALL SELECT 'all', SUM(n)::BIGINT FROM g",
        f"SELECT n FROM {BLOCK} UNION ALL SELECT 1 ORDER BY ALL",
        "SELECT sex, member, COUNT(*), AVG(age) FROM people GROUP BY CUBE (sex, member) ORDER BY ALL DESC NULLS FIRST",
        "SELECT * FROM (SELECT sex, member, COUNT(*) FROM people GROUP BY ROLLUP (sex, member)) ORDER BY ALL",
        "WITH r AS (SELECT sex, member, COUNT(*) AS n FROM people GROUP BY ROLLUP (sex, member)), "
        "s AS (SELECT n, sex FROM r WHERE n > 3) SELECT sex, s.*, n + 1 AS m FROM s ORDER BY 3 DESC, n, sex",
    ],
)
def test_rows_of_a_union_are_told_apart(front: FrontEnd, tables: dict[str, Counted], text: str) -> None:
    statement = front.lower(text)
    assert statement.row_column is not None
    names, rows = answer(statement, tables)
    relation = tables["people"].connection.execute(text)
    assert names == [d[0] for d in relation.description]
    assert sorted(map(repr, rows)) == sorted(map(repr, relation.fetchall()))
    assert statement.outer_columns == ()


@pytest.mark.parametrize("condition", ["1 = 0", "FALSE", "age > 20 AND 1 = 0", "age > 100", "sex = 'none'"])
def test_a_count_of_no_row_is_one_public_answer(front: FrontEnd, condition: str) -> None:
    (block,) = front.lower(f"SELECT COUNT(*) AS n, COUNT(age) FROM people WHERE {condition}").blocks
    for aggregate in block.aggregates:
        (form,) = aggregate.numerator
        released = combine(form, {}.__getitem__, integer=True)  # type: ignore[arg-type] # nothing is looked up
        assert (released.value, released.error, released.source, released.charged) == (0, 0, "public", 0)


@pytest.mark.parametrize("text", ["SELECT MAX(age) FROM people WHERE FALSE", "SELECT * FROM people WHERE 1 = 0"])
def test_probes_for_columns_stay_free(front: FrontEnd, text: str) -> None:
    assert front.lower(text).blocks == ()
