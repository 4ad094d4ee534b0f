"""Models of many groups at once: the same to the bit as each by itself, for ledgers replay either."""

from itertools import combinations
from math import prod

import numpy as np
import pytest

from dpsql.hypothesis.local.binary_models import binary_models, summed
from dpsql.hypothesis.local.maximum_entropy import MOST_SETS, binary_model
from dpsql.hypothesis.local.wide import LOCAL_COLUMNS, WideHypothesis
from dpsql.hypothesis.rules import MODEL_RULES, NEWEST, ModelRules
from dpsql.query import Choices, Crosstab, Factor, LinearQuery
from tests.support.simulated import all_of, table_of

RULES = [MODEL_RULES[1], MODEL_RULES[20], NEWEST]
ROWS = 48_842.3


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("sets", [2, 4, 6, 7, 8, MOST_SETS, MOST_SETS + 1])
def test_models_together_are_those_of_each_to_the_bit(sets: int, rules: ModelRules) -> None:
    rng, number = np.random.default_rng(sets), 12
    places = range(sets)
    inside = [ROWS * rng.random(number) ** rng.integers(1, 9) for _ in places]
    together = {
        some: ROWS * prod(inside[i] / ROWS for i in some) * rng.lognormal(0.0, 0.6, number) * (rng.random(number) > 0.1)
        for size in (2, 3)
        for some in combinations(places, size)
    }
    both = {(i, j): together[i, j] for i, j in combinations(places, 2)}
    follows = rules.by_threes and 3 < sets <= MOST_SETS
    threes = {(i, j, k): together[i, j, k] for i, j, k in combinations(places, 3)} if follows else {}
    each = [
        binary_model(
            ROWS,
            [float(rows[m]) for rows in inside],
            {two: float(rows[m]) for two, rows in both.items()},
            rules,
            20.0,
            {three: float(rows[m]) for three, rows in threes.items()},
        )
        for m in range(number)
    ]
    assert binary_models(ROWS, inside, both, rules, 20.0, threes).tolist() == each


@pytest.mark.parametrize("axes", [6, 8, 10])
def test_sums_of_many_tensors_are_added_up_in_the_order_of_one(axes: int) -> None:
    tensors = np.random.default_rng(axes).lognormal(0.0, 3.0, (5, *(2,) * axes))
    last = np.ascontiguousarray(np.moveaxis(tensors, 0, -1))
    for size in (2, 3):
        for kept in combinations(range(axes), size):
            others = tuple(axis for axis in range(axes) if axis not in kept)
            each = np.stack([tensor.sum(axis=others, keepdims=True) for tensor in tensors], axis=-1)
            assert np.array_equal(summed(last, kept), each)


def model_of(columns: int, rules: ModelRules) -> WideHypothesis:
    """Of random pairs with noise, so that sweeps end at different times for different products."""
    rng = np.random.default_rng(columns)
    shape = tuple([5, 3, 2, 6, 2, 3, 2, 2][:columns])
    cells = np.rint(rng.lognormal(0.0, 1.5, shape))
    model = WideHypothesis(table_of(shape), float(cells.sum()), rules)
    for m in [*all_of(cells, 1, 30.0, rng), *all_of(cells, 2, 30.0, rng)]:
        model.absorb(m)
    return model


def groups_of(model: WideHypothesis, unit: int) -> Choices:
    """Groups of two values of each column but the last, on which all have a condition, or weights of ``unit`` parts."""
    rng = np.random.default_rng(7)
    *grouped, last = model.table.finite
    weights = rng.integers(1, unit, last.size) if unit > 1 else np.arange(last.size) % 2
    of_all = (Factor((last.name,), weights, unit),)
    factors = (*[tuple(Factor.points(domain.name, domain.size, range(2))) for domain in grouped], of_all)
    some = rng.choice(2 ** len(grouped), 25, replace=False)
    return Choices(factors, np.unravel_index(some, [len(here) for here in factors]), len(some))


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("unit", [1, 8])
@pytest.mark.parametrize("columns", range(LOCAL_COLUMNS + 1, LOCAL_COLUMNS + 4))
def test_groups_over_more_columns_than_a_model_has(columns: int, unit: int, rules: ModelRules) -> None:
    model = model_of(columns, rules)
    asked = groups_of(model, unit)
    each = [model.answer(LinearQuery(model.table.name, asked.product(k))) for k in range(len(asked))]
    assert model.answers(asked).tolist() == each
    alone = [Crosstab.of([LinearQuery(model.table.name, asked.product(k))]).choices for k in range(len(asked))]
    assert [model.answers(one).tolist() for one in alone] == [[found] for found in each]
