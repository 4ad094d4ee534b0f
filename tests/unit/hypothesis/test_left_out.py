"""Bars of broad conditions: no wider than those of what is without them and of what they leave out, in every form."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from math import ceil, hypot

import numpy as np
import pytest

from dpsql.domain import TableDomain
from dpsql.hypothesis.bars.calibration import Calibration
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.bars.left_out import BROAD, WIDE
from dpsql.hypothesis.bars.lesson import learn_calibration
from dpsql.hypothesis.local.wide import WideHypothesis
from dpsql.hypothesis.measurement import Measurement
from dpsql.hypothesis.rules import MODEL_RULES, NEWEST
from dpsql.query import Crosstab, Factor, LinearQuery
from tests.support.four_columns import CELLS, FACTOR, NAMES, SHAPE, TABLE, TOTAL, but, calibrated, noisy, only, wide
from tests.support.simulated import all_of, marginal, pairwise_table, table_of

SIGMA = 30.0
FOUND = noisy(SIGMA, 5)
MODEL = wide(FOUND)
LEARNED = calibrated(FOUND)


def bars_of(*, left_out: bool) -> Calibration:
    rules = replace(NEWEST, left_out=left_out)
    return LEARNED.on(Coverage(TABLE, TOTAL, FOUND, rules), MODEL.answers, MODEL.contingency)


NEW, OLD = bars_of(left_out=True), bars_of(left_out=False)


def fitting(table: TableDomain, total: float) -> Callable[[Sequence[Measurement]], WideHypothesis]:
    def fitted(measurements: Sequence[Measurement]) -> WideHypothesis:
        out = WideHypothesis(table, total)
        for m in measurements:
            out.absorb(m)
        return out

    return fitted


def counted(*factors: Factor) -> LinearQuery:
    return LinearQuery("t", tuple(sorted(factors, key=lambda f: f.columns)))


def share(factor: Factor) -> float:
    return MODEL.answer(counted(factor)) / TOTAL


def expected(query: LinearQuery) -> int:
    """By the older bars of what is left out: of conditions that nearly all rows meet in any case, else of broad
    conditions, each few of them at once, where the query's own bar is wide."""
    limit = WIDE * 1.96 * SIGMA
    nearly_all = [f for f in query.factors if f.unit == 1 and share(f) * TOTAL > max(BROAD * TOTAL, TOTAL - limit)]
    broad = nearly_all or [f for f in query.factors if f.unit == 1 and share(f) > BROAD]
    rest = counted(*[f for f in query.factors if f not in broad])
    itself = OLD.bound(query, 1.0)
    assert itself is not None
    if not broad or (not nearly_all and itself <= limit):
        return itself
    left = [Factor(f.columns, 1 - f.weights) for f in broad]
    few = [out for number in range(1, 2 if nearly_all else len(left) + 1) for out in combinations(left, number)]
    off = [OLD.bound(counted(*rest.factors, *out), 1.0) or 0 for out in few]
    if rest.factors:
        off.append(expected(rest))
    apart = max(1, ceil(hypot(*off)))
    return apart if nearly_all else min(itself, apart)


def random_query(rng: np.random.Generator) -> LinearQuery:
    """Over one to four columns, whose conditions leave out a value or two, or keep these alone."""
    names = rng.choice(NAMES, rng.integers(1, 5), replace=False)
    made = []
    for name in sorted(names.tolist()):
        values = rng.choice(SHAPE[NAMES.index(name)], rng.integers(1, 3), replace=False).tolist()
        made.append((but if rng.random() < 0.6 else only)(name, *values))
    return counted(*made)


def test_a_broad_condition_has_the_bars_of_what_it_leaves_out() -> None:
    """Against the formula, from older bars alone; what is not broad keeps its own."""
    rng = np.random.default_rng(3)
    narrower = 0
    for query in [random_query(rng) for _ in range(120)]:
        bar, older = NEW.bound(query, 1.0), OLD.bound(query, 1.0)
        assert bar is not None and older is not None
        assert bar == expected(query) <= older
        narrower += bar < 0.8 * older
        if not any(share(f) > BROAD for f in query.factors):
            assert bar == older
    assert narrower > 20
    assert {n: rules.left_out for n, rules in MODEL_RULES.items()} == {n: n >= 27 for n in MODEL_RULES}


