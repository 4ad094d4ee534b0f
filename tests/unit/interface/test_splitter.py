"""Statements end at semicolons outside strings, names and comments."""

import time

import pytest

from dpsql.interface.shell.line_reader import Input, LineReader
from dpsql.interface.splitter import is_complete, split


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" ;; \n -- only a comment; really\n /* and ; /* nested; */ another */ ;", []),
        ("SELECT 1", ["SELECT 1"]),
        ("SELECT 1;SELECT 2 ; ", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';', 'it''s;' ; SELECT 2", ["SELECT ';', 'it''s;'", "SELECT 2"]),
        ("SELECT E'a\\';b'; SELECT 2", ["SELECT E'a\\';b'", "SELECT 2"]),
        ("SELECT 'a\\'; SELECT 2", ["SELECT 'a\\'", "SELECT 2"]),
        ('SELECT ";", "a"";"; SELECT 2', ['SELECT ";", "a"";"', "SELECT 2"]),
        ("SELECT $$a;'b$$; SELECT 2", ["SELECT $$a;'b$$", "SELECT 2"]),
        ("SELECT $x$ $y$;$y$ $x$; SELECT 2", ["SELECT $x$ $y$;$y$ $x$", "SELECT 2"]),
        ("SELECT $low, $1; SELECT 2", ["SELECT $low, $1", "SELECT 2"]),
        ("SELECT a$b$; SELECT c$b$", ["SELECT a$b$", "SELECT c$b$"]),
        ("SELECT 1 -- to; do\n + 1; SELECT 2", ["SELECT 1 -- to; do\n + 1", "SELECT 2"]),
        ("SELECT 1 /* ; */ + 1; SELECT 2", ["SELECT 1 /* ; */ + 1", "SELECT 2"]),
        ("SELECT 'open; SELECT 2", ["SELECT 'open; SELECT 2"]),
    ],
)
def test_statements(text: str, expected: list[str]) -> None:
    assert [p.text for p in split(text)] == expected


def test_position_is_that_of_the_first_character_of_the_statement() -> None:
    pieces = split("-- first\nSELECT 1;\n\n  /* second */ SELECT 2;")
    assert [(p.line, p.column) for p in pieces] == [(2, 1), (4, 16)]


def test_parameters_are_named_outside_strings_and_comments() -> None:
    (piece,) = split("SELECT $low, '$no', $$ $no $$, \"$no\", $low, $high -- $no")
    assert piece.parameters == {"low", "high"}


@pytest.mark.parametrize(
    ("text", "unclosed"),
    [
        ("SELECT 'a;", "a string"),
        ('SELECT "a;', "a quoted name"),
        ("SELECT /* a;", "a comment"),
        ("SELECT $$ a;", "a dollar-quoted string"),
        ("SELECT 1", None),
    ],
)
def test_what_is_left_open(text: str, unclosed: str | None) -> None:
    (piece,) = split(text)
    assert (piece.ended, piece.open) == (False, unclosed)
    assert not is_complete(text)


def test_complete() -> None:
    assert is_complete("")
    assert is_complete("SELECT 1; -- done")
    assert not is_complete("SELECT 1; SELECT 2")


@pytest.mark.parametrize("text", ["'" + "''" * 100_000, "/*" * 100_000, "$a" * 100_000, "e'" + "\\'" * 100_000])
def test_time_is_linear(text: str) -> None:
    start = time.perf_counter()
    split(text)
    assert time.perf_counter() - start < 2


def test_lines_are_gathered_into_statements_and_commands() -> None:
    reader = LineReader()
    lines = ["\\d adult\n", "SELECT 'a;\n", "  b'\n", "; SELECT 2; SEL", "ECT\n", " 3\n", ";\n", ".read x.sql\n"]
    assert [i.text for line in lines for i in reader.feed(line)] == [
        "\\d adult",
        "SELECT 'a;\n  b'",
        "SELECT 2",
        "SEL\nECT\n 3",
        ".read x.sql",
    ]


def test_a_backslash_inside_a_statement_is_no_command() -> None:
    reader = LineReader()
    assert [i.text for line in ("SELECT '\n", "\\q\n", "';\n") for i in reader.feed(line)] == ["SELECT '\n\\q\n'"]


def test_a_last_statement_needs_no_semicolon() -> None:
    reader = LineReader()
    assert reader.feed("SELECT 1\n") == []
    assert reader.finish() == [Input("SELECT 1", 1, 1)]
    assert reader.finish() == []


def test_inputs_know_where_they_begin() -> None:
    reader = LineReader()
    lines = [
        "-- one\n",
        "\n",
        " SELECT 1\n",
        "  , 2; SELECT '\n",
        "\\q' ;  SELECT 3;\n",
        "\n",
        "  \\d t\n",
        "SELECT \\timing\n",
        "4;\n",
    ]
    found = [i for line in lines for i in reader.feed(line)]
    assert [(i.text, i.line, i.column) for i in found] == [
        ("SELECT 1\n  , 2", 3, 2),
        ("SELECT '\n\\q'", 4, 8),
        ("SELECT 3", 5, 8),
        ("\\d t", 7, 1),
        ("\\timing", 8, 8),
        ("SELECT \n4", 8, 1),
    ]
    reader.feed("SELECT 5; /* no */ SELECT 6\n")
    reader.feed(" + 7")
    assert reader.finish() == [Input("SELECT 6\n + 7", 10, 20)]
