"""Wide hypotheses: exact inputs are reproduced, consistency, replay, and what they cost."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from dpsql.domain import TableDomain
from dpsql.hypothesis.local.maximum_entropy import binary_model, maximum_entropy
from dpsql.hypothesis.local.wide import LOCAL_CELLS, WideHypothesis
from dpsql.hypothesis.measurement import Measurement
from dpsql.query import Factor, LinearQuery, linear_query
from tests.support.simulated import all_of, marginal, measured, pairwise_table, table_of

SHAPE = (6, 4, 3, 5)
NAMES = ("a", "b", "c", "d")
TABLE = table_of(SHAPE, (True,))


def wide(table: TableDomain, total: float, measurements: list[Measurement]) -> WideHypothesis:
    out = WideHypothesis(table, total)
    for m in measurements:
        out.absorb(m)
    return out


def query(table: TableDomain, **weights: list[int]) -> LinearQuery:
    found = linear_query(table, [Factor((c,), np.array(w)) for c, w in weights.items()])
    assert found is not None
    return found


def test_exact_pairs_reproduce_a_table_without_higher_interactions() -> None:
    cells = np.rint(pairwise_table(SHAPE, 4e6, np.random.default_rng(1)))
    model = wide(TABLE, float(cells.sum()), [*all_of(cells, 1, 1e-3), *all_of(cells, 2, 1e-3)])
    for size, tolerance in ((1, 1e-4), (2, 2e-2), (4, 5e-2)):  # sums over a column have interactions of three
        for columns in combinations(NAMES, size):
            assert model.contingency(columns) == pytest.approx(marginal(cells, NAMES, columns), rel=tolerance)


def test_noisy_pairs_answer_better_than_their_own_noise() -> None:
    rng = np.random.default_rng(2)
    cells = np.rint(pairwise_table(SHAPE, 20_000, rng))
    model = wide(TABLE, float(cells.sum()), [*all_of(cells, 1, 60.0, rng), *all_of(cells, 2, 60.0, rng)])
    errors = [model.contingency(c) - marginal(cells, NAMES, c) for c in combinations(NAMES, 2)]
    assert float(np.sqrt(np.mean([(e**2).mean() for e in errors]))) < 48.0


def test_it_starts_uniform_and_unmeasured_pairs_are_independent() -> None:
    model = WideHypothesis(TABLE, 360.0)
    assert model.contingency(()) == pytest.approx(360.0)
    assert model.contingency(("a", "c")) == pytest.approx(np.full((6, 3), 20.0))
    cells = np.random.default_rng(3).integers(10, 90, SHAPE).astype(float)
    model = wide(TABLE, float(cells.sum()), all_of(cells, 1, 1e-3))
    expected = np.outer(cells.sum(axis=(1, 2, 3)), cells.sum(axis=(0, 1, 3))) / cells.sum()
    assert model.contingency(("a", "c")) == pytest.approx(expected, rel=1e-3)


def test_answers_equal_contingencies() -> None:
    rng = np.random.default_rng(4)
    cells = np.rint(pairwise_table(SHAPE, 9000, rng))
    labels = {"a": np.array([0, 0, 1, 1, 2, 2]), "d": np.array([0, 1, 0, 1, 2])}
    pairs = [measured(cells, p, 25.0, rng, labels) for p in combinations(NAMES, 2)]
    model = wide(TABLE, float(cells.sum()), [*all_of(cells, 1, 25.0, rng), *pairs])
    joint = Factor(("a", "c"), rng.integers(0, 2, (6, 3)))
    between = linear_query(TABLE, [joint, Factor(("d",), np.array([0, 3, 1, 0, 2]), 3)])
    assert between is not None
    for q in (
        query(TABLE, a=[0, 1, 1, 1, 0, 0]),
        query(TABLE, a=[0, 1, 1, 1, 0, 0], d=[1, 0, 0, 1, 0]),
        query(TABLE, a=[0, 1, 1, 1, 0, 0], b=[0, 0, 1, 1], c=[1, 0, 1], d=[1, 0, 0, 1, 0]),
    ):
        assert model.answer(q) == pytest.approx(q.estimate(model.contingency(q.scope)), rel=1e-9)
    # columns that are tied together are raked to their pairs, on the classes of values that the condition tells apart
    assert model.answer(between) == pytest.approx(between.estimate(model.contingency(between.scope)), rel=1e-3)


def test_what_coarse_models_blur_their_pairs_correct(monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of((12, 12, 3, 2))
    rng = np.random.default_rng(13)
    cells = np.zeros((12, 12, 3, 2))
    for i in range(12):
        cells[i, i] = rng.integers(100, 300, (3, 2))  # b follows from a
    found = [*all_of(cells, 1, 1.0, rng), *all_of(cells, 2, 1.0, rng)]
    monkeypatch.setattr("dpsql.hypothesis.local.wide.LOCAL_CELLS", 200)
    model = wide(table, float(cells.sum()), found)
    first, second = [1] + [0] * 11, [0, 1] + [0] * 10
    never = query(table, a=first, b=second, c=[1, 1, 0], d=[0, 1])
    assert model.answer(never) < 5.0
    always = query(table, a=second, b=second, c=[1, 1, 0], d=[0, 1])
    assert model.answer(always) == pytest.approx(float(cells[1, 1, :2, 1].sum()), rel=0.2)


def test_clean_tables_are_consistent() -> None:
    rng = np.random.default_rng(5)
    cells = np.rint(pairwise_table(SHAPE, 3000, rng))
    model = wide(TABLE, float(cells.sum()), [*all_of(cells, 1, 30.0, rng), *all_of(cells, 2, 30.0, rng)])
    total = float(cells.sum())
    for left, right in combinations(NAMES, 2):
        both = model.contingency((left, right))
        assert (both >= 0).all()
        assert both.sum() == pytest.approx(total)
        assert both.sum(axis=0) == pytest.approx(model.one_way(right), rel=1e-6)
        assert both.sum(axis=1) == pytest.approx(model.one_way(left), rel=1e-3)
    for columns in combinations(NAMES, 3):
        assert model.contingency(columns).sum() == pytest.approx(total, rel=1e-6)


def test_the_order_of_columns_does_not_matter() -> None:
    rng = np.random.default_rng(6)
    cells = np.rint(pairwise_table(SHAPE, 3000, rng))
    found = [*all_of(cells, 1, 30.0, rng), *all_of(cells, 2, 30.0, rng)]
    model = wide(TABLE, 3000.0, found)
    assert (model.contingency(("d", "a")) == model.contingency(("a", "d")).T).all()
    assert (model.contingency(("c", "d", "a")) == model.contingency(("a", "c", "d")).transpose(1, 2, 0)).all()
    turned = [Measurement("t", m.axes[::-1], np.ascontiguousarray(m.values.transpose()), m.sigma) for m in found]
    assert wide(TABLE, 3000.0, turned).contingency(("a", "d")) == pytest.approx(model.contingency(("a", "d")))


def test_a_replay_gives_the_same_bits() -> None:
    rng = np.random.default_rng(7)
    cells = np.rint(pairwise_table(SHAPE, 3000, rng))
    found = [*all_of(cells, 1, 30.0, rng), *all_of(cells, 2, 30.0, rng), measured(cells, "bcd", 20.0, rng)]
    live = WideHypothesis(TABLE, 3000.0)
    for m in found:
        live.absorb(m)
        live.contingency(("a", "b", "c"))  # answers in between must not matter
    replayed = wide(TABLE, 3000.0, found)
    for size in (1, 2, 3, 4):
        for columns in combinations(NAMES, size):
            assert live.contingency(columns).tobytes() == replayed.contingency(columns).tobytes()


def test_a_kept_contingency_shows_what_pairs_cannot() -> None:
    table = table_of((2, 2, 2, 2, 3))
    parity = np.zeros((2, 2, 2, 2, 3))
    for a, b, d, e in np.ndindex(2, 2, 2, 3):
        parity[a, b, a ^ b, d, e] = 250.0 + 50.0 * (d == (a ^ b))
    rng = np.random.default_rng(8)
    found = [*all_of(parity, 1, 20.0, rng), *all_of(parity, 2, 20.0, rng)]
    odd = query(table, a=[0, 1], b=[0, 1], c=[0, 1])
    model = wide(table, float(parity.sum()), found)
    assert model.answer(odd) > 500.0  # a quarter of the half: pairs are uniform
    axes = model.coarse_axes(("a", "b", "c"), 40.0)
    assert [a.size for a in axes] == [2, 2, 2]
    model.absorb(measured(parity, "abc", 40.0, rng))
    assert model.answer(odd) < 120.0
    assert model.answer(query(table, a=[0, 1], b=[0, 1], c=[0, 1], e=[1, 0, 0])) < 60.0
    # d depends on a and b through c alone: the third column helps
    truth = float(parity[1, 1, :, 1, :].sum())
    assert model.answer(query(table, a=[0, 1], b=[0, 1], d=[0, 1])) == pytest.approx(truth, rel=0.05)


def test_noisier_sums_of_larger_tables_leave_a_measured_pair_alone() -> None:
    rng = np.random.default_rng(12)
    cells = np.rint(pairwise_table(SHAPE, 3000, rng))
    found = [*all_of(cells, 1, 1e-3), measured(cells, "ab", 10.0, rng)]
    model = wide(TABLE, 3000.0, found)
    before = model.contingency(("a", "b")).copy()
    model.absorb(measured(cells, "abd", 50.0, rng))
    assert model.contingency(("a", "b")) == pytest.approx(before, rel=1e-4)


def test_large_scopes_are_answered_through_their_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes_fitted: list[int] = []

    def noted(*given: Any) -> Any:
        fitted = maximum_entropy(*given)
        sizes_fitted.append(fitted.size)
        return fitted

    monkeypatch.setattr("dpsql.hypothesis.local.wide.maximum_entropy", noted)
    sizes = (30, 2, 40, 3, 2, 50, 4, 2, 60)
    table = table_of(sizes)
    rng = np.random.default_rng(9)
    ones = [rng.integers(50, 150, s).astype(float) for s in sizes]
    ones = [o * (90_000.0 / o.sum()) for o in ones]
    model = WideHypothesis(table, 90_000.0)
    for column, one in zip(table.finite, ones, strict=True):
        exact = measured(one, "a", 1e-3, None)
        model.absorb(Measurement("t", (type(exact.axes[0]).cells((column.name,), (column.size,)),), exact.values, 1e-3))
    halves = {c.name: (np.arange(c.size) % 2).tolist() for c in table.finite}
    share = np.prod([one[1::2].sum() / 90_000.0 for one in ones])
    assert model.answer(query(table, **halves)) == pytest.approx(90_000.0 * share, rel=1e-2)
    five = dict(list(halves.items())[:5])
    assert model.answer(query(table, **five)) > 0
    assert model.answer(query(table, **{c: halves[c] for c in ("a", "c", "f", "i")})) > 0
    assert 0 < max(sizes_fitted) <= LOCAL_CELLS


def test_no_measurement_takes_a_query_below_zero_or_above_the_table() -> None:
    rng = np.random.default_rng(10)
    cells = np.zeros(SHAPE)
    cells[0, 0, 0, 0] = 500.0
    model = wide(TABLE, 500.0, [*all_of(cells, 1, 200.0, rng), *all_of(cells, 2, 300.0, rng)])
    for columns in combinations(NAMES, 3):
        out = model.contingency(columns)
        assert np.isfinite(out).all()
        assert (out >= 0).all()
        assert out.sum() == pytest.approx(500.0, rel=1e-6)


def test_maximum_entropy_of_sets() -> None:
    assert binary_model(1000.0, [500.0, 400.0], {(0, 1): 300.0}) == pytest.approx(300.0)
    independent = dict.fromkeys(combinations(range(3), 2), 250.0)
    assert binary_model(1000.0, [500.0] * 3, independent) == pytest.approx(125.0)
    many = dict.fromkeys(combinations(range(12), 2), 250.0)
    assert binary_model(1000.0, [500.0] * 12, many) == pytest.approx(1000.0 / 2**12)
    nested = binary_model(1000.0, [500.0, 300.0, 200.0], {(0, 1): 300.0, (0, 2): 200.0, (1, 2): 200.0})
    assert nested == pytest.approx(200.0, rel=0.05)


def test_the_local_model_agrees_with_the_pairs_it_is_given() -> None:
    rng = np.random.default_rng(11)
    cells = pairwise_table((4, 3, 5), 1000.0, rng)
    ones = [cells.sum(axis=(1, 2)), cells.sum(axis=(0, 2)), cells.sum(axis=(0, 1))]
    pairs = {(0, 1): cells.sum(axis=2), (0, 2): cells.sum(axis=1), (1, 2): cells.sum(axis=0)}
    assert maximum_entropy(ones, pairs) == pytest.approx(cells, rel=0.05)
