"""The universe of a workload falls apart where no query joins columns, and is refused where it is too large."""

import numpy as np
import pytest

from dpsql.errors import InternalError, NotSupportedError
from dpsql.query import Factor, LinearQuery
from dpsql.synthesis.offline.parts import asked, independent_parts
from tests.support.offline import counting
from tests.support.simulated import table_of


def test_columns_are_joined_by_queries_and_by_nothing_else() -> None:
    table = table_of([2, 3, 4, 5, 2])
    a_c, c_d, b = (
        counting(table, a=[1, 0], c=[1, 0, 0, 0]),
        counting(table, c=[0, 1, 0, 0], d=[1, 0, 0, 0, 0]),
        counting(table, b=[0, 1, 0]),
    )
    parts = independent_parts(table, [a_c, b, c_d])
    assert [(p.columns, p.shape, p.queries) for p in parts] == [
        (("a", "c", "d"), (2, 4, 5), (0, 2)),
        (("b",), (3,), (1,)),
    ]


def test_a_universe_beyond_memory_is_refused_with_words_and_its_pieces_are_not() -> None:
    table = table_of([5000, 5000])
    first, second = [1] + [0] * 4999, [0, 1] + [0] * 4998
    assert len(independent_parts(table, [counting(table, a=first), counting(table, b=second)])) == 2
    with pytest.raises(NotSupportedError, match=r"2.5e\+07 cells") as refused:
        independent_parts(table, [counting(table, a=first, b=second)])
    assert "fewer columns" in refused.value.hint


def test_equal_queries_are_asked_once_and_those_without_columns_never() -> None:
    table = table_of([2, 3])
    query, whole = counting(table, b=[0, 1, 0]), counting(table, b=[1, 1, 1])
    assert whole.scope == ()
    assert asked([query, whole, counting(table, b=[0, 1, 0])]) == (query,)
    with pytest.raises(NotSupportedError, match="asks about no column"):
        asked([whole])


def test_a_query_more_sensitive_than_charged_is_never_asked() -> None:
    twice = LinearQuery("t", (Factor(("a",), np.array([2, 0])),))
    with pytest.raises(InternalError, match="outside"):
        asked([twice])
