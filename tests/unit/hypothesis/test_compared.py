"""Bars of conditions that compare columns: rows of a part may all be on one side of the line that cuts it."""

import numpy as np
import pytest

from dpsql.domain import IntegerDomain, TableDomain
from dpsql.hypothesis.bars.assumed.compared import FEWEST_CLASSES, Compared
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.measurement import Axis, Measurement
from dpsql.hypothesis.rules import MODEL_RULES
from dpsql.hypothesis.shrinkage import LIGHT
from dpsql.query import Choices, Crosstab, Estimates, Factor, LinearQuery

SIZE, SIGMA = 6, 2.0
TABLE = TableDomain("t", tuple(IntegerDomain(c, 0, SIZE - 1, nullable=False) for c in "abc"))
LABELS = np.array([0, 0, 0, 1, 1, 1])
BELOW = np.triu(np.ones((SIZE, SIZE), dtype=np.int64), 1)
CELLS = np.arange(1.0, SIZE**2 + 1.0).reshape(SIZE, SIZE)
"""Rows of each a and b."""


def compared(*, parts: bool, cells: Estimates = CELLS, sigma: float = SIGMA) -> Compared:
    axes = [Axis((c,), LABELS, 2) if parts else Axis.cells((c,), (SIZE,)) for c in "ab"]
    pair = Measurement("t", tuple(axes), np.zeros([a.size for a in axes], dtype=np.int64), sigma)

    def contingency(columns: tuple[str, ...]) -> Estimates:
        return cells if columns == ("a", "b") else np.full(SIZE, cells.sum() / SIZE)

    return Compared(Coverage(TABLE, float(cells.sum()), [pair]), contingency)


def asked(*factors: Factor) -> Choices:
    return Crosstab.of([LinearQuery("t", factors)]).choices


def test_rows_of_cut_parts_are_on_one_side() -> None:
    """a < b cuts the two parts on the diagonal; all of their rows count, or none."""
    blocks = [CELLS[:3, :3], CELLS[3:, 3:]]
    inside = [float((block * np.triu(np.ones((3, 3)), 1)).sum()) for block in blocks]
    most = max(sum(float(b.sum()) for b in blocks) - sum(inside), sum(inside))
    assert compared(parts=True).off(asked(Factor(("a", "b"), BELOW))) == pytest.approx(most)


def test_beside_another_condition_as_many_as_it_leaves() -> None:
    half = Factor(("c",), np.array([1, 1, 1, 0, 0, 0]))
    alone, beside = (compared(parts=True).off(asked(Factor(("a", "b"), BELOW), *more)) for more in ((), (half,)))
    assert beside == pytest.approx(alone / 2)


def test_what_weighs_rows_compares_nothing() -> None:
    """Days apart are a sum; it has the bars of sums."""
    apart = Factor(("a", "b"), SIZE + np.subtract.outer(np.arange(SIZE), np.arange(SIZE)), 2 * SIZE)
    assert not compared(parts=True).compares(apart)
    assert compared(parts=True).off(asked(apart)) == 0.0


def test_cells_of_few_rows_may_be_noise_by_as_much_as_it_is() -> None:
    """Measured cell by cell nothing is cut; cells beside their noise may have no rows, and many not all."""
    few = np.full((SIZE, SIZE), 0.5)
    many = np.full((SIZE, SIZE), LIGHT * SIGMA)
    below = asked(Factor(("a", "b"), BELOW))
    number = int(BELOW.sum())
    assert compared(parts=False, cells=few).off(below) == pytest.approx(0.5 * number)
    assert compared(parts=False, cells=many).off(below) == 0.0
    limit = 1.96 * 0.05 * number**0.5
    assert compared(parts=False, cells=few / 8, sigma=0.05).off(below) == pytest.approx(limit, rel=1e-3)


def test_conditions_of_and_or_and_not_compare_nothing() -> None:
    """They tell two kinds of values of each column apart."""
    either = Factor(("a", "b"), np.maximum.outer(np.arange(SIZE) < 2, np.arange(SIZE) < 2).astype(np.int64))
    assert compared(parts=True).off(asked(either)) == 0.0
    assert compared(parts=True).off(asked(Factor(("a",), np.array([1, 0, 0, 0, 0, 0])))) == 0.0
    steps = Factor(("a", "b"), np.repeat(np.repeat(np.triu(np.ones((3, 3), dtype=np.int64)), 2, axis=0), 2, axis=1))
    assert FEWEST_CLASSES == 4
    assert compared(parts=True).off(asked(steps)) == 0.0
    assert compared(parts=True).compares(Factor(("a", "b"), BELOW))


def test_older_rules_do_not_know_it() -> None:
    assert {n: rules.compared for n, rules in MODEL_RULES.items()} == {n: n >= 30 for n in MODEL_RULES}
