"""The shell's commands, and its prompt on a simulated terminal."""

import stat
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from dpsql import BudgetExhausted, UnsupportedQuery
from dpsql.domain import CategoryDomain, IntegerDomain, TableDomain
from dpsql.interface.console import Console
from dpsql.interface.shell.completer import SqlCompleter
from dpsql.interface.shell.prompt import default_history, run_input, run_prompt
from dpsql.interface.shell.repl import run_lines, run_shell
from dpsql.interface.shell.shell import COMMANDS, Shell
from tests.support.fake_session import FakeSession, counts

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def session() -> FakeSession:
    return FakeSession(
        {"refused": UnsupportedQuery("no"), "exhausted": BudgetExhausted("no", requested=1.0, remaining=0.0)}
    )


@pytest.fixture
def shell(session: FakeSession) -> Shell:
    return Shell(session, Console(), read_lines=run_lines)


@pytest.fixture
def keys() -> Iterator[PipeInput]:
    with create_pipe_input() as source:
        yield source


def executed(session: FakeSession) -> list[str]:
    return [text for text, _ in session.executed]


def press(shell: Shell, keys: PipeInput, text: str) -> None:
    """Type, then leave by Ctrl-D."""
    keys.send_text(text + "\x04")
    run_prompt(shell, title="census.duckdb", history=InMemoryHistory(), source=keys, screen=DummyOutput())


def test_statement_runs_at_the_line_that_ends_it(shell: Shell, session: FakeSession, keys: PipeInput) -> None:
    press(shell, keys, "SELECT 1\rFROM t;\rSELECT ';\r';\r")
    assert executed(session) == ["SELECT 1\nFROM t", "SELECT ';\n'"]


def test_several_statements_at_once(shell: Shell, session: FakeSession, keys: PipeInput) -> None:
    press(shell, keys, "SELECT 1; SELECT 2;\r")
    assert executed(session) == ["SELECT 1", "SELECT 2"]


def test_ctrl_c_cancels_the_input_and_ctrl_d_leaves(shell: Shell, session: FakeSession, keys: PipeInput) -> None:
    press(shell, keys, "SELECT 1\r\x03SELECT 2;\r")
    assert executed(session) == ["SELECT 2"]


def test_ctrl_d_leaves_on_an_empty_line_and_gives_up_what_was_begun(
    shell: Shell, session: FakeSession, keys: PipeInput
) -> None:
    press(shell, keys, "SELECT 1;\rSELECT 2\r\x04;\r")
    assert executed(session) == ["SELECT 1"]


def test_ctrl_d_deletes_elsewhere(shell: Shell, session: FakeSession, keys: PipeInput) -> None:
    press(shell, keys, "SELECT 3\x04 + 4\x1b[D\x04;\r")
    assert executed(session) == ["SELECT 3 +"]


def test_interrupted_statement_leaves_the_shell_open(
    shell: Shell, session: FakeSession, keys: PipeInput, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    def interrupt(*_: object) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "execute", interrupt)
    press(shell, keys, "SELECT 1;\rSELECT 2;\r")
    assert executed(session) == ["SELECT 2"]
    assert "interrupted\n" in capsys.readouterr().err


def test_an_interrupted_statement_says_what_it_paid(
    shell: Shell, session: FakeSession, keys: PipeInput, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    def interrupt(*_: object) -> None:
        monkeypatch.undo()
        stopped = KeyboardInterrupt()
        stopped.add_note("epsilon 0.125 was paid")
        raise stopped

    monkeypatch.setattr(session, "execute", interrupt)
    press(shell, keys, "SELECT 1;\r")
    assert "interrupted; epsilon 0.125 was paid\n" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["\\q", "quit", "exit", "quit;", ".exit"])
def test_words_that_leave(shell: Shell, session: FakeSession, keys: PipeInput, word: str) -> None:
    press(shell, keys, f"{word}\rSELECT 1;\r")
    assert executed(session) == []


def test_a_command_in_the_midst_of_a_statement_is_run_and_the_statement_goes_on(
    shell: Shell, session: FakeSession, keys: PipeInput, capsys: Captured
) -> None:
    press(shell, keys, "SELECT 1\r\\budget\rFROM t;\rSELECT 2\rFROM t \\d people\r;\r")
    assert executed(session) == ["SELECT 1\nFROM t", "SELECT 2\nFROM t"]
    out = capsys.readouterr().out
    assert "epsilon 0.25 of 1 spent" in out and "privacy unit: one row" in out


