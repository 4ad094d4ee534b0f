"""Laws of wide hypotheses: sums, order, replay, factors against cells."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.hypothesis import Measurement
from dpsql.hypothesis.local.wide import WideHypothesis
from dpsql.hypothesis.partition import compact
from dpsql.query import Factor, linear_query
from tests.support.simulated import measured, table_of

SHAPE = (4, 3, 5, 2)
NAMES = "abcd"
TABLE = table_of(SHAPE, (True,))
SCOPES = [c for size in (1, 2, 3) for c in combinations(NAMES, size)]


@st.composite
def histories(draw: st.DrawFn) -> tuple[float, list[Measurement]]:
    """Measurements of random scopes over random partitions of a random table, noisy or almost exact."""
    seed = draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, draw(st.sampled_from([2, 60])), SHAPE).astype(float)
    out = []
    for scope in draw(st.lists(st.sampled_from(SCOPES), max_size=8)):
        labels = {c: compact(rng.integers(0, 3, SHAPE[NAMES.index(c)])) for c in scope if draw(st.booleans())}
        out.append(measured(cells, scope, draw(st.sampled_from([0.01, 20.0, 400.0])), rng, labels))
    return max(float(cells.sum()), 1.0), out


def absorbed(total: float, measurements: list[Measurement]) -> WideHypothesis:
    out = WideHypothesis(TABLE, total)
    for m in measurements:
        out.absorb(m)
    return out


@settings(deadline=None, max_examples=60)
@given(histories())
def test_every_contingency_is_a_table_with_the_total(history: tuple[float, list[Measurement]]) -> None:
    total, measurements = history
    model = absorbed(total, measurements)
    for scope in [*SCOPES, tuple(NAMES)]:
        cells = model.contingency(scope)
        assert cells.shape == TABLE.shape(scope)
        assert np.isfinite(cells).all()
        assert (cells >= 0).all()
        # sweeps over four columns end when no pair is off by a tenth of its noise: then the last column's total is, too
        assert cells.sum() == pytest.approx(total, rel=1e-6 if len(scope) < 4 else 5e-3)


@settings(deadline=None, max_examples=30)
@given(histories(), st.permutations(NAMES), st.data())
def test_answers_are_weights_times_cells_in_any_order(
    history: tuple[float, list[Measurement]], order: list[str], data: st.DataObject
) -> None:
    model = absorbed(*history)
    scope = tuple(order[:3])
    ordered = tuple(sorted(scope))
    turned = model.contingency(scope).transpose([scope.index(c) for c in ordered])
    assert (turned == model.contingency(ordered)).all()
    factors = []
    for c in ordered:
        n = SHAPE[NAMES.index(c)]
        factors.append(Factor((c,), np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))))
    query = linear_query(TABLE, factors)
    if query is not None:
        assert model.answer(query) == pytest.approx(query.estimate(model.contingency(query.scope)), rel=1e-9, abs=1e-9)


@settings(deadline=None, max_examples=30)
@given(histories())
def test_state_is_a_fold_of_the_measurements(history: tuple[float, list[Measurement]]) -> None:
    total, measurements = history
    live = WideHypothesis(TABLE, total)
    for m in measurements:
        live.absorb(m)
        live.contingency(("a", "b", "c"))
    replayed = absorbed(total, measurements)
    for scope in SCOPES:
        assert live.contingency(scope).tobytes() == replayed.contingency(scope).tobytes()
