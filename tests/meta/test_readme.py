"""The README's session is run, and its output compared with every number masked: the numbers are noise."""

import doctest
import re
import traceback
from pathlib import Path

import pytest
from click.testing import CliRunner

import dpsql
from dpsql.interface.cli import cli
from tests.support.lessons import learned_briefly

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
_DIGITS = re.compile(r"\d[\d_,]*(\.\d+)?(e-?\d+)?")


def _session() -> str:
    (block,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    return str(block)


def _masked(text: str) -> str:
    return _DIGITS.sub("#", text).strip()


def test_the_session_is_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    learned_briefly(monkeypatch)  # the width of the bars is masked
    assert CliRunner().invoke(cli, ["demo", "--keep", "."], catch_exceptions=False).exit_code == 0

    class Masked(doctest.OutputChecker):
        def check_output(self, want: str, got: str, optionflags: int) -> bool:
            return _masked(want) == _masked(got)

    test = doctest.DocTestParser().get_doctest(_session(), {}, "README", "README.md", 0)
    runner = doctest.DocTestRunner(checker=Masked(), verbose=False, optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    out: list[str] = []
    runner.run(test, out=out.append, clear_globs=False)
    assert not runner.failures, "".join(out)
    assert runner.tries >= 8
    with pytest.raises(dpsql.Error) as refused:  # of what is raised doctest compares the kind alone
        test.globs["con"].execute(test.examples[-1].source.partition('"')[2].rpartition('"')[0])
    shown = "".join(traceback.format_exception_only(refused.value))
    test.globs.clear()
    assert test.examples[-1].want.endswith(shown)


def test_masking_still_sees_a_wrong_word() -> None:
    assert _masked("('Male', 12)") == _masked("('Male', 9_884)")
    assert _masked("('Male', 12)") != _masked("('Female', 12)")


def test_the_two_lines_need_nothing_but_python() -> None:
    (block,) = re.findall(r"<!-- two lines -->\n```sh\n(.*?)```\n<!-- end -->", README, flags=re.DOTALL)
    lines = block.strip().split("\n")
    assert len(lines) == 2
    assert all(line.startswith("python3 -m venv .venv && .venv/bin/pip install ") for line in lines)


def test_every_package_is_in_the_tree() -> None:
    packages = {p.parent.name for p in (ROOT / "dpsql").glob("*/__init__.py")}
    tree = README[README.index("## The tree") :]
    assert {p for p in packages if not re.search(rf"\b{p}\b", tree)} == set()
