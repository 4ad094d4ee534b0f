"""What all pairs say together: against the same fit in plain loops, on tables of hidden kinds and on tables without."""

from itertools import combinations

import numpy as np
import pytest

from dpsql.domain import TableDomain
from dpsql.hypothesis import Axis, Measurement
from dpsql.hypothesis.components import pure
from dpsql.hypothesis.local.hidden_kinds import (
    FEWEST_COLUMNS,
    GAINED,
    MOST_KINDS,
    PASSES,
    TRUSTED,
    HiddenKinds,
    Pairs,
    together,
)
from dpsql.hypothesis.local.pair_table import LEAST_SHARE, ROUNDS, PairCounts, PairTable, clean_pair
from dpsql.hypothesis.local.wide import WideHypothesis
from dpsql.hypothesis.rules import MODEL_RULES, NEWEST
from dpsql.query import Estimates
from tests.support.simulated import table_of

ROWS, SIGMA, SIZES = 40_000, 150.0, (2, 3, 5, 8) * 5
Codes = np.ndarray


def of_kinds(seed: int = 1, sizes: tuple[int, ...] = SIZES) -> Codes:
    """Rows of three kinds, columns that lean on the kind alone; shape (rows, columns)."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(3, size=ROWS, p=[0.5, 0.3, 0.2])
    out = []
    for size in sizes:
        shares = np.cumsum(rng.dirichlet(np.full(size, 0.7), size=3), axis=1)
        out.append((rng.random(ROWS)[:, None] > shares[kind]).sum(axis=1).clip(0, size - 1))
    return np.stack(out, axis=1)


def pair(codes: Codes, table: TableDomain, left: int, right: int) -> Estimates:
    shape = tuple(c.size for c in (table.finite[left], table.finite[right]))
    flat = np.ravel_multi_index((codes[:, left], codes[:, right]), shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)


def noisy(codes: Codes, table: TableDomain, seed: int = 2, sigma: float = SIGMA) -> list[Measurement]:
    """All columns alone, then all pairs."""
    rng = np.random.default_rng(seed)
    out = []
    for number in (1, 2):
        for chosen in combinations(range(len(table.finite)), number):
            first, last = chosen[0], chosen[-1]
            true = pair(codes, table, first, last)
            true = true.sum(axis=1) if number == 1 else true
            axes = tuple(Axis.cells((table.finite[i].name,), (table.finite[i].size,)) for i in chosen)
            values = np.rint(true + rng.normal(0.0, sigma, true.shape)).astype(np.int64)
            out.append(Measurement("t", axes, values, sigma))
    return out


def model(table: TableDomain, found: list[Measurement], version: int = max(MODEL_RULES)) -> WideHypothesis:
    out = WideHypothesis(table, ROWS, MODEL_RULES[version])
    for m in found:
        out.absorb(m)
    return out


def errors(made: WideHypothesis, codes: Codes, table: TableDomain) -> dict[tuple[int, int], float]:
    names = [c.name for c in table.finite]
    return {
        (i, j): float(np.sqrt((pure(made.pair(names[i], names[j]).counts - pair(codes, table, i, j)) ** 2).mean()))
        for i, j in combinations(range(len(names)), 2)
    }


def test_pairs_of_hidden_kinds_are_known_better_than_each_alone() -> None:
    table, codes = table_of(SIZES), of_kinds()
    found = noisy(codes, table)
    before, after = (errors(model(table, found, version), codes, table) for version in (8, 9))
    assert np.mean(list(after.values())) < 0.6 * np.mean(list(before.values()))
    assert not MODEL_RULES[8].hidden_kinds and NEWEST.hidden_kinds


def test_columns_that_follow_from_each_other_begin_as_before_and_bend_nothing_else() -> None:
    table, codes = table_of((*SIZES, 8, 8)), of_kinds()
    rng = np.random.default_rng(5)
    same = rng.integers(8, size=ROWS)  # two more columns, equal in nine rows of ten, and like no other
    other = np.where(rng.random(ROWS) < 0.9, same, rng.integers(8, size=ROWS))
    codes = np.concatenate([codes, same[:, None], other[:, None]], axis=1)
    found = noisy(codes, table)
    before, after = (errors(model(table, found, version), codes, table) for version in (8, 9))
    last = len(table.finite) - 2, len(table.finite) - 1
    assert after[last] == pytest.approx(before[last])
    rest = [p for p in before if p != last]
    assert np.mean([after[p] for p in rest]) < 0.6 * np.mean([before[p] for p in rest])


def test_independent_columns_stay_independent() -> None:
    table = table_of((4,) * 18)
    codes = np.random.default_rng(3).integers(4, size=(ROWS, 18))
    found = noisy(codes, table)
    before, after = (np.mean(list(errors(model(table, found, v), codes, table).values())) for v in (8, 9))
    assert after < 1.02 * before


def plain(ones: dict[str, Estimates], pairs: Pairs) -> dict[tuple[str, str], Estimates]:
    """The same in loops over pairs, with all eigenvectors in each pass; columns are measured cell by cell."""
    names, total = list(ones), float(next(iter(ones.values())).sum())
    starts = np.cumsum([0, *(len(ones[c]) for c in names)])
    at = {c: slice(int(starts[i]), int(starts[i + 1])) for i, c in enumerate(names)}
    size = int(starts[-1])
    expected = {(a, b): np.outer(ones[a], ones[b]) / total for a in names for b in names}
    gaps = {p: pure(c.values) - pure(expected[p]) for p, c in pairs.items()}
    noise = {p: c.sigma**2 + expected[p] for p, c in pairs.items()}
    fitted, beyond = np.zeros((size, size)), dict.fromkeys(pairs, 0.0)
    for _ in range(PASSES):
        variance = {p: noise[p] + max(0.0, beyond[p]) for p in pairs}
        least = min(float(v.min()) for v in variance.values())
        filled = fitted.copy()
        for a, b in pairs:
            weight = least / variance[a, b]
            filled[at[a], at[b]] += weight * (gaps[a, b] - fitted[at[a], at[b]])
            filled[at[b], at[a]] = filled[at[a], at[b]].T
        cells = sum(v.size for v in variance.values())
        mean = sum(float((least**2 / v).sum()) for v in variance.values()) / cells
        values, vectors = np.linalg.eigh(filled)
        largest = np.argsort(-np.abs(values))[:MOST_KINDS]
        fitted = np.zeros((size, size))
        for k in largest:
            shrunken = max(0.0, values[k] ** 2 - 4.0 * size * mean) ** 0.5 * np.sign(values[k])
            fitted += shrunken * np.outer(vectors[:, k], vectors[:, k])
        beyond = {p: float(((gaps[p] - fitted[at[p[0]], at[p[1]]]) ** 2 - noise[p]).mean()) for p in pairs}
    out = {}
    for p in pairs:
        alone = float((gaps[p] ** 2 - noise[p]).mean())
        if beyond[p] <= TRUSTED * float(noise[p].mean()) and beyond[p] <= GAINED * max(0.0, alone):
            out[p] = np.maximum(expected[p] + fitted[at[p[0]], at[p[1]]], LEAST_SHARE * expected[p])
    return out


def test_the_fit_is_that_of_plain_loops() -> None:
    table, codes = table_of(SIZES), of_kinds(7)
    found = noisy(codes, table)
    made = model(table, found)
    ones = {c.name: made.one_way(c.name) for c in table.finite}
    pairs: dict[tuple[str, str], PairCounts] = {
        (m.scope[0], m.scope[1]): PairCounts.of(m, m.scope[0], m.scope[1]) for m in found if len(m.axes) == 2
    }
    some = {p: c for i, (p, c) in enumerate(pairs.items()) if i % 4}  # a quarter is not there yet
    kinds, wanted = HiddenKinds.of(ones, dict.fromkeys(ones, False), some), plain(ones, some)
    starts = {p: kinds.start(*p, [c]) for p, c in some.items()}
    assert len(wanted) > 100
    assert set(wanted) == {p for p, start in starts.items() if start is not None}
    for p, counts in wanted.items():
        start = starts[p]
        assert start is not None
        off = np.abs(start.counts - counts).max()
        assert off < 0.02 * SIGMA  # one step towards the eigenvectors in each pass, where a solver finds them


def test_a_pair_that_was_not_there_is_judged_by_its_own_counts() -> None:
    table, codes = table_of(SIZES), of_kinds(7)
    found = noisy(codes, table)
    made = model(table, found)
    ones = {c.name: made.one_way(c.name) for c in table.finite}
    pairs: dict[tuple[str, str], PairCounts] = {
        (m.scope[0], m.scope[1]): PairCounts.of(m, m.scope[0], m.scope[1]) for m in found if len(m.axes) == 2
    }
    late, counts = pairs.popitem()
    kinds = HiddenKinds.of(ones, dict.fromkeys(ones, False), pairs)
    assert kinds.start(*late, [counts]) is not None
    unlike = PairCounts(counts.left, counts.right, counts.values[::-1].copy(), SIGMA)
    assert kinds.start(*late, [unlike]) is None
    joined = np.add.reduceat(counts.values, [0, 2, 4], axis=0)
    crossing = PairCounts(np.arange(5) // 2, counts.right, joined, SIGMA)
    assert kinds.start(*late, [crossing]) is None
    assert kinds.start(*late, []) is None and kinds.start("a", "none", [counts]) is None
    few = dict(list(pairs.items())[:7])
    assert HiddenKinds.of(ones, dict.fromkeys(ones, False), few).start("a", "b", [pairs["a", "b"]]) is None


def test_pairs_are_looked_at_kindswhen_their_number_has_doubled() -> None:
    table = table_of((2,) * FEWEST_COLUMNS)
    found = noisy(np.zeros((10, FEWEST_COLUMNS), dtype=np.int64), table)
    ones, pairs = found[:FEWEST_COLUMNS], found[FEWEST_COLUMNS:]
    numbers = [together([*ones, *pairs[:n]], FEWEST_COLUMNS) for n in (0, 7, 8, 15, 16, 100, 128, 135, 136)]
    assert [max(0, n - FEWEST_COLUMNS) for n in numbers] == [0, 0, 8, 8, 16, 64, 128, 128, 136]
    assert together([*ones, *pairs], FEWEST_COLUMNS - 1) == 0
    assert together([*ones, *pairs[:8], *pairs[:8]], FEWEST_COLUMNS) == FEWEST_COLUMNS + 8  # each pair counts once


def test_a_model_does_not_depend_on_when_it_was_asked() -> None:
    table, codes = table_of(SIZES[:17]), of_kinds(4, SIZES[:17])
    found = noisy(codes, table)[: 17 + 40]
    asked, at_once = WideHypothesis(table, ROWS), model(table, found)
    for m in found:
        asked.absorb(m)
        asked.pair("a", "d")
    for two in (("a", "d"), ("b", "c"), ("m", "n")):
        np.testing.assert_array_equal(asked.pair(*two).counts, at_once.pair(*two).counts)


def test_a_start_stands_where_independence_stood() -> None:
    """Without counts it is the answer, raked to the columns; with counts one step goes on from it, as far as the rows
    that chance brings can have moved a cell: m / (m + sigma^2) of the way."""
    rows, columns = np.array([600.0, 400.0]), np.array([500.0, 300.0, 200.0])
    told = np.array([[400.0, 150.0, 50.0], [100.0, 150.0, 150.0]])
    start = PairTable(np.arange(2), np.arange(3), told)
    np.testing.assert_allclose(clean_pair(rows, columns, [], (False, False), start=start).counts, told, rtol=1e-9)
    gap = 20.0 * np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0]])
    counts = PairCounts(np.arange(2), np.arange(3), told + gap, 30.0)
    found = clean_pair(rows, columns, [counts], (False, False), start=start).counts
    weight = told / (told + 900.0 * (1 / 2) * (2 / 3))
    wanted = told + weight * gap
    for _ in range(1 + ROUNDS):
        wanted = wanted * (rows / wanted.sum(axis=1))[:, None]
        wanted = wanted * (columns / wanted.sum(axis=0))[None, :]
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    coarse = PairTable(np.zeros(2, dtype=np.int64), np.array([0, 0, 1]), np.array([[800.0, 200.0]]))
    np.testing.assert_allclose(
        clean_pair(rows, columns, [], (False, False), start=coarse).counts.sum(), 1000.0, rtol=1e-9
    )
