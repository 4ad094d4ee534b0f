"""``dpsql run``: formats, parameters, failures, and going on after an interruption."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow import parquet

from dpsql import BudgetExhausted, Error, LedgerError, UnsupportedQuery
from dpsql.interface.batch.output import ALIKE
from dpsql.result import Note
from tests.support.command_line import CommandLine
from tests.support.fake_session import FakeSession, counts

SCRIPT = "-- three questions\nSELECT 1;\nSELECT ';';\n\nSELECT 3"
THREE = ["SELECT 1", "SELECT ';'", "SELECT 3"]
REFUSED = UnsupportedQuery("refused", hint="write another")


@pytest.fixture
def dpsql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(FakeSession(default=counts(values=(10,))), tmp_path, monkeypatch)


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "queries.sql"
    path.write_text(SCRIPT)
    return str(path)


def executed(dpsql: CommandLine) -> list[str]:
    return [text for text, _ in dpsql.session.executed]


def test_all_statements_in_order(dpsql: CommandLine, script: str) -> None:
    shown = dpsql("run", script)
    assert shown.exit_code == 0
    assert executed(dpsql) == THREE
    assert [line for line in shown.stdout.splitlines() if line.startswith("--")] == [
        "-- 1. SELECT 1",
        "-- 2. SELECT ';'",
        "-- 3. SELECT 3",
    ]


def test_parameters_go_where_they_are_named(dpsql: CommandLine) -> None:
    shown = dpsql("run", "-", "-p", "a=1", "-p", "b=x", stdin="SELECT $a; SELECT 2; SELECT $b, $a")
    assert shown.exit_code == 0
    assert dpsql.session.executed == [
        ("SELECT $a", {"a": 1}),
        ("SELECT 2", None),
        ("SELECT $b, $a", {"a": 1, "b": "x"}),
    ]
    assert "$" not in shown.stderr


def test_a_parameter_that_no_statement_names_is_told(dpsql: CommandLine) -> None:
    shown = dpsql("run", "-", "-p", "a=1", "-p", "aa=2", stdin="SELECT $a; SELECT 2")
    assert shown.exit_code == 0
    assert "notice: no statement names $aa: its value is not used" in shown.stderr and "$a:" not in shown.stderr


def test_first_failure_stops(dpsql: CommandLine, script: str) -> None:
    dpsql.session.results[THREE[1]] = REFUSED
    shown = dpsql("run", script)
    assert shown.exit_code == 1
    assert executed(dpsql) == THREE[:2]
    assert f"error: {script}:3: statement 2: refused\nhint: write another\n" in shown.stderr


def test_a_failure_has_its_place_in_the_file(dpsql: CommandLine, tmp_path: Path) -> None:
    """Whichever line of its statement it is in; a statement may begin behind another one."""
    script = tmp_path / "places.sql"
    script.write_text("SELECT 1; SELECT\n\n  nothing;\n SELECT 2")
    dpsql.session.results["SELECT\n\n  nothing"] = UnsupportedQuery("not this", line=3, column=3, hint="x")
    dpsql.session.results["SELECT 2"] = UnsupportedQuery("nor this", line=1, column=8, hint="x")
    shown = dpsql("run", str(script), "--keep-going")
    assert f"error: {script}:3:3: statement 2: not this\n" in shown.stderr
    assert f"error: {script}:4:9: statement 3: nor this\n" in shown.stderr
    assert "error: line 3, column 3: not this" in shown.stdout  # below its statement


@pytest.mark.parametrize("command", ["query", "run"])
def test_the_ending_of_the_output_names_the_format(
    dpsql: CommandLine, script: str, tmp_path: Path, command: str
) -> None:
    asked = "SELECT 1" if command == "query" else script
    for ending, begins in ((".csv", "g,n,"), (".json", "["), (".jsonl", "{"), (".md", ("|", "**1.**"))):
        out = tmp_path / f"out{ending}"
        assert dpsql(command, asked, "-o", str(out)).exit_code == 0
        assert out.read_text().startswith(begins)
    for out, more in ((tmp_path / "out.txt", ()), (tmp_path / "table.csv", ("--format", "table"))):
        assert dpsql(command, asked, "-o", str(out), *more).exit_code == 0
        assert "───" in out.read_text()


@pytest.mark.parametrize("command", ["query", "run"])
def test_what_a_failed_statement_has_charged_is_told(dpsql: CommandLine, tmp_path: Path, command: str) -> None:
    failed = UnsupportedQuery("failed", hint="write another")
    failed.after_charge(0.25)
    dpsql.session.results["SELECT 1"] = failed
    (tmp_path / "one.sql").write_text("SELECT 1")
    shown = dpsql(command, "SELECT 1" if command == "query" else str(tmp_path / "one.sql"))
    assert "charged: epsilon 0.25; what it bought is kept" in shown.stderr


def test_keep_going(dpsql: CommandLine, script: str) -> None:
    dpsql.session.results[THREE[1]] = REFUSED
    shown = dpsql("run", script, "--keep-going")
    assert shown.exit_code == 1
    assert executed(dpsql) == THREE


@pytest.mark.parametrize(
    ("error", "code", "asked"),
    [
        (BudgetExhausted("no more", requested=1.0, remaining=0.0), 3, 3),
        (LedgerError("altered"), 1, 2),
    ],
)
def test_worst_failure_decides(dpsql: CommandLine, script: str, error: Error, code: int, asked: int) -> None:
    dpsql.session.results |= {THREE[0]: REFUSED, THREE[1]: error}
    shown = dpsql("run", script, "--keep-going")
    assert (shown.exit_code, len(dpsql.session.executed)) == (code, asked)


def test_json_is_one_document(dpsql: CommandLine, script: str) -> None:
    dpsql.session.results[THREE[1]] = REFUSED
    found = json.loads(dpsql("run", script, "--format", "json", "--keep-going").stdout)
    assert [(s["statement"], s["line"]) for s in found] == [(1, 2), (2, 3), (3, 5)]
    assert found[0]["rows"][0]["n"]["value"] == 10
    assert (found[1]["error"], found[1]["hint"]) == ("refused", "write another")
    stopped = json.loads(dpsql("run", script, "--format", "json").stdout)
    assert len(stopped) == 1


def test_no_statement_at_all(dpsql: CommandLine) -> None:
    shown = dpsql("run", "-", "--format", "json", stdin="-- nothing\n;")
    assert (shown.exit_code, json.loads(shown.stdout)) == (0, [])


def test_jsonl_names_the_statement(dpsql: CommandLine, script: str) -> None:
    lines = [json.loads(line) for line in dpsql("run", script, "--format", "jsonl").stdout.splitlines()]
    assert [line["statement"] for line in lines] == [1, 2, 3]
    assert lines[0]["row"]["n"]["value"] == 10


def test_csv_results_are_separated_by_a_blank_line(dpsql: CommandLine, script: str) -> None:
    blocks = dpsql("run", script, "--format", "csv").stdout.split("\n\n")
    assert [b.splitlines()[0] for b in blocks] == ["g,n,n_error,n_low,n_high,n_source,n_certified"] * 3


def test_parquet_needs_a_file_and_writes_one_per_statement(dpsql: CommandLine, script: str, tmp_path: Path) -> None:
    assert dpsql("run", script, "--format", "parquet").exit_code == 2
    out = tmp_path / "out.parquet"
    assert dpsql("run", script, "--format", "parquet", "-o", str(out)).exit_code == 0
    parts = sorted(p.name for p in tmp_path.glob("out-*.parquet"))
    assert parts == ["out-001.parquet", "out-002.parquet", "out-003.parquet"]
    assert not list(tmp_path.glob("out.parquet*"))
    assert parquet.read_table(tmp_path / parts[2]).column("n").to_pylist() == [10]


def test_a_parquet_file_is_a_result_or_not_there(dpsql: CommandLine, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    for text in ("", "-- nothing", THREE[1]):
        dpsql.session.results[THREE[1]] = REFUSED
        shown = dpsql("run", "-", "--format", "parquet", "-o", str(out), stdin=text)
        assert shown.exit_code == (1 if text == THREE[1] else 0) and not out.exists()
    assert dpsql("run", "-", "--format", "parquet", "-o", str(out), stdin="SELECT 1").exit_code == 0
    assert parquet.read_table(out).column("n").to_pylist() == [10]


def test_resume_needs_a_file(dpsql: CommandLine, script: str) -> None:
    assert dpsql("run", script, "--resume").exit_code == 2


@pytest.mark.parametrize("form", ["table", "csv", "json", "jsonl", "markdown"])
def test_resumed_output_is_that_of_one_run(dpsql: CommandLine, script: str, tmp_path: Path, form: str) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    # the time in the table's footer is the only thing that may differ
    assert dpsql("run", script, "--format", form, "-o", str(whole)).exit_code == 0
    dpsql.session.executed.clear()
    dpsql.session.results[THREE[1]] = REFUSED
    assert dpsql("run", script, "--format", form, "-o", str(parts)).exit_code == 1
    with parts.open("a") as file:
        file.write("torn last write")
    assert (tmp_path / "parts.progress").exists()
    del dpsql.session.results[THREE[1]]
    assert dpsql("run", script, "--format", form, "-o", str(parts), "--resume").exit_code == 0
    assert executed(dpsql) == [*THREE[:2], *THREE[1:]]
    kept = [[line for line in p.read_text().splitlines() if not line.startswith("(1 row")] for p in (whole, parts)]
    assert kept[0] == kept[1]
    assert not (tmp_path / "parts.progress").exists()


def test_names_of_queries_are_given_again(dpsql: CommandLine, tmp_path: Path) -> None:
    """A session's names do not outlive its process; what they name is asked where it is read, so they cost nothing."""
    file, out = tmp_path / "names.sql", str(tmp_path / "out")
    statements = ["CREATE VIEW v AS SELECT 1 AS x", "SELECT 2", "SELECT x FROM v"]
    file.write_text("; ".join(statements))
    dpsql.session.results[statements[2]] = REFUSED
    assert dpsql("run", str(file), "-o", out).exit_code == 1
    dpsql.session.executed.clear()
    del dpsql.session.results[statements[2]]
    assert dpsql("run", str(file), "-o", out, "--resume").exit_code == 0
    assert executed(dpsql) == [statements[0], statements[2]]


