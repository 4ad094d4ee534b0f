"""The documentation cannot rot: links lead somewhere, named files and tests exist, examples run."""

import doctest
import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from dpsql.domain import ColumnDomain
from dpsql.hypothesis import STRATEGIES
from dpsql.policy_file import parse_policy

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
PARENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "examples").rglob("*.md")), *PAGES]

_LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)")
_PATH = re.compile(r"(?<![\w/.~-])(?:dpsql|tests|benchmarks|docs|examples)/[\w./-]*\w(?:::\w+)?/?")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_KEYS = {
    "": ["version", "privacy", "mechanism", "tables", "public"],
    "privacy": ["epsilon", "delta", "neighbors", "planned_queries"],
    "mechanism": [
        "strategy",
        "hard_rounds",
        "when_spent",
        "warm_start",
        "error_factor",
        "calibration",
        "planned_rows",
    ],
    "table": ["unit", "max_rows_per_unit", "columns"],
    "column": ["type", "nullable", "min", "max", "bins", "values", "unit", "prefixes"],
}


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def slug(heading: str) -> str:
    """A heading's anchor, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower().replace("`", "")).replace(" ", "-")


def anchors(text: str) -> set[str]:
    return {slug(found) for found in re.findall(r"^#+ (.+)$", _FENCE.sub("", text), re.MULTILINE)}


def blocks(text: str, language: str) -> list[str]:
    return [body for kind, body in _FENCE.findall(text) if kind == language]


def dead_links(text: str, folder: Path) -> list[str]:
    dead = []
    for target, anchor in _LINK.findall(_FENCE.sub("", text)):
        file = folder / target if target else None
        if file is not None and not file.exists():
            dead.append(target)
        elif anchor and anchor not in anchors(text if file is None else file.read_text(encoding="utf-8")):
            dead.append(f"{target}#{anchor}")
    return dead


def missing_paths(text: str) -> list[str]:
    """Named files that do not exist, and named tests (``file::test``) that the file does not define."""
    missing = []
    for found in _PATH.findall(text):
        path, _, test = found.partition("::")
        file = ROOT / path
        if not file.exists() or (test and f"def {test}(" not in file.read_text(encoding="utf-8")):
            missing.append(found)
    return missing


@pytest.mark.parametrize("page", PARENTS, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    assert dead_links(page.read_text(encoding="utf-8"), page.parent) == []


@pytest.mark.parametrize("page", PARENTS, ids=name)
def test_named_files_exist(page: Path) -> None:
    assert missing_paths(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_python_examples_run(page: Path) -> None:
    examples = "\n".join(b for b in blocks(page.read_text(encoding="utf-8"), "python") if ">>>" in b)
    test = doctest.DocTestParser().get_doctest(examples, {}, name(page), str(page), 0)
    results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    assert results.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_whole_policies_load(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8"), "toml"):
        if block.startswith("version"):
            parse_policy(block)


def test_every_policy_key_is_described() -> None:
    described = set(re.findall(r"`(\w+)`", (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")))
    assert {key for keys in _KEYS.values() for key in keys} - described == set()


def test_every_column_kind_and_every_strategy_is_described() -> None:
    text = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")
    kinds = {f.default for kind in get_args(ColumnDomain) for f in fields(kind) if f.name == "kind"}
    assert len(kinds) == len(get_args(ColumnDomain))
    assert [kind for kind in kinds if f'| `"{kind}"` |' not in text] == []
    assert [word for word in STRATEGIES if f'`"{word}"`' not in text] == []


def test_every_page_is_reachable() -> None:
    """Each page of docs/ and of the root, README apart, is linked from another page."""
    linked = {
        (page.parent / target).resolve()
        for page in PARENTS
        for target, _ in _LINK.findall(page.read_text(encoding="utf-8"))
        if target
    }
    pages = [page for page in (*ROOT.glob("*.md"), *PAGES) if page.name != "README.md" or page.parent != ROOT]
    assert [name(page) for page in pages if page.resolve() not in linked] == []


def test_the_licence_and_the_sources_of_the_data_are_shipped() -> None:
    """PEP 639: an expression and its files; every folder of data names its sources."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    sources = {f.parent / "SOURCES.md" for f in (ROOT / "dpsql").rglob("*.parquet")}
    assert {ROOT / "LICENSE", *sources} == {ROOT / f for f in project["license-files"]}
    assert all(f.is_file() for f in (*sources, ROOT / "benchmarks" / "data" / "SOURCES.md"))


def test_the_checks_find_what_they_look_for() -> None:
    folder = ROOT / "docs"
    assert dead_links("[a](nowhere.md), [b](#none), [c](privacy.md#none)", folder) == [
        "nowhere.md",
        "#none",
        "privacy.md#none",
    ]
    assert dead_links("# A b\n[a](#a-b), [c](privacy.md#the-plan), [d](https://example.org/x)", folder) == []
    assert missing_paths("`dpsql/nothing.py`, tests/meta/test_docs.py::test_none, tests/meta/test_docs.py") == [
        "dpsql/nothing.py",
        "tests/meta/test_docs.py::test_none",
    ]
    assert blocks("```python\n>>> 1\n1\n```\n", "python") == [">>> 1\n1\n"]


_NAMED = re.compile(r"`([A-Za-z_][\w.]*)` in `(dpsql/[\w/]+\.py)`")


def missing_names(text: str) -> list[str]:
    """Functions, classes and methods (`Class.method`) that a page places in a file which does not define them."""
    missing = []
    for name_, path in _NAMED.findall(text):
        defined = re.findall(r"(?:def|class) (\w+)\b", (ROOT / path).read_text(encoding="utf-8"))
        if not set(name_.split(".")) <= set(defined):
            missing.append(f"{name_} in {path}")
    return missing


def test_each_stage_is_one_function_in_one_file() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page[page.index("| stage |") : page.index("\n\n", page.index("| stage |"))]
    rows = [row.split(" | ")[1] for row in table.splitlines()[2:]]
    assert len(rows) >= 15
    assert all(_NAMED.fullmatch(row) for row in rows), rows
    assert missing_names(page) == []


def test_a_function_that_is_elsewhere_is_noticed() -> None:
    assert missing_names("`route` in `dpsql/session/asker.py`, `Asker.ask` in `dpsql/session/asker.py`") == [
        "route in dpsql/session/asker.py"
    ]
