"""Commands, their streams and exit codes, on a canned session."""

import json
from pathlib import Path

import pytest

from dpsql import BudgetExhausted, UnsupportedQuery
from tests.support.command_line import CommandLine
from tests.support.fake_session import FakeSession

REFUSED = UnsupportedQuery("LIKE on a text column", line=1, column=8, hint="declare prefixes")
EXHAUSTED = BudgetExhausted("the budget does not allow it", requested=0.1, remaining=0.05)


@pytest.fixture
def dpsql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    session = FakeSession({"refused": REFUSED, "exhausted": EXHAUSTED})
    return CommandLine(session, tmp_path, monkeypatch)


def test_help_lists_the_commands_in_the_order_of_a_first_hour(dpsql: CommandLine) -> None:
    shown = dpsql.plain(["--help"])
    assert shown.exit_code == 0
    commands = [line.split()[0] for line in shown.stdout.split("Commands:\n")[1].splitlines() if line.startswith("  ")]
    assert [c for c in commands if c.isalpha()][:10] == [
        "demo",
        "init",
        "shell",
        "run",
        "query",
        "explain",
        "synth",
        "extract",
        "budget",
        "check",
    ]
    assert "3 budget exhausted" in shown.stdout


@pytest.mark.parametrize("command", ["demo", "init", "shell", "run", "query", "explain", "extract", "budget", "check"])
def test_each_command_has_help(dpsql: CommandLine, command: str) -> None:
    assert dpsql.plain([command, "-h"]).exit_code == 0


def test_query_writes_the_answer_to_stdout_and_notices_to_stderr(dpsql: CommandLine) -> None:
    shown = dpsql("query", "SELECT 1")
    assert shown.exit_code == 0
    assert "10 ± 3 *" in shown.stdout
    assert "* paid: epsilon 0.125 of 1, 0.75 left" in shown.stdout
    assert shown.stderr == "notice: a notice\n"
    assert dpsql.session.executed == [("SELECT 1", None)]
    assert dpsql.session.closed == 1


def test_options_reach_the_session(dpsql: CommandLine) -> None:
    dpsql("budget", "--policy", "p.toml", "--ledger", "l.ledger", "--new-budget")
    dpsql("budget")
    assert dpsql.opened == [
        (dpsql.database, Path("p.toml"), "l.ledger", True),
        (dpsql.database, None, None, False),
    ]


def test_a_source_is_the_database_of_every_command(dpsql: CommandLine) -> None:
    shown = dpsql.plain(["--source", str(dpsql.database), "query", "SELECT 1", "--policy", "p.toml"])
    assert shown.exit_code == 0 and dpsql.session.executed == [("SELECT 1", None)]
    shown = dpsql.plain(["--source", "postgresql://ann@db/clinic", "budget"])
    assert shown.exit_code == 0
    shown = dpsql.plain(["--source", str(dpsql.database)], stdin="SELECT 2;")  # alone: its shell
    assert shown.exit_code == 0 and "10 ± 3" in shown.stdout
    assert dpsql.opened == [
        (dpsql.database, Path("p.toml"), None, False),
        ("postgresql://ann@db/clinic", None, None, False),
        (dpsql.database, None, None, False),
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["demo"], "--source is not for demo"),
        (["init", "x.duckdb"], "--source is not for init"),
        (["query", "other.duckdb", "SELECT 1"], "unexpected extra argument"),
        (["nosuch"], "No such command"),
    ],
)
def test_a_source_that_is_of_no_use_is_a_usage_error(dpsql: CommandLine, arguments: list[str], words: str) -> None:
    shown = dpsql.plain(["--source", str(dpsql.database), *arguments])
    assert shown.exit_code == 2 and words in shown.stderr
    assert dpsql.opened == []


def test_a_source_without_a_file_is_a_usage_error(dpsql: CommandLine) -> None:
    shown = dpsql.plain(["--source", "nowhere.duckdb"])
    assert shown.exit_code == 2 and "nowhere.duckdb" in shown.stderr
    assert dpsql.plain(["--"]).exit_code == 2


