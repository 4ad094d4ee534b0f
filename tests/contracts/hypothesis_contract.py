"""What every ``Hypothesis`` does; subclasses provide ``make``. Each test rejects a broken one (test_hypotheses.py)."""

from collections.abc import Iterator
from itertools import combinations, permutations
from math import prod

import numpy as np
import pytest

from dpsql.domain import TableDomain
from dpsql.errors import InternalError
from dpsql.hypothesis import Axis, Hypothesis, MakeHypothesis, Measurement
from dpsql.query import Crosstab, Factor, LinearQuery, linear_query
from tests.support.exact_hypothesis import ExactHypothesis
from tests.support.simulated import all_of, measured, pairwise_table, table_of

SHAPE = (4, 3, 2)
NAMES = ("a", "b", "c")
TABLE = table_of(SHAPE, (True,))
SCOPES = [scope for size in (0, 1, 2, 3) for scope in combinations(NAMES, size)]
EXACT = 1e-3
"""Noise (counts) that is none."""


def histories() -> Iterator[tuple[float, list[Measurement]]]:
    """(total, measurements): none, of every scope, over coarse parts, over parts of two columns; exact to hopeless."""
    yield 0.0, []
    yield 500.0, []
    for seed, sigma in enumerate((EXACT, 3.0, 40.0, 2000.0)):
        rng = np.random.default_rng(seed)
        cells = np.rint(pairwise_table(SHAPE, 900.0, rng))
        halves = {"a": np.array([0, 0, 1, 1]), "b": np.array([0, 1, 0])}
        joint = Axis(("a", "b"), np.arange(12, dtype=np.int64).reshape(4, 3) % 5, 5)
        values = np.bincount(joint.labels.reshape(-1), weights=cells.sum(axis=2).reshape(-1))
        noisy = np.rint(values + rng.normal(0.0, sigma, 5)).astype(np.int64)
        coarse = [measured(cells, ("a",), sigma, rng, halves), measured(cells, ("a", "b", "c"), sigma, rng, halves)]
        yield float(cells.sum()), [*all_of(cells, 1, sigma, rng), *all_of(cells, 2, sigma, rng)]
        yield float(cells.sum()), [*coarse, Measurement("t", (joint,), noisy, sigma)]
        yield float(cells.sum()), [*all_of(cells, 3, sigma, rng), *all_of(cells, 1, 2 * sigma, rng)]


def absorbed(make: MakeHypothesis, total: float, history: list[Measurement], table: TableDomain = TABLE) -> Hypothesis:
    out = make(table, total)
    for m in history:
        out.absorb(m)
    return out


def bits(model: Hypothesis) -> list[bytes]:
    return [model.contingency(scope).tobytes() for scope in SCOPES]


def queries(seed: int) -> Iterator[LinearQuery]:
    """Of no column to three, with weights that are shares, one over two columns at once."""
    rng = np.random.default_rng(seed)
    for scope in SCOPES:
        for unit in (1, 3):
            factors = [Factor((c,), rng.integers(0, unit + 1, TABLE.shape((c,))), unit) for c in scope]
            found = linear_query(TABLE, factors)
            if found is not None:
                yield found
    together = linear_query(TABLE, [Factor(("a", "b"), rng.integers(0, 2, (4, 3))), Factor(("c",), np.array([0, 1]))])
    assert together is not None
    yield together


