"""Parts and wholes of questions, against the weights of all cells."""

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest

from dpsql.query import Factor, LinearQuery, is_part, union

A = [np.array(w) for w in ([1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1])]
B = [np.array(w) for w in ([1, 0], [0, 1], [1, 1])]


def query(a: npt.NDArray[np.int64] | None, b: npt.NDArray[np.int64] | None) -> LinearQuery:
    factors = [Factor((name,), w) for name, w in (("a", a), ("b", b)) if w is not None]
    return LinearQuery("t", tuple(factors))


def cells(q: LinearQuery) -> npt.NDArray[np.int64]:
    by_column = {f.columns[0]: f.weights for f in q.factors}
    return np.outer(by_column.get("a", np.ones(3, np.int64)), by_column.get("b", np.ones(2, np.int64)))


EVERY = [query(a, b) for a, b in product([None, *A], [None, *B])]


def test_parts_have_no_cell_more() -> None:
    for part, whole in product(EVERY, EVERY):
        if is_part(part, whole):
            assert (cells(part) <= cells(whole)).all()


def test_a_condition_more_makes_a_part() -> None:
    assert is_part(query(A[0], B[0]), query(A[0], None))
    assert is_part(query(A[1], None), query(A[3], None))
    assert is_part(query(A[1], B[0]), query(None, None))
    assert not is_part(query(A[3], None), query(A[1], None))
    assert not is_part(query(A[0], None), query(None, B[0]))
    assert not is_part(LinearQuery("other", ()), query(None, None))


@pytest.mark.parametrize(
    "parts",
    [
        [(A[0], B[0]), (A[1], B[0])],
        [(A[0], B[0]), (A[0], B[1])],
        [(a, b) for a in A[:3] for b in B[:2]],
        [(A[0], None), (A[3], None)],
    ],
)
def test_a_union_is_the_sum(parts: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64] | None]]) -> None:
    queries = [query(a, b) for a, b in parts]
    whole = union(queries)
    assert whole is not None
    assert (cells(whole) == sum(cells(q) for q in queries)).all()


@pytest.mark.parametrize(
    "parts",
    [
        [(A[0], B[0]), (A[1], B[1])],  # no product
        [(A[1], None), (A[3], None)],  # a cell twice
        [(A[0], None), (A[0], None)],
        [(A[0], None), (A[1], B[0])],
        [(None, None), (None, None)],
    ],
)
def test_what_is_no_union(
    parts: list[tuple[npt.NDArray[np.int64] | None, npt.NDArray[np.int64] | None]],
) -> None:
    assert union([query(a, b) for a, b in parts]) is None


def test_a_union_of_all_cells_asks_for_all_rows() -> None:
    whole = union([query(a, B[0]) for a in A[:3]])
    assert whole is not None
    assert whole.digest == query(None, B[0]).digest
