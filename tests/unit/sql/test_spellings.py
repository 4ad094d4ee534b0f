"""Other spellings mean what they say: DuckDB gives the same for a text as written and as it is read."""

import duckdb
import pytest

from dpsql.errors import SqlSyntaxError, UnsupportedQuery
from dpsql.sql.text.parse import parse, to_sql
from dpsql.sql.text.spellings import MAX_ROW_NODES, quoted_names

ROWS = "SELECT * FROM (VALUES (1), (2), (NULL)) AS p(a), (VALUES ('ab'), ('ba'), (''), (NULL)) AS q(s)"
SPELLINGS = (
    "substring(s FROM 1 FOR 1)",
    "substring(s FROM 2)",
    "substring(trim(BOTH 'a' FROM s) FROM 1 FOR a)",
    "substring((SELECT 'x' || v FROM (SELECT 'yz' AS v) AS w) FROM 2 FOR 2)",
    "trim('a' FROM s)",
    "trim(LEADING 'a' FROM s || 'a')",
    "trim(TRAILING 'a' FROM s)",
    "trim(FROM s)",
    "trim(LEADING FROM ' ' || s)",
    "position('b' IN s)",
    "position('b' IN (s)) + 1",
    "(a, s) = (1, 'ab')",
    "(a, s) <> (NULL, 'ab')",
    "NOT (a, s) = (2, NULL)",
    "(a, s) IN ((1, 'ab'), (2, NULL), (NULL, ''))",
    "(a, s) NOT IN ((1, 'ab'), (NULL, NULL))",
    "(a + 1, s || 'x') = (2, 'abx') OR a = 2",
    "a = ANY ([1, 3])",
    "NOT a = ANY ([1, -3])",
    "s = SOME (SELECT 'ab')",
    "a = ANY (SELECT 1 UNION ALL SELECT NULL)",
    "list_contains([1, 3], a)",
    "NOT list_has(['ab'], s) AND array_contains([1], a)",
    "extract(year FROM DATE '2024-02-03' + a)",
    "DATE '2024-02-03'::TIMESTAMP::VARCHAR || s",
    "TIMESTAMP '2024-02-03 10:00:00'::DATE + a",
    "upper(DATE '2024-02-03'::VARCHAR), -INT '1'::DOUBLE, 'x'::VARCHAR, ('1'::INT)",
    "DECIMAL(4, 1) '1.26'::VARCHAR || INTERVAL '1 day'::VARCHAR",
    "DECIMAL(4) '1.26'::VARCHAR || DATE '2024-02-03'::VARCHAR::DATE::VARCHAR",
)


@pytest.mark.parametrize("expression", SPELLINGS)
def test_a_spelling_means_what_duckdb_means(expression: str) -> None:
    text = f"SELECT a, s, {expression} AS found FROM ({ROWS}) AS t ORDER BY ALL"
    assert duckdb.sql(to_sql(parse(text))).fetchall() == duckdb.sql(text).fetchall()


@pytest.mark.parametrize(
    "clause", ["FETCH FIRST 2 ROWS ONLY", "FETCH NEXT ROW ONLY", "OFFSET 1 ROWS FETCH NEXT 1 ROW ONLY"]
)
def test_fetch_is_limit(clause: str) -> None:
    text = f"SELECT a, s FROM ({ROWS}) AS t ORDER BY ALL {clause}"
    assert duckdb.sql(to_sql(parse(text))).fetchall() == duckdb.sql(text).fetchall()


