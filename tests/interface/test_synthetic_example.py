"""examples/synthetic: the commands of its pages are run, and what they print compared with numbers and bars masked."""

import re
from pathlib import Path

import pytest

from dpsql.interface.cli import cli
from dpsql.interface.demo.databases import build
from tests.support.command_line import runner
from tests.support.dual import NEEDS_SOLVER
from tests.support.lessons import learned_briefly

ROOT = Path(__file__).parents[2]


def examples(page: str) -> list[tuple[str, str]]:
    """The arguments of each command of a page, and what it says that they print."""
    text = (ROOT / "examples" / "synthetic" / page).read_text(encoding="utf-8")
    return re.findall(r"```console\n\$ dpsql ([^\n]*)\n(.*?)```", text, re.DOTALL)


EXAMPLES = examples("expected.md")
OFFLINE = examples("offline.md")


def masked(text: str) -> str:
    numbers = re.sub(r"\d[\d_,]*(\.\d+)?(e-?\d+)?", "#", text)
    return "\n".join(re.sub(r"[█#░\s]+", " ", line).strip() for line in numbers.strip().splitlines())


def lines(text: str) -> list[str]:
    """Standard output and error come apart here, and together on some pages."""
    return sorted(line for line in masked(text).split("\n") if line)


def check(example: tuple[str, str], folder: Path, *, notices: bool = False) -> None:
    """Run an example after those before it, in one folder. ``notices``: the page has them too."""
    arguments, expected = example
    (database,) = re.findall(r"data/(\w+)\.duckdb", arguments)
    if not (folder / "data" / f"{database}.duckdb").exists():
        build(database, folder / "data")
    shown = runner().invoke(cli, arguments.split(), catch_exceptions=False)
    assert shown.exit_code == 0, shown.stderr
    if notices:
        said = [line for line in shown.stderr.splitlines() if not line.startswith("notice: new ledger")]
        assert lines("\n".join([shown.stdout, *said])) == lines(expected)
    else:
        assert masked(shown.stdout) == masked(expected)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    learned_briefly(monkeypatch)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "data").mkdir()
    return tmp_path


def test_the_mask_keeps_what_is_said() -> None:
    assert masked("a: 1,204 rows\n 10 %  3.5 ███") == "a: rows\n%" == masked("a: 7 rows\n 10 %  9 █")
    assert masked("a: rows") != masked("b: rows")


def test_the_first_examples_print_what_their_page_says(folder: Path) -> None:
    for example in EXAMPLES[:2]:
        check(example, folder)


@NEEDS_SOLVER
@pytest.mark.slow
def test_all_examples_print_what_their_page_says(folder: Path) -> None:
    pytest.importorskip("highspy")  # the comparison runs every method
    for example in EXAMPLES:
        check(example, folder)


def test_offline_methods_print_what_their_page_says(folder: Path) -> None:
    assert len(OFFLINE) == 2
    for example in OFFLINE:
        check(example, folder, notices=True)
