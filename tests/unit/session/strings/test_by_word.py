"""What the owner's word says of listed strings, against every table in which it is true."""

from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpsql.domain import BooleanDomain, IntegerDomain, TableDomain, TextDomain
from dpsql.query import Factor, KeyedFactor, LinearQuery
from dpsql.result import Answer
from dpsql.session.strings.by_word import by_word, narrower, widest

TABLE = TableDomain(
    "t",
    (
        TextDomain("w", max_rows_per_value=3),
        TextDomain("v", max_rows_per_value=2, nullable=False),
        TextDomain("u", prefixes=(1,)),
        BooleanDomain("b", nullable=False),
        IntegerDomain("n", 0, 3, nullable=False),
    ),
)


def said(*queries: LinearQuery, most: dict[str, int] | None = None) -> list[Answer] | None:
    plan: Any = SimpleNamespace(table=TABLE, most_rows={"w": 3, "v": 2} if most is None else most)
    return by_word(plan, queries)


def listed(*keys: Any, columns: tuple[str, ...] = ("w",), **factors: list[int]) -> LinearQuery:
    strings = tuple(k if isinstance(k, tuple) else (k,) for k in keys)
    keyed = KeyedFactor(columns, strings, (), np.ones(len(strings), dtype=np.int64))
    return LinearQuery("t", tuple(Factor((c,), np.array(w)) for c, w in factors.items()), keyed)


def test_a_string_is_in_no_row_or_in_as_many_as_the_word_allows() -> None:
    (answer,) = said(listed("a")) or []
    assert (answer.value, answer.error, answer.interval) == (2, 2.0, (0.0, 3.0))
    assert (answer.source, answer.error_kind, answer.certified, answer.charged) == ("public", "calibrated", False, 0.0)
    (four,) = said(listed("a", "b", "c", "d")) or []
    assert (four.value, four.error, four.interval) == (6, 6.0, (0.0, 12.0))


@pytest.mark.parametrize("rows", [*product(range(4), range(4))])
def test_bars_hold_wherever_the_word_does(rows: tuple[int, int]) -> None:
    queries = listed("a"), listed("b"), listed("a", "b"), listed("a", "b", n=[1, 1, 0, 0])
    truths = rows[0], rows[1], sum(rows), rows[0]  # those of b are in other cells
    for query, truth in zip(queries, truths, strict=True):
        (answer,) = said(query) or []
        assert answer.interval is not None and answer.interval[0] <= truth <= answer.interval[1]
        assert answer.value is not None and answer.error is not None and abs(answer.value - truth) <= answer.error


def test_cells_add_up_to_their_whole() -> None:
    cells = [listed("a", "b", "c", "d", n=[int(i == j) for j in range(4)]) for i in range(4)]
    found = said(*cells) or []
    assert sum(int(a.value or 0) for a in found) == 6
    assert all(a.interval == (0.0, 12.0) for a in found)  # all rows may be in one of them


def test_weights_count_as_far_as_they_go() -> None:
    keyed = KeyedFactor(("w",), (("a",), ("b",)), ("n",), np.array([[0, 0, 4, 1], [2, 2, 2, 2]]), unit=4)
    (answer,) = said(LinearQuery("t", (), keyed)) or []
    assert answer.interval == (0.0, 5.0)  # 3 + 3 / 2, upwards
    wrong = KeyedFactor(("w",), (("a",),), ("n",), np.array([[-1, 0, 0, 1]]))
    assert said(LinearQuery("t", (), wrong)) is None


def test_null_is_no_string_and_rows_with_it_may_be_left_out() -> None:
    assert said(listed("a", None)) is None
    assert said(listed("a"), listed(None)) is None
    (answer,) = said(listed("a", None, columns=("v",))) or []
    assert answer.interval == (0.0, 2.0)


def test_of_several_columns_any_word_bounds_the_rows() -> None:
    (answer,) = said(listed(("a", "x"), ("b", "x"), columns=("w", "u"))) or []
    assert answer.interval == (0.0, 6.0)
    (answer,) = said(listed(("a", "x"), columns=("w", "v"))) or []
    assert answer.interval == (0.0, 2.0)
    assert said(listed((None, "x"), columns=("w", "u"))) is None


def test_nothing_is_said_without_a_word_or_a_list() -> None:
    assert said(listed("a", columns=("u",))) is None and said(listed("a", columns=("u[:1]",))) is None
    assert said(LinearQuery("t", (Factor(("b",), np.array([0, 1])),))) is None
    assert said(listed("a"), most={}) is None


def test_the_smaller_error_is_shown() -> None:
    (word,) = said(listed("a", "b")) or []
    unknown = Answer(1, None, None, "calibrated", "hypothesis", certified=False)
    near = Answer(1, 1.0, (0.0, 2.0), "exact", "measurement", certified=True)
    far = Answer(1, 9.0, (0.0, 10.0), "exact", "measurement", certified=True)
    assert narrower([unknown, near, far], [word] * 3) == [word, near, word]
    assert narrower([unknown, far], None) == [unknown, far]
    assert widest([near, word, far]) == 9.0