@pytest.mark.parametrize(
    ("sets", "read"),
    [
        ("ROLLUP (a > 1)", "ROLLUP ((a > 1))"),
        ("CUBE (s, a IS NULL)", "CUBE (s, (a IS NULL))"),
        ("ROLLUP (a BETWEEN 1 AND 2 OR s = 'a,b', a IN (1, 2), s LIKE 'a%')",
         "ROLLUP ((a BETWEEN 1 AND 2 OR s = 'a,b'), (a IN (1, 2)), (s LIKE 'a%'))"),
        ("GROUPING SETS (a <> 1, ROLLUP (s, a >= 2), ())", "GROUPING SETS ((a <> 1), ROLLUP (s, (a >= 2)), ())"),
        ("ROLLUP (a > 1, CASE WHEN a > 1 THEN s END, (s, a), COALESCE(a = 1, TRUE))",
         "ROLLUP ((a > 1), CASE WHEN a > 1 THEN s END, (s, a), COALESCE(a = 1, TRUE))"),
        ("CUBE (a > 1, [a = 1, TRUE], {'x': a = 1, 'y': 2})", "CUBE ((a > 1), [a = 1, TRUE], {'x': a = 1, 'y': 2})"),
    ],
)  # fmt: skip
def test_sets_of_groups_take_conditions(sets: str, read: str) -> None:
    text = f"SELECT COUNT(*) FROM ({ROWS}) AS t GROUP BY {sets} ORDER BY ALL"
    assert f" GROUP BY {read} " in to_sql(parse(text))
    assert duckdb.sql(to_sql(parse(text))).fetchall() == duckdb.sql(text).fetchall()


@pytest.mark.parametrize("sets", ["ROLLUP (a > )", "CUBE (a > 1", "ROLLUP (", "CUBE (a IN (1, 2)"])
def test_sets_of_groups_that_are_not_ended_are_no_sql(sets: str) -> None:
    with pytest.raises(SqlSyntaxError):
        parse(f"SELECT count(*) FROM t GROUP BY {sets}")


def test_names_between_back_ticks_are_names() -> None:
    text = quoted_names("SELECT `a`, '`b`', \"`c`\" /* `d` */, $$`e`$$ -- `f`\nFROM `t u`")
    assert text == 'SELECT "a", \'`b`\', "`c`" /* `d` */, $$`e`$$ -- `f`\nFROM "t u"'


@pytest.mark.parametrize("text", ["`", "`a", "'`a`", '`a"b`', "/* `a`", "``", '"`a`'])
def test_what_is_no_name_stays(text: str) -> None:
    assert quoted_names(text) == text


def test_many_open_quotes_take_no_longer() -> None:
    text = "`" + "'" * 65_001 + "$a" * 200
    assert quoted_names(text) == text


@pytest.mark.parametrize(
    ("text", "column", "hint"),
    [
        ("SELECT TOP 5 a FROM t", 8, "write LIMIT 5 at the end"),
        (
            "SELECT overlay(a PLACING 'X' FROM 1 FOR 1) FROM t",
            18,
            "write substr(text, 1, 2) || 'new' || substr(text, 5)",
        ),
        ("SELECT DISTINCT TOP (7) a FROM t", 17, "write LIMIT 7 at the end"),
        ("SELECT a FROM t LIMIT 3, 2", 17, "write LIMIT 2 OFFSET 3"),
    ],
)
def test_how_many_rows_is_said_elsewhere(text: str, column: int, hint: str) -> None:
    with pytest.raises(UnsupportedQuery) as caught:
        parse(text)
    assert (caught.value.column, caught.value.hint) == (column, hint)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT top FROM t",
        "SELECT TOP(a) FROM t",
        "SELECT overlay(placing, 'top') FROM t",
        "SELECT 'TOP 5' FROM t",
        "SELECT a AS top FROM t LIMIT 5",
    ],
)
def test_a_column_may_be_called_top(text: str) -> None:
    assert "top" in to_sql(parse(text)).lower()


def test_a_long_list_of_rows_is_refused() -> None:
    rows = ", ".join(["(1, 2)"] * (MAX_ROW_NODES // 4))
    with pytest.raises(UnsupportedQuery) as caught:
        parse(f"SELECT count(*) FROM t WHERE (a, b) IN ({rows})")
    assert caught.value.line == 1


@pytest.mark.parametrize(
    "expression",
    [
        "(a, ?) IN ((1, 2), (3, 4))",
        "(a, b) IN (SELECT 1, 2)",
        "(a, b) = (1, 2, 3)",
        "list_contains([a, b], 1)",
        "a = ANY (b)",
    ],
)
def test_what_means_something_else_stays_as_it_is(expression: str) -> None:
    """A list whose items may be NULL, rows of different lengths, and a place for a parameter, which is one."""
    tree = parse(f"SELECT count(*) FROM t WHERE {expression}")
    assert "IS NOT DISTINCT" not in to_sql(tree)
    assert "IN (a" not in to_sql(tree)
