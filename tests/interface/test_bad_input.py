"""Whatever is sent: an answer or a ``dpsql.Error`` with a hint, soon, at no charge, and the session goes on."""

import datetime
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import dpsql
from dpsql.interface.cli import cli
from tests.support import city, statements
from tests.support.command_line import runner
from tests.support.fuzz import damaged

SECONDS = 2.0
"""Of this process's own work: other processes may keep the machine busy."""
QUESTION = "SELECT COUNT(*) FROM people WHERE age >= 5"
WITH_VALUE = "SELECT COUNT(*) FROM people WHERE age = ?"
WITH_NAME = "SELECT COUNT(*) FROM people WHERE age = $low"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("bad")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPSQL_STATE_HOME", str(folder / "state"))
        yield city.build(folder / "city")


@pytest.fixture(scope="module")
def con(database: Path) -> Iterator[dpsql.Connection]:
    with dpsql.connect(database) as connection:
        connection.execute(QUESTION)
        yield connection


def harmless(error: BaseException) -> bool:
    """Nothing of DuckDB's, Arrow's or SQLite's in the chain: their messages quote rows; the parser's only the text."""
    while True:
        if type(error).__module__.partition(".")[0] not in ("dpsql", "builtins", "sqlglot"):
            return False
        if error.__cause__ is not None and not harmless(error.__cause__):
            return False
        if error.__context__ is None:
            return True
        error = error.__context__


def refused(con: dpsql.Connection, text: Any, parameters: Any = None) -> dpsql.Error:
    """The refusal: soon, with a hint, at no charge; explained alike; the session still answers."""
    before, known = con.budget, con.execute(QUESTION).fetchall()
    started = time.process_time()
    with pytest.raises(dpsql.Error) as caught:
        con.execute(text, parameters)
    assert time.process_time() - started < SECONDS
    error = caught.value
    assert type(error) is not dpsql.Error
    assert str(error).strip()
    assert len(str(error)) < 2000
    assert error.hint.strip()
    assert harmless(error)
    if isinstance(text, str) and not isinstance(parameters, (str, bytes, int, set)):
        with pytest.raises(type(error)):
            con.explain(text, parameters)
    assert con.budget == before
    assert con.execute(QUESTION).fetchall() == known
    return error


@pytest.mark.parametrize("text", statements.REFUSED)
def test_refused_statements(con: dpsql.Connection, text: str) -> None:
    refused(con, text)


@pytest.mark.parametrize(
    ("text", "suggested"),
    [
        ("SELECT COUNT(*) FROM peple", "people"),
        ("SELECT COUNT(*) FROM people WHERE regin = 'north'", "region"),
        ("SELECT COUNT(*) FROM visits v WHERE v.knd = 'walk'", "kind"),
        ("SELECT agee, COUNT(*) FROM people GROUP BY agee", "age"),
    ],
)
def test_an_unknown_name_suggests_a_known_one(con: dpsql.Connection, text: str, suggested: str) -> None:
    error = refused(con, text)
    assert isinstance(error, dpsql.UnknownName)
    assert error.suggestions[0] == suggested
    assert f"did you mean {suggested}?" in error.hint
    assert (error.line, error.column is not None) == (1, True)


