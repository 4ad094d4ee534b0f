"""Only dpsql.mechanism sees private values, and nothing in the privacy core uses a generator that can be seeded."""

import re
from pathlib import Path

import dpsql

PACKAGE = Path(dpsql.__file__).parent
SEEDABLE = re.compile(r"\b(np|numpy)\.random\b|\bimport random\b|\bfrom random\b|\bdefault_rng\b|\bRandomState\b")


def files_with(pattern: str, folder: Path = PACKAGE) -> set[str]:
    found = re.compile(pattern)
    return {
        path.relative_to(PACKAGE).as_posix()
        for path in folder.rglob("*.py")
        if found.search(path.read_text(encoding="utf-8"))
    }


def test_only_the_mechanism_reveals() -> None:
    revealing = files_with(r"\.reveal\b")
    assert {"mechanism/measure.py", "mechanism/threshold_test.py"} <= revealing
    assert {path for path in revealing if not path.startswith("mechanism/")} <= {"private.py"}


def test_nobody_goes_around_reveal() -> None:
    assert files_with(r"\._value\b|getattr\([^)]*(reveal|_value)|_Private__") == {"private.py"}


def test_the_core_cannot_be_seeded() -> None:
    for folder in ("mechanism", "accounting"):
        for path in (PACKAGE / folder).rglob("*.py"):
            assert not SEEDABLE.search(path.read_text(encoding="utf-8")), path.name


def test_the_pattern_finds_what_it_forbids() -> None:
    assert SEEDABLE.search("rng = np.random.default_rng(1)")
    assert SEEDABLE.search("from random import Random")
