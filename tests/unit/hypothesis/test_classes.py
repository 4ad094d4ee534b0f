"""Conditions as classes of values: what they count, as disjoint conjunctions, and what local models make of them."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from dpsql.hypothesis import MODEL_RULES, NEWEST, WideHypothesis
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.bars.lesson import learn_calibration
from dpsql.hypothesis.classes import MOST_BOXES, Classes, boxes
from dpsql.query import Factor, LinearQuery, linear_query
from tests.support.simulated import measured, pairwise_table, table_of

Cells = np.ndarray[Any, Any]
SHAPE = (12, 10, 9, 8, 4, 3)
TABLE = table_of(SHAPE)
NAMES = "abcdef"


def random_condition(rng: np.random.Generator, columns: str) -> Factor:
    """A random combination of in and out of each column's random set, which no product over columns says."""
    sides = [rng.random(TABLE.finite_domain(c).size) < 0.5 for c in columns]
    wanted = rng.random((2,) * len(columns)) < 0.5
    weights = wanted[np.ix_(*(s.astype(int) for s in sides))].astype(np.int64)
    return Factor(tuple(columns), weights)


def spread_out(classes: Classes) -> Cells:
    return classes.weights[np.ix_(*classes.labels)]


@pytest.mark.parametrize("seed", range(20))
def test_classes_say_what_the_factors_say(seed: int) -> None:
    rng = np.random.default_rng(seed)
    joint, single = random_condition(rng, "bcd"), Factor(("a",), rng.integers(0, 4, 12), 3 + 1)
    classes = Classes.of([joint, single], 1000)
    assert classes is not None
    assert classes.columns == ("b", "c", "d", "a")
    assert np.array_equal(spread_out(classes), np.multiply.outer(joint.weights, single.weights / 4))
    ordered = classes.in_order("abcd")
    assert np.array_equal(spread_out(ordered), np.multiply.outer(single.weights / 4, joint.weights))
    assert Classes.of([joint, single], classes.weights.size - 1) is None


@pytest.mark.parametrize("seed", range(20))
def test_disjoint_conjunctions_count_what_the_condition_counts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    joint = random_condition(rng, "abc")
    classes = Classes.of([joint], 1000)
    assert classes is not None
    found = classes.conjunctions("t")
    assert found is not None
    outside, parts = found
    counted = np.zeros(SHAPE[:3])
    for part in parts:
        assert part.is_single
        product: Cells = np.ones(SHAPE[:3])
        for f in part.factors:
            product *= f.weights.reshape([-1 if c == f.columns[0] else 1 for c in "abc"])
        counted += product
    assert np.array_equal(1 - counted if outside else counted, joint.weights)


def test_a_disjunction_is_all_but_one_conjunction() -> None:
    no = [np.arange(n) < 2 for n in SHAPE[:3]]
    either = Factor(("a", "b", "c"), 1 - np.einsum("i,j,k->ijk", *(n.astype(np.int64) for n in no)))
    classes = Classes.of([either], 100)
    assert classes is not None
    outside, parts = classes.conjunctions("t") or (False, [])
    assert (outside, len(parts)) == (True, 1)
    assert [f.weights.tolist() for f in parts[0].factors] == [n.astype(int).tolist() for n in no]


def test_fractions_and_too_many_boxes_are_no_conjunctions() -> None:
    half = Classes.of([Factor(("a", "b"), np.arange(120).reshape(12, 10) % 3, 2)], 1000)
    assert half is not None
    assert half.conjunctions("t") is None
    checkers = np.indices((20, 20)).sum(axis=0) % 2 == 0
    assert boxes(np.eye(MOST_BOXES, dtype=bool)) is not None
    assert boxes(np.eye(MOST_BOXES + 1, dtype=bool)) is None
    assert boxes(checkers) is not None  # odd and even rows


def wide(cells: Cells, rules: Any = NEWEST, sigma: float = 0.01) -> WideHypothesis:
    """A model that knows all columns and pairs exactly."""
    made = WideHypothesis(TABLE, float(cells.sum()), rules)
    for number in (1, 2):
        for columns in combinations(NAMES, number):
            made.absorb(measured(cells, columns, sigma, None))
    return made