def test_leaving_in_the_midst_of_a_statement(shell: Shell, session: FakeSession, keys: PipeInput) -> None:
    press(shell, keys, "SELECT 1\r\\q\r;\r")
    assert executed(session) == [] and shell.leaving


def test_ctrl_c_forgets_a_statement_that_would_go_on(shell: Shell, session: FakeSession, keys: PipeInput) -> None:
    press(shell, keys, "SELECT 1\r\\timing\r\x03SELECT 2;\r")
    assert executed(session) == ["SELECT 2"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["SELECT 1\n", "\\timing\n", "FROM t;\n"], ["SELECT 1\nFROM t"]),
        (["SELECT 1 \\timing\n", "FROM t;\n"], ["SELECT 1 \nFROM t"]),
        (["SELECT 0; SELECT 1 \\timing\n", "FROM t\n"], ["SELECT 0", "SELECT 1 \nFROM t"]),
        (["SELECT 1\n", "\\q\n", ";\n"], []),
        (["SELECT '\n", "\\q\n", "'; SELECT 2;\n"], ["SELECT '\n\\q\n'", "SELECT 2"]),
        (["SELECT 1 /* \n", "\\q */ ;\n"], ["SELECT 1 /* \n\\q */"]),
        (["SELECT 1 -- \\q\n", ";\n"], ["SELECT 1 -- \\q"]),
        (['SELECT "\\q" FROM t\n', ";\n"], ['SELECT "\\q" FROM t']),
        (["SELECT $$\n", "\\q$$;\n"], ["SELECT $$\n\\q$$"]),
        (["SELECT 1 \\ 2;\n"], ["SELECT 1 \\ 2"]),
    ],
)
def test_commands_between_lines_that_are_piped(
    shell: Shell, session: FakeSession, lines: list[str], expected: list[str]
) -> None:
    run_lines(shell, lines)
    assert [" ".join(text.split()) for text in executed(session)] == [" ".join(text.split()) for text in expected]


def test_prompt_greets_with_the_budget(shell: Shell, keys: PipeInput, capsys: Captured) -> None:
    press(shell, keys, "")
    assert "on census.duckdb: epsilon 0.75 of 1 left" in capsys.readouterr().err


def test_history_is_the_users_own_file_and_holds_no_answer(
    shell: Shell, keys: PipeInput, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    history = default_history()
    assert isinstance(history, FileHistory)
    keys.send_text("SELECT 1;\r\x04")
    run_prompt(shell, title="t", history=history, source=keys, screen=DummyOutput())
    (path,) = (tmp_path / "state").rglob("history")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    assert lines == ["+SELECT 1;"]


def test_history_without_a_place_to_keep_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "file" / "below"))
    assert isinstance(default_history(), InMemoryHistory)


def test_list_tables_and_columns(shell: Shell, capsys: Captured) -> None:
    shell.handle("\\d")
    shell.handle('\\d "PEOPLE";')
    out = capsys.readouterr().out
    assert "people        1      3  one row" in out
    assert "member  boolean  false, true  yes" in out


def test_public_tables_are_listed_as_public(shell: Shell, session: FakeSession, capsys: Captured) -> None:
    session.public = {"Regions": (("region", "VARCHAR"), ("is capital", "BOOLEAN"))}
    for text in ("\\d", "\\d regions", "\\d region"):
        shell.handle(text)
    said = capsys.readouterr()
    assert "people         1      3  one row" in said.out
    assert "Regions        2         none: public" in said.out
    assert "Regions: 2 columns; public" in said.out and "is capital  BOOLEAN" in said.out
    assert said.err.splitlines() == ["error: there is no table region", "hint: tables: people, Regions (public)"]


def test_budget_and_explain(shell: Shell, session: FakeSession, capsys: Captured) -> None:
    shell.handle("\\budget")
    shell.handle("\\explain SELECT 1;")
    out = capsys.readouterr().out
    assert "epsilon 0.25 of 1 spent" in out
    assert "costs at most" in out
    assert (executed(session), session.explained) == ([], [("SELECT 1;", None)])


def test_timing(shell: Shell, capsys: Captured) -> None:
    for text in ("SELECT 1", "\\timing", "SELECT 1", "\\timing off", "SELECT 1"):
        shell.handle(text)
    assert capsys.readouterr().out.count(" ms)") == 1


