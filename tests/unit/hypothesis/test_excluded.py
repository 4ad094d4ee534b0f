"""Bars of conditions that nearly exclude each other: cells without rows keep noise, and their sum all of it."""

import numpy as np
import pytest

from dpsql.confidence import DEVIATIONS
from dpsql.domain import IntegerDomain, TableDomain
from dpsql.hypothesis.bars.assumed.excluded import EXCLUDED, Excluded
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.measurement import Axis, Measurement
from dpsql.hypothesis.rules import MODEL_RULES, NEWEST, ModelRules
from dpsql.hypothesis.shrinkage import LIGHT
from dpsql.query import Choices, Crosstab, Estimates, Factor, LinearQuery

DAYS, SIGMA, KEPT = 12, 20.0, 8.0
TABLE = TableDomain(
    "t", (IntegerDomain("days", 0, DAYS - 1, nullable=False), IntegerDomain("late", 0, 1, nullable=False))
)
CELLS = np.where((np.arange(DAYS) >= 7)[:, None] == np.array([False, True])[None, :], 500.0, KEPT)
"""A model's rows: late from the seventh day on, with what noise leaves in all other cells."""
EARLY = Factor(("days",), (np.arange(DAYS) < 7).astype(np.int64))
AFTER = Factor(("days",), (np.arange(DAYS) >= 7).astype(np.int64))
LATE, SOON = (Factor(("late",), np.array(w)) for w in ([0, 1], [1, 0]))


def excluded(
    cells: Estimates = CELLS, sigma: float = SIGMA, labels: np.ndarray | None = None, rules: ModelRules = NEWEST
) -> Excluded:
    days = Axis.cells(("days",), (DAYS,)) if labels is None else Axis(("days",), labels, int(labels.max()) + 1)
    axes = days, Axis.cells(("late",), (2,))
    pair = Measurement("t", axes, np.zeros([a.size for a in axes], dtype=np.int64), sigma)

    def contingency(columns: tuple[str, ...]) -> Estimates:
        return cells.sum(axis=1 if columns == ("days",) else 0)

    def answers(asked: Choices) -> Estimates:
        left, right = (np.stack([f.weights for f in here]) for here in asked.factors)
        return np.asarray((left @ cells @ right.T)[asked.numbers[0], asked.numbers[1]])

    return Excluded(Coverage(TABLE, float(cells.sum()), [pair], rules), answers, contingency)


def asked(*factors: Factor) -> Choices:
    return Crosstab.of([LinearQuery("t", factors)]).choices


def test_what_excludes_each_other_may_have_no_row() -> None:
    assert excluded().off(asked(EARLY, LATE)) == pytest.approx(7 * KEPT)


def test_no_more_than_the_noise_of_those_cells() -> None:
    few = excluded(sigma=KEPT / LIGHT + 0.01)
    assert few.off(asked(EARLY, LATE)) == pytest.approx(DEVIATIONS * (KEPT / LIGHT + 0.01) * 7**0.5)


def test_the_same_question_with_not_before_one_condition() -> None:
    """The rows of both columns are known: what one cell of four has too many the next has too few."""
    found = {float(excluded().off(asked(days, late))) for days in (EARLY, AFTER) for late in (LATE, SOON)}
    assert found == {7 * KEPT}


def test_cells_that_tell_more_than_their_noise_have_their_rows() -> None:
    assert excluded(sigma=KEPT / LIGHT - 0.01).off(asked(EARLY, LATE)) == 0.0


def test_conditions_that_only_make_each_other_rarer_do_not_exclude_each_other() -> None:
    cells = CELLS.copy()
    cells[:7, 1] = cells[7:, 0] = 120.0
    alone = cells[:7].sum() * cells[:, 1].sum() / cells.sum()
    assert EXCLUDED < cells[:7, 1].sum() / alone < 0.5
    assert cells[0, 1] < LIGHT * 200.0
    assert excluded(cells, 200.0).off(asked(EARLY, LATE)) == 0.0


def test_of_a_part_as_much_as_a_condition_takes() -> None:
    labels = np.arange(DAYS) // 4
    some = Factor(("days",), (np.arange(DAYS) < 2).astype(np.int64))
    cells = np.where((np.arange(DAYS) >= 8)[:, None] == np.array([False, True])[None, :], 500.0, KEPT / 4)
    assert excluded(cells, labels=labels).off(asked(some, LATE)) == pytest.approx(KEPT / 2)


def test_many_groups_are_as_one_by_one() -> None:
    queries = [LinearQuery("t", (days, late)) for days in (EARLY, AFTER) for late in (LATE, SOON)]
    together = excluded().off(Crosstab.of(queries).choices)
    assert np.asarray(together).tolist() == [float(excluded().off(asked(*q.factors))) for q in queries]


def test_one_column_or_older_rules_have_none() -> None:
    assert excluded().off(asked(EARLY)) == 0.0
    assert excluded(rules=MODEL_RULES[31]).off(asked(EARLY, LATE)) == 0.0
