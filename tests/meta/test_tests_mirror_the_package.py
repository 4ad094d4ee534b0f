"""A folder of unit tests is named after the package that it tests, so that both are found from either side."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "tests" / "unit"


def folders() -> list[str]:
    return sorted(f.parent.relative_to(UNIT).as_posix() for f in UNIT.rglob("__init__.py") if f.parent != UNIT)


def test_each_folder_of_unit_tests_names_a_package() -> None:
    assert "ledger" in folders()
    assert [f for f in folders() if not (ROOT / "dpsql" / f / "__init__.py").is_file()] == []


def test_tests_outside_such_folders_are_of_modules_outside_packages() -> None:
    modules = {path.stem for path in (ROOT / "dpsql").glob("*.py")}
    assert {path.stem.removeprefix("test_") for path in UNIT.glob("test_*.py")} <= modules


def test_every_folder_is_a_package() -> None:
    """Else two tests of one name hide each other."""
    without = {p.parent for p in (ROOT / "tests").rglob("test_*.py") if not (p.parent / "__init__.py").is_file()}
    assert without == set()
