"""Sums of products against the tensor that they stand for, cell by cell."""

from collections.abc import Iterator
from itertools import combinations, permutations
from time import process_time

import numpy as np
import pytest

from dpsql.hypothesis.iterative.products import Products
from dpsql.query import Factor, LinearQuery
from tests.support.simulated import table_of

SHAPE = (4, 3, 2)
NAMES = ("a", "b", "c")
TABLE = table_of(SHAPE)
OUTLINES: tuple[tuple[tuple[str, ...], ...], ...] = (
    (),
    ((),),
    (("a",),),
    (("a",), ("b",)),
    (("a", "b"),),
    (("a",), ("b", "c")),
    (("a", "c"), ("b",)),
    (("a", "b", "c"),),
    (("b",), ("c",)),
)


def query_of(outline: tuple[tuple[str, ...], ...], rng: np.random.Generator, unit: int = 3) -> LinearQuery:
    factors = []
    for i, columns in enumerate(outline):
        u = unit if i == 0 else 1
        factors.append(Factor(columns, rng.integers(0, u + 1, TABLE.shape(columns)), u))
    return LinearQuery("t", tuple(factors))


def tensor_of(query: LinearQuery) -> np.ndarray:
    """The query's weight in every cell, worked out one cell after another."""
    out = np.zeros(SHAPE)
    for cell in np.ndindex(*SHAPE):
        at = dict(zip(NAMES, cell, strict=True))
        out[cell] = np.prod([f.weights[tuple(at[c] for c in f.columns)] / f.unit for f in query.factors])
    return out


def sums(seed: int) -> Iterator[tuple[Products, np.ndarray]]:
    rng = np.random.default_rng(seed)
    total, dense = Products(TABLE), np.zeros(SHAPE)
    yield total, dense
    for _ in range(3):
        for outline in OUTLINES:
            query, coefficient = query_of(outline, rng), float(rng.normal())
            total.add(coefficient, query)
            dense += coefficient * tensor_of(query)
            yield total, dense


def test_inner_products_are_those_of_the_tensors() -> None:
    rng = np.random.default_rng(7)
    for total, dense in sums(1):
        for outline in OUTLINES:
            query = query_of(outline, rng)
            assert total.inner(query) == pytest.approx(float((tensor_of(query) * dense).sum()), abs=1e-9)


def test_cells_are_those_of_the_tensor_in_any_order() -> None:
    for total, dense in sums(2):
        for size in range(4):
            for kept in combinations(range(3), size):
                expected = dense.sum(axis=tuple(i for i in range(3) if i not in kept))
                for order in permutations(range(size)):
                    found = total.cells(tuple(NAMES[kept[i]] for i in order))
                    assert found == pytest.approx(expected.transpose(order), abs=1e-9)


def test_a_hundred_terms_of_large_columns_are_answered_without_their_grid() -> None:
    """400 million cells: a mask of them would take seconds and gigabytes."""
    table = table_of((20_000, 20_000))
    rng = np.random.default_rng(3)
    total = Products(table)
    cuts = [LinearQuery("t", tuple(Factor((c,), rng.integers(0, 2, 20_000)) for c in ("a", "b"))) for _ in range(100)]
    started = process_time()
    for cut in cuts:
        total.add(1e-8, cut)
    answers = [total.inner(cut) for cut in cuts[:10]]
    assert process_time() - started < 2.0
    first = [
        1e-8 * np.prod([f.weights @ g.weights for f, g in zip(cuts[0].factors, c.factors, strict=True)]) for c in cuts
    ]
    assert answers[0] == pytest.approx(sum(first), rel=1e-9)
