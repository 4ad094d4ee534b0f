"""Which columns one measurement has together, value by value."""

from dataclasses import replace

import numpy as np
import pytest

from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.measurement import Axis, Measurement
from dpsql.hypothesis.rules import MODEL_RULES, NEWEST
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
    assert coverage.noise_together(one) == 1.0
    before, now = (replace(NEWEST, uncut_pairs=on) for on in (False, True))
    found = (Coverage(TABLE, float(CELLS.sum()), [in_parts()], r) for r in (before, now))
    narrow, wide = (float(c.noise(one, 1.0, [1.0] * 3)) for c in found)
    assert narrow < 1.0 < wide


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
    rules = [replace(NEWEST, uncut=u) for u in (True, False)]
    found = (Coverage(TABLE, 100.0, [alone, pair], r).noise(one, 1.0, []) for r in rules)
    now, before = found
    assert now == pytest.approx(sd)
    assert before < 1.0
    assert {n: rules.uncut for n, rules in MODEL_RULES.items()} == {n: n >= 11 for n in MODEL_RULES}


def in_four(sigma: float) -> Measurement:
    """Two columns in two parts each."""
    axes = (Axis(("a",), np.array([0, 0, 1, 1]), 2), Axis(("b",), np.array([0, 1, 1]), 2))
    return Measurement("t", axes, np.zeros((2, 2), dtype=np.int64), sigma)


PAIR = next(m for m in all_of(CELLS, 2, 8.0) if m.scope == ("a", "b"))


@pytest.mark.parametrize(
    ("weights", "sd"),
    [
        (([1, 1, 0, 0], [0, 1, 1]), 0.5),  # one of the four parts
        (([1, 1, 1, 1], [0, 1, 1]), 0.5 * np.sqrt(2)),
        (([1, 0, 0, 0], [0, 1, 1]), 8.0 * np.sqrt(2)),
        (([1, 1, 0, 0], [0, 0, 1]), 8.0 * np.sqrt(2)),
        (([1, 0, 1, 0], [1, 1, 0]), 8.0 * 2),
    ],
)
def test_conditions_on_two_columns_are_known_by_no_parts_that_they_cut(
    weights: tuple[list[int], list[int]], sd: float
) -> None:
    """A hard round on parts has little noise; of a cell in one of them it says next to nothing."""
    one = asked(("a", weights[0]), ("b", weights[1]))
    now, before = (
        Coverage(TABLE, 300.0, [in_four(0.5), PAIR], replace(NEWEST, uncut_pairs=on)) for on in (True, False)
    )
    assert now.noise(one, 1.0, []) == pytest.approx(sd)
    assert before.noise(one, 1.0, []) < 1.0


def test_conditions_are_looked_at_one_by_one() -> None:
    """In a crosstab some cut parts and some do not."""
    each = [
        LinearQuery("t", (Factor(("a",), np.array(a)), Factor(("b",), np.array(b))))
        for a, b in (([1, 1, 0, 0], [0, 1, 1]), ([1, 0, 0, 0], [0, 1, 1]), ([0, 1, 0, 1], [1, 0, 0]))
    ]
    coverage = Coverage(TABLE, 300.0, [in_four(0.5), PAIR])
    together = coverage.noise(Crosstab.of(each).choices, np.ones(3), [])
    assert together == pytest.approx([coverage.noise(Crosstab.of([q]).choices, 1.0, []) for q in each])


def test_where_all_parts_are_cut_the_finest_say_what_they_can() -> None:
    """Pairs of wide tables are measured in parts, and hard rounds on them in fewer."""
    axis = Axis(("b",), np.array([0, 1, 1]), 2)
    parts = replace(PAIR, axes=(PAIR.axes[0], axis), values=np.zeros((4, 2), dtype=np.int64))
    one = asked(("a", [1, 0, 0, 0]), ("b", [0, 1, 0]))
    both, alone = (Coverage(TABLE, 300.0, found) for found in ([parts, in_four(0.5)], [in_four(0.5)]))
    assert both.noise(one, 1.0, []) == pytest.approx(8.0 / 2)
    assert alone.noise(one, 1.0, []) == pytest.approx(0.5 / 4)
    assert {n: rules.uncut_pairs for n, rules in MODEL_RULES.items()} == {n: n >= 13 for n in MODEL_RULES}


def test_three_columns_are_known_by_pairs_where_a_measurement_of_all_is_cut() -> None:
    one = asked(("a", [1, 0, 0, 0]), ("b", [1, 0, 0]), ("c", [1, 0]))
    pairs = all_of(CELLS, 2, 8.0)
    coverage = Coverage(TABLE, 300.0, [*pairs, replace(in_parts(), sigma=0.1)])
    b_and_c = 0.1 * np.sqrt(2)  # two parts of the third column, neither of them cut
    assert coverage.noise(one, 1.0, [1.0] * 3) == pytest.approx(np.hypot(8.0 * np.sqrt(2), b_and_c))
