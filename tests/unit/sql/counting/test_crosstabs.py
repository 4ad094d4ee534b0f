"""Groups that are found and counted at once are those that are found one by one."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from dpsql.domain import BooleanDomain, IntegerDomain, TableDomain
from dpsql.errors import UnsupportedQuery
from dpsql.query import CountForms, Crosstab, Factor, LinearQuery
from dpsql.sql.counting.crosstabs import combinations, counted
from dpsql.sql.counting.groups import Pieces, PointGroups
from dpsql.sql.counting.pieces import QueryPiece

TABLE = TableDomain("t", (IntegerDomain("a", 0, 3), BooleanDomain("b"), IntegerDomain("c", 0, 2)))


def piece(column: str, *codes: int, coefficient: float = 1.0, unit: int = 1, low: float | None = None) -> Pieces:
    weights = np.zeros(TABLE.finite_domain(column).size, dtype=np.int64)
    weights[list(codes)] = 1
    return (QueryPiece(coefficient, LinearQuery("t", (Factor((column,), weights, unit),)), low),)


OF_C = {(0,): piece("c", 0), (2,): piece("c", 2)}
OF_A = {(r,): piece("a", r) for r in range(3)}
CONDITION = {(): piece("b", 1)}


def test_combinations_are_in_domain_order() -> None:
    """Of c (the second group expression, written first), and of a and b together."""
    both: dict[tuple[int, ...], Pieces] = {(1, 0): piece("a", 1), (0, 1): piece("a", 0)}
    found = combinations([((1,), OF_C), ((), CONDITION), ((0, 2), both)], 3)
    expected = sorted((a, c, b) for (c,), (a, b) in product(OF_C, [(1, 0), (0, 1)]))
    assert list(map(tuple, found.tolist())) == expected
    assert combinations([((), {}), ((0,), OF_A)], 1).tolist() == []
    assert combinations([((), CONDITION)], 0).shape == (1, 0)


def test_too_many_combinations_are_refused() -> None:
    many = {(r,): piece("c", 0) for r in range(1000)}
    with pytest.raises(UnsupportedQuery, match="groups"):
        combinations([((i,), many) for i in range(3)], 3)


def test_counts_are_the_products_in_the_tables_order() -> None:
    components = [((1,), OF_C), ((), CONDITION), ((0,), OF_A)]
    ranks = combinations(components, 2)
    found = counted(TABLE, components, ranks, 1 << 20)
    assert found is not None
    expected = [
        LinearQuery("t", (*_factors(OF_A[a,]), *_factors(CONDITION[()]), *_factors(OF_C[c,])))
        for a, c in ranks.tolist()
    ]
    assert [q.digest for q in found] == [q.digest for q in expected]
    assert [len(here) for here in found.choices.factors] == [3, 1, 2]


@pytest.mark.parametrize("chosen", [[0, 1, 2, 3], [3, 1]])
def test_groups_of_single_values_are_what_each_is_by_itself(chosen: list[int]) -> None:
    """Found at once, and found one by one, for all groups and for some of them."""
    alone: dict[tuple[int, ...], Pieces] = {(r,): piece("a", r) for r in range(4)}
    at_once = PointGroups("t", Factor.points("a", 5, range(4)), np.array([*alone]))
    assert {ranks: here[0].query.digest for ranks, here in at_once.items()} == {
        ranks: here[0].query.digest for ranks, here in alone.items()
    }
    ranks = np.array([[r] for r in chosen], dtype=np.int64)
    found = [counted(TABLE, [((0,), here), ((), CONDITION)], ranks, 1 << 20) for here in (at_once, alone)]
    digests = [[q.digest for q in here] for here in found if here is not None]
    assert len(digests) == 2 and digests[0] == digests[1]
    assert at_once.get((4,), ()) == ()


def _factors(pieces: Pieces) -> Sequence[Factor]:
    return pieces[0].query.factors


@pytest.mark.parametrize(
    "odd",
    [
        {(r,): piece("c", r, coefficient=2.0) for r in (0, 2)},
        {(r,): piece("c", r, low=0.0) for r in (0, 2)},
        {(r,): piece("c", r, unit=3) for r in (0, 2)},
        {(r,): (*piece("c", r), *piece("c", 1)) for r in (0, 2)},
        {(0,): piece("c", 0), (2,): (QueryPiece(1.0, LinearQuery("t", ())),)},
        {(0,): piece("c", 0)},
        {(0,): piece("c", 0), (2,): ()},
        {},
    ],
    ids=["times two", "in part", "shares", "two pieces", "all rows", "a group without", "an empty group", "nothing"],
)
def test_what_is_no_single_count_of_rows_is_left(odd: dict[tuple[int, ...], Pieces]) -> None:
    ranks = combinations([((1,), OF_C), ((0,), OF_A)], 2)
    assert counted(TABLE, [((1,), OF_C), ((0,), OF_A)], ranks, 1 << 20) is not None
    assert counted(TABLE, [((1,), odd), ((0,), OF_A)], ranks, 1 << 20) is None


def test_too_many_cells_are_left() -> None:
    ranks = combinations([((0,), OF_A), ((1,), OF_C)], 2)
    assert counted(TABLE, [((0,), OF_A), ((1,), OF_C)], ranks, 5 * 4) is not None  # NULL is a cell
    assert counted(TABLE, [((0,), OF_A), ((1,), OF_C)], ranks, 5 * 4 - 1) is None


def test_forms_know_their_crosstab() -> None:
    found = counted(TABLE, [((0,), OF_A)], combinations([((0,), OF_A)], 1), 1 << 20)
    assert isinstance(found, Crosstab) and CountForms(found).crosstab is found


def test_expressions_of_one_column_need_no_room_for_all_their_combinations() -> None:
    """Three of many values each, of which few occur together: no grid of 10^15 places is made."""
    answer = {(code, 2 * code % 99_991, 3 * code % 99_989): piece("a", code % 4) for code in range(0, 100_000, 25_000)}
    components = [((0, 1, 2), answer)]
    ranks = combinations(components, 3)
    found = counted(TABLE, components, ranks, 1 << 20)
    assert found is not None
    expected = [LinearQuery("t", _factors(answer[tuple(row)])) for row in ranks.tolist()]
    assert [q.digest for q in found] == [q.digest for q in expected]
