"""Dense and sparse hypotheses against oracles that are computed another way."""

from datetime import date
from math import log

import numpy as np
import pytest

from dpsql.domain import FIXED_POINT, CategoryDomain, DateDomain, TableDomain, TextDomain
from dpsql.errors import InternalError
from dpsql.hypothesis import MODEL_RULES, Axis, DenseHypothesis, Measurement, ScopedHypothesis, TableModel
from dpsql.hypothesis.projection import projected
from dpsql.hypothesis.shrinkage import shrunken_target
from dpsql.hypothesis.strings.sparse import SparseHypothesis, structure_size
from dpsql.planning.contingencies import range_parts
from dpsql.query import Factor, KeyedFactor, linear_query

TABLE = TableDomain(
    "t",
    (
        CategoryDomain("a", ("x", "y", "z"), nullable=False),
        CategoryDomain("b", ("u", "v"), nullable=False),
        TextDomain("w"),
    ),
)

TOTAL = Measurement("t", (), np.array(600), 3.0)


def cells(column: str, values: list[int], sigma: float = 1e-3) -> Measurement:
    return Measurement("t", (Axis.cells((column,), (len(values),)),), np.array(values), sigma)


def test_it_starts_uniform() -> None:
    dense = DenseHypothesis(TABLE, 600)
    assert dense.contingency(("a", "b")) == pytest.approx(np.full((3, 2), 100.0))
    assert dense.contingency(()) == pytest.approx(600)


def test_exact_one_way_tables_give_the_independent_table() -> None:
    dense = DenseHypothesis(TABLE, 600)
    dense.absorb(cells("a", [100, 200, 300]))
    dense.absorb(cells("b", [150, 450]))
    expected = np.outer([100, 200, 300], [150, 450]) / 600
    assert dense.contingency(("a", "b")) == pytest.approx(expected, rel=1e-3)
    assert dense.contingency(("b", "a")) == pytest.approx(expected.T, rel=1e-3)


def test_a_partition_moves_whole_parts() -> None:
    dense = DenseHypothesis(TABLE, 600)
    axis = Axis(("a",), np.array([0, 1, 1]), 2)
    dense.absorb(Measurement("t", (axis,), np.array([400, 200]), 1e-3))
    assert dense.contingency(("a",)) == pytest.approx([400, 100, 100], rel=1e-3)


def test_replayed_measurements_give_the_same_bits() -> None:
    rng = np.random.default_rng(5)
    noisy = [cells("a", rng.integers(50, 300, 3).tolist(), 20.0), cells("b", rng.integers(50, 300, 2).tolist(), 9.0)]
    live, replayed = DenseHypothesis(TABLE, 611), DenseHypothesis(TABLE, 611)
    for m in noisy:
        live.absorb(m)
        live.contingency(("a",))  # a fit in between must not matter
    for m in noisy:
        replayed.absorb(m)
    assert live.contingency(("a", "b")).tobytes() == replayed.contingency(("a", "b")).tobytes()


def test_noise_is_shrunk_and_certain_deviations_are_followed() -> None:
    model = np.full(100, 50.0)
    noise = np.random.default_rng(1).normal(0, 200, 100)
    target = shrunken_target(model, model + noise, 200.0)
    assert np.abs(target - model).mean() < 0.3 * np.abs(noise).mean()
    spike = model.copy()
    spike[7] = 5000.0
    assert shrunken_target(model, spike, 20.0)[7] > 0.45 * spike[7]  # rescaled to the model's total of 5,000
    assert shrunken_target(model, spike, 20.0).sum() == pytest.approx(model.sum())


def test_a_universe_too_large_for_a_tensor_is_modelled_scope_by_scope() -> None:
    whole, scoped = DenseHypothesis(TABLE, 600), ScopedHypothesis(TABLE, 600)
    for m in (cells("a", [100, 200, 300]), cells("b", [150, 450])):
        whole.absorb(m)
        scoped.absorb(m)
    assert scoped.contingency(("a", "b")) == pytest.approx(whole.contingency(("a", "b")), rel=1e-6)


def test_projection_adds_up_the_noise() -> None:
    both = Measurement("t", (Axis.cells(("a",), (3,)), Axis.cells(("b",), (2,))), np.arange(6).reshape(3, 2), 2.0)
    only = projected(both, {"a"})
    assert only is not None
    assert only.values.tolist() == [1, 5, 9]
    assert only.sigma == pytest.approx(2.0 * 2**0.5)
    assert projected(both, {"w"}) is None


def test_structure_size_is_the_smallest() -> None:
    for sparsity, alpha in ((1, 0.5), (7, 0.1), (50, 0.01)):
        size, need = structure_size(sparsity, alpha), 4 * sparsity / alpha**2
        updates = 4 * (log(size) + 1) / alpha**2  # at most, Blum-Roth, lecture 13, Thm 4
        assert size / (log(size) + 1) >= need > (size - 1) / (log(size - 1) + 1)
        assert updates * sparsity <= size + sparsity  # each takes a variable for its keys: they suffice


