"""Which columns one measurement has together, value by value."""

from dataclasses import replace

import numpy as np
import pytest

from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.measurement import Axis, Measurement
from tests.support.simulated import all_of, table_of

SHAPE = (4, 3, 2)
CELLS = np.arange(24.0).reshape(SHAPE)
TABLE = table_of(SHAPE)
(TRIPLE,) = all_of(CELLS, 3, 1.0)


def difference() -> Measurement:
    """The same, but for the third column's two values the first less the second."""
    values = TRIPLE.values[..., :1] - TRIPLE.values[..., 1:]
    return replace(TRIPLE, axes=(*TRIPLE.axes[:2], Axis.difference_of("c")), values=values)


def in_parts() -> Measurement:
    axis = Axis(("a",), np.array([0, 0, 1, 1]), 2)
    return replace(TRIPLE, axes=(axis, *TRIPLE.axes[1:]), values=TRIPLE.values.reshape(2, 2, 3, 2).sum(axis=1))


@pytest.mark.parametrize(
    ("found", "columns", "told"),
    [
        ([TRIPLE], "abc", True),
        ([TRIPLE], "ab", True),
        ([difference()], "abc", True),
        ([in_parts()], "abc", False),
        ([in_parts()], "bc", True),
        ([in_parts(), TRIPLE], "abc", True),
        (all_of(CELLS, 2, 1.0), "ab", False),
        ([], "abc", False),
    ],
)
def test_measured_together_value_by_value(found: list[Measurement], columns: str, told: bool) -> None:
    assert Coverage(TABLE, float(CELLS.sum()), found).cells_together(columns) == told
