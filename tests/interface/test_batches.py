"""Batches with failures: which statement each result is of, and where a later run goes on."""

import csv
import json
import os
from io import StringIO
from pathlib import Path

import pytest
from click.testing import Result

from dpsql import UnsupportedQuery
from tests.support.command_line import CommandLine
from tests.support.fake_session import FakeSession, counts

FIVE = [f"SELECT {i}" for i in range(1, 6)]
REFUSED = UnsupportedQuery('not "this", nor\nthat', hint="write another")


@pytest.fixture
def dpsql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    found = CommandLine(FakeSession(default=counts(values=(10,))), tmp_path, monkeypatch)
    (tmp_path / "five.sql").write_text(";\n".join(FIVE))
    found.session.results |= {FIVE[1]: REFUSED, FIVE[3]: REFUSED}
    return found


def run(dpsql: CommandLine, out: Path, *more: str) -> Result:
    dpsql.session.executed.clear()
    return dpsql("run", str(out.parent / "five.sql"), "-o", str(out), *more)


def executed(dpsql: CommandLine) -> list[str]:
    return [text for text, _ in dpsql.session.executed]


def without_times(out: Path) -> list[str]:
    return [line for line in out.read_text().splitlines() if not line.startswith("(1 row")]


def test_in_csv_the_block_of_a_statement_has_its_place(dpsql: CommandLine, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert run(dpsql, out, "--keep-going").exit_code == 1
    rows = list(csv.reader(StringIO(out.read_text())))
    blocks = [[[]]]
    for row in rows:
        if row:
            blocks[-1][-1].append(row)
        else:
            blocks.append([[]])
    headers = [block[0][0] for block in blocks]
    assert [header[0] for header in headers] == ["g", "statement", "g", "statement", "g"]
    assert headers[1] == ["statement", "error", "hint"]
    assert [block[0][1] for block in blocks[1::2]] == [[n, REFUSED.message, REFUSED.hint] for n in "24"]


def test_parquet_files_have_their_statements_numbers(dpsql: CommandLine, tmp_path: Path) -> None:
    """None that an earlier run left stands for a statement that fails now."""
    (tmp_path / "out-002.parquet").write_text("an earlier run's")
    out = tmp_path / "out.parquet"
    assert run(dpsql, out, "--keep-going").exit_code == 1
    assert sorted(part.name for part in tmp_path.glob("out-*")) == [f"out-00{n}.parquet" for n in (1, 3, 5)]
    dpsql.session.results.clear()
    assert run(dpsql, out, "--resume").exit_code == 0
    assert executed(dpsql) == FIVE[1:]
    assert len(list(tmp_path.glob("out-*"))) == 5


def test_a_link_is_not_removed_before_it_is_written(dpsql: CommandLine, tmp_path: Path) -> None:
    """``/dev/stdout`` is one."""
    out, real = tmp_path / "out.parquet", tmp_path / "real"
    real.write_text("an earlier run's")
    out.symlink_to(real)
    assert dpsql("run", "-", "--format", "parquet", "-o", str(out), stdin=FIVE[0]).exit_code == 0
    assert out.is_symlink() and real.read_bytes().startswith(b"PAR1")


def test_a_pipe_is_written_to_as_it_is(dpsql: CommandLine, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    os.mkfifo(out)
    reader = os.open(out, os.O_RDWR)
    try:
        assert dpsql("run", "-", "-o", str(out), stdin=FIVE[0]).exit_code == 0
        assert out.is_fifo() and os.read(reader, 4) == b"PAR1"
        assert dpsql("run", "-", "-o", str(out), stdin=FIVE[1]).exit_code == 1
    finally:
        os.close(reader)
    assert not list(tmp_path.glob("*.progress"))


@pytest.mark.parametrize("form", ["table", "csv", "json", "jsonl", "markdown"])
def test_a_run_that_kept_going_is_resumed_at_its_first_failure(dpsql: CommandLine, tmp_path: Path, form: str) -> None:
    out, whole = tmp_path / "out", tmp_path / "whole"
    shown = run(dpsql, out, "--keep-going", "--format", form)
    assert shown.exit_code == 1 and "--resume goes on at statement 2" in shown.stderr
    assert executed(dpsql) == FIVE
    assert json.loads((tmp_path / "out.progress").read_text())["done"] == 1
    dpsql.session.results.pop(FIVE[1])
    assert run(dpsql, out, "--keep-going", "--resume", "--format", form).exit_code == 1
    assert executed(dpsql) == FIVE[1:]
    dpsql.session.results.clear()
    shown = run(dpsql, out, "--keep-going", "--resume", "--format", form)
    assert shown.exit_code == 0 and "--resume" not in shown.stderr
    assert executed(dpsql) == FIVE[3:]
    assert run(dpsql, whole, "--format", form).exit_code == 0
    assert without_times(out) == without_times(whole)
    assert not list(tmp_path.glob("*.progress*"))


def test_a_batch_whose_first_statement_failed_is_resumed(dpsql: CommandLine, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    dpsql.session.results[FIVE[0]] = REFUSED
    assert run(dpsql, out).exit_code == 1
    dpsql.session.results.clear()
    assert run(dpsql, out, "--resume").exit_code == 0
    assert [one["statement"] for one in json.loads(out.read_text())] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_finished_output_is_not_begun_anew_by_resume(dpsql: CommandLine, tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    dpsql.session.results.clear()
    assert run(dpsql, out, "--resume").exit_code == 0  # nothing is there yet
    before = {p: p.read_bytes() for p in tmp_path.glob("out*")}
    shown = run(dpsql, out, "--resume")
    assert shown.exit_code == 1 and executed(dpsql) == []
    assert f"without {name}.progress: there is nothing to go on with" in shown.stderr
    assert "run without --resume to write it anew" in shown.stderr
    assert {p: p.read_bytes() for p in tmp_path.glob("out*")} == before
    assert run(dpsql, out).exit_code == 0


def test_a_parquet_file_that_is_gone_is_missed(dpsql: CommandLine, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    assert run(dpsql, out).exit_code == 1
    (tmp_path / "out-001.parquet").unlink()
    shown = run(dpsql, out, "--resume")
    assert shown.exit_code == 1 and "out-001.parquet is not there, which out.parquet.progress says" in shown.stderr


@pytest.mark.parametrize("damage", [{"size": -1}, {"done": -1}, {"done": float("inf")}, {"done": None}])
def test_progress_that_cannot_be_is_refused(dpsql: CommandLine, tmp_path: Path, damage: dict[str, object]) -> None:
    out, beside = tmp_path / "out.csv", tmp_path / "out.csv.progress"
    dpsql.session.results[FIVE[0]] = REFUSED
    assert run(dpsql, out).exit_code == 1
    beside.write_text(json.dumps(json.loads(beside.read_text()) | damage))
    assert "is of other statements" in run(dpsql, out, "--resume").stderr
