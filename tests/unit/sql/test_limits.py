"""Limits before work: what is too long, too deep or no text at all is refused quickly, with a dpsql error."""

import time
from contextlib import suppress

import pytest

from dpsql.domain import IntegerDomain, TableDomain, TextDomain
from dpsql.errors import DataError, Error, ProgrammingError, SqlSyntaxError, UnsupportedQuery
from dpsql.policy import Mechanism, Policy
from dpsql.sql import FrontEnd
from dpsql.sql.counting.values import classes as value_classes
from dpsql.sql.text.limits import MAX_NESTING, MAX_TEXT_BYTES, check_text
from tests.support.exact import POLICY, front_end, public_sql

COUNT = "SELECT COUNT(*) FROM people WHERE "


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return front_end()


@pytest.mark.parametrize("text", [None, 5, b"SELECT 1", ["SELECT 1"], "", "   \n"])
def test_no_text(front: FrontEnd, text: object) -> None:
    with pytest.raises(ProgrammingError) as caught:
        front.lower(text)  # type: ignore[arg-type]
    assert caught.value.hint


@pytest.mark.parametrize("text", ["SELECT 'a\0b'", "\0", "SELECT '\ud800'"])
def test_unusable_characters(front: FrontEnd, text: str) -> None:
    with pytest.raises(DataError):
        front.lower(text)


@pytest.mark.parametrize(
    "text", [";", "--", "SELECT 'a", 'SELECT "a', "/* a", "SELECT 1 /* x", "SELECT (", "SELECT 1)"]
)
def test_unfinished_texts(front: FrontEnd, text: str) -> None:
    with pytest.raises(SqlSyntaxError):
        front.lower(text)


def test_syntax_errors_have_a_place(front: FrontEnd) -> None:
    with pytest.raises(SqlSyntaxError) as caught:
        front.lower("SELECT COUNT(*)\nFROM people\n  WHERE age >> > 3")
    assert (caught.value.line, caught.value.column) == (3, 16)


def test_size() -> None:
    fits = "SELECT '" + "x" * (MAX_TEXT_BYTES - 9) + "'"
    assert check_text(fits) == fits
    with pytest.raises(UnsupportedQuery, match="bytes"):
        check_text(fits + " ")
    with pytest.raises(UnsupportedQuery, match="bytes"):
        check_text("SELECT '" + "ü" * (MAX_TEXT_BYTES // 2) + "'")


@pytest.mark.parametrize(
    ("opening", "closing"), [("(", ")"), ("[", "]"), ("{", "}"), ("CASE ", " END"), ("case\n", " end")]
)
def test_nesting(opening: str, closing: str) -> None:
    def nested(depth: int) -> str:
        return "SELECT " + opening * depth + "1" + closing * depth

    assert check_text(nested(MAX_NESTING))
    with pytest.raises(UnsupportedQuery, match="nested") as caught:
        check_text(nested(MAX_NESTING + 1))
    assert caught.value.line is not None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT '" + "(" * 100 + "'",
        "SELECT 'it''s " + "(" * 100 + "'",
        'SELECT "' + "(" * 100 + '"',
        "SELECT 1 -- " + "(" * 100,
        "SELECT 1 /* " + "(" * 100 + " */",
        "SELECT " + "()" * 100,
        "SELECT 1e10, 2.5E-3, 1_000",
    ],
)
def test_the_scan_knows_strings_and_comments(text: str) -> None:
    assert check_text(text) == text


