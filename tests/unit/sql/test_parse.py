"""Functions keep the names that were written, parameters know their place; with sqlglot compiled and interpreted."""

import pytest
from sqlglot import exp

from dpsql.errors import SqlSyntaxError, UnsupportedQuery
from dpsql.sql.text.parse import MAX_WAITING_JOINS, parse, to_sql


@pytest.mark.parametrize(
    "expression",
    [
        "IF(a, 1, 2)",
        "CHAR(a)",
        "TRIM(a)",
        "POSITION(a, b)",
        "REPLACE(a, 'x', 'y')",
        "2 * REPLACE(a, 'x', 'y')",
        "CEIL(a)",
        "DATE(a)",
        "LEFT(a, 2)",
        "MAX(a)",
        "CAST(a AS DECIMAL(10, 2))",
        "EXTRACT(YEAR FROM a)",
        "a ** 2 ** b",
        "(a ^@ 'x') AND b ~ 'y'",
        "ANY(a)",
        "CASE WHEN a = 1 THEN 2 END",
    ],
)
def test_what_is_written_is_printed(expression: str) -> None:
    assert to_sql(parse(f"SELECT {expression} FROM t")) == f"SELECT {expression} FROM t"


@pytest.mark.parametrize(("expression", "column"), [("x * 1e2+3", 15), ("2e5-1e5", 11), ("1.5E3+y + 1e2-7", 21)])
def test_a_sign_right_behind_an_exponent_is_refused(expression: str, column: int) -> None:
    """The parser takes both for one number, and the first for a product, the second for a column named e5."""
    try:
        parse(f"SELECT {expression} FROM t")
    except SqlSyntaxError as error:
        assert error.column == column
        assert "space" in error.hint
    else:
        pytest.fail("it is answered as something else")


def test_signs_in_exponents_and_beside_other_numbers_are_read() -> None:
    for expression in ("1e-2 + 3", "-1E+2 * x", "1 - 2e3", "1e2 - 3", "1e+2-3", "1e2+x", "'1e2+3'", '"1e2+3"'):
        parse(f"SELECT {expression} FROM t /* 1e2+3 */")


def test_a_column_may_have_the_name_of_a_function() -> None:
    tree = parse("SELECT if, map, count FROM t AS year(a, b)")
    assert [c.name for c in tree.find_all(exp.Column)] == ["if", "map", "count"]
    assert next(tree.find_all(exp.TableAlias)).name == "year"


def test_replace_after_a_star_is_a_clause() -> None:
    for star in ("*", "t.*", "* EXCLUDE (b)"):
        tree = parse(f"SELECT {star} REPLACE (a + 1 AS a) FROM t")
        assert [bool(s.args.get("replace")) for s in tree.find_all(exp.Star)] == [True]


@pytest.mark.parametrize(
    ("text", "name"), [("?", None), ("$1", "1"), ("$low", "low"), ("$count", "count"), (":low", "low")]
)
def test_a_parameter_knows_its_name_and_place(text: str, name: str | None) -> None:
    tree = parse(f"SELECT COUNT(*) FROM t WHERE 'é' = a AND b = {text} LIMIT 3")
    found = list(tree.find_all(exp.Placeholder))
    assert [(p.args.get("this"), p.meta["start"]) for p in found] == [(name, 45)]


def test_a_quoted_parameter_name() -> None:
    (found,) = parse('SELECT COUNT(*) FROM t WHERE b = $"low"').find_all(exp.Placeholder)
    assert str(found.args["this"]).strip('"') == "low"  # up to sqlglot 30.25 without its quotes
    assert found.meta["start"] == 33


def test_nothing_of_the_disguise_is_left() -> None:
    tree = parse('SELECT IF(a, 1, 2), "count"(b), ARRAY[1], MAP FROM t WHERE c = :x AND d = $y AND e IN (?, ?)')
    assert "\0" not in repr(tree)
    assert "\0" not in to_sql(tree)


def test_a_slice_is_read_or_refused() -> None:
    """Up to sqlglot 30.25 its parser fails on one whose second number looks like a parameter's."""
    try:
        tree = parse("SELECT COUNT(*) FROM t WHERE d[1:2] = 3")
    except SqlSyntaxError:
        return
    assert "\0" not in repr(tree)


def test_a_syntax_error_names_the_word_that_was_written() -> None:
    with pytest.raises(SqlSyntaxError) as caught:
        parse("SELECT COUNT(* FROM t")
    assert (caught.value.line, caught.value.column) == (1, 16)
    assert "\0" not in str(caught.value)


@pytest.mark.parametrize("join", ["JOIN", "LEFT JOIN", "SEMI JOIN"])
def test_joins_that_wait_for_a_condition_are_few(join: str) -> None:
    with pytest.raises(UnsupportedQuery, match="joins without a condition") as caught:
        parse("SELECT 1 FROM a " + f"{join} a " * 60)
    assert caught.value.line == 1
    assert parse("SELECT 1 FROM a " + f"{join} a " * MAX_WAITING_JOINS)


@pytest.mark.parametrize("join", ["JOIN b ON TRUE", "JOIN b USING (c)", "CROSS JOIN b", "NATURAL JOIN b", ", b"])
def test_joins_with_conditions_may_be_many(join: str) -> None:
    assert parse("SELECT 1 FROM a " + f"{join} " * 60)


@pytest.mark.parametrize("text", ["SELECT COUNT(->) FROM people", "SELECT-> age FROM people", "SELECT a WHERE ! ->"])
def test_an_operator_without_an_operand_is_a_syntax_error(text: str) -> None:
    with pytest.raises(SqlSyntaxError, match="syntax error"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("SELECT 'it''s' || 'x", (1, 19)),
        ('SELECT 1,\n "a', (2, 2)),
        ("SELECT 1 -- it's\n /* x", (2, 2)),
        ("-- nothing", (1, 1)),
    ],
)
def test_what_is_not_closed_has_its_place(text: str, place: tuple[int, int]) -> None:
    with pytest.raises(SqlSyntaxError) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == place


@pytest.mark.parametrize("text", ["SELECT a FROM t WHERE a > %s", "SELECT a FROM t WHERE a > %(low)s AND b"])
def test_placeholders_of_other_drivers_are_named(text: str) -> None:
    with pytest.raises(SqlSyntaxError) as caught:
        parse(text)
    assert "execute('... age > ?', [30])" in caught.value.hint


def test_a_string_that_is_not_closed_is_told_how_to_end() -> None:
    with pytest.raises(SqlSyntaxError, match="is not closed") as caught:
        parse("SELECT 'it's'")
    assert "written twice: 'it''s'" in caught.value.hint


@pytest.mark.parametrize("text", [".tables", "\\d people"])
def test_commands_of_the_shell_are_told_from_statements(text: str) -> None:
    with pytest.raises(UnsupportedQuery) as caught:
        parse(text)
    assert "commands of the shell" in caught.value.hint
