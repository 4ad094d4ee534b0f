"""Parts and wholes of questions, against the weights of all cells."""

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest

from dpsql.query import Factor, KeyedFactor, LinearQuery, is_part, most_counted, union

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


def test_no_row_counts_in_more_queries_than_is_said() -> None:
    """Against every row that there may be, of strings and two columns; equal where all or none are apart."""
    rng = np.random.default_rng(2)
    exact = 0
    for _ in range(300):
        queries = []
        for _ in range(int(rng.integers(1, 6))):
            words = sorted(set(rng.choice(["u", "v", "w"], size=int(rng.integers(1, 4))).tolist()))
            keyed = KeyedFactor(("s",), tuple((w,) for w in words), (), np.ones(len(words), dtype=np.int64))
            factors = tuple(Factor((name,), rng.integers(0, 2, size)) for name, size in (("a", 3), ("b", 2)))
            queries.append(LinearQuery("t", factors, keyed))
        counts = [
            sum(
                (word,) in q.keyed.strings and q.factors[0].weights[a] > 0 and q.factors[1].weights[b] > 0
                for q in queries
                if q.keyed is not None
            )
            for word, a, b in product("uvw", range(3), range(2))
        ]
        found = most_counted(queries)
        assert max(counts) <= found <= len(queries)
        exact += found == max(1, *counts)
    assert exact > 100


def test_queries_without_strings_in_common_never_share_a_row() -> None:
    listed = [KeyedFactor(("s",), ((w,),), (), np.array([1])) for w in "uvw"]
    assert most_counted([LinearQuery("t", (Factor(("a",), A[4]),), keyed) for keyed in listed]) == 1
    many = [LinearQuery("t", (Factor(("a",), A[4]),), listed[0], intervals=()) for _ in range(3)]
    assert most_counted(many) == 3