def truth(cells: Cells, factor: Factor) -> float:
    kept = [NAMES.index(c) for c in factor.columns]
    marginal = cells.sum(axis=tuple(i for i in range(cells.ndim) if i not in kept))
    return float((marginal * factor.weights).sum())


def test_two_columns_are_answered_from_their_pair() -> None:
    rng = np.random.default_rng(1)
    cells = np.rint(pairwise_table(SHAPE, 1e6, rng))
    model = wide(cells)
    for seed in range(5):
        condition = random_condition(np.random.default_rng(seed), "ac")
        assert model.answer(LinearQuery("t", (condition,))) == pytest.approx(truth(cells, condition), rel=1e-3, abs=30)


@pytest.mark.parametrize("columns", ["abc", "abcd", "bcdef", "abcdef"])
def test_conditions_that_tie_columns_are_as_near_as_conjunctions(columns: str) -> None:
    """Where pairs say all, conditions over blurred parts are off by about what pairs leave open, as conjunctions are.

    The rules before took cut parts by their share of the cells, which the pairs of classes contradict.
    """
    rng = np.random.default_rng(2)
    cells = np.rint(pairwise_table(SHAPE, 1e6, rng))
    new, old = wide(cells), wide(cells, MODEL_RULES[2])
    off: dict[str, list[float]] = {"new": [], "old": []}
    for seed in range(12):
        condition = random_condition(np.random.default_rng(seed), columns)
        query = linear_query(TABLE, [condition])
        if query is None or query.is_single:
            continue
        true = truth(cells, condition)
        off["new"].append(abs(new.answer(query) - true))
        off["old"].append(abs(old.answer(query) - true))
    assert np.mean(off["new"]) <= 0.015 * cells.sum()
    assert np.mean(off["new"]) <= 1.05 * np.mean(off["old"])


def test_a_condition_and_its_negation_are_all_rows() -> None:
    rng = np.random.default_rng(3)
    cells = np.rint(pairwise_table(SHAPE, 1e5, rng))
    model = wide(cells, sigma=30.0)
    for seed in range(4):
        condition = random_condition(np.random.default_rng(seed), "abcd")
        negation = Factor(condition.columns, 1 - condition.weights)
        both = [model.answer(LinearQuery("t", (f,))) for f in (condition, negation)]
        assert min(both) >= 0.0
        assert sum(both) == pytest.approx(float(cells.sum()), rel=0.01)


def test_ledgers_of_earlier_rules_answer_as_before() -> None:
    assert {n: rules.classes for n, rules in MODEL_RULES.items()} == {n: n >= 3 for n in MODEL_RULES}


def test_the_bar_of_a_disjunction_is_that_of_the_conjunction_it_leaves_out() -> None:
    rng = np.random.default_rng(4)
    cells = np.rint(pairwise_table(SHAPE, 1e5, rng))
    measurements = [measured(cells, c, 20.0, rng) for n in (1, 2) for c in combinations(NAMES, n)]
    model = WideHypothesis(TABLE, float(cells.sum()))
    for m in measurements:
        model.absorb(m)

    def fit(found: Any) -> Any:
        made = WideHypothesis(TABLE, float(cells.sum()))
        for m in found:
            made.absorb(m)
        return made

    bars = learn_calibration(TABLE, float(cells.sum()), measurements, fit, simulations=2, queries=40).on(
        Coverage(TABLE, float(cells.sum()), measurements), model.answers, model.contingency
    )
    out = [(np.arange(n) < n // 2).astype(np.int64) for n in SHAPE[:3]]
    neither = LinearQuery("t", tuple(Factor((c,), o) for c, o in zip("abc", out, strict=True)))
    either = LinearQuery("t", (Factor(("a", "b", "c"), 1 - np.einsum("i,j,k->ijk", *out)),))
    assert bars.bound(either, 1.0) == bars.bound(neither, 1.0)
    two = LinearQuery(
        "t", (Factor(("a", "b", "c"), np.einsum("i,j,k->ijk", *out) + np.einsum("i,j,k->ijk", *(1 - o for o in out))),)
    )
    inside = [
        bars.bound(neither, 1.0),
        bars.bound(LinearQuery("t", tuple(Factor((c,), 1 - o) for c, o in zip("abc", out, strict=True))), 1.0),
    ]
    assert bars.bound(two, 1.0) == np.ceil(np.hypot(*inside))  # type: ignore[arg-type]