def test_refused_is_1_and_exhausted_is_3(dpsql: CommandLine) -> None:
    refused = dpsql("query", "refused")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "error: line 1, column 8: LIKE on a text column\nhint: declare prefixes\n" in refused.stderr
    exhausted = dpsql("query", "exhausted")
    assert (exhausted.exit_code, exhausted.stdout) == (3, "")
    assert "hint: equal questions stay free" in exhausted.stderr
    assert dpsql.session.closed == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["query"],
        ["query", "no-such-file.duckdb", "SELECT 1"],
        ["query", "DATABASE", "SELECT 1", "--format", "yaml"],
        ["run", "DATABASE", "no-such-file.sql"],
        ["budget", "DATABASE", "--nonsense"],
    ],
)
def test_usage_is_2(dpsql: CommandLine, arguments: list[str]) -> None:
    shown = dpsql.plain([str(dpsql.database) if a == "DATABASE" else a for a in arguments])
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert not dpsql.opened


def test_interrupted_is_130(dpsql: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(dpsql.session, "execute", interrupt)
    shown = dpsql("query", "SELECT 1")
    assert (shown.exit_code, shown.stdout) == (130, "")
    assert dpsql.session.closed == 1


def test_parameters_are_typed_and_only_those_named_are_sent(dpsql: CommandLine) -> None:
    sql = "SELECT COUNT(*) FROM t WHERE a >= $low AND s = $s"
    given = dpsql("query", sql, "-p", "low=30", "-p", "s=Male", "-p", "other=1")
    assert dpsql.session.executed == [(sql, {"low": 30, "s": "Male"})]
    assert "notice: no statement names $other: its value is not used" in given.stderr
    missing = dpsql("query", sql, "-p", "low=30")
    assert missing.exit_code == 1
    assert "no value for $s" in missing.stderr


def test_statement_from_stdin(dpsql: CommandLine) -> None:
    dpsql("query", "-", stdin="SELECT\n 2")
    assert dpsql.session.executed == [("SELECT\n 2", None)]


@pytest.mark.parametrize(
    ("form", "first"),
    [
        ("csv", "g,n,n_error,n_low,n_high,n_source,n_certified"),
        ("json", "["),
        ("jsonl", '{"g": "g0", "n": {"value": 10, '),
        ("markdown", "| g | n | n_error | n_certified |"),
    ],
)
def test_formats(dpsql: CommandLine, form: str, first: str) -> None:
    assert dpsql("query", "SELECT 1", "--format", form).stdout.startswith(first)


def test_output_file(dpsql: CommandLine, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    shown = dpsql("query", "SELECT 1", "--format", "csv", "-o", str(out))
    assert (shown.exit_code, shown.stdout) == (0, "")
    assert out.read_text().startswith("g,n,n_error,n_low,n_high,n_source,n_certified\n")


def test_output_that_cannot_be_written_is_an_error_with_a_hint(dpsql: CommandLine, tmp_path: Path) -> None:
    shown = dpsql("query", "SELECT 1", "-o", str(tmp_path / "missing" / "out"))
    assert shown.exit_code == 1
    assert "error: " in shown.stderr
    assert "hint: " in shown.stderr


def test_explain(dpsql: CommandLine) -> None:
    shown = dpsql("explain", "SELECT 1")
    assert shown.exit_code == 0
    assert "people  member" in shown.stdout
    assert dpsql.session.explained == [("SELECT 1", None)]
    assert dpsql.session.executed == []


def test_budget(dpsql: CommandLine) -> None:
    assert "epsilon 0.25 of 1 spent, 0.75 left" in dpsql("budget").stdout
    state = json.loads(dpsql("budget", "--json").stdout)
    assert (state["epsilon"], state["remaining_epsilon"], state["queries_free"]) == (1.0, 0.75, 9)


def test_messages_are_escaped(dpsql: CommandLine) -> None:
    dpsql.session.results["bad"] = UnsupportedQuery("name \x1b[2J is unknown")
    assert "\x1b" not in dpsql("query", "bad").stderr


@pytest.mark.parametrize(
    ("command", "words"),
    [("init", ["--table NAME"]), ("synth", ["--table NAME", "--method NAME", "--rows N"])],
)
def test_help_says_what_options_take(dpsql: CommandLine, command: str, words: list[str]) -> None:
    shown = " ".join(dpsql.plain([command, "--help"]).stdout.split())
    assert [w for w in words if w not in shown] == []
