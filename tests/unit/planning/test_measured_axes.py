"""Which parts a measurement has: they determine every question of the statement that they are measured for."""

from collections.abc import Sequence

import numpy as np
import pytest

from dpsql.domain import IntegerDomain, TableDomain, TextDomain
from dpsql.hypothesis import Measurement
from dpsql.planning.measured_axes import hard_round_axes
from dpsql.query import KeyedFactor, LinearQuery, linear_query

TABLE = TableDomain("t", (IntegerDomain("c", 0, 3), TextDomain("w")))
KEYS = (("a",), ("b",))


def pairs(a: int, b: int) -> LinearQuery:
    """w = 'a' AND c = a OR w = 'b' AND c = b."""
    weights = np.array([[i == a for i in range(5)], [i == b for i in range(5)]], dtype=np.int64)
    query = linear_query(TABLE, [], KeyedFactor(("w",), KEYS, ("c",), weights))
    assert query is not None
    return query


@pytest.mark.parametrize("rows", [0.0, 1e9], ids=["coarse parts", "every cell"])
def test_a_hard_round_on_strings_with_columns_determines_the_whole_statement(rows: float) -> None:
    queries: Sequence[LinearQuery] = (pairs(1, 2), pairs(2, 3), pairs(0, 4))
    for query in queries:
        axes = hard_round_axes(query, queries, rows, 1.0, 1000.0)
        shape = [len(KEYS), *(axis.size for axis in axes)]
        measured = Measurement("t", axes, np.zeros(shape, dtype=np.int64), 1.0, ("w",), KEYS)
        assert all(measured.answer(q) is not None for q in queries)
