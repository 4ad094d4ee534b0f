"""Three columns together from their pairs: against loops, on tables of hidden kinds, and on tables without."""

from collections.abc import Sequence
from itertools import combinations, pairwise, product

import numpy as np
import pytest

import dpsql.hypothesis.local.latent_classes as latent
from dpsql.domain import TableDomain
from dpsql.hypothesis import Measurement
from dpsql.hypothesis.local.latent_classes import CLASSES, FITS, LatentClasses
from dpsql.hypothesis.local.maximum_entropy import maximum_entropy
from dpsql.hypothesis.local.wide import WideHypothesis
from dpsql.hypothesis.partition import indicator
from dpsql.hypothesis.rules import MODEL_RULES, NEWEST
from dpsql.query import Estimates, Factor, LinearQuery
from tests.support.simulated import table_of
from tests.unit.hypothesis.test_hidden_kinds import ROWS, SIZES, noisy, of_kinds

Codes = np.ndarray
THREES = [*combinations(range(0, len(SIZES), 2), 3)][::7]


def model(table: TableDomain, found: Sequence[Measurement], version: int = max(MODEL_RULES)) -> WideHypothesis:
    out = WideHypothesis(table, ROWS, MODEL_RULES[version])
    for m in found:
        out.absorb(m)
    return out


def cells_of(codes: Codes, table: TableDomain, chosen: tuple[int, ...]) -> Estimates:
    shape = tuple(table.finite[i].size for i in chosen)
    flat = np.ravel_multi_index(tuple(codes[:, i] for i in chosen), shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)


def off(made: WideHypothesis, codes: Codes, table: TableDomain) -> float:
    names = [c.name for c in table.finite]
    return float(
        np.mean(
            [
                np.abs(made.contingency(tuple(names[i] for i in t)) - cells_of(codes, table, t)).sum() / ROWS
                for t in THREES
            ]
        )
    )


