"""Errors go from process to process, and are copied, as what they are."""

import pickle
from collections.abc import Callable, Iterator
from copy import copy, deepcopy
from typing import Any

import pytest

from dpsql.errors import BudgetExhausted, Error, PolicyError, SqlSyntaxError, UnknownName, UnsupportedQuery

ARGUMENTS: dict[type[Error], dict[str, Any]] = {
    BudgetExhausted: {"requested": 0.5, "remaining": 0.25},
    SqlSyntaxError: {"line": 3, "column": 7},
    UnknownName: {"name": "aeg", "suggestions": ["age"], "line": 3, "column": 7},
    PolicyError: {"path": "tables.people"},
    UnsupportedQuery: {"line": 3, "column": 7},
}
COPIES: dict[str, Callable[[Error], Error]] = {
    "copy": copy,
    "deepcopy": deepcopy,
    "pickle": lambda error: pickle.loads(pickle.dumps(error)),  # noqa: S301
    "oldest pickle": lambda error: pickle.loads(pickle.dumps(error, 0)),  # noqa: S301
}


def kinds(kind: type[Error] = Error) -> Iterator[type[Error]]:
    yield kind
    for below in kind.__subclasses__():
        yield from kinds(below) if below.__module__ == Error.__module__ else ()


@pytest.mark.parametrize("hint", [None, "look elsewhere"])
@pytest.mark.parametrize("kind", dict.fromkeys(kinds()))
@pytest.mark.parametrize("way", COPIES)
def test_a_copy_says_the_same(kind: type[Error], way: str, hint: str | None) -> None:
    error = kind("what is wrong", hint=hint, **ARGUMENTS.get(kind, {}))
    error.after_charge(0.125)
    found = COPIES[way](error)
    assert type(found) is kind and found is not error
    assert (str(found), found.args, vars(found)) == (str(error), error.args, vars(error))
    assert found.hint == error.hint and found.charged == 0.125
    found.add_note("of the copy")
    assert len(found.__notes__) == len(error.__notes__) + 1
