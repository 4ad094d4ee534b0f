"""What is written once for one product and for many is the same of both, to the bit."""

from collections.abc import Callable

import numpy as np
import pytest

from dpsql.hypothesis.bars import numbers
from dpsql.hypothesis.bars.assumed.unseen_interactions import UnseenInteractions
from dpsql.hypothesis.bars.coverage import Coverage, places_of_pairs
from dpsql.hypothesis.bars.numbers import Numbers
from dpsql.hypothesis.bars.row_weights import RowWeights
from dpsql.query import Choices, Crosstab, Estimates, Factor, LinearQuery
from tests.support.simulated import all_of, pairwise_table, table_of

SHAPE = (7, 6, 5, 4)
TABLE = table_of(SHAPE, (False,))
CELLS = np.rint(pairwise_table(SHAPE, 20_000, np.random.default_rng(0)))
TOTAL = float(CELLS.sum())
RNG = np.random.default_rng(3)
A, B = np.exp(RNG.normal(0, 4, 999)), np.exp(RNG.normal(0, 4, 999))


@pytest.mark.parametrize("of_two", [numbers.least, numbers.most, lambda a, b: numbers.where(a > b, a * 2, b)])
def test_of_two_numbers(of_two: Callable[[Numbers, Numbers], Numbers]) -> None:
    found = of_two(A, B)
    assert [of_two(a, b) for a, b in zip(A.tolist(), B.tolist(), strict=True)] == np.asarray(found).tolist()


@pytest.mark.parametrize("of_one", [numbers.sqrt, numbers.log1p, numbers.expm1, numbers.square])
def test_of_one_number(of_one: Callable[[Numbers], Numbers]) -> None:
    values = np.minimum(A, 300.0)
    each = [of_one(a) for a in values.tolist()]
    assert each == np.asarray(of_one(values)).tolist()
    assert {type(one) for one in each} == {float}


def test_of_several() -> None:
    several = [A, B, A / 3, np.sqrt(B)]
    rows = list(zip(*(s.tolist() for s in several), strict=True))
    assert [numbers.product_of(row) for row in rows] == np.prod(several, axis=0).tolist()
    assert [numbers.least_of(row) for row in rows] == np.min(several, axis=0).tolist()
    assert numbers.product_of([]) == 1.0


def contingency(columns: tuple[str, ...]) -> Estimates:
    kept = [TABLE.finite_domain(c).name for c in columns]
    names = [c.name for c in TABLE.finite]
    summed = CELLS.sum(axis=tuple(i for i, n in enumerate(names) if n not in kept))
    return np.asarray(np.transpose(summed, [sorted(kept, key=names.index).index(c) for c in columns]))


def asked(number: int) -> Crosstab:
    """Conditions on a column of values and ranges, a sum, and a condition, as many queries of one outline."""
    names = [c.name for c in TABLE.finite]
    rng = np.random.default_rng(number)

    def query() -> LinearQuery:
        found = [Factor((names[i],), (rng.random(SHAPE[i]) < 0.5).astype(np.int64)) for i in range(3)]
        weights = rng.integers(0, 6, SHAPE[3]) if number % 2 else rng.integers(0, 2, SHAPE[3]) * 5
        return LinearQuery("t", (*found, Factor((names[3],), weights, 5)))

    return Crosstab.of([query() for _ in range(40)])


@pytest.mark.parametrize("number", [1, 2, 3])
def test_bars_of_one_product_are_those_among_many(number: int) -> None:
    rng = np.random.default_rng(1)
    measured = [*all_of(CELLS, 1, 20.0, rng), *all_of(CELLS, 2, 40.0, rng), all_of(CELLS, 3, 60.0, rng)[0]]
    coverage, many = Coverage(TABLE, TOTAL, measured), asked(number)
    h, pairs = RNG.uniform(0, 900, len(many)), [RNG.uniform(0, 3000, len(many)) for _ in places_of_pairs(many.choices)]

    def described(choices: Choices, rows: Numbers, of_pairs: list[Numbers]) -> list[Numbers]:
        weights, unseen = RowWeights(contingency), UnseenInteractions(coverage, contingency)
        raw = coverage.noise(choices, rows, of_pairs)
        return [raw, coverage.noise_together(choices), unseen.squared(choices, rows, raw), *weights.kept(choices)]

    together = [np.broadcast_to(found, len(many)).tolist() for found in described(many.choices, h, list(pairs))]
    for k, query in enumerate(many):
        one = described(Crosstab.of([query]).choices, float(h[k]), [float(p[k]) for p in pairs])
        assert one == [found[k] for found in together]
        assert {type(number) for number in one} == {float}
