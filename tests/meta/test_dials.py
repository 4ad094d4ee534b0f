"""docs/dials.md lists every number that was chosen, with the value and the file it has in the code."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "docs" / "generate_dials.py"))
Dial, complaints, dials_of, in_code = (TOOL[name] for name in ("Dial", "complaints", "dials_of", "in_code"))
on_page, rewritten = TOOL["on_page"], TOOL["rewritten"]
TEXT = (ROOT / "docs" / "dials.md").read_text(encoding="utf-8")

SMALL = """\
| name | value | file | how it was chosen | moves |
|---|---|---|---|---|
| `FEW` | `3` | `dpsql/a.py` | by hand | nothing |
| `TINY` | `1e-9` | `dpsql/a.py`, `dpsql/b.py` | by hand | nothing |
"""
CODE = [Dial("FEW", "3", "dpsql/a.py"), Dial("TINY", "1e-9", "dpsql/a.py"), Dial("TINY", "1e-9", "dpsql/b.py")]


def test_the_page_is_true_to_the_code() -> None:
    wrong = complaints(TEXT, in_code())
    assert not wrong, "\n".join([*wrong, "`python docs/generate_dials.py --files` rewrites values and files"])


def test_every_row_says_how_it_was_chosen_and_what_it_moves() -> None:
    lines = TEXT.split("\n")
    for row in on_page(TEXT):
        cells = [c.strip() for c in lines[row.line - 1].strip("|").split(" | ")]
        assert len(cells) == 5, lines[row.line - 1]
        assert all(c and "..." not in c for c in cells[3:]), lines[row.line - 1]


def test_every_row_of_the_tables_is_read() -> None:
    rows = [line for line in TEXT.split("\n") if line.startswith("| ") and not line.startswith("| name |")]
    assert len(rows) == len(on_page(TEXT)) > 100


def test_a_true_page_has_no_complaints() -> None:
    assert complaints(SMALL, CODE) == []


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ([*CODE, Dial("MANY", "7", "dpsql/c.py")], "missing: | `MANY` | `7` | `dpsql/c.py` | ... | ... |"),
        (CODE[1:], "line 3: `FEW` is gone"),
        (CODE[:2], "line 4: "),
        ([Dial("FEW", "4", "dpsql/a.py"), *CODE[1:]], "should be | `FEW` | `4` | `dpsql/a.py` |"),
        ([Dial("FEW", "3", "dpsql/x/a.py"), *CODE[1:]], "should be | `FEW` | `3` | `dpsql/x/a.py` |"),
        ([*CODE[:2], Dial("TINY", "2e-9", "dpsql/b.py")], "line 4: "),
    ],
)
def test_what_is_missing_gone_or_different_is_told(code: list[object], said: str) -> None:
    (found,) = complaints(SMALL, code)
    assert said in found


def test_rewriting_leaves_the_words_alone() -> None:
    moved = [Dial("FEW", "4", "dpsql/x/a.py"), *CODE[1:]]
    assert rewritten(SMALL, moved) == SMALL.replace("`3` | `dpsql/a.py`", "`4` | `dpsql/x/a.py`")
    assert rewritten(SMALL, CODE) == SMALL


def test_which_numbers_count_as_chosen() -> None:
    source = """
A, _B = 1, 1 << 20
C: Final = Fraction(3, 4)
D = Decimal("1e-9")
E = ((1, 0.5), (2, 0.25))
F = (1 << A) - 1
G = {1: 2}
H = "5"
J = A
lower = 3
class Policy:
    warm: float = 0.9
    rounds: int = 0
    K = 7
class Kind(Enum):
    L = 4
def f(x, y=5, *, z: float = 0.5, w=1): ...
"""
    names = ["A", "_B", "C", "D", "E", "F", "Policy.warm", "K", "f(y)", "f(z)"]
    assert [d.name for d in dials_of(source, "m.py")] == names
    assert [d.value for d in dials_of(source, "m.py")][1:3] == ["1 << 20", "Fraction(3, 4)"]