@pytest.mark.parametrize("number", ["0x10", "1a", "12_a", "1.5b", "0b1"])
def test_numbers_that_run_into_letters(number: str) -> None:
    with pytest.raises(UnsupportedQuery, match="letters"):
        check_text(f"SELECT {number}")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + "NOT " * 10_000 + "TRUE",
        "SELECT " + "- " * 10_000 + "1",
        "SELECT " + "1 + " * 10_000 + "1",
        COUNT + "age" + " + 1" * 10_000 + " > 3",
        COUNT + "age" + " IS NULL" * 5_000,
        COUNT + "age" + " = 1" * 5_000,
        "SELECT 1" + "::INT" * 8_000,
        "SELECT " + "INTERVAL " * 5_000 + "'1'",
        "SELECT " + "a." * 10_000 + "b",
        "SELECT 1 FROM " + "a JOIN " * 5_000 + "b",
        "SELECT " + "f(" * 64 + "1" + ")" * 64,
        "FROM " * 5_000,
        "SELECT " * 5_000,
        "WITH " * 5_000,
    ],
    ids=lambda t: t[:30],
)
def test_deep_texts_are_refused_quickly(front: FrontEnd, text: str) -> None:
    start = time.monotonic()
    with pytest.raises(Error):
        front.lower(text)
    assert time.monotonic() - start < 10


def test_what_is_nested_as_deeply_as_allowed_is_answered_or_refused(front: FrontEnd) -> None:
    """sqlglot, where it is not compiled, gives up earlier than the limit."""
    with suppress(UnsupportedQuery):
        assert front.lower("SELECT " + "(" * 60 + "1" + ")" * 60).blocks == ()


@pytest.mark.parametrize("word", ["AND", "OR"])
def test_long_chains_are_fine(front: FrontEnd, word: str) -> None:
    statement = front.lower(COUNT + f"age > 20 {word} " * 4_000 + "age > 20")
    assert statement.blocks[0].aggregates[0].numerator[0].terms[0].query.scope == ("age",)


def test_list_items(front: FrontEnd) -> None:
    assert front.lower(COUNT + "age IN (" + "1," * 9_999 + "1)").blocks
    with pytest.raises(UnsupportedQuery, match="10,000 list items"):
        front.lower(COUNT + "age IN (" + "1," * 10_000 + "1)")
    with pytest.raises(DataError, match="10,001 list items"):
        front.lower(COUNT + "age IN ?", [[1] * 10_001])


def test_cells_and_groups() -> None:
    wide = TableDomain("wide", (*(IntegerDomain(c, 0, 1000) for c in "abc"), TextDomain("t")))
    front = FrontEnd(Policy(POLICY.privacy, (wide,)), public_sql())
    with pytest.raises(UnsupportedQuery, match="tied together and span 1,006,012,008 cells"):
        front.lower("SELECT COUNT(*) FROM wide WHERE a + b + c > 5")
    product = "SELECT COUNT(*) FROM wide WHERE a > 5 AND b > 5 AND c > 5"
    assert front.lower(product).blocks  # it takes no grid where models need none
    with pytest.raises(UnsupportedQuery, match="at once"):
        FrontEnd(Policy(POLICY.privacy, (wide,), Mechanism("pmw")), public_sql()).lower(product)
    with pytest.raises(UnsupportedQuery, match="at once"):  # nor does a sum of values, which is counted on one
        front.lower("SELECT SUM(a * b) FROM wide WHERE c > 5")
    with pytest.raises(UnsupportedQuery, match="groups"):
        front.lower("SELECT a, b, COUNT(*) FROM wide GROUP BY a, b")
    assert len(front.lower("SELECT a, COUNT(*) FROM wide WHERE b > 5 GROUP BY a").blocks[0].groups) == 1002


def test_conditions_of_a_product_are_small_all_together(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [f"c{i}" for i in range(6)]
    wide = TableDomain("wide", tuple(IntegerDomain(c, 0, 28) for c in columns))
    text = "SELECT COUNT(*) FROM wide WHERE " + " AND ".join(f"(c{i} < 5 OR c{i + 1} < 7)" for i in (0, 2, 4))
    assert FrontEnd(Policy(POLICY.privacy, (wide,)), public_sql()).lower(text).blocks
    monkeypatch.setattr(value_classes, "MAX_CELLS", 3 * 30 * 30 - 1)
    with pytest.raises(UnsupportedQuery, match="at once"):
        FrontEnd(Policy(POLICY.privacy, (wide,)), public_sql()).lower(text)
