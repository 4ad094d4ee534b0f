"""Which columns one measurement has together, value by value."""

from dataclasses import replace

import numpy as np
import pytest

from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.measurement import Axis, Measurement
from dpsql.hypothesis.rules import MODEL_RULES
from dpsql.query import Choices, Crosstab, Factor, LinearQuery
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
        ([difference()], "ab", False),
        (all_of(CELLS, 2, 1.0), "ab", False),
        ([], "abc", False),
    ],
)
def test_measured_together_value_by_value(found: list[Measurement], columns: str, told: bool) -> None:
    assert Coverage(TABLE, float(CELLS.sum()), found).cells_together(columns) == told


def asked(*weights: tuple[str, list[int]]) -> Choices:
    return Crosstab.of([LinearQuery("t", tuple(Factor((c,), np.array(w)) for c, w in weights))]).choices


def test_noise_together_is_that_of_what_tells_every_value() -> None:
    """Parts that the question cuts seem to have less noise, and say nothing."""
    coverage = Coverage(TABLE, float(CELLS.sum()), [in_parts(), TRIPLE])
    one = asked(("a", [1, 0, 0, 0]), ("b", [1, 0, 0]), ("c", [1, 0]))
    assert coverage.noise_together(one).tolist() == [1.0]
    assert Coverage(TABLE, float(CELLS.sum()), [in_parts()]).noise(one, np.ones(1), [np.ones(1)] * 3)[0] < 1.0


@pytest.mark.parametrize(
    ("weights", "sd"), [([1, 1, 0, 0], np.sqrt(3.0) / 2), ([0, 1, 0, 1], 8.0 * np.sqrt(2)), ([1, 0, 0, 0], 8.0)]
)
def test_a_list_is_known_by_no_parts_that_it_cuts(weights: list[int], sd: float) -> None:
    """The column itself has noise 8; a pair in two parts of it, with noise 1/2, tells those whole."""
    alone = all_of(CELLS, 1, 8.0)[0]
    axis = Axis(("a",), np.array([0, 0, 1, 1]), 2)
    pair = next(m for m in all_of(CELLS, 2, 0.5) if m.scope == ("a", "b"))
    pair = replace(pair, axes=(axis, *pair.axes[1:]), values=pair.values.reshape(2, 2, 3).sum(axis=1))
    one = asked(("a", weights))
    found = (Coverage(TABLE, 100.0, [alone, pair], uncut=u).noise(one, np.ones(1), [])[0] for u in (True, False))
    now, before = found
    assert now == pytest.approx(sd)
    assert before < 1.0
    assert {n: rules.uncut for n, rules in MODEL_RULES.items()} == {n: n >= 11 for n in MODEL_RULES}