def test_a_statement_that_failed_may_be_mended_and_what_was_done_stays(dpsql: CommandLine, tmp_path: Path) -> None:
    file, out = tmp_path / "mended.sql", tmp_path / "out"
    file.write_text("; ".join(THREE))
    dpsql.session.results[THREE[1]] = REFUSED
    assert dpsql("run", str(file), "-o", str(out)).exit_code == 1
    del dpsql.session.results[THREE[1]]
    before = out.read_bytes()
    dpsql.session.executed.clear()
    file.write_text(f"{THREE[0]}; SELECT 2 + 2; {THREE[2]}")
    assert dpsql("run", str(file), "-o", str(out), "--resume").exit_code == 0
    assert executed(dpsql) == ["SELECT 2 + 2", THREE[2]]
    assert out.read_bytes().startswith(before)
    file.write_text("; ".join(THREE))
    dpsql.session.results[THREE[1]] = REFUSED
    assert dpsql("run", str(file), "-o", str(out)).exit_code == 1
    file.write_text(f"SELECT 1 + 1; {THREE[1]}; {THREE[2]}")
    shown = dpsql("run", str(file), "-o", str(out), "--resume")
    assert (shown.exit_code, "is of other statements" in shown.stderr) == (1, True)


def test_resume_refuses_another_batch(dpsql: CommandLine, script: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    dpsql.session.results[THREE[2]] = REFUSED
    dpsql("run", script, "-o", str(out))
    before = out.read_bytes()
    shown = dpsql("run", script, "-o", str(out), "-p", "a=1", "--resume")
    assert shown.exit_code == 1
    assert "is of other statements, another format or other parameters" in shown.stderr
    assert out.read_bytes() == before
    out.write_text("")
    assert "is shorter than" in dpsql("run", script, "-o", str(out), "--resume").stderr
    (tmp_path / "out.progress").write_text("not JSON")
    assert dpsql("run", script, "-o", str(out), "--resume").exit_code == 1


def test_interrupted_batch_goes_on(
    dpsql: CommandLine, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.json"
    answer = dpsql.session.execute

    def interrupt_third(text: str, parameters: object = None, terms: object = None) -> object:
        if text == THREE[2]:
            raise KeyboardInterrupt
        return answer(text)

    monkeypatch.setattr(dpsql.session, "execute", interrupt_third)
    shown = dpsql("run", script, "--format", "json", "-o", str(out))
    assert shown.exit_code == 130
    assert "--resume" in shown.stderr
    assert len(json.loads(out.read_text())) == 2
    monkeypatch.setattr(dpsql.session, "execute", answer)
    assert dpsql("run", script, "--format", "json", "-o", str(out), "--resume").exit_code == 0
    assert [s["statement"] for s in json.loads(out.read_text())] == [1, 2, 3]


def test_not_utf8(dpsql: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "latin.sql"
    path.write_bytes(b"SELECT '\xe9'")
    shown = dpsql("run", str(path))
    assert shown.exit_code == 2
    assert "is not UTF-8" in shown.stderr


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_batch_says_the_first_notes_of_a_kind_and_that_there_are_more(
    dpsql: CommandLine, form: str, tmp_path: Path
) -> None:
    """Conditions on numbers have a note each: thousands of lines beside as many results say less than eight."""
    statements = [f"SELECT {i}" for i in range(ALIKE + 5)]
    other = Note("strings", "only the frequent strings of name are groups")
    for i, text in enumerate(statements):
        dpsql.session.results[text] = replace(counts(values=(10,)), notes=(Note("bins", f"part {i // 2 * 2}"), other))
    shown = dpsql("run", "-", "--format", form, stdin=";".join(statements * 2))
    said = [line for line in shown.stderr.splitlines() if "part" in line or "further" in line or "frequent" in line]
    if form == "json":
        assert said == []
        assert [len(each["notes"]) for each in json.loads(shown.stdout)] == [2] * 2 * len(statements)
    else:
        assert [line.split()[-1] for line in said if "part" in line] == ["0", "2", "4", "6", "8", "10", "12"]
        assert sum("frequent strings" in line for line in said) == 1
        assert not any("further" in line for line in said)


def test_notes_beyond_the_first_of_a_kind_are_said_to_be_left_out_once(dpsql: CommandLine) -> None:
    """But none of those that say of which rows of a table numbers speak."""
    statements = [f"SELECT {i}" for i in range(2 * ALIKE)]
    for i, text in enumerate(statements):
        notes = (Note("left out", f"table {i}"), Note("bins", f"part {i}"))
        dpsql.session.results[text] = replace(counts(values=(10,)), notes=notes)
    shown = dpsql("run", "-", "--format", "csv", stdin=";".join(statements)).stderr.splitlines()
    assert [line for line in shown if "part" in line] == [f"note: part {i}" for i in range(ALIKE)]
    assert [line for line in shown if "table" in line] == [f"note: table {i}" for i in range(2 * ALIKE)]
    (more,) = [line for line in shown if "further notes" in line]
    assert "--format json" in more
