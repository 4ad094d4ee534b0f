"""What models and error bars remember is what they would work out again, bit by bit, and it is bounded."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from dpsql import memo
from dpsql.hypothesis.bars.calibration import random_queries
from dpsql.hypothesis.bars.coverage import Coverage, places_of_pairs
from dpsql.hypothesis.local.wide import WideHypothesis
from dpsql.hypothesis.measurement import Axis, Measurement
from dpsql.memo import Memo
from dpsql.query import Choices, Crosstab, Factor, LinearQuery
from tests.support.simulated import all_of, pairwise_table, table_of

SHAPE = (9, 6, 5, 4, 3)
TABLE = table_of(SHAPE, (True,))
CELLS = np.rint(pairwise_table(SHAPE, 20_000, np.random.default_rng(0)))
TOTAL = float(CELLS.sum())


def coarse(m: Measurement) -> Measurement:
    """Its first axis in two parts."""
    first = m.axes[0]
    labels = np.minimum(first.labels, 1)
    values = np.stack([m.values[labels == part].sum(axis=0) for part in range(2)])
    return replace(m, axes=(Axis(first.columns, labels, 2), *m.axes[1:]), values=values)


def history() -> list[Measurement]:
    rng = np.random.default_rng(4)
    ones, pairs = all_of(CELLS, 1, 20.0, rng), all_of(CELLS, 2, 40.0, rng)
    return [*ones, *[coarse(m) if i % 2 else m for i, m in enumerate(pairs)], all_of(CELLS, 3, 60.0, rng)[0]]


def absorbed(measurements: Sequence[Measurement]) -> WideHypothesis:
    out = WideHypothesis(TABLE, TOTAL)
    for m in measurements:
        out.absorb(m)
    return out


def asked(coverage: Coverage) -> list[LinearQuery]:
    rng = np.random.default_rng(8)
    return [q for number in (1, 2, 3, 4, 5) for q in random_queries(coverage, number, 12, rng)]


def fresh(query: LinearQuery) -> LinearQuery:
    """An equal query of which nothing is known."""
    return replace(query, factors=tuple(Factor(f.columns, f.weights.copy(), f.unit) for f in query.factors))


def product(query: LinearQuery) -> Choices:
    return Crosstab.of([query]).choices


def pairs(product: Choices, model: WideHypothesis) -> list[np.ndarray]:
    return [model.answers(product.only(two)) for two in places_of_pairs(product)]


def _digests(factors: tuple[Factor, ...] | None) -> list[bytes] | None:
    return None if factors is None else [f.digest for f in factors]


@pytest.mark.parametrize("most", [2, memo.MOST])
def test_what_is_remembered_changes_no_bit(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    found = history()
    monkeypatch.setattr(memo.Memo.__init__, "__defaults__", (most,))
    coverage, model = Coverage(TABLE, TOTAL, found), absorbed(found)
    queries = asked(coverage)
    for query in (*queries, *reversed(queries)):
        other, again = Coverage(TABLE, TOTAL, found), absorbed(found)
        assert model.answer(query) == again.answer(fresh(query))
        rows, of_query, of_fresh = np.array([model.answer(query)]), product(query), product(fresh(query))
        assert coverage.noise(of_query, rows, pairs(of_query, model)) == other.noise(
            of_fresh, rows, pairs(of_fresh, again)
        )
        *cut, parts = coverage.rounded(of_query)
        *again_cut, again_parts = other.rounded(of_fresh)
        assert parts == again_parts
        for side, again_side in zip(cut, again_cut, strict=True):
            assert [_digests(f) for here in side for f in here] == [_digests(f) for here in again_side for f in here]


def test_the_latest_are_kept() -> None:
    kept = Memo[int](3)
    for i in range(10):
        assert kept.put(i, -i) == -i
    assert [kept.get(i) for i in range(10)] == [None] * 7 + [-7, -8, -9]
    kept.clear()
    assert len(kept) == 0
