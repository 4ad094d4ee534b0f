"""The command line as a process: streams, signals, broken pipes, colours, start-up."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "tests.support.fake_main"]


@pytest.fixture
def database(tmp_path: Path) -> str:
    path = tmp_path / "census.duckdb"
    path.touch()
    return str(path)


def run(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=ROOT,
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        env=os.environ | {"PYTHONIOENCODING": "utf-8"} | environment,
        timeout=60,
        check=False,
    )


def test_answer_and_exit_code(database: str) -> None:
    shown = run("query", database, "SELECT 1")
    assert shown.returncode == 0
    assert "10 ± 3 *" in shown.stdout
    assert "\x1b" not in shown.stdout
    assert shown.stderr == "notice: a notice\n"


def test_piped_shell_has_no_prompt_and_no_echo(database: str) -> None:
    shown = run("shell", database, stdin="SELECT\n 1;\n\\d\nnonsense_command;\n\\nonsense\nSELECT 2")
    assert shown.returncode == 1
    assert "dpsql>" not in shown.stdout
    assert "SELECT" not in shown.stdout
    assert shown.stdout.count("(3 rows)") == 3
    assert "error: line 5: there is no command \\nonsense\nhint: \\? lists the commands\n" in shown.stderr


def test_a_piped_text_is_read_as_it_is(database: str) -> None:
    shown = run("shell", database, stdin="SELECT 1; -- was: \u2028 SELECT 2;\r\nSELECT 4;\r\n\\timing\r\n")
    assert (shown.returncode, shown.stdout.count("(3 rows)")) == (0, 2)


@pytest.mark.parametrize("locale", ["utf-8:strict", "latin-1", "ascii"])
def test_a_pipe_is_utf8_whatever_the_locale_says(database: str, locale: str) -> None:
    """With or without the mark that editors put before it; other bytes are refused in dpsql's words."""

    def piped(command: str, data: bytes) -> subprocess.CompletedProcess[bytes]:
        arguments = [*COMMAND, command, database, *([] if command == "shell" else ["-"])]
        environment = os.environ | {"PYTHONIOENCODING": locale}
        return subprocess.run(arguments, cwd=ROOT, input=data, capture_output=True, env=environment, check=False)

    for command in ("query", "run", "shell"):
        assert piped(command, b"\xef\xbb\xbfSELECT '\xc3\xa9'").stderr == b"notice: a notice\n"
        shown = piped(command, b"SELECT '\xff'").stderr
        assert b"internal" not in shown
        assert command == "shell" or b"is not UTF-8 text: save or convert it" in shown  # there the statement is refused


def test_a_batch_into_a_pipe(database: str, tmp_path: Path) -> None:
    """As ``-o >(gzip > out.gz)`` makes one: there is nothing to seek in, and nothing to resume."""
    script, pipe = tmp_path / "q.sql", tmp_path / "pipe"
    script.write_text("SELECT 1; SELECT 2; SELECT 3")
    os.mkfifo(pipe)
    arguments = [*COMMAND, "run", database, str(script), "--format", "jsonl", "-o", str(pipe)]
    with subprocess.Popen(arguments, cwd=ROOT, stderr=subprocess.PIPE) as process:
        assert pipe.read_bytes().count(b'"statement": 3') == 3
        assert process.wait(30) == 0
    assert sorted(tmp_path.glob("pipe*")) == [pipe]