def test_words_of_commands_may_end_with_a_semicolon(shell: Shell, capsys: Captured) -> None:
    for text in ("\\timing on;", "\\timing ON ;", "\\hide on;", "\\timing maybe", "\\o csv;"):
        shell.handle(text)
    said = capsys.readouterr().err.splitlines()
    assert said[:3] == ["timing is on", "timing is on", "groups that may be empty are hidden"]
    assert said[3:] == [
        "error: \\timing is on or off, not maybe", "hint: write \\timing on, or \\timing off", "results as csv"
    ]  # fmt: skip


def test_hiding(shell: Shell, session: FakeSession, capsys: Captured) -> None:
    session.default = replace(counts(values=(10, 2)), within=(False, True))
    for text in ("SELECT 1", "\\hide", "SELECT 1", "\\hide off", "SELECT 1"):
        shell.handle(text)
    shown = capsys.readouterr()
    assert (shown.out.count("g0"), shown.out.count("g1")) == (3, 2)
    assert "1 of 2 groups are hidden" in shown.out
    assert "groups that may be empty are hidden" in shown.err


@pytest.mark.parametrize("command", ["\\dt", "\\d+", ".tables", "\\d\tpeople", '\\d "PEOPLE";', ".schema people"])
def test_words_of_other_shells_list_tables(shell: Shell, capsys: Captured, command: str) -> None:
    shell.handle(command)
    assert "people" in capsys.readouterr().out and shell.code == 0


def test_words_of_other_shells_do_the_same(
    shell: Shell, session: FakeSession, capsys: Captured, tmp_path: Path
) -> None:
    (tmp_path / "x.sql").write_text("SELECT 7;")
    for command in (".mode csv", ".timer on", f"\\i {tmp_path / 'x.sql'}", "\\help"):
        shell.handle(command)
    said = capsys.readouterr()
    assert executed(session) == ["SELECT 7"] and shell.code == 0
    assert "results as csv" in said.err and "timing is on" in said.err and "this list" in said.out
    for command in (".output x.csv", "\\o x.csv"):
        shell.handle(command)
        assert "dpsql run FILE.sql -o OUT writes results to a file" in capsys.readouterr().err


