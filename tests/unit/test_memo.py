"""What models and error bars remember is what they would work out again, bit by bit, and it is bounded."""

import itertools
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from dpsql import memo
from dpsql.hypothesis.bars.coverage import Coverage, places_of_pairs
from dpsql.hypothesis.bars.random_queries import random_queries
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


@pytest.mark.parametrize("coarse_pairs", [False, True])
def test_conditions_of_one_value_are_worked_out_together(monkeypatch: pytest.MonkeyPatch, coarse_pairs: bool) -> None:
    """The same bits as one by one: weights of parts, noise, and what is left of a part that is cut."""
    rng = np.random.default_rng(8)
    pairs = all_of(CELLS, 2, 40.0, rng)
    known = [*all_of(CELLS, 1, 20.0, rng), *[coarse(m) if coarse_pairs else m for m in pairs]]
    found = []
    for each in (False, True):
        if each:
            monkeypatch.setattr(Factor, "point", None)
        here = {c: [one_value(c, i) for i in range(n)] for c, n in zip("abcde", SHAPE, strict=True)}
        coverage, wide = Coverage(TABLE, TOTAL, known), WideHypothesis(TABLE, TOTAL)
        for m in known:
            wide.absorb(m)
        for columns in ("a", "ab", "ace", "bcd"):
            queries = [LinearQuery("t", factors) for factors in itertools.product(*[here[c] for c in columns])]
            asked = Crosstab.of(queries).choices
            outer, inner, cut = coverage.rounded(asked)
            told = [[None if f is None else [g.digest for g in f] for f in place] for place in (*outer, *inner)]
            h = np.maximum(wide.answers(asked), 0.0)
            twos = [np.maximum(wide.answers(asked.only(two)), 0.0) for two in places_of_pairs(asked)]
            noise = coverage.noise(asked, h, twos)
            found.append((columns, each, told, cut.tolist(), h.tolist(), noise.tolist()))
    half = len(found) // 2
    assert [f[2:] for f in found[:half]] == [f[2:] for f in found[half:]]
    assert any(any(cut) for _, _, _, cut, _, _ in found) is coarse_pairs


def one_value(column: str, code: int, weight: int = 2, unit: int = 3) -> Factor:
    weights = np.zeros(SHAPE["abcde".index(column)], dtype=np.int64)
    weights[code] = weight
    return Factor((column,), weights, unit)


def test_threads_that_share_one_lose_no_weight() -> None:
    """Memos of modules are every session's, whose locks do not cover them."""
    shared, failures = Memo[int](500), list[Exception]()

    def fill(thread: int) -> None:
        try:
            for i in range(4000):
                shared.put((thread * i) % 700, i, 1 + i % 5)
        except Exception as error:  # noqa: BLE001 - whatever it is
            failures.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=fill, args=(n,)) for n in range(1, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not failures
    kept = vars(shared)
    assert kept["_held"] == sum(kept["_weights"].values()) <= 500 and kept["_weights"].keys() == kept["_values"].keys()
