"""Tests use what anybody may use: what a test reaches into cannot be rebuilt without rewriting the test.

A member is private when its name begins with one underscore. A class of the tests may use those that it defines
itself, on ``self`` and ``cls``, but not those that it inherits from the package.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = sorted((ROOT / "tests").rglob("*.py"))
ALLOWED = {
    "_exit": "os._exit, documented: ends a process without cleaning up",
    "_replace": "documented for named tuples",
    "_connect": "of the PEP 249 compliance suite, for drivers to use",
    "_paraminsert": "of the PEP 249 compliance suite, for drivers to use",
}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def private_uses(source: str) -> Iterator[tuple[int, str]]:
    """(line, what) of each use of a private member, or import of a private name, that the file does not define."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"import {a.name}") for a in node.names if is_private(a.name))
        elif isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in ALLOWED:
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            if not (own and node.attr in defined(tree)):
                yield node.lineno, ast.unparse(node)


def defined(tree: ast.Module) -> set[str]:
    """Private names that classes of the file define: methods, fields, and what they assign on ``self``."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for inside in ast.walk(node):
                match inside:
                    case ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                        found.add(name)
                    case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                        found.add(name)
                    case ast.Assign(targets=[ast.Name(id=name)]):
                        found.add(name)
                    case _:
                        pass
    return found


def test_no_test_reaches_into_a_private_member() -> None:
    found = [f"{p.relative_to(ROOT)}:{line}: {what}" for p in TESTS for line, what in private_uses(p.read_text())]
    assert found == []


def test_the_search_finds_what_it_should() -> None:
    source = """
from dpsql.ledger import _secret
class Mine(Theirs):
    def __init__(self):
        self._own = 1
    def read(self):
        return self._own, self._inherited, self.__class__
asker._fold; session.asker._plan = 3; row._replace(a=1); super()._append()
"""
    whats = [what for _, what in private_uses(source)]
    assert sorted(whats) == [
        "asker._fold",
        "import _secret",
        "self._inherited",
        "session.asker._plan",
        "super()._append",
    ]


def test_every_exception_is_used() -> None:
    everything = "".join(path.read_text() for path in TESTS if path.name != Path(__file__).name)
    assert [name for name in ALLOWED if f".{name}" not in everything] == []
