"""Measurements without noise determine exactly the queries that their parts allow."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpsql.domain import CategoryDomain, TableDomain, TextDomain
from dpsql.hypothesis import Axis, Measurement, coarsen, split_identity
from dpsql.query import Factor, KeyedFactor, LinearQuery, linear_query
from tests.support.weights import weights_of

SIZES = {"a": 3, "b": 4, "c": 2}
TABLE = TableDomain(
    "t",
    (
        *(CategoryDomain(n, tuple(f"{n}{i}" for i in range(s)), nullable=False) for n, s in SIZES.items()),
        TextDomain("w"),
    ),
)
KEYS = (("x",), ("y",), ("z",), (None,))


def weights(shape: tuple[int, ...], top: int = 1) -> st.SearchStrategy[np.ndarray]:
    n = int(np.prod(shape))
    return st.lists(st.integers(0, top), min_size=n, max_size=n).map(lambda v: np.array(v).reshape(shape))


def counts(shape: tuple[int, ...]) -> st.SearchStrategy[np.ndarray]:
    n = int(np.prod(shape))
    return st.lists(st.integers(0, 50), min_size=n, max_size=n).map(lambda v: np.array(v).reshape(shape))


@st.composite
def dense_queries(draw: st.DrawFn) -> LinearQuery | None:
    groups = draw(st.sampled_from([[("a",), ("b",)], [("a", "b")], [("a", "c"), ("b",)], [("c",)], [("a", "b", "c")]]))
    factors = [Factor(g, draw(weights(tuple(SIZES[c] for c in g)))) for g in groups]
    return linear_query(TABLE, factors)


def brute_force(query: LinearQuery, data: np.ndarray) -> int:
    """Sum over every cell of a, b, c of its count times the product of the factors' weights."""
    total = 0
    for cell in product(*(range(s) for s in SIZES.values())):
        at = dict(zip(SIZES, cell, strict=True))
        weight = 1
        for f in query.factors:
            weight *= int(f.weights[tuple(at[c] for c in f.columns)])
        total += weight * int(data[cell])
    return total


def scope_counts(data: np.ndarray, scope: tuple[str, ...]) -> np.ndarray:
    names = list(SIZES)
    kept = data.sum(axis=tuple(i for i, n in enumerate(names) if n not in scope))
    order = sorted(scope, key=names.index)
    return np.ascontiguousarray(kept.transpose([order.index(c) for c in scope]))


@given(dense_queries(), counts((3, 4, 2)))
def test_a_query_is_weights_times_contingency(query: LinearQuery | None, data: np.ndarray) -> None:
    if query is not None:
        assert query.floor(scope_counts(data, query.scope)) == brute_force(query, data)


@given(dense_queries(), counts((3, 4, 2)), st.booleans())
def test_parts_of_a_hard_round_determine_its_query(query: LinearQuery | None, data: np.ndarray, fine: bool) -> None:
    if query is None:
        return
    if fine:
        axes = split_identity([Axis.cells(f.columns, f.weights.shape) for f in query.factors])
    else:
        axes = tuple(Axis.level_sets(f.columns, [f.weights]) for f in query.factors)
    values = coarsen(scope_counts(data, tuple(c for a in axes for c in a.columns)), axes)
    assert values.sum() == data.sum()
    found = Measurement("t", axes, values, 2.0).answer(query)
    assert found is not None
    assert found[0] == brute_force(query, data)
    used = sum(1 for w in np.ravel(weights_of(query)) if w) if fine else 1
    assert found[1] == 2.0 * used**0.5


@given(dense_queries(), dense_queries(), counts((3, 4, 2)))
def test_coarse_parts_answer_another_query_rightly_or_not_at_all(
    measured: LinearQuery | None, asked: LinearQuery | None, data: np.ndarray
) -> None:
    if measured is None or asked is None:
        return
    axes = tuple(Axis.level_sets(f.columns, [f.weights]) for f in measured.factors)
    values = coarsen(scope_counts(data, tuple(c for a in axes for c in a.columns)), axes)
    found = Measurement("t", axes, values, 1.0).answer(asked)
    assert found is None or found[0] == brute_force(asked, data)


@given(weights((4, 3)), weights((2,)), counts((4, 3, 2)), st.permutations(range(4)))
def test_keyed_measurements_determine_their_query(
    joint: np.ndarray, other: np.ndarray, data: np.ndarray, order: list[int]
) -> None:
    keyed = KeyedFactor(("w",), tuple(KEYS[i] for i in order), ("a",), joint[order])
    query = linear_query(TABLE, [Factor(("c",), other)], keyed)
    if query is None or query.keyed is None:
        return
    truth = int((joint[:, :, None] * other[None, None, :] * data).sum())
    rows = [KEYS.index(k) for k in query.keyed.strings]
    at = data[rows]
    if "a" not in query.scope:
        at = at.sum(axis=1, keepdims=True)
    if "c" not in query.scope:
        at = at.sum(axis=2, keepdims=True)
    at = at.reshape((len(rows), *query.shape))
    assert query.floor(at) == truth
    axes = []
    if query.keyed.columns:
        axes.append(Axis.level_sets(query.keyed.columns, [*query.keyed.weights]))
    axes += [Axis.level_sets(f.columns, [f.weights]) for f in query.factors]
    values = coarsen(at, axes, keyed=True)
    found = Measurement("t", tuple(axes), values, 1.0, ("w",), query.keyed.strings).answer(query)
    assert found is not None
    assert found[0] == truth


@given(st.lists(st.integers(0, 5), min_size=6, max_size=6), counts((2, 6, 2)))
def test_coarsen_is_a_sum_over_labels(labels: list[int], data: np.ndarray) -> None:
    used, inverse = np.unique(labels, return_inverse=True)
    axis = Axis(("b",), inverse.reshape(6).astype(np.int64), len(used))
    got = coarsen(data, [Axis.cells(("a",), (2,)), axis, Axis.cells(("c",), (2,))])
    for part in range(len(used)):
        assert (got[:, part, :] == sum(data[:, i, :] for i in range(6) if inverse[i] == part)).all()


@given(dense_queries(), dense_queries(), st.booleans())
def test_the_least_sd_is_a_lower_bound(measured: LinearQuery | None, asked: LinearQuery | None, fine: bool) -> None:
    if measured is None or asked is None:
        return
    if fine:
        axes = split_identity([Axis.cells(f.columns, f.weights.shape) for f in measured.factors])
    else:
        axes = tuple(Axis.level_sets(f.columns, [f.weights]) for f in measured.factors)
    measurement = Measurement("t", axes, np.zeros([a.size for a in axes], dtype=np.int64), 3.0)
    found = measurement.answer(asked)
    assert found is None or found[1] >= measurement.least_sd(asked) - 1e-9