class HypothesisContract:
    """Run for every implementation."""

    @pytest.fixture
    def make(self) -> MakeHypothesis:
        raise NotImplementedError

    def test_it_starts_uniform(self, make: MakeHypothesis) -> None:
        for total in (0.0, 1.0, 4321.5):
            model = make(TABLE, total)
            assert model.table is TABLE
            assert model.row_count == max(total, 1.0)
            for scope in SCOPES:
                assert model.contingency(scope) == pytest.approx(model.row_count / prod(TABLE.shape(scope)))

    def test_a_contingency_is_a_table_of_counts_with_the_total(self, make: MakeHypothesis) -> None:
        for total, history in histories():
            model = absorbed(make, total, history)
            for scope in SCOPES:
                cells = model.contingency(scope)
                assert cells.dtype == np.float64
                assert cells.shape == TABLE.shape(scope)
                assert np.isfinite(cells).all()
                assert (cells >= 0).all()
                assert cells.sum() == pytest.approx(model.row_count, rel=1e-6)

    def test_a_contingency_cannot_be_written_to(self, make: MakeHypothesis) -> None:
        for total, history in histories():
            model = absorbed(make, total, history)
            assert not any(model.contingency(scope).flags.writeable for scope in SCOPES)

    def test_columns_come_in_the_order_that_was_asked_for(self, make: MakeHypothesis) -> None:
        for total, history in histories():
            model = absorbed(make, total, history)
            for scope in SCOPES:
                cells = model.contingency(scope)
                for order in permutations(range(len(scope))):
                    turned = model.contingency(tuple(scope[i] for i in order))
                    assert (turned == cells.transpose(order)).all()

    def test_answers_are_weights_times_contingencies(self, make: MakeHypothesis) -> None:
        for seed, (total, history) in enumerate(histories()):
            model = absorbed(make, total, history)
            for query in queries(seed):
                expected = query.estimate(model.contingency(query.scope))
                assert model.answer(query) == pytest.approx(expected, rel=1e-9, abs=1e-9)

    def test_many_answers_are_the_answers(self, make: MakeHypothesis) -> None:
        for seed, (total, history) in enumerate(histories()):
            model = absorbed(make, total, history)
            of_outline: dict[object, list[LinearQuery]] = {}
            for query in (*queries(seed), *queries(seed + 100), *queries(seed)):
                of_outline.setdefault(query.outline, []).append(query)
            for same in of_outline.values():
                one_by_one = [model.answer(query) for query in same]
                assert model.answers(Crosstab.of(same).choices) == pytest.approx(one_by_one, rel=1e-9, abs=1e-9)

    def test_it_says_what_it_absorbed(self, make: MakeHypothesis) -> None:
        for total, history in histories():
            model = absorbed(make, total, history)
            assert len(model.measurements) == len(history)
            assert all(kept is m for kept, m in zip(model.measurements, history, strict=True))

    def test_a_replay_is_equal_bit_by_bit(self, make: MakeHypothesis) -> None:
        """Whatever was asked in between, and of two made side by side."""
        for total, history in histories():
            live, beside = make(TABLE, total), make(TABLE, total)
            for m in history:
                live.absorb(m)
                bits(live)
                live.coarse_axes(NAMES, 5.0)
            for m in live.measurements:
                beside.absorb(m)
            assert bits(live) == bits(beside)

    def test_nothing_else_reaches_it(self, make: MakeHypothesis) -> None:
        """A function of table, total and measurements: not of chance, not of other hypotheses."""
        for total, history in histories():
            alone = bits(absorbed(make, total, history))
            absorbed(make, total + 7.0, history[:1])
            np.random.seed(0)
            assert bits(absorbed(make, total, history)) == alone

    def test_what_is_measured_without_noise_is_followed(self, make: MakeHypothesis) -> None:
        cells = np.rint(pairwise_table(SHAPE, 90_000.0, np.random.default_rng(11)))
        total = float(cells.sum())
        for scope in SCOPES[1:]:
            m = measured(cells, scope, EXACT, None)
            model = absorbed(make, total, [*all_of(cells, 1, EXACT), m])
            assert model.contingency(scope) == pytest.approx(m.values, abs=1e-3 * total)

    def test_the_more_precise_of_two_measurements_counts(self, make: MakeHypothesis) -> None:
        right, wrong = np.array([100, 200, 300, 400]), np.array([400, 300, 200, 100])
        axes = (Axis.cells(("a",), (4,)),)
        both = [Measurement("t", axes, right, 1.0), Measurement("t", axes, wrong, 500.0)]
        for history in (both, both[::-1]):
            assert absorbed(make, 1000.0, history).contingency(("a",)) == pytest.approx(right, abs=5.0)

    def test_agreeing_pairs_give_the_table_of_the_twin(self, make: MakeHypothesis) -> None:
        """Maximum entropy, as long as nothing is noise: what an independent way of fitting comes to."""
        for seed in range(3):
            cells = np.rint(pairwise_table(SHAPE, 50_000.0, np.random.default_rng(seed)))
            history = [*all_of(cells, 1, EXACT), *all_of(cells, 2, EXACT)]
            model, twin = (absorbed(m, float(cells.sum()), history) for m in (make, ExactHypothesis))
            for scope in SCOPES[1:]:
                assert model.contingency(scope) == pytest.approx(twin.contingency(scope), rel=0.01, abs=25.0)

    def test_a_hard_round_repairs_what_pairs_cannot_show(self, make: MakeHypothesis) -> None:
        """A parity of three columns: pairs are even, its cells are not; the measurement of a hard round says so."""
        table = table_of((2, 2, 2))
        cells = np.indices((2, 2, 2)).sum(axis=0) % 2 * 1000.0
        query = linear_query(table, [Factor((c,), np.array([0, 1])) for c in NAMES])
        assert query is not None
        model = absorbed(make, 4000.0, [*all_of(cells, 1, 5.0), *all_of(cells, 2, 5.0)], table)
        assert model.answer(query) == pytest.approx(500.0, abs=50.0)
        axes = model.coarse_axes(NAMES, 5.0) or tuple(Axis.cells((c,), (2,)) for c in NAMES)
        labels = {a.columns[0]: a.labels for a in axes}
        model.absorb(measured(cells, NAMES, 5.0, np.random.default_rng(2), labels))
        assert model.answer(query) == pytest.approx(1000.0, abs=50.0)

    def test_coarse_axes_are_partitions_of_the_columns(self, make: MakeHypothesis) -> None:
        for total, history in histories():
            model = absorbed(make, total, history)
            for scope in SCOPES[1:]:
                for sigma in (0.5, 30.0, 1e6):
                    axes = model.coarse_axes(scope, sigma)
                    if axes is None:
                        continue
                    assert [c for a in axes for c in a.columns] == list(scope)
                    for axis in axes:
                        assert axis.labels.shape == TABLE.shape(axis.columns)
                        assert sorted(set(axis.labels.reshape(-1).tolist())) == list(range(axis.size))
                        assert not axis.difference

    def test_measurements_of_strings_are_refused(self, make: MakeHypothesis) -> None:
        model = make(TABLE, 100.0)
        for axes in ((), (Axis.cells(("a",), (4,)),)):
            values = np.ones([2, *(a.size for a in axes)], dtype=np.int64)
            with pytest.raises(InternalError):
                model.absorb(Measurement("t", axes, values, 1.0, ("name",), (("x",), ("y",))))
        assert list(model.measurements) == []
        assert model.contingency(("a",)) == pytest.approx(np.full(4, 25.0))


class NarrowHypothesisContract(HypothesisContract):
    """For hypotheses of narrow tables, where a warm start measures columns of two values as differences."""

    def test_a_difference_of_two_values_is_followed(self, make: MakeHypothesis) -> None:
        cells = np.rint(pairwise_table(SHAPE, 90_000.0, np.random.default_rng(12)))
        total = float(cells.sum())
        for scope in (("c",), ("a", "c")):
            counts = measured(cells, scope, EXACT, None)
            gap = counts.values[..., :1] - counts.values[..., 1:]
            m = Measurement("t", (*counts.axes[:-1], Axis.difference_of("c")), gap, EXACT)
            model = absorbed(make, total, [*all_of(cells.sum(axis=2), 1, EXACT), m])
            for c in SCOPES:
                assert model.contingency(c).sum() == pytest.approx(total, rel=1e-6)
            found = model.contingency(scope)
            assert found[..., 0] - found[..., 1] == pytest.approx(gap[..., 0], abs=2e-3 * total)