def test_unmeasured_strings_share_what_is_unassigned_and_measured_ones_do_not() -> None:
    dense = DenseHypothesis(TABLE, 1000)
    sparse = SparseHypothesis(dense, ("w",), 10, 0.1)
    assert sparse.weight(("never",)) == pytest.approx(1000 / structure_size(10, 0.1))
    sparse.absorb(Measurement("t", (), np.array([400, 3]), 5.0, ("w",), (("big",), ("tiny",))))
    assert sparse.weight(("big",)) == pytest.approx(400, rel=1e-3)
    assert sparse.weight(("tiny",)) == 0.0  # inside the noise
    sparse.absorb(Measurement("t", (), np.array([420]), 5.0, ("w",), (("big",),)))
    assert sparse.weight(("big",)) == pytest.approx(410, rel=1e-3)


def test_cells_of_a_key_follow_its_own_measurement_and_else_the_table() -> None:
    model = TableModel(TABLE, TOTAL, 50.0, DenseHypothesis)
    model.absorb(cells("a", [100, 200, 300]))
    model.absorb(Measurement("t", (), np.array([60]), 0.01, ("w",), (("k",),)))
    spread = model.sparse(("w",)).keyed_contingency([("k",), ("new",)], ("a",))
    assert spread[0] == pytest.approx([10, 20, 30], rel=1e-2)
    own = Measurement("t", (Axis.cells(("a",), (3,)),), np.array([[60, 0, 0]]), 0.01, ("w",), (("k",),))
    model.absorb(own)
    assert model.sparse(("w",)).keyed_contingency([("k",)], ("a",))[0] == pytest.approx([60, 0, 0], abs=0.5)
    first = np.array([[1, 0, 0]])
    query = linear_query(TABLE, [], KeyedFactor(("w",), (("k",),), ("a",), first))
    assert query is not None
    assert model.estimate(query) == pytest.approx(60, rel=1e-2)
    assert model.measured(query) == (60, 0.01)


def test_the_least_noisy_measurement_answers() -> None:
    model = TableModel(TABLE, TOTAL, 50.0, DenseHypothesis)
    model.absorb(cells("a", [100, 200, 300], 8.0))
    model.absorb(cells("a", [101, 199, 300], 2.0))
    query = linear_query(TABLE, [Factor(("a",), np.array([1, 0, 0]))])
    assert query is not None
    assert model.measured(query) == (101, 2.0)
    other = linear_query(TABLE, [Factor(("b",), np.array([1, 0]))])
    assert other is not None
    assert model.measured(other) is None


def test_weights_that_could_leave_64_bits_are_refused() -> None:
    fine = [Factor((c,), np.array(w), FIXED_POINT) for c, w in (("a", [1, 2, 3]), ("b", [1, 5]))]
    assert linear_query(TABLE, fine[:1]) is not None
    with pytest.raises(InternalError):
        linear_query(TABLE, fine)


def test_days_that_were_also_counted_by_the_month_follow_both() -> None:
    """Against least squares by matrices: counts are so far above 0 that none has to be made possible."""
    days = DateDomain("day", date(2023, 1, 1), date(2023, 12, 31), nullable=False)
    table, rng = TableDomain("t", (days,)), np.random.default_rng(3)
    labels, size = range_parts(days), days.size
    truth = rng.integers(2_000, 9_000, size)
    cells = truth + np.rint(rng.normal(0.0, 60.0, size)).astype(np.int64)
    months = np.bincount(labels, weights=truth).astype(np.int64) + rng.integers(-40, 40, 12)
    total = float(truth.sum())
    model = DenseHypothesis(table, total)
    model.absorb(Measurement("t", (Axis.cells(("day",), (size,)),), cells, 60.0))
    model.absorb(Measurement("t", (Axis(("day",), labels, 12),), months, 25.0))
    told = np.vstack([np.eye(size) / 60.0, (labels == np.arange(12)[:, None]) / 25.0, np.ones((1, size)) * 1e3])
    right = np.concatenate([cells / 60.0, months / 25.0, [total * 1e3]])
    oracle = np.linalg.lstsq(told, right, rcond=None)[0]
    found = model.contingency(("day",))
    assert np.abs(found - oracle).max() < 0.2 * 60.0
    by_month = [np.bincount(labels, weights=x) for x in (found, oracle, cells)]
    assert np.abs(by_month[0] - by_month[1]).max() < 25.0
    assert np.abs(by_month[0] - np.bincount(labels, weights=truth)).mean() < 60.0 < 60.0 * 5**0.5
    older = DenseHypothesis(table, total, MODEL_RULES[28])
    for m in model.measurements:
        older.absorb(m)
    assert np.abs(older.contingency(("day",)) - oracle).max() > np.abs(found - oracle).max()
