"""What a linear query says of itself."""

import numpy as np
import pytest

from dpsql.query import Factor, LinearQuery

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