def test_a_table_with_a_quote_in_its_name_is_described(
    shell: Shell, session: FakeSession, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    odd = TableDomain('two "words" ', TABLE.columns)
    monkeypatch.setattr(session, "tables", lambda: (odd,))
    (offered,) = SqlCompleter((odd,)).get_completions(Document("\\d "), CompleteEvent(completion_requested=True))
    assert offered.text == '"two ""words"" "'
    shell.handle(f"\\d {offered.text}")
    assert shell.code == 0 and "privacy unit" in capsys.readouterr().out


def test_format(shell: Shell, capsys: Captured) -> None:
    shell.handle("\\o csv")
    shell.handle("SELECT 1")
    assert capsys.readouterr().out.startswith("g,n,n_error,n_low,n_high,n_source,n_certified\n")
    shell.handle("\\o parquet")
    assert "no format 'parquet'" in capsys.readouterr().err


def test_read_a_file(shell: Shell, session: FakeSession, tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "q.sql"
    path.write_text("\\timing on\nSELECT 1;\nSELECT\n2")
    shell.handle(f".read {path}")
    assert executed(session) == ["SELECT 1", "SELECT\n2"]
    path.write_text(f".read {path}")
    shell.handle(f".read {path}")
    assert "goes too deep" in capsys.readouterr().err


def test_errors_among_many_statements_say_where(
    shell: Shell, session: FakeSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    session.results["at"] = UnsupportedQuery("no", line=1, column=3)
    text = "SELECT 1;\n  at; refused;\n\\nope\n"
    (tmp_path / "q.sql").write_text(text)
    shell.handle(f".read {tmp_path / 'q.sql'}")
    heads = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error:")]
    assert heads == ["error: q.sql:2:5: no", "error: q.sql:2: no", "error: q.sql:3: there is no command \\nope"]
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(text.encode())))
    run_shell(session, shell.console, title="t")
    heads = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error:")]
    assert heads == ["error: line 2, column 5: no", "error: line 2: no", "error: line 3: there is no command \\nope"]
    shell.handle("at")  # what is typed has no other place
    assert "error: line 1, column 3: no" in capsys.readouterr().err


NO_LINE_ENDS = ("\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")


@pytest.mark.parametrize("sign", NO_LINE_ENDS)
def test_only_ends_of_lines_end_a_line(shell: Shell, session: FakeSession, tmp_path: Path, sign: str) -> None:
    texts = [f"SELECT 1 -- was: {sign} SELECT 2", f"SELECT 'a{sign}b'"]
    path = tmp_path / "q.sql"
    path.write_bytes((texts[0] + "\n;" + texts[1] + ";\r\n\\timing\r\n").encode())
    shell.handle(f".read {path}")
    run_input(shell, "; ".join(reversed(texts)) + "\n;")
    assert executed(session) == [*texts, *reversed(texts)]
    assert shell.code == 0


def test_a_carriage_return_ends_a_comment_and_stays_in_a_string(
    shell: Shell, session: FakeSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As DuckDB reads it, whichever way the text comes."""
    text = "SELECT 1 -- one;\r; SELECT 'a\rb\r\nc';\r\\timing\rSELECT 3;"
    expected = ["SELECT 1 -- one;", "SELECT 'a\rb\r\nc'", "SELECT 3"]
    (tmp_path / "q.sql").write_bytes(text.encode())
    shell.handle(f".read {tmp_path / 'q.sql'}")
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(text.encode())))
    assert run_shell(session, shell.console, title="t") == 0
    run_input(shell, text)
    assert executed(session) == expected * 3


def test_read_tells_nothing_of_files_that_are_no_sql(shell: Shell, tmp_path: Path, capsys: Captured) -> None:
    said = []
    for name in ("passwd", "missing"):
        if name == "passwd":
            (tmp_path / name).write_text("root:x:0:0:secret;")
        shell.handle(f".read {tmp_path / name}")
        said.append(capsys.readouterr().err.replace(name, ""))
    assert said[0] == said[1] and "secret" not in said[0]


@pytest.mark.parametrize(
    "text",
    [
        "\\nonsense",
        ".read",
        ".read /no/such/file",
        ".read ~nobody-at-all/x.sql",
        "\\d nothing",
        "\\explain ;",
        "\\o yaml",
        "\\hide maybe",
        "\\timing maybe;",
    ],
)
def test_refused_commands_have_a_hint(shell: Shell, text: str, capsys: Captured) -> None:
    shell.handle(text)
    assert "hint: " in capsys.readouterr().err
    assert shell.code == 1


def test_help_lists_every_command(shell: Shell, capsys: Captured) -> None:
    shell.handle("help")
    out = capsys.readouterr().out
    assert all(name in out for name, _ in COMMANDS)


def test_exit_code_is_that_of_the_worst_error(shell: Shell) -> None:
    shell.handle("refused")
    assert shell.code == 1
    shell.handle("exhausted")
    shell.handle("refused")
    assert shell.code == 3


TABLE = TableDomain(
    "people",
    (CategoryDomain("sex", ("Female", "Male")), CategoryDomain("job", ("it's", "Farm")), IntegerDomain("Age", 0, 9)),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sel", ["SELECT"]),
        ("SELECT * FROM peo", ["people"]),
        ("SELECT a", ["Age", "AND", "AS", "ASC", "AVG("]),
        ("WHERE sex = '", ["Female'", "Male'"]),
        ("WHERE sex IN ('Male', 'F", ["Female'"]),
        ("WHERE job <> 'i", ["it''s'"]),
        ("WHERE f", ["FROM", "FILTER (WHERE", "FALSE"]),
        ("WHERE x = 'fa", ["Farm'"]),
        ("\\ex", ["\\explain"]),
        ("\\d p", ["people"]),
        ("\\o c", ["csv"]),
        ("", []),
    ],
)
def test_completion(text: str, expected: list[str]) -> None:
    found = SqlCompleter((TABLE,)).get_completions(Document(text), CompleteEvent(completion_requested=True))
    assert sorted(c.text for c in found) == sorted(expected)


ODD = TableDomain("my visits", (CategoryDomain("Age Years", ("it's",)), CategoryDomain("group", ("a", "b"))))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT ag", ['"Age Years"']),
        ('SELECT "age y', ['Age Years"']),
        ('SELECT "Age Years", "g', ['group"']),
        ("SELECT gr", ['"group"', "GROUP BY"]),
        ("FROM my", ['"my visits"']),
        ("\\d MY", ['"my visits"']),
        ("SELECT v.g", ['"group"']),
        ("""WHERE "it's" = 1 AND "group" = '""", ["a'", "b'"]),
    ],
)
def test_names_that_need_quotes_are_completed_with_them(text: str, expected: list[str]) -> None:
    found = SqlCompleter((ODD,)).get_completions(Document(text), CompleteEvent(completion_requested=True))
    assert [c.text for c in found] == expected
