"""Seeded generators simulate from public numbers or write example statements; never anywhere near a release."""

import re
from pathlib import Path

import dpsql

PACKAGE = Path(dpsql.__file__).parent
PATTERN = re.compile(r"np\.random|numpy\.random|default_rng|^\s*(import|from) random\b", re.MULTILINE)


def test_generators_only_in_lessons() -> None:
    found = {p.relative_to(PACKAGE).as_posix() for p in PACKAGE.rglob("*.py") if PATTERN.search(p.read_text())}
    assert "hypothesis/bars/lesson.py" in found
    allowed = {"hypothesis/bars/lesson.py", "hypothesis/bars/random_queries.py"}
    allowed |= {"postprocess/variants.py", "interface/demo/tour.py"}
    allowed |= {"hypothesis/iterative/median.py"}  # candidate tables, seeded by public numbers
    assert found <= allowed | {"synthesis/coins.py"}  # rows of what was released, seeded by it


def users_of_simulations() -> set[str]:
    """Packages outside of hypothesis/ that name the module, or what it offers."""
    offered = re.compile(r"bars\.lesson|\blearn_calibration\b")
    found = (p for p in PACKAGE.rglob("*.py") if PACKAGE / "hypothesis" not in p.parents)
    return {p.relative_to(PACKAGE).parts[0] for p in found if offered.search(p.read_text())}


def test_only_hypotheses_and_the_session_know_the_simulations() -> None:
    assert users_of_simulations() == {"session"}