@pytest.mark.statistical
def test_bars_of_broad_conditions_hold_and_are_not_wide() -> None:
    """All values but one of columns that have many; older bars were more than twice as wide."""
    shape, names, rng = (50, 40, 20), "abc", np.random.default_rng(7)
    table, cells = table_of(shape, (True,)), np.rint(pairwise_table(shape, 100_000, np.random.default_rng(1)))
    total = float(cells.sum())
    inside, held, ratios, off = [], [], [], []
    fitted = fitting(table, total)

    for seed in range(8):
        noise = np.random.default_rng(20 + seed)
        found = [*all_of(cells, 1, 30.0, noise), *all_of(cells, 2, 30.0, noise)]
        model = fitted(found)
        learned = learn_calibration(table, total, found, fitted, simulations=3, queries=60)
        new, old = (
            learned.on(Coverage(table, total, found, rules), model.answers, model.contingency)
            for rules in (NEWEST, replace(NEWEST, left_out=False))
        )
        for few in [few for number in (1, 2, 3) for few in combinations(range(3), number)]:
            for _ in range(6):
                out = {i: int(rng.integers(shape[i])) for i in few}
                factors = [Factor((names[i],), (np.arange(shape[i]) != v).astype(np.int64)) for i, v in out.items()]
                query = counted(*factors)
                bar, older = new.bound(query, FACTOR), old.bound(query, FACTOR)
                assert bar is not None and older is not None
                off.append(abs(model.answer(query) - query.estimate(marginal(cells, names, query.scope))))
                inside.append(off[-1] <= bar)
                held.append(off[-1] <= older)
                ratios.append(bar / older)
    assert np.mean(inside) >= 0.95 and np.mean(held) >= 0.98
    assert np.median(ratios) < 0.5


def test_a_condition_that_leaves_nothing_out_has_the_bar_of_its_question_without_it() -> None:
    """No random question that bars are learned from is as broad: what is foreseen of it has nothing to do with it."""
    cells = CELLS.copy()
    cells[:, :, :, 5] = 0.0
    rng, total = np.random.default_rng(9), float(cells.sum())
    found = [*all_of(cells, 1, 30.0, rng), *all_of(cells, 2, 30.0, rng)]
    fitted = fitting(TABLE, total)

    bars = learn_calibration(TABLE, total, found, fitted, simulations=4, queries=80)
    model, rules = fitted(found), replace(NEWEST, left_out=False)
    older = bars.on(Coverage(TABLE, total, found, rules), model.answers, model.contingency)
    narrower = 0
    for factor in [only(name, value) for name, size in zip("abc", SHAPE, strict=False) for value in range(size)]:
        alone, both, beside = (
            bars.bound(q, 1.0) for q in (counted(factor), counted(factor, but("d", 5)), counted(factor, only("d", 5)))
        )
        assert alone is not None and both is not None and beside is not None
        assert both == ceil(hypot(alone, beside)) and alone <= both <= 1.5 * alone
        narrower += (older.bound(counted(factor, but("d", 5)), 1.0) or 0) < 0.8 * alone
    assert narrower > 2


def test_bars_of_groups_are_those_of_each_of_them() -> None:
    """The broad group of some has the bar that it has alone, and so have those beside it."""
    rng = np.random.default_rng(11)
    for _ in range(12):
        first, second, third = (
            [(but if rng.random() < 0.5 else only)(n, int(rng.integers(SHAPE[NAMES.index(n)]))) for _ in range(3)]
            for n in "abc"
        )
        queries = [counted(f, g, h) for f in first for g in second for h in third]
        assert NEW.bounds(Crosstab.of(queries), 1.0) == [NEW.bound(q, 1.0) for q in queries]


def test_sums_of_weighted_rows_lose_nothing() -> None:
    """What counts by fractions is never left out; a broad condition beside it may be."""
    weighted = Factor(("a",), np.arange(8), 7)
    for beside in (but("b", 0), but("c", 1), only("d", 2)):
        query = LinearQuery("t", (weighted, beside))
        bar, older = NEW.bound(query, 1.0), OLD.bound(query, 1.0)
        assert bar is not None and older is not None and bar == expected(query) <= older


@pytest.mark.parametrize(("rows", "dropped"), [(0.0, False), (1.0, False), (300.0, False), (20_000.0, True)])
def test_of_few_rows_no_condition_is_dropped(rows: float, dropped: bool) -> None:
    """There noise may hide what a condition leaves out and what it keeps: the bar is never wider than its own."""
    cells = np.rint(CELLS * rows / TOTAL)
    cells[:, :, :, 5], rng = 0.0, np.random.default_rng(2)
    total = max(1.0, float(cells.sum()))
    found = [*all_of(cells, 1, SIGMA, rng), *all_of(cells, 2, SIGMA, rng)]
    fitted = fitting(TABLE, total)

    model, bars = fitted(found), learn_calibration(TABLE, total, found, fitted, simulations=4, queries=80)
    new, old = (
        bars.on(Coverage(TABLE, total, found, replace(NEWEST, left_out=on)), model.answers, model.contingency)
        for on in (True, False)
    )
    asked = [counted(f, but("d", 5)) for f in (but("a", 0), only("a", 2), only("b", 0), only("c", 3))]
    wider = [(new.bound(q, 1.0) or 0) > (old.bound(q, 1.0) or 0) for q in (*asked, counted(but("d", 5)))]
    assert any(wider) == dropped