def asked(table: TableDomain, chosen: Sequence[int]) -> LinearQuery:
    """The lower half of the values of some columns."""
    factors = []
    for i in chosen:
        size = table.finite[i].size
        factors.append(Factor((table.finite[i].name,), (np.arange(size) < (size + 1) // 2).astype(np.int64)))
    return LinearQuery("t", tuple(factors))


def test_three_columns_of_hidden_kinds_are_known_better_than_from_their_pairs() -> None:
    table, codes = table_of(SIZES), of_kinds()
    found = noisy(codes, table, sigma=60.0)
    before, after = (off(model(table, found, version), codes, table) for version in (25, 26))
    assert after < 0.85 * before
    assert not MODEL_RULES[25].latent_classes and NEWEST.latent_classes


def test_six_columns_are_too() -> None:
    table, codes = table_of(SIZES), of_kinds()
    found = noisy(codes, table, sigma=60.0)
    models, errors = [model(table, found, version) for version in (25, 26)], []
    for chosen in list(combinations(range(1, len(SIZES), 2), 6))[::30]:
        query = asked(table, chosen)
        inside = np.prod([codes[:, i] < (table.finite[i].size + 1) // 2 for i in chosen], axis=0).sum()
        errors.append([abs(made.answer(query) - inside) for made in models])
    before, after = np.mean(errors, axis=0)
    assert after < 0.9 * before


@pytest.mark.parametrize("couples", [False, True])
def test_without_hidden_kinds_models_are_as_before(couples: bool) -> None:
    """Of independent columns, and of couples that follow from each other and from no other column."""
    table, rng = table_of((4,) * 18), np.random.default_rng(3)
    codes = rng.integers(4, size=(ROWS, 18))
    if couples:
        codes[:, 1::2] = np.where(rng.random((ROWS, 9)) < 0.7, codes[:, ::2], codes[:, 1::2])
    found = noisy(codes, table)
    before, after = (model(table, found, version) for version in (25, 26))
    names = [c.name for c in table.finite]
    for chosen in ((0, 1, 2), (3, 8, 11), (1, 5, 6, 14)):
        columns = tuple(names[i] for i in chosen)
        assert (before.contingency(columns) == after.contingency(columns)).all()
    assert before.answer(asked(table, range(6))) == after.answer(asked(table, range(6)))


def test_where_few_pairs_begin_at_hidden_kinds_models_are_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    table, codes = table_of(SIZES), of_kinds()
    found, columns = noisy(codes, table), tuple(c.name for c in table.finite[1:4])
    before, after = (model(table, found, version).contingency(columns) for version in (25, 26))
    assert (before != after).any()
    monkeypatch.setattr("dpsql.hypothesis.local.clean_tables.MOSTLY", 1.01)
    assert (model(table, found).contingency(columns) == before).all()


def test_when_questions_come_changes_nothing() -> None:
    """Two processes that ask at other times have the same model of the same measurements."""
    table, codes = table_of(SIZES), of_kinds()
    found, query = noisy(codes, table), asked(table, (2, 7, 13))
    once, often = WideHypothesis(table, ROWS), WideHypothesis(table, ROWS)
    for number, m in enumerate(found):
        once.absorb(m)
        often.absorb(m)
        if number % 40 == 0:
            often.answer(query)
    assert once.answer(query) == often.answer(query)


def test_pairs_stay_what_they_are() -> None:
    table, codes = table_of(SIZES), of_kinds()
    made, names = model(table, noisy(codes, table)), [c.name for c in table.finite]
    cells = made.contingency((names[3], names[10], names[15]))
    assert cells.sum(axis=2) == pytest.approx(made.contingency((names[3], names[10])), rel=0.02, abs=20.0)
    assert cells.sum(axis=0) == pytest.approx(made.contingency((names[10], names[15])), rel=0.02, abs=20.0)


def pairs_of_classes(seed: int, sizes: Sequence[int]) -> Estimates:
    """The expected pairs of two classes, side by side; 0 for a column beside itself."""
    rng = np.random.default_rng(seed)
    shares = [rng.dirichlet(np.ones(size), size=2) for size in sizes]
    whole = np.concatenate(shares, axis=1)
    out = 1000.0 * (whole * np.array([[0.6], [0.4]])).T @ whole
    ends = np.cumsum([0, *sizes])
    for a, b in pairwise(ends):
        out[a:b, a:b] = 0.0
    return np.asarray(out)


def test_steps_are_those_of_expectation_and_maximisation(monkeypatch: pytest.MonkeyPatch) -> None:
    """In loops: each row of a pair is of a class with the chance that its two values give it; weights and shares are
    then those of the rows."""
    sizes, steps = (2, 3, 4), 5
    monkeypatch.setattr(latent, "STEPS", steps)
    pairs, ends = pairs_of_classes(1, sizes), np.cumsum([0, *sizes])
    weights, shares = latent.fitted_classes(pairs, sizes)
    for fit in range(FITS):
        own = np.random.default_rng(fit).gamma(2.0, 0.5, (len(pairs), CLASSES)).T * pairs.sum(axis=1)
        for a, b in pairwise(ends):
            own[:, a:b] /= own[:, a:b].sum(axis=1, keepdims=True)
        mine = np.full(CLASSES, 1.0 / CLASSES)
        for _ in range(steps):
            rows, new = np.zeros(CLASSES), np.zeros_like(own)
            for i, j in product(range(len(pairs)), repeat=2):
                chance = mine * own[:, i] * own[:, j]
                chance = chance / chance.sum() * pairs[i, j]
                rows += chance
                new[:, i] += chance
            mine = rows / rows.sum()
            for a, b in pairwise(ends):
                own[:, a:b] = new[:, a:b] / new[:, a:b].sum(axis=1, keepdims=True)
        here = slice(fit * CLASSES, (fit + 1) * CLASSES)
        assert FITS * weights[here] == pytest.approx(mine, rel=1e-6)
        assert shares[here] == pytest.approx(own, rel=1e-6)


def test_what_it_says_of_parts_is_the_sum_over_classes_and_cells() -> None:
    rng = np.random.default_rng(4)
    classes = LatentClasses(
        np.array([0.7, 0.3]), {c: rng.dirichlet(np.ones(n), size=2) for c, n in (("a", 4), ("b", 3))}
    )
    labels = [np.array([0, 1, 1, 0]), np.array([0, 1, 2]), np.array([0, 1])]
    ones = [np.array([60.0, 40.0]), np.array([50.0, 30.0, 20.0]), np.array([80.0, 20.0])]
    found = classes.counts(("a", "b", "c"), [indicator(a) for a in labels], ones)
    assert found.shape == (2, 3, 2)
    for i, j, k in product(range(2), range(3), range(2)):
        sides = [classes.shares["a"][:, labels[0] == i].sum(axis=1), classes.shares["b"][:, j]]
        rows = sum(100.0 * w * x * y * ones[2][k] / 100.0 for w, x, y in zip(classes.weights, *sides, strict=True))
        assert found[i, j, k] == pytest.approx(rows)
    assert not classes.begins(("a", "b")) and not classes.begins(("a", "b", "c"))
    assert not LatentClasses.none().begins(("a", "b", "c"))


def test_many_values_are_fitted_in_fewer_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    table, codes = table_of(SIZES), of_kinds()
    found = noisy(codes, table, sigma=60.0)
    whole = off(model(table, found), codes, table)
    monkeypatch.setattr(latent, "MOST_CELLS", 60)
    fewer = model(table, found)
    classes = fewer.latent_classes
    assert classes.weights.sum() == pytest.approx(1.0)
    assert all(np.allclose(s.sum(axis=1), 1.0) for s in classes.shares.values())
    assert whole < off(fewer, codes, table) < off(model(table, found, 25), codes, table)


def test_a_start_is_left_where_pairs_say_nothing_else() -> None:
    """The least that is added to it: what agrees with all pairs stays as it is."""
    rng = np.random.default_rng(6)
    start = rng.gamma(2.0, 10.0, (3, 2, 4))
    ones = [start.sum(axis=tuple(a for a in range(3) if a != i)) for i in range(3)]
    pairs = {(i, j): start.sum(axis=3 - i - j) for i, j in combinations(range(3), 2)}
    assert maximum_entropy(ones, pairs, start=start) == pytest.approx(start)
    assert np.abs(maximum_entropy(ones, pairs) - start).max() > 1.0
