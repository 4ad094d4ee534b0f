"""examples/synthetic: its commands are run, and what they print compared with every number and bar masked."""

import re
from pathlib import Path

import pytest

from dpsql.interface.cli import cli
from dpsql.interface.demo.databases import build
from tests.support.command_line import runner
from tests.support.lessons import learned_briefly

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "examples" / "synthetic" / "expected.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```console\n\$ dpsql ([^\n]*)\n(.*?)```", PAGE, re.DOTALL)
QUICK = 1
"""The first command runs in the fast suite: the others do the same to larger tables."""


def masked(text: str) -> str:
    numbers = re.sub(r"\d[\d_,]*(\.\d+)?(e-?\d+)?", "#", text)
    return "\n".join(re.sub(r"[█#░\s]+", " ", line).strip() for line in numbers.strip().splitlines())


def check(number: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("DPSQL_STATE_HOME", str(folder / "state"))
    learned_briefly(monkeypatch)
    (folder / "examples").symlink_to(ROOT / "examples")
    arguments, expected = EXAMPLES[number]
    (database,) = re.findall(r"data/(\w+)\.duckdb", arguments)
    (folder / "data").mkdir()
    build(database, folder / "data")
    shown = runner().invoke(cli, arguments.split(), catch_exceptions=False)
    assert shown.exit_code == 0, shown.stderr
    assert masked(shown.stdout) == masked(expected)


def test_the_mask_keeps_what_is_said() -> None:
    assert masked("a: 1,204 rows\n 10 %  3.5 ███") == "a: rows\n%" == masked("a: 7 rows\n 10 %  9 █")
    assert masked("a: rows") != masked("b: rows")


@pytest.mark.parametrize("number", range(QUICK))
def test_an_example_prints_what_its_page_says(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(number, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(QUICK, len(EXAMPLES)))
def test_longer_examples_too(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(number, tmp_path, monkeypatch)
