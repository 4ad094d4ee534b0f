"""Bars of conditions that tie columns together beside weights: those of their conjunctions, so weighed."""

from dataclasses import replace
from math import ceil, hypot

import numpy as np
import pytest

from dpsql.hypothesis.bars.calibration import Calibration
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.local.wide import WideHypothesis
from dpsql.hypothesis.rules import MODEL_RULES, NEWEST
from dpsql.query import Factor, LinearQuery
from tests.support.four_columns import FACTOR, NAMES, SHAPE, TABLE, TOTAL, calibrated, noisy, only, truth, wide

VALUES = Factor(("d",), np.arange(6), 5)
"""As a number column's sum weighs its bins."""
PART = Factor(("d",), np.array([2, 2, 1, 0, 0, 0]), 2)
"""As a condition that cuts a bin weighs it."""


def fitted(seed: int) -> tuple[WideHypothesis, Calibration, Calibration]:
    """A model, its bars, and those of older rules."""
    found = noisy(30.0, seed)
    model, learned = wide(found), calibrated(found)
    new, old = (
        learned.on(Coverage(TABLE, TOTAL, found, rules), model.answers, model.contingency)
        for rules in (NEWEST, replace(NEWEST, ties_weighed=False))
    )
    return model, new, old


def kept(column: str, rng: np.random.Generator) -> Factor:
    size = SHAPE[NAMES.index(column)]
    weights = np.zeros(size, dtype=np.int64)
    weights[rng.choice(size, int(rng.integers(1, size)), replace=False)] = 1
    return Factor((column,), weights)


def others(factor: Factor) -> Factor:
    return Factor(factor.columns, 1 - factor.weights)


def either(x: Factor, y: Factor) -> Factor:
    return Factor((*x.columns, *y.columns), np.maximum.outer(x.weights, y.weights))


def one_of_two(x: Factor, y: Factor) -> Factor:
    return Factor((*x.columns, *y.columns), np.not_equal.outer(x.weights, y.weights).astype(np.int64))


def counted(*factors: Factor) -> LinearQuery:
    return LinearQuery("t", factors)


def bar(bars: Calibration, *factors: Factor) -> int:
    found = bars.bound(counted(*factors), 1.0)
    assert found is not None
    return found


@pytest.mark.parametrize("weighing", [VALUES, PART], ids=["values", "part"])
def test_a_tied_condition_beside_weights_has_the_bars_of_its_conjunctions(weighing: Factor) -> None:
    """A or B is all less neither; of one of A and B alone there are two conjunctions, and their complement no fewer."""
    rng, (_, new, old) = np.random.default_rng(3), fitted(5)
    narrower = 0
    for _ in range(20):
        x, y = kept("a", rng), kept("b", rng)
        whole, neither = bar(new, weighing), bar(new, others(x), others(y), weighing)
        assert bar(new, either(x, y), weighing) == max(1, ceil(hypot(neither, whole)))
        parts = [bar(new, x, others(y), weighing), bar(new, others(x), y, weighing)]
        assert bar(new, one_of_two(x, y), weighing) == max(1, ceil(hypot(*parts)))
        narrower += bar(new, either(x, y), weighing) < 0.5 * bar(old, either(x, y), weighing)
        assert bar(new, x, y, weighing) == bar(old, x, y, weighing)  # nothing is tied
    assert narrower > 10
    assert {n: rules.ties_weighed for n, rules in MODEL_RULES.items()} == {n: n >= 27 for n in MODEL_RULES}


def test_weights_that_are_tied_themselves_keep_their_bar() -> None:
    """As of a product of two number columns: no conjunction of values has such weights."""
    _, new, old = fitted(5)
    tied = Factor(("c", "d"), np.multiply.outer(np.arange(4), np.arange(6)), 15)
    x, y = only("a", 2), only("b", 1)
    assert bar(new, x, tied) == bar(old, x, tied)
    assert bar(new, either(x, y), tied) == ceil(hypot(bar(new, others(x), others(y), tied), bar(new, tied)))


@pytest.mark.statistical
def test_they_hold_and_are_not_wide() -> None:
    rng = np.random.default_rng(8)
    inside, ratios = [], []
    for seed in range(8):
        model, new, old = fitted(40 + seed)
        for _ in range(12):
            x, y, z = kept("a", rng), kept("b", rng), kept("c", rng)
            for asked in (
                counted(either(x, y), VALUES),
                counted(either(x, y), z, PART),
                counted(one_of_two(x, y), PART),
                counted(either(x, z), VALUES),
            ):
                now, before = new.bound(asked, FACTOR), old.bound(asked, FACTOR)
                assert now is not None and before is not None
                off = abs(model.answer(asked) - truth(asked))
                inside.append(off <= now)
                ratios.append(now / before)
    assert np.mean(inside) >= 0.95
    assert np.median(ratios) < 0.4


def test_a_comparison_is_off_by_no_more_than_the_rows_of_its_other_conditions() -> None:
    """Beside one value of another column its own bar may be wider than all rows there are."""
    model, new, _ = fitted(5)
    compared = Factor(("a", "b"), np.less.outer(np.arange(8), np.arange(5)).astype(np.int64))
    narrowed = 0
    for value in range(6):
        other = only("d", value)
        most = ceil(max(float(model.answer(counted(other))), 0.0)) + bar(new, other)
        assert bar(new, compared, other) <= most
        narrowed += bar(new, compared, other) == most
    assert narrowed > 0
