"""Vertices and pairs against counting by hand, and tables that are no graphs."""

from itertools import combinations

import numpy as np
import pytest

from dpsql.domain import BooleanDomain, CategoryDomain, ColumnDomain, IntegerDomain, TableDomain, TextDomain
from dpsql.errors import NotSupportedError
from dpsql.synthesis.graph.pairs import MOST_VERTICES, Vertices, vertices_of


@pytest.mark.parametrize("number", [2, 3, 7])
def test_pairs_stand_in_the_order_of_rows(number: int) -> None:
    vertices, pairs = Vertices("a", "b", number), list(combinations(range(number), 2))
    assert vertices.pairs == len(pairs)
    assert [tuple(ends) for ends in vertices.ends(np.arange(len(pairs))).tolist()] == pairs
    weights = np.arange(1.0, len(pairs) + 1)
    matrix = vertices.matrix(weights)
    assert [matrix[i, j] for i, j in pairs] == weights.tolist()
    assert (matrix == matrix.T).all() and not matrix.diagonal().any()
    assert vertices.of_pairs(matrix).tolist() == weights.tolist()


def test_an_edge_is_a_pair_with_a_row_in_either_direction() -> None:
    counts = np.array([[7, 1, 0], [2, 0, 0], [5, 0, 0]])  # loops, a repeated edge, one stored backwards, none
    assert Vertices("a", "b", 3).adjacency(counts).tolist() == [True, True, False]


def test_one_row_changes_at_most_one_pair_by_one() -> None:
    """The sensitivity that is charged: any row, added to any of these tables."""
    vertices, generator = Vertices("a", "b", 4), np.random.default_rng(2)
    for _ in range(50):
        counts = generator.integers(0, 3, size=(4, 4))
        before = vertices.adjacency(counts).astype(int)
        for cell in np.ndindex(4, 4):
            more = counts.copy()
            more[cell] += 1
            assert np.abs(vertices.adjacency(more).astype(int) - before).sum() <= 1


def table(*columns: ColumnDomain) -> TableDomain:
    return TableDomain("t", columns)


NODES = IntegerDomain("a", 0, 9, nullable=False)
OTHERS = IntegerDomain("b", 0, 9, nullable=False)


def test_integers_and_lists_can_be_vertices() -> None:
    names = tuple("xyz")
    listed = table(CategoryDomain("a", names, nullable=False), CategoryDomain("b", names, nullable=False))
    assert vertices_of(table(NODES, OTHERS)) == Vertices("a", "b", 10)
    assert vertices_of(listed) == Vertices("a", "b", 3)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ((NODES,), "two columns"),
        ((NODES, OTHERS, BooleanDomain("c")), "two columns"),
        ((NODES, OTHERS, TextDomain("c")), "two columns"),
        ((BooleanDomain("a", nullable=False), BooleanDomain("b", nullable=False)), "same vertices"),
        ((NODES, IntegerDomain("b", 1, 10, nullable=False)), "same vertices"),
        ((NODES, IntegerDomain("b", 0, 9)), "NULL"),
        ((IntegerDomain("a", 0, 9), OTHERS), "NULL"),
        ((IntegerDomain("a", 1, 1, nullable=False), IntegerDomain("b", 1, 1, nullable=False)), "vertices"),
        (tuple(IntegerDomain(n, 0, MOST_VERTICES, nullable=False) for n in "ab"), "vertices"),
    ],
)
def test_what_is_no_graph_is_refused_with_the_next_step(columns: tuple[ColumnDomain, ...], said: str) -> None:
    with pytest.raises(NotSupportedError, match=said) as refused:
        vertices_of(table(*columns))
    assert "declare" in (refused.value.hint or "")
