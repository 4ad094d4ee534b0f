"""What a linear query says of itself."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest

from dpsql.domain import FIXED_POINT
from dpsql.errors import InternalError
from dpsql.query import (
    VALUE_UNIT,
    Choices,
    Crosstab,
    Factor,
    Interval,
    KeyedFactor,
    LinearQuery,
    is_part,
    one_cells,
    union,
    units_of,
)

A, B = Factor(("a",), np.array([0, 1])), Factor(("b",), np.array([0, 1, 2]), 3)
BOTH = Factor(("a", "b"), np.array([[0, 1], [1, 0]]))
EVERY_ROW = Factor((), np.array(2), 3)


@pytest.mark.parametrize(
    ("factors", "single"),
    [((), True), ((A,), True), ((A, B), True), ((BOTH,), False), ((EVERY_ROW, A), False), ((EVERY_ROW, BOTH), False)],
)
def test_a_query_is_single_when_each_factor_is_over_one_column(factors: tuple[Factor, ...], single: bool) -> None:
    """Neither none nor two: as many factors as columns is not enough."""
    assert LinearQuery("t", factors).is_single == single


@pytest.mark.parametrize("weights", [[0, 2], [-1, 1]])
def test_rows_that_count_more_than_once_or_against_others_are_refused(weights: list[int]) -> None:
    """What a test is charged for is a sensitivity of 1."""
    LinearQuery("t", (A, B)).check_sensitivity()
    with pytest.raises(InternalError, match="outside"):
        LinearQuery("t", (A, Factor(("c",), np.array(weights)))).check_sensitivity()
    listed = KeyedFactor(("w",), (("x",), ("y",)), (), np.array(weights))
    with pytest.raises(InternalError, match="outside"):
        LinearQuery("t", (A,), listed).check_sensitivity()


@pytest.mark.parametrize("size", [2, 8, 9, 1000])
def test_factors_of_one_cell_each_are_what_they_are_one_by_one(size: int) -> None:
    cells = sorted({0, 1, size // 2, size - 1})
    for cell, point in zip(cells, Factor.points("a", size, cells), strict=True):
        weights = np.zeros(size, dtype=np.int64)
        weights[cell] = 1
        other = Factor(("a",), weights)
        assert point.weights.tolist() == weights.tolist() and not point.weights.flags.writeable
        assert (point.columns, point.unit, point.digest) == (other.columns, 1, other.digest)
        assert (point.point, point.support.tolist()) == (other.point, other.support.tolist()) == (cell, [cell])
        assert point.is_bounded is other.is_bounded is True


def test_factors_of_one_cell_each_are_looked_at_together_as_one_by_one() -> None:
    points = Factor.points("a", 9, [8, 0, 3])
    plain = [Factor(("a",), np.eye(9, dtype=np.int64)[cell]) for cell in (8, 0, 3)]
    assert points.digests == b"".join(f.digest for f in plain)
    assert [f.point for f in points.among(np.array([0, 2]))] == [8, 3]
    assert points.among(np.arange(3)) is points
    assert points[-1] is points[2] and [f.point for f in points[1:]] == [0, 3]
    with pytest.raises(IndexError):
        points[3]
    assert units_of(points).tolist() == units_of(plain).tolist() == [1, 1, 1]
    for found in (one_cells(points), one_cells(plain)):
        assert found is not None
        assert (found.cells.tolist(), found.weights.tolist(), found.columns) == ([8, 0, 3], [1, 1, 1], 9)
    numbers = (np.array([2, 0]),)
    both = [Crosstab.of_counts("t", Choices((here,), numbers, 2)) for here in (points, tuple(plain))]
    assert both[0].name == both[1].name
    assert both[0].digests == both[1].digests == tuple([q.digest for q in both[1]])
    assert [q.digest for q in both[0]] == [q.digest for q in both[1]]


def test_a_factor_of_more_cells_or_none_has_no_point() -> None:
    assert [Factor(("a",), np.array(w)).point for w in ([0, 1, 1], [0, 0, 0], [1, 1, 1])] == [None] * 3
    assert Factor(("a", "b"), np.array([[0, 0], [3, 0]]), 4).point == 2


LOW, HIGH = Interval("x", 0.0, 2.5), Interval("x", 2.5, 9.0)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([0, 1, 1, 2, 0], slice(1, 4)),
        ([3], slice(0, 1)),
        ([0, 0, 1], slice(2, 3)),
        ([1, 0, 1], [0, 2]),
        ([0, 0], []),
    ],
)
def test_neighbours_are_taken_as_a_slice(weights: list[int], expected: slice | list[int]) -> None:
    factor = Factor(("a",), np.array(weights), 3)
    found = factor.stretch
    assert (found if isinstance(found, slice) else found.tolist()) == expected
    assert (factor.weights[found] == factor.weights[factor.support]).all()


def test_queries_of_other_values_are_other_queries() -> None:
    """A digest is the name under which an answer is kept: 2.5 and its neighbour are two."""
    plain, low, high = (LinearQuery("t", (A,), intervals=i) for i in ((), (LOW,), (HIGH,)))
    beside = LinearQuery("t", (A,), intervals=(Interval("x", 0.0, np.nextafter(2.5, 0.0)),))
    summed = LinearQuery("t", (A,), value="x", intervals=(LOW,))
    both = LinearQuery("t", (A,), intervals=(LOW, Interval("y", 0.0, 1.0)))
    asked = (plain, low, high, beside, summed, both)
    assert len({q.digest for q in asked}) == len({q.outline for q in asked}) == len(asked)
    assert LinearQuery("t", (A,), intervals=(Interval("x", 0.0, 2.5),)).digest == low.digest
    assert low.is_by_value and low.is_indicator and not plain.is_by_value and not summed.is_indicator
    assert low.touched == ("a", "x") and both.touched == ("a", "x", "y") and low.scope == ("a",)


def test_values_are_not_asked_with_fine_weights_or_where_strings_are_tied_to_them() -> None:
    listed = KeyedFactor(("w",), (("x",),), (), np.array([1]))
    tied = KeyedFactor(("w",), (("x",),), (LOW.column,), np.array([[1, 0]]))
    fine = Factor(("b",), np.array([0, 1]), 2 * VALUE_UNIT)
    for factors, keyed, value in (((fine,), None, None), ((A,), tied, None), ((A,), listed, "x")):
        with pytest.raises(InternalError, match="about values"):
            LinearQuery("t", factors, keyed, value, (LOW,))


def test_a_stretch_of_values_beside_strings_is_a_question_of_its_own() -> None:
    listed = KeyedFactor(("w",), (("x",),), (), np.array([1]))
    asked = [LinearQuery("t", (A,), keyed, None, told) for keyed in (None, listed) for told in ((), (LOW,), (HIGH,))]
    assert len({q.digest for q in asked}) == len({q.outline for q in asked}) == len(asked)
    assert asked[4].is_indicator and asked[4].is_by_value and asked[4].touched == ("a", "x")


@pytest.mark.parametrize("weights", [[0, 1, 2], [3, 0, 3]])
def test_a_sum_over_weighted_rows_is_rounded_down_once(weights: list[int]) -> None:
    """As a sum of fractions, also where it does not fit in 64 bits."""
    query = LinearQuery("t", (A, Factor(("b",), np.array(weights), 3)), value="x")
    for most in (5 * FIXED_POINT, 1 << 60):
        sums = np.array([[most, 7, most - 3], [most // 3, most - 1, most // 7]])
        parts = [Fraction(w, 3) * Fraction(int(n), FIXED_POINT) for w, n in zip(weights, sums[1], strict=True)]
        assert query.floor(sums) == floor(sum(parts))


def test_one_row_moves_a_sum_over_weighted_rows_by_one_at_most() -> None:
    query = LinearQuery("t", (Factor(("b",), np.array([0, 2, 3]), 3),), value="x")
    query.check_sensitivity()
    rng = np.random.default_rng(3)
    for _ in range(300):
        sums = rng.integers(0, 9 * FIXED_POINT, 3)
        more = sums.copy()
        more[rng.integers(3)] += rng.choice([0, 1, FIXED_POINT // 2, FIXED_POINT])
        assert 0 <= query.floor(more) - query.floor(sums) <= 1


def test_parts_and_unions_keep_what_is_asked_of_values() -> None:
    one, two = (LinearQuery("t", (Factor(("c",), np.array(w)),), intervals=(LOW,)) for w in ([1, 0, 0], [0, 1, 0]))
    whole = union([one, two])
    assert whole is not None and whole.intervals == (LOW,) and whole.factors[0].weights.tolist() == [1, 1, 0]
    assert is_part(one, whole) and is_part(one, LinearQuery("t", whole.factors))  # fewer rows than without intervals
    assert not is_part(LinearQuery("t", one.factors), whole)
    assert not is_part(one, LinearQuery("t", whole.factors, intervals=(HIGH,)))
    assert union([one, LinearQuery("t", two.factors, intervals=(HIGH,))]) is None
    assert union([one, LinearQuery("t", two.factors)]) is None


def test_a_column_that_two_factors_weigh_counts_rows_twice() -> None:
    with pytest.raises(InternalError, match="twice"):
        LinearQuery("t", (A, A)).check_sensitivity()
    with pytest.raises(InternalError, match="twice"):
        LinearQuery("t", (A, BOTH)).check_sensitivity()
