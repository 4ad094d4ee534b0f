"""What a linear query says of itself."""

import numpy as np
import pytest

from dpsql.errors import InternalError
from dpsql.query import Factor, KeyedFactor, LinearQuery

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