HUGE = {
    "a megabyte of one word": "x" * (1 << 20),
    "a megabyte of a condition": QUESTION + " OR age = 1" * (1 << 17),
    "a megabyte of spaces": "SELECT" + " " * (1 << 20) + "1",
    "a megabyte of a string": f"SELECT COUNT(*) FROM people WHERE name = '{'x' * (1 << 20)}'",
    "parentheses": f"SELECT COUNT(*) FROM people WHERE {'(' * 10_000}true{')' * 10_000}",
    "open parentheses": "SELECT " + "(" * 10_000,
    "closed parentheses": "SELECT 1" + ")" * 10_000,
    "brackets": "SELECT " + "[" * 10_000 + "]" * 10_000,
    "subqueries": "SELECT * FROM (" * 3000 + "SELECT 1" + ")" * 3000,
    "cases": "SELECT " + "CASE WHEN true THEN " * 1000 + "1" + " END" * 1000,
    "negations": "SELECT COUNT(*) FROM people WHERE " + "NOT " * 10_000 + "member",
    "minus signs": "SELECT " + "- " * 30_000 + "1",
    "a list of 100,000": f"SELECT COUNT(*) FROM people WHERE age IN ({','.join(map(str, range(100_000)))})",
    "a short list of 30,000": f"SELECT COUNT(*) FROM people WHERE age IN ({','.join(['1'] * 30_000)})",
    "commas": "SELECT " + "," * 60_000,
    "quotes": "'" * 60_001,
    "double quotes": '"' * 60_001,
    "dollars": "$" * 60_000,
    "comments": "/*" * 30_000,
    "semicolons": ";" * 60_000,
    "unions": " UNION ALL ".join(["SELECT age FROM people"] * 2000),
    "tables": "SELECT COUNT(*) FROM " + ",".join(["people"] * 5000),
    "a long name": f'SELECT COUNT(*) FROM "{"p" * 60_000}"',
    "a long column": f"SELECT COUNT(*) FROM people WHERE {'c' * 60_000} = 1",
    "a long function": f"SELECT COUNT(*) FROM people WHERE {'f' * 60_000}(age)",
    "a long number": f"SELECT COUNT(*) FROM people WHERE age = {'9' * 60_000}a",
    "rows without end": "SELECT COUNT(*) FROM people, range(1000000000000)",
    "a recursion": "WITH RECURSIVE t AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM t) SELECT MAX(x) FROM t",
    "a long result": "SELECT repeat('x', 1000000000) FROM (SELECT COUNT(*) FROM people)",
}


@pytest.mark.parametrize("text", HUGE.values(), ids=HUGE)
def test_too_much_text(con: dpsql.Connection, text: str) -> None:
    refused(con, text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\n\t",
        "\0",
        f"{QUESTION}\0",
        "SELECT '\0'",
        "\ud800",
        f"{QUESTION} -- \udfff",
        "\ufeff",
        "\x1b[31m",
        ";;",
    ],
)
def test_no_text(con: dpsql.Connection, text: str) -> None:
    refused(con, text)


@pytest.mark.parametrize("text", [None, 3, 1.5, b"SELECT 1", bytearray(b"SELECT 1"), ["SELECT 1"], object(), str, True])
def test_not_a_text(con: dpsql.Connection, text: Any) -> None:
    refused(con, text)
    with pytest.raises(dpsql.Error) as caught:
        con.explain(text)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        (WITH_VALUE, None),
        (WITH_VALUE, []),
        (WITH_VALUE, [1, 2]),
        (WITH_VALUE, {"low": 1}),
        (WITH_VALUE, "1"),
        (WITH_VALUE, b"1"),
        (WITH_VALUE, 1),
        (WITH_VALUE, {1}),
        (WITH_VALUE, iter([1])),
        (WITH_VALUE, [object()]),
        (WITH_VALUE, [1j]),
        (WITH_VALUE, [print]),
        (WITH_VALUE, [[[1]]]),
        (WITH_VALUE, [{"a": 1}]),
        (WITH_VALUE, ["\0"]),
        (WITH_VALUE, ["\ud800"]),
        (WITH_VALUE, ["five"]),
        (WITH_VALUE, [datetime.timedelta(days=1)]),
        (WITH_NAME, None),
        (WITH_NAME, {}),
        (WITH_NAME, [1]),
        (WITH_NAME, {"high": 1}),
        (WITH_NAME, {1: 1}),
        (WITH_NAME, {"low": object()}),
        (QUESTION, [1]),
        (f"{WITH_VALUE} AND age = $low", [1]),
        ("SELECT COUNT(*) FROM ?", ["people"]),
        ("SELECT ? FROM people", [1]),
        ("SELECT COUNT(*) FROM people WHERE age IN ?", [range(100_000)]),
        ("SELECT COUNT(*) FROM people WHERE age IN ?", [list(range(100_000))]),
        ("SELECT COUNT(*) FROM people WHERE name IN ?", [[object()]]),
    ],
)
def test_wrong_parameters(con: dpsql.Connection, text: str, parameters: Any) -> None:
    refused(con, text, parameters)


@pytest.mark.parametrize(
    "value",
    [
        10**40,
        -(10**40),
        1e308,
        Decimal("1e999"),
        Decimal("NaN"),
        float("nan"),
        float("inf"),
        "x" * 100_000,
        b"\0\xff",
        datetime.date.max,
        datetime.datetime(1, 1, 1, tzinfo=datetime.UTC),
        datetime.time.max,
        "'; DROP TABLE people; --",
        True,
        None,
        "",
        Decimal(1),
    ],
)
def test_odd_values_are_answered_or_refused(con: dpsql.Connection, value: object) -> None:
    for column in ("age", "name", "region", "hours", "joined", "member"):
        before = con.budget
        try:
            con.execute(f"SELECT COUNT(*) FROM people WHERE {column} = ?", [value])
        except dpsql.Error as error:
            assert error.hint
            assert con.budget == before
            assert harmless(error)


