"""Every dependency has a floor and a ceiling, and the sets that the gate tests are the ones that these promise."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
TESTED = {canonicalize_name(r.name): r for r in map(Requirement, [*PROJECT["dependencies"], *EXTRAS["test"]])}
WITH_SQLGLOT = "sqlglotc"  # the extra [c] of sqlglot: always of its version


def bound(requirement: Requirement, operator: str) -> Version:
    (found,) = [s.version for s in requirement.specifier if s.operator == operator]
    return Version(found)


def listed(name: str) -> dict[str, Version]:
    """The exact versions of a constraints file."""
    lines = (ROOT / ".ci" / name).read_text(encoding="utf-8").splitlines()
    requirements = [Requirement(line.partition("#")[0]) for line in lines if line.partition("#")[0].strip()]
    assert len({canonicalize_name(r.name) for r in requirements}) == len(requirements)
    assert not any(r.url or r.extras or r.marker for r in requirements)
    return {canonicalize_name(r.name): bound(r, "==") for r in requirements}


def ceiling(version: Version) -> Version:
    """The next version that may break a promise: the next major one, below 1.0 the next minor one."""
    return Version(f"0.{version.minor + 1}") if version.major == 0 else Version(str(version.major + 1))


@pytest.mark.parametrize("text", [*PROJECT["dependencies"], *(r for extra in EXTRAS.values() for r in extra)])
def test_a_floor_and_a_ceiling(text: str) -> None:
    requirement = Requirement(text)
    assert {s.operator for s in requirement.specifier} == {">=", "<"}
    assert bound(requirement, ">=") < bound(requirement, "<")


def test_the_lowest_set_is_the_floors() -> None:
    floors = {name: bound(r, ">=") for name, r in TESTED.items()}
    assert listed("lowest.txt") == {**floors, WITH_SQLGLOT: floors["sqlglot"]}


def test_the_newest_set_reaches_to_the_ceilings() -> None:
    newest = listed("newest.txt")
    assert newest.pop(WITH_SQLGLOT) == newest["sqlglot"]
    assert {name: ceiling(v) for name, v in newest.items()} == {name: bound(r, "<") for name, r in TESTED.items()}


def test_the_floor_of_python_is_the_one_that_tools_check() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    assert PROJECT["requires-python"] == ">=3.11"
    assert (tools["ruff"]["target-version"], tools["mypy"]["python_version"]) == ("py311", "3.11")
