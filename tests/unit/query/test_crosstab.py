"""Queries counted together: the same numbers as one by one."""

import numpy as np
import pytest

from dpsql.errors import InternalError
from dpsql.query import (
    CountForms,
    Crosstab,
    Factor,
    KeyedFactor,
    LinearQuery,
    canonical_products,
    crosstab,
    floors,
    floors_of_parts,
    linear_query,
    matrix_of,
    row_of,
    sum_of_one,
    sums,
)
from tests.support.simulated import table_of

SIZES = {"a": 3, "b": 4, "c": 5, "d": 2}
COUNTS = np.random.default_rng(5).integers(0, 1000, size=tuple(SIZES.values()))


def factor(rng: np.random.Generator, columns: tuple[str, ...], unit: int) -> Factor:
    return Factor(columns, rng.integers(0, unit + 1, size=[SIZES[c] for c in columns]), unit)


def one_value(column: str, code: int, weight: int = 1, unit: int = 1) -> Factor:
    weights = np.zeros(SIZES[column], dtype=np.int64)
    weights[code] = weight
    return Factor((column,), weights, unit)


def one_by_one(queries: list[LinearQuery]) -> list[int]:
    """Over all cells, without products of sums."""
    out = []
    for q in queries:
        weights = np.ones((), dtype=object)
        for f in q.factors:
            weights = np.multiply.outer(weights, f.weights.astype(object))
        out.append(int((weights * COUNTS).sum()) // q.unit)
    return out


@pytest.mark.parametrize("unit", [1, 7, 1 << 10])
def test_any_queries_of_one_outline(unit: int) -> None:
    rng = np.random.default_rng(unit)
    first, second = ([factor(rng, columns, unit) for _ in range(3)] for columns in (("a",), ("b", "c")))
    last = factor(rng, ("d",), 1)
    some = [(0, 0), (2, 1), (0, 2), (2, 1), (1, 1)]
    queries = [LinearQuery("t", (first[i], second[j], last)) for i, j in some]
    assert floors(queries, COUNTS).tolist() == one_by_one(queries)


def test_groups_of_one_value_and_of_none() -> None:
    condition = factor(np.random.default_rng(1), ("b",), 1)
    rest = Factor(("c",), np.zeros(5, dtype=np.int64)), one_value("d", 1, 3, 4)
    groups = [
        LinearQuery("t", (one_value("a", i), condition, one_value("c", j), rest[1])) for i in range(3) for j in (4, 0)
    ]
    empty = [LinearQuery("t", (one_value("a", 0), condition, rest[0], rest[1]))]
    assert floors(groups, COUNTS).tolist() == one_by_one(groups)
    assert floors([*groups, *empty], COUNTS).tolist() == one_by_one([*groups, *empty])


@pytest.mark.parametrize("number", [1, 2])
def test_counts_of_parts(number: int) -> None:
    rng = np.random.default_rng(number)
    queries = [LinearQuery("t", (factor(rng, ("a",), 7), factor(rng, ("b", "c"), 3))) for _ in range(number)]
    parts = COUNTS.sum(axis=3).reshape(SIZES["a"], -1)
    flat = [lambda weights: weights.reshape(-1)] * 2
    assert floors_of_parts(queries, flat, parts).tolist() == [q.floor(COUNTS.sum(axis=3)) for q in queries]
    with pytest.raises(InternalError, match="not constant"):
        floors_of_parts(queries, [lambda _: None, flat[1]], parts)


def test_units_may_differ_and_factors_be_missing() -> None:
    rng = np.random.default_rng(2)
    names = tuple((c,) for c in SIZES)
    queries = [LinearQuery("t", tuple(factor(rng, n, unit) for n in names)) for unit in (1, 2, 9)]
    assert floors(queries, COUNTS).tolist() == one_by_one(queries)
    nothing = LinearQuery("t", ())
    assert floors([nothing, nothing], np.array(12)).tolist() == [12, 12]


def test_what_is_no_table_is_counted_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    queries = [LinearQuery("t", tuple(factor(rng, (c,), 1) for c in SIZES)) for _ in range(4)]
    together = floors(queries, COUNTS).tolist()
    monkeypatch.setattr(crosstab, "MOST_CHOICES", 8)
    monkeypatch.setattr(np, "tensordot", None)  # not called
    assert floors(queries, COUNTS).tolist() == together == one_by_one(queries)


def test_matrices_of_several_sums_for_each_factor() -> None:
    rng = np.random.default_rng(6)
    table = rng.integers(0, 9, (4, 5))
    matrices = [rng.integers(0, 9, (3, 2, 4)), rng.integers(0, 9, (2, 6, 5))]
    numbers = [np.array([0, 2, 2, 1]), np.array([1, 1, 0, 0])]
    found = sums(table, matrices, numbers, 4)
    assert found is not None
    assert found.tolist() == [
        (matrices[0][i] @ table @ matrices[1][j].T).tolist() for i, j in np.stack(numbers, axis=1).tolist()
    ]


def test_choices_are_products_of_their_factors() -> None:
    rng = np.random.default_rng(7)
    first, second = ([factor(rng, (c,), 3) for _ in range(3)] for c in "ab")
    queries = [LinearQuery("t", (first[i], second[j])) for i, j in ((0, 1), (2, 2), (0, 0))]
    asked = Crosstab.of(queries)
    assert Crosstab.of(asked) is asked
    assert asked[1] is queries[1] and asked[1:] == tuple(queries[1:]) and list(asked) == queries
    assert [asked.choices.product(k) for k in range(3)] == [q.factors for q in queries]
    assert [len(here) for here in asked.choices.factors] == [2, 3]
    assert asked.choices.columns == (("a",), ("b",)) and asked.choices.units.tolist() == [9, 9, 9]
    assert asked.choices.only([1]).among(np.array([2])).product(0) == (second[0],)
    found = asked.choices.each(0, lambda f: float(f.weights.sum()))
    assert found.tolist() == [float(first[i].weights.sum()) for i in (0, 2, 0)]
    copies = [tuple(Factor(f.columns, f.weights.copy(), 3) for f in q.factors) for q in queries]
    again = Crosstab.of([LinearQuery("t", copy) for copy in copies])
    assert again.choices.key == asked.choices.key != Crosstab.of(queries[::-1]).choices.key


def test_products_of_one_outline_are_canonical_together() -> None:
    table = table_of(tuple(SIZES.values()))
    one, none, every = one_value("b", 2), Factor(("a",), np.array([0, 0, 0])), Factor(("a",), np.array([1, 1, 1]))
    products = [(one, one_value("a", 1)), (one, none), (every, one), (one_value("a", 2), one)]
    found = canonical_products(table, products)
    assert [places for places, _ in found] == [[0, 3], [2]]
    for places, queries in found:
        for place, query in zip(places, queries, strict=True):
            expected = linear_query(table, sorted(products[place], key=lambda f: f.columns))
            assert expected is not None and query.digest == expected.digest


def test_queries_of_counts_are_made_when_they_are_looked_at() -> None:
    """The same queries, digests and units as those that were made before."""
    first, second = [one_value("a", i) for i in range(3)], [one_value("b", i, 2, 3) for i in range(4)]
    made = Crosstab.of([LinearQuery("t\u00e4", (f, g)) for f in first for g in second])
    lazy = Crosstab.of_counts("t\u00e4", made.choices)
    assert lazy.digests == tuple(q.digest for q in made) == made.digests
    assert lazy.raw_digests == made.raw_digests == b"".join(bytes.fromhex(q.digest) for q in made)
    assert lazy.indicators.tolist() == made.indicators.tolist() == [False] * 12
    assert (len(lazy), lazy[0].digest, lazy[5].digest) == (12, made[0].digest, made[5].digest)
    assert [q.digest for q in lazy] == [q.digest for q in lazy.queries] == [q.digest for q in made]
    assert lazy.places[made[7].digest] == 7 and lazy.name == made.name


def test_names_tell_crosstabs_apart() -> None:
    values = [one_value("a", i) for i in range(3)]
    some = [LinearQuery("t", (f,)) for f in values]
    other = [LinearQuery("u", (f,)) for f in values]
    sums = [LinearQuery("t", (f,), value="b") for f in values]
    strings = [
        LinearQuery("t", (f,), KeyedFactor(("s",), ((k,),), (), np.ones(1, dtype=np.int64)))
        for f in values
        for k in "xy"
    ]
    asked = [some, other, sums, some[::-1], some[:2], strings, [*strings[1:], strings[0]]]
    assert len({Crosstab.of(queries).name for queries in asked}) == len(asked)
    for queries in asked:
        assert Crosstab.of(queries).digests == tuple(q.digest for q in queries)


def test_forms_of_counts_are_those_of_their_queries() -> None:
    made = Crosstab.of([LinearQuery("t", (one_value("a", i),)) for i in range(3)])
    forms = CountForms(Crosstab.of_counts("t", made.choices))
    assert [(f.constant, f.terms[0].coefficient, f.terms[0].doubt) for f in forms] == [(0.0, 1.0, 0.0)] * 3
    assert [f.terms[0].query.digest for f in forms] == list(made.digests)
    assert len(forms) == 3 and forms[1] is list(forms)[1] and forms[1:] == tuple(forms)[1:] and forms[0].is_count


@pytest.mark.parametrize("seed", range(40))
def test_one_product_is_summed_to_the_same_bit(seed: int) -> None:
    """Else an answer would depend on whether its statement has groups; ties of sizes, and axes of one cell, too."""
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 7, size=int(rng.integers(1, 6))).tolist())
    table, factors = rng.random(shape) * 1_000, []
    for i, size in enumerate(shape):
        weights = rng.integers(0, 4, size=size) if rng.random() < 0.5 else np.zeros(size, dtype=np.int64)
        weights[int(rng.integers(size))] = 2
        factors.append(Factor((f"c{i}",), weights, 3))
    alone = [np.zeros(1, dtype=np.int64)] * len(shape)
    for counts in (table, table.astype(np.int64)):
        together = sums(counts, [matrix_of([f]) for f in factors], alone, 1)
        assert together is not None
        assert together.tolist() == [sum_of_one(counts, [row_of(f) for f in factors])]
    expected = np.einsum(table, list(range(len(shape))), *[x for i, f in enumerate(factors) for x in (f.weights, [i])])
    assert sum_of_one(table, [row_of(f) for f in factors]) == pytest.approx(float(expected))


def test_what_is_kept_in_memory_tells_one_product_from_others() -> None:
    a, b = one_value("a", 1), one_value("b", 2)
    one, other = (Crosstab.of([LinearQuery("t", product)]).choices for product in ((a, b), (a, one_value("b", 3))))
    many = Crosstab.of([LinearQuery("t", (a, b)), LinearQuery("t", (a, one_value("b", 3)))]).choices
    assert (one.is_one, other.is_one, many.is_one, many.among(np.array([0])).is_one) == (True, True, False, False)
    assert len({one.identity, other.identity, many.identity, one.only([0]).identity}) == 4
    assert one.identity == Crosstab.of([LinearQuery("t", (a, b))]).choices.identity