def test_a_sum_beyond_64_bits_is_refused(con: dpsql.Connection) -> None:
    with pytest.raises(dpsql.Error) as caught:
        con.execute("SELECT SUM(9223372036854775808) FROM visits")
    assert caught.value.hint
    assert caught.value.__context__ is None


def test_damaged_statements_raise_nothing_else(con: dpsql.Connection) -> None:
    hunt(con, 1, 2500)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_damaged_statements_raise_nothing_else(con: dpsql.Connection, seed: int) -> None:
    hunt(con, seed, 20_000)


def hunt(con: dpsql.Connection, seed: int, count: int) -> None:
    seeds = (
        *statements.STABLE,
        *statements.RELEASED,
        *statements.REFUSED[::4],
        *statements.COMMANDS,
        *statements.golden(),
    )
    known, answered = con.execute(QUESTION).fetchall(), 0
    for text in damaged(seed, seeds, count):
        spent = con.budget.spent_epsilon
        started = time.process_time()
        try:
            con.execute(text)
            answered += 1
        except dpsql.InternalError:
            raise
        except dpsql.Error as error:
            assert error.hint, text
            assert con.budget.spent_epsilon == spent, text
            assert harmless(error), text
        assert time.process_time() - started < SECONDS, text
    assert con.execute(QUESTION).fetchall() == known
    assert count / 25 < answered < count  # the damage is neither total nor without effect


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["query", "{db}", "SELECT COUNT(*) FROM peple"], 1),
        (["query", "{db}", ""], 1),
        (["query", "{db}", "SELECT name FROM people"], 1),
        (["query", "{db}", "\udcff"], 1),
        (["query", "{db}", "x" * 70_000], 1),
        (["query", "{db}", WITH_NAME], 1),
        (["query", "{db}", WITH_NAME, "-p", "low"], 2),
        (["query", "{db}", WITH_NAME, "-p", "=1"], 2),
        (["query", "{db}"], 2),
        (["query", "{db}", QUESTION, "--format", "xml"], 2),
        (["query", "{db}.missing", QUESTION], 2),
        (["query", "{dir}", QUESTION], 2),
        (["query", "{policy}", QUESTION], 1),
        (["query", "{db}", QUESTION, "--policy", "{db}"], 1),
        (["query", "{db}", QUESTION, "--policy", "{db}.missing"], 1),
        (["query", "{db}", QUESTION, "--policy", "{dir}"], 2),
        (["query", "{db}", QUESTION, "--ledger", "{dir}"], 2),
        (["query", "{db}", QUESTION, "--ledger", "{db}"], 1),
        (["query", "{db}", QUESTION, "--ledger", "{dir}/nowhere/a.ledger"], 1),
        (["query", "{db}", QUESTION, "-o", "{dir}/nowhere/out"], 1),
        (["explain", "{db}", "SELEC"], 1),
        (["explain", "{db}", "SELECT 1; SELECT 2"], 1),
        (["run", "{db}", "{dir}/missing.sql"], 2),
        (["run", "{db}", "{db}"], 2),
        (["run", "{db}", "{dir}"], 2),
        (["budget", "{db}", "--bogus"], 2),
        (["nonsense"], 2),
        (["init", "{db}"], 1),
        (["init", "{policy}"], 1),
        (["check", "{policy}"], 1),
        (["check", "{db}", "--policy", "{db}"], 1),
    ],
)
def test_the_command_line_refuses(con: dpsql.Connection, database: Path, arguments: list[str], code: int) -> None:
    before = con.budget
    places = {"{db}": database, "{dir}": database.parent, "{policy}": database.parent / "city.dpsql.toml"}
    for place, path in places.items():
        arguments = [a.replace(place, str(path)) for a in arguments]
    started = time.process_time()
    shown = runner().invoke(cli, arguments, catch_exceptions=False)
    assert time.process_time() - started < SECONDS
    assert shown.exit_code == code, shown.stderr
    assert "Traceback" not in shown.stderr
    assert shown.stdout == ""
    assert ("\nhint: " in shown.stderr) if code == 1 else ("Error: " in shown.stderr)
    assert con.budget == before
