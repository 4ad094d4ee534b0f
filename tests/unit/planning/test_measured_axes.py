"""Which parts a measurement has: they determine every question of the statement that they are measured for."""

from collections.abc import Sequence

import numpy as np
import pytest

from dpsql.domain import IntegerDomain, TableDomain, TextDomain
from dpsql.hypothesis import Axis, Measurement
from dpsql.memo import Memo
from dpsql.planning import measured_axes
from dpsql.planning.measured_axes import MOST_PARTS, counted_together, hard_round_axes, own_axes
from dpsql.query import Factor, KeyedFactor, LinearQuery, linear_query

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


MANY = TableDomain("many", tuple(IntegerDomain(c, 0, 31, nullable=False) for c in "abcdef"))


def below(*ends: int) -> LinearQuery:
    """a < the first, b < the second and so on."""
    factors = [Factor((c,), (np.arange(32) < end).astype(np.int64)) for c, end in zip("abcdef", ends, strict=True)]
    query = linear_query(MANY, factors)
    assert query is not None
    return query


def test_conditions_that_tell_too_much_apart_together_are_counted_one_by_one() -> None:
    queries = [below(*[2 * i + 1] * 6) for i in range(12)]
    assert queries[0].cells > 1 << 24
    assert counted_together(queries[:2]) == [queries[:2]]
    assert MOST_PARTS < 13**6
    assert counted_together(queries) == [(q,) for q in queries]


def test_what_many_cells_of_a_group_by_share_is_told_apart_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    found = Axis.level_sets
    monkeypatch.setattr(
        Axis, "level_sets", lambda columns, weights: (asked.append(len(weights)), found(columns, weights))[1]
    )
    monkeypatch.setattr(measured_axes, "_axes", Memo[Axis](measured_axes.KEPT_LABELS))
    queries = [below(i, 5, 5, 5, 5, 5) for i in range(1, 20)]
    assert [a.size for a in own_axes(queries)] == [20, 2, 2, 2, 2, 2]
    assert asked == [19, 1, 1, 1, 1, 1]
    hard_round_axes(queries[0], queries, 0.0, 1.0, 0.0)
    assert asked[6:] == []
    hard_round_axes(queries[0], queries[:2], 0.0, 1.0, 0.0)
    assert asked[6:] == [2]


def test_a_grid_that_fits_in_no_memory_is_never_measured_cell_by_cell() -> None:
    query = below(5, 5, 5, 5, 5, 5)
    assert [a.size for a in hard_round_axes(query, [query], 1e15, 1.0, 1e15)] == [2] * 6
