"""What a table's state reads of its releases: counts as they were released, each from its own, once and for all."""

from fractions import Fraction

import numpy as np
import pytest

from dpsql.confidence import error_bound
from dpsql.domain import IntegerDomain, TableDomain
from dpsql.first.payload import CONTINGENCY
from dpsql.hypothesis import Axis, Measurement
from dpsql.planning import make_plan, plan_tables
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.query import Factor, LinearQuery
from dpsql.session.table_state import TableState

TABLE = TableDomain("t", (IntegerDomain("g", 0, 3, nullable=False),))
CELLS = [LinearQuery("t", (Factor(("g",), row),)) for row in np.eye(4, dtype=np.int64)]
ERRORS = [float(error_bound(5.0))] * 4


@pytest.fixture
def state() -> TableState:
    policy = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (TABLE,), Mechanism())
    found = TableState(plan_tables(make_plan(policy), policy)["t"])
    found.know_row_count(Measurement("t", (), np.array(100), 5.0))
    return found


def released(state: TableState, values: list[int], sigma: float = 5.0, labels: tuple[int, ...] = (0, 1, 2, 3)) -> None:
    axis = Axis(("g",), np.array(labels), max(labels) + 1)
    state.absorb(CONTINGENCY, Measurement("t", (axis,), np.array(values), sigma))


def test_counts_are_those_of_the_first_release_with_their_noise(state: TableState) -> None:
    """A more accurate one, and another of the same noise, say other numbers; an answer that was given stays, whether a
    release that is kept has told it or not."""
    released(state, [11, 1, 0, 88], sigma=1.0)
    assert state.as_released(CELLS, ERRORS) is None
    released(state, [10, -4, 3, 91])
    assert state.as_released(CELLS, ERRORS) == [10, -4, 3, 91]
    released(state, [12, 0, 1, 90])
    assert state.as_released(CELLS, ERRORS) == [10, -4, 3, 91]


def test_counts_may_be_of_several_releases_and_are_all_told_or_none(state: TableState) -> None:
    released(state, [10, -4, 94], labels=(0, 1, 2, 2))
    assert state.as_released(CELLS, ERRORS) is None
    assert state.as_released(CELLS[:2], ERRORS[:2]) == [10, -4]
    released(state, [6, 3, 91], labels=(0, 0, 1, 2))
    assert state.as_released(CELLS, ERRORS) == [10, -4, 3, 91]
    assert state.as_released(CELLS, [*ERRORS[:3], ERRORS[3] - 1.0]) is None