def test_broken_pipe_is_quiet(database: str) -> None:
    process = subprocess.Popen(
        [*COMMAND, "query", database, "LONG", "--format", "csv"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b"notice: a notice\n"
    process.stderr.close()
    assert process.wait(30) == 1


@pytest.mark.parametrize(
    ("arguments", "streams", "said"),
    [
        (["run", "DB", "-"], "<&-", "standard input is closed"),
        (["query", "DB", "-"], "<&-", "standard input is closed"),
        (["shell", "DB"], "<&-", "standard input is closed"),
        (["query", "DB", "SELECT 1"], ">&-", "standard output is closed"),
        (["budget", "DB"], ">&-", "standard output is closed"),
        (["run", "DB", "-"], ">&-", "standard output is closed"),
        (["--help"], ">&-", "standard output is closed"),
        (["--help"], ">/dev/full", "output: No space left on device"),
        (["query", "DB", "SELECT 1"], ">/dev/full", "output: No space left on device"),
        (["query", "DB", "SELECT 1"], ">&- 2>&-", ""),
        (["query", "DB", "SELECT 1"], "2>/dev/full", ""),
    ],
)
def test_streams_that_are_closed_or_full(database: str, arguments: list[str], streams: str, said: str) -> None:
    command = [*COMMAND, *(database if a == "DB" else a for a in arguments)]
    shell = ["sh", "-c", f'"$@" {streams}', "sh", *command]
    shown = subprocess.run(shell, cwd=ROOT, input="", capture_output=True, encoding="utf-8", timeout=60, check=False)
    assert shown.returncode == 1
    told = shown.stderr.removeprefix("notice: a notice\n")
    assert (told.startswith(f"error: {said}\nhint: ") and told.count("\n") == 2) if said else told == ""


def test_nothing_that_is_opened_gets_the_number_of_a_closed_stream(database: str) -> None:
    shown = subprocess.run(
        ["sh", "-c", '"$@" <&- 2>&-', "sh", *COMMAND, "query", database, "FILES", "--format", "csv"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert (shown.returncode, shown.stdout) == (0, "descriptor\nabove 2\n")


def test_interrupt_is_130(database: str) -> None:
    process = subprocess.Popen(
        [*COMMAND, "query", database, "SLEEP"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    process.stderr.readline()  # the notice: the session is open
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=30)
    assert (process.returncode, rest) == (130, b"interrupted\n")


PRESSED_WHILE_IMPORTING = """
import sys
class Pressed:
    def find_spec(self, name, *_):
        if name == "{}":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Pressed())
from dpsql.__main__ import main
main()
"""
PRESSED_AT_THE_END = """
import atexit, os, signal, sys
from dpsql.__main__ import main
atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))
sys.argv[1:] = ["--version"]
main()
"""


@pytest.mark.parametrize("name", ["click", "numpy", "pyarrow", "dpsql.interface.cli"])
def test_ctrl_c_while_the_program_is_loaded(name: str) -> None:
    command = [sys.executable, "-c", PRESSED_WHILE_IMPORTING.format(name)]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=60, check=False)
    assert (shown.returncode, shown.stdout, shown.stderr) == (130, "", "")


def test_ctrl_c_once_all_is_written() -> None:
    command = [sys.executable, "-c", PRESSED_AT_THE_END]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=60, check=False)
    assert shown.stdout.startswith("dpsql, version") and shown.stderr == ""


def test_what_nobody_foresaw_shows_no_value(database: str) -> None:
    shown = run("query", database, "CRASH")
    assert shown.returncode == 1
    assert "error: internal error (RuntimeError)" in shown.stderr
    assert "canary" not in shown.stdout + shown.stderr


def test_an_ascii_terminal_gets_ascii(database: str) -> None:
    shown = run("query", database, "SELECT 1", PYTHONIOENCODING="ascii")
    assert shown.returncode == 0
    assert "10 +/- 3 *" in shown.stdout
    assert shown.stdout.isascii()
    wide = run("query", database, "WIDE", "--format", "csv", PYTHONIOENCODING="latin-1")
    assert (wide.returncode, wide.stdout) == (0, "city\n\\u6771\\u4eac\n")


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_colour_only_on_a_terminal_and_unless_no_color(database: str, no_color: str, coloured: bool) -> None:
    shown = on_terminal("query", database, "SELECT 1", NO_COLOR=no_color, TERM="xterm")
    assert "10 ± 3 *" in shown
    assert ("\x1b[1m" in shown) is coloured


def test_help_is_fast() -> None:
    start = time.perf_counter()
    shown = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "dpsql", "--help"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert time.perf_counter() - start < 5  # the machine may be busy; what matters is what is imported
    imported = {line.rsplit("|", 1)[1].strip() for line in shown.stderr.splitlines() if "|" in line}
    assert not imported & {"duckdb", "sqlglot", "opendp", "pandas", "polars", "prompt_toolkit", "pyarrow.parquet"}


def on_terminal(*arguments: str, **environment: str) -> str:
    """What a terminal gets to see."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments], cwd=ROOT, stdin=slave, stdout=slave, stderr=slave, env=os.environ | environment
    )
    os.close(slave)
    shown = b""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if select.select([master], [], [], 0.1)[0]:
            try:
                part = os.read(master, 65536)
            except OSError:  # how Linux says that the other side is closed
                break
            if not part:
                break
            shown += part
        elif process.poll() is not None:
            break
    process.wait(30)
    os.close(master)
    return shown.decode()
