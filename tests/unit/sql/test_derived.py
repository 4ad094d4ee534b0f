"""Owners' SQL for derived columns: what is read, and what is refused as no function of one row or as one that fails."""

import pytest

from dpsql.domain import Expression
from dpsql.errors import PolicyError
from dpsql.sql import derived_expression


def test_a_condition_becomes_its_operations() -> None:
    column = Expression("column", (), "a b")
    pattern = Expression("constant", (), "%x%")
    assert derived_expression("NOT (\"a b\" NOT LIKE '%x%')") == Expression(
        "not", (Expression("not", (Expression("like", (column, pattern)),)),)
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x NOT IN (1, 2)", "NOT x IN (1, 2)"),
        ("x NOT BETWEEN 1 AND 2", "NOT (x >= 1 AND x <= 2)"),
        ("x IS NOT NULL", "NOT x IS NULL"),
        ("CASE x WHEN 1 THEN 'a' END", "CASE WHEN x = 1 THEN 'a' END"),
        ("if(x > 1, 2, 3)", "CASE WHEN x > 1 THEN 2 ELSE 3 END"),
        ("EXTRACT(year FROM d)", "year(d)"),
        ("len(s)", "length(s)"),
        ("x -- nothing\n > 1", "x > 1"),
        ("x > 1;", "x > 1"),
    ],
)
def test_other_spellings_are_the_same(one: str, other: str) -> None:
    assert derived_expression(one) == derived_expression(other)


@pytest.mark.parametrize(
    "sql",
    [
        "CAST(s AS INTEGER) > 3",
        "s::DOUBLE > 3",
        "TRY_CAST(s AS DATE) > DATE '2020-01-01'",
        "random() < x",
        "x < now()",
        "x < current_date",
        "(SELECT max(x) FROM t) > x",
        "x IN (SELECT y FROM t)",
        "EXISTS (SELECT 1)",
        "max(x) > 1",
        "row_number() OVER () > x",
        "x > 1 OVER ()",
        "list_max([x, 2]) > 1",
        "x[1] > 2",
        "error(s) IS NULL",
        "regexp_matches(s, '(a*)*b')",
        "sqrt(x) > 1",
        "ln(x) > 1",
        "x // 2 = 1",
        "x ** 2 > 1",
        "x << 3 > 1",
        "repeat(s, 1000000000) = ''",
        "getenv('HOME') = s",
        "date_trunc('decade', d) > d",
        "s LIKE t",
        "s LIKE '%!%' ESCAPE '!'",
        "s SIMILAR TO 'a'",
        "x BETWEEN SYMMETRIC 7 AND 3",
        "x NOT BETWEEN SYMMETRIC 7 AND 3",
        "TRY_CAST(s AS DOUBLE FORMAT 'x') > 3",
        "TRY_CAST(s AS DOUBLE(3)) > 3",
        "d > DATE(6) '2020-01-31'",
        "d > DATE '20200131'",
        "d > DATE '2020-W05-1'",
        "s ~ 'a'",
        "t.x > 1",
        "COLUMNS('x') > 1",
        "x > ?",
        "x > $1",
        "x AS y",
        "*",
        "x, y",
        "x > 1) FROM t --",
        "1) FROM t; DROP TABLE t; SELECT (x",
        "x > 1 FROM t",
        "x > 1 WHERE true",
        "x > 1 UNION SELECT 2",
        "x > 1 LIMIT 1",
        "DISTINCT x",
        "x > INTERVAL 1 DAY",
        "DATE 'tomorrow' > d",
        "TIMESTAMP '2020-01-01 00:00:00+05' > d",
        "x > 1e999",
        "x > \0",
        "lower(s, s) = 'a'",
        "coalesce()",
        "nullif(x)",
        "x IS DISTINCT FROM 3",
        "x COLLATE nocase = 'a'",
        "and(x, y)",
        "number(s) > 1",
        "",
        "1 = 1",
        "x = " + "'" + "a" * 5000 + "'",
        "(" * 3000 + "x" + ")" * 3000,
        " AND ".join(["x > 1"] * 600),
    ],
)
def test_everything_else_is_refused_in_words(sql: str) -> None:
    with pytest.raises(PolicyError) as refused:
        derived_expression(sql)
    assert refused.value.hint and len(refused.value.message) < 300
