"""Three columns together: clean tables over few parts, and longer conditions that follow what is said of each three."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, product

import numpy as np
import pytest

from dpsql.domain import TableDomain
from dpsql.hypothesis.bars.assumed.worked_out import THREES_UPWARDS, UPWARDS
from dpsql.hypothesis.bars.calibration import Calibration
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.bars.lesson import learn_calibration
from dpsql.hypothesis.local.clean_tables import CleanTables
from dpsql.hypothesis.local.maximum_entropy import Known, binary_model, in_three, maximum_entropy, raked_answers
from dpsql.hypothesis.local.triple_table import TripleCounts, TripleTable, clean_triple
from dpsql.hypothesis.local.wide import WideHypothesis
from dpsql.hypothesis.measurement import Axis, Measurement
from dpsql.hypothesis.rules import MODEL_RULES, NEWEST, ModelRules
from dpsql.query import Crosstab, Factor, LinearQuery, linear_query
from tests.support.simulated import all_of, marginal, measured, table_of

SIZE, NAMES = 18, ("a", "b", "c", "d", "e", "f")
BY_PAIRS = replace(NEWEST, by_threes=False)
PLACES = (np.arange(6), np.arange(6), np.arange(6))


def circle(rng: np.random.Generator, rows: int = 200_000) -> np.ndarray:
    """Cells of three columns: two places in a circle, and how far they are apart."""
    a, b = rng.integers(0, SIZE, rows), rng.integers(0, SIZE, rows)
    apart = np.minimum((a - b) % SIZE, (b - a) % SIZE)
    out = np.zeros((SIZE,) * 3)
    np.add.at(out, (a, b, np.clip(apart + rng.integers(0, 6, rows), 0, SIZE - 1)), 1.0)
    return out


def margins(cells: np.ndarray) -> tuple[list[np.ndarray], dict[tuple[int, int], np.ndarray]]:
    ones = [cells.sum(axis=tuple(j for j in range(3) if j != i)) for i in range(3)]
    return ones, {(i, j): cells.sum(axis=3 - i - j) for i, j in combinations(range(3), 2)}


def fitted(table: TableDomain, found: Sequence[Measurement], rules: ModelRules = NEWEST) -> WideHypothesis:
    out = WideHypothesis(table, float(found[0].values.sum()), rules)
    for m in found:
        out.absorb(m)
    return out


def wide(cells: np.ndarray, found: Sequence[Measurement], rules: ModelRules = NEWEST) -> WideHypothesis:
    out = WideHypothesis(table_of(cells.shape, (True,) * cells.ndim), float(cells.sum()), rules)
    for m in found:
        out.absorb(m)
    return out


@pytest.mark.parametrize("sigma", [1.0, 30.0])
def test_what_three_columns_do_together_is_found_and_pairs_are_kept(sigma: float) -> None:
    cells = circle(np.random.default_rng(1)).reshape(6, 3, 6, 3, 6, 3).sum(axis=(1, 3, 5))
    ones, pairs = margins(cells)
    noisy = np.rint(cells + np.random.default_rng(2).normal(0.0, sigma, cells.shape))
    found = clean_triple(TripleCounts(PLACES, noisy, sigma), ones, pairs, NEWEST, 1.0).counts
    alone = maximum_entropy(ones, pairs, (), NEWEST, 1.0)
    assert np.abs(found - cells).mean() < 0.25 * np.abs(alone - cells).mean()
    assert np.abs(found - cells).mean() < sigma
    for pair, wanted in margins(found)[1].items():
        assert wanted == pytest.approx(pairs[pair], abs=0.02 * cells.sum() / 36)
    assert found.min() >= 0.0 and found.sum() == pytest.approx(cells.sum(), rel=1e-3)


def test_noise_alone_is_not_followed() -> None:
    rng = np.random.default_rng(3)
    cells = np.rint(np.multiply.outer(np.outer(*rng.dirichlet([3.0] * 6, 2)), rng.dirichlet([3.0] * 6)) * 200_000)
    ones, pairs = margins(cells)
    noisy = np.rint(cells + rng.normal(0.0, 200.0, cells.shape))
    found = clean_triple(TripleCounts(PLACES, noisy, 200.0), ones, pairs, NEWEST, 1.0).counts
    assert np.abs(found - cells).mean() < 0.15 * np.abs(noisy - cells).mean()


def test_a_table_is_known_on_parts_that_are_finer_and_coarser_than_its_own() -> None:
    """By sums over all cells."""
    rng = np.random.default_rng(4)
    cells = rng.uniform(1.0, 9.0, (4, 6, 4))
    own = (np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1, 2, 2]), np.arange(4))
    counts = np.array([[[0.0] * 4] * 3] * 2)
    for i, j, k in product(range(4), range(6), range(4)):
        counts[own[0][i], own[1][j], own[2][k]] += cells[i, j, k]
    finer, coarser, across = np.arange(4), np.array([0, 0, 0, 0, 1, 1]), np.array([0, 1, 1, 1])
    ones = margins(cells)[0]
    known = TripleTable(own, counts).on_parts((0, 2, 1), (finer, coarser, across), ones)
    assert known.axes == (0, 2, 1) and known.groups[1] is None
    assert known.groups[0] is not None and known.groups[0].tolist() == [0, 0, 1, 1]
    expected = np.stack([counts[:, 0] + counts[:, 1], counts[:, 2]], axis=1)
    expected = np.stack([expected[:, :, 0], expected[:, :, 1:].sum(axis=2)], axis=2)
    assert known.counts == pytest.approx(expected)
    assert known.cells is not None and known.cells.shape == (4, 2, 2)
    for i, j, k in product(range(4), range(2), range(2)):
        assert known.cells[i, j, k] == np.ravel_multi_index((own[0][i], j, k), (2, 2, 2))


def test_a_model_follows_clean_triples_and_keeps_its_pairs() -> None:
    cells = circle(np.random.default_rng(5))[:9, :9, :9] + 1.0
    ones, pairs = margins(cells)
    groups = (np.repeat(np.arange(3), 3),) * 3
    coarse = cells.reshape(3, 3, 3, 3, 3, 3).sum(axis=(1, 3, 5))
    found = maximum_entropy(ones, pairs, (), NEWEST, 0.01, [Known((0, 1, 2), groups, coarse)])
    assert found.reshape(3, 3, 3, 3, 3, 3).sum(axis=(1, 3, 5)) == pytest.approx(coarse, rel=0.01)
    for pair, wanted in margins(found)[1].items():
        assert wanted == pytest.approx(pairs[pair], rel=1e-3, abs=0.1)
    alone = maximum_entropy(ones, pairs, (), NEWEST, 0.01)
    assert np.abs(found - cells).mean() < 0.7 * np.abs(alone - cells).mean()


def test_pairs_are_agreed_with_in_the_end_whatever_triples_say() -> None:
    """Of four columns, each three of which are said to be of another table: they are followed in the first sweeps."""
    rng = np.random.default_rng(18)
    cells, other = rng.uniform(10.0, 90.0, (5, 5, 5, 5)), rng.uniform(1.0, 300.0, (5, 5, 5, 5))
    ones = [cells.sum(axis=tuple(j for j in range(4) if j != i)) for i in range(4)]
    pairs = {p: marginal(cells, NAMES[:4], [NAMES[i] for i in p]) for p in combinations(range(4), 2)}
    said = [
        Known(three, (None, None, None), marginal(other, NAMES[:4], [NAMES[i] for i in three]))
        for three in combinations(range(4), 3)
    ]
    found = maximum_entropy(ones, pairs, (), NEWEST, 0.1, said)
    for pair, wanted in pairs.items():
        assert marginal(found, NAMES[:4], [NAMES[i] for i in pair]) == pytest.approx(wanted, rel=1e-3)


def test_noise_of_a_triple_is_that_of_its_interaction() -> None:
    """An interaction has less noise than the cells that it is taken out of: of two parts each, a third of the sd."""
    cells = np.full((2, 2, 2), 1_000.0)
    ones, pairs = margins(cells)
    moved = cells + 30.0 * np.array([1.0, -1.0])[:, None, None] * np.array([[1.0, -1.0], [-1.0, 1.0]])
    places = (np.arange(2),) * 3
    found = clean_triple(TripleCounts(places, moved, 20.0), ones, pairs, NEWEST, 1.0).counts
    sure = 1.0 - (20.0 / 8**0.5) ** 2 / 30.0**2
    assert abs(found - cells).mean() > 0.9 * sure * 30.0


def test_a_long_condition_has_what_is_known_of_each_three() -> None:
    """Of four sets whose only interaction is of three: exactly, by the true counts."""
    rng = np.random.default_rng(6)
    truth = rng.uniform(50.0, 150.0, (2, 2, 2, 2))
    truth *= np.where(np.add.outer(np.add.outer([0, 1], [0, 1]), [0, 1]) % 2, 0.2, 1.8)[..., None]
    total, places = float(truth.sum()), range(4)

    def rows(inside: Sequence[int]) -> float:
        return float(truth[tuple(1 if i in inside else slice(None) for i in places)].sum())

    inside, both = [rows([i]) for i in places], {(i, j): rows([i, j]) for i, j in combinations(places, 2)}
    threes = {three: rows(three) for three in combinations(places, 3)}
    by_pairs, by_threes = (binary_model(total, inside, both, NEWEST, 1e-3, known) for known in ({}, threes))
    assert abs(by_threes - truth[1, 1, 1, 1]) < 0.1 * abs(by_pairs - truth[1, 1, 1, 1])
    alone = np.multiply.outer(np.multiply.outer(*[[total - i, i] for i in inside[:2]]), [1.0, 1.0]) / total
    model = np.multiply.outer(alone, [1.0, 1.0]) / 4.0
    several = np.stack([model, 2.0 * model])
    scaled = [{key: np.array([value, 2.0 * value]) for key, value in known.items()} for known in (both, threes)]
    found = raked_answers(several, [np.array([i, 2.0 * i]) for i in inside], *scaled)
    assert found[1] == pytest.approx(2.0 * found[0])
    assert abs(found[0] - truth[1, 1, 1, 1]) < 0.5 * abs(by_pairs - truth[1, 1, 1, 1])


def two_by_two(truth: np.ndarray) -> dict[tuple[int, int], np.ndarray]:
    return {(i, j): truth.sum(axis=3 - i - j) for i, j in combinations(range(3), 2)}


def test_counts_of_three_sets_are_those_of_a_table() -> None:
    """Any table is told by its pairs and the rows inside all three."""
    for truth in np.random.default_rng(12).uniform(0.0, 90.0, (20, 2, 2, 2)):
        assert in_three((0, 1, 2), two_by_two(truth), truth[1, 1, 1]) == pytest.approx(truth, abs=1e-6)
    several = np.random.default_rng(13).uniform(0.0, 90.0, (5, 2, 2, 2))
    pairs = {(i, j): several.sum(axis=4 - i - j).reshape(5, 4) for i, j in combinations(range(3), 2)}
    assert in_three((0, 1, 2), pairs, several[:, 1, 1, 1]) == pytest.approx(several, abs=1e-6)


@pytest.mark.parametrize("said", [-1e3, 0.0, 1e9])
def test_what_is_said_of_three_stays_within_what_pairs_allow(said: float) -> None:
    """Pairs are kept by the nearest table that there is, and no cell is below 0: each bound of the eight is met."""
    bounds = set()
    for truth in np.random.default_rng(14).uniform(0.0, 90.0, (200, 2, 2, 2)):
        found = in_three((0, 1, 2), two_by_two(truth), said)
        assert found.min() >= 0.0
        for pair, rows in two_by_two(found).items():
            assert rows == pytest.approx(two_by_two(truth)[pair], abs=1e-6)
        bounds.add(np.unravel_index(int(found.argmin()), found.shape))
    assert len(bounds) == 4  # those cells that more, or fewer, inside of all three make fewer


@pytest.mark.parametrize("number", [6, 8])
def test_conditions_beyond_a_local_model_follow_threes_too(number: int) -> None:
    """Up to ten of them: each column is near the one before."""
    rng = np.random.default_rng(15)
    codes = [rng.integers(0, 14, 60_000)]
    for _ in range(number - 1):
        codes.append(np.clip(codes[-1] + rng.integers(-2, 3, 60_000), 0, 13))
    table = table_of((14,) * number, (True,) * number)
    names = [c.name for c in table.finite]
    found = []
    for size in (1, 2):
        for columns in combinations(range(number), size):
            counts = np.zeros((14,) * size)
            np.add.at(counts, tuple(codes[i] for i in columns), 1.0)
            axes = tuple(Axis.cells((names[i],), (14,)) for i in columns)
            found.append(Measurement("t", axes, np.rint(counts).astype(np.int64), 1.0))
    now, before = 0.0, 0.0
    for low in (0, 4, 8):
        inside = ((np.arange(14) >= low) & (np.arange(14) < low + 5)).astype(np.int64)
        truth = float(np.all([inside[c] == 1 for c in codes], axis=0).sum())
        asked = LinearQuery("t", tuple(Factor((n,), inside) for n in names))
        off = [abs(fitted(table, found, rules).answer(asked) - truth) for rules in (NEWEST, BY_PAIRS)]
        now, before = now + off[0], before + off[1]
    assert now < 0.75 * before


def test_more_than_ten_conditions_are_as_they_were_and_so_are_their_bars() -> None:
    rng = np.random.default_rng(16)
    table = table_of((3,) * 11)
    found = []
    for size in (1, 2):
        for columns in combinations([c.name for c in table.finite], size):
            counts = rng.integers(3_000, 9_000, (3,) * size)
            found.append(Measurement("t", tuple(Axis.cells((c,), (3,)) for c in columns), counts, 5.0))
    asked = LinearQuery("t", tuple(Factor((c.name,), np.array([1, 1, 0])) for c in table.finite))
    model = fitted(table, found, NEWEST)
    assert model.answer(asked) == fitted(table, found, BY_PAIRS).answer(asked)
    fit = partial(fitted, table)
    learned = learn_calibration(table, 54_000.0, found, fit, simulations=2, queries=40)
    bars = []
    for rules in (NEWEST, BY_PAIRS):
        coverage = Coverage(table, 54_000.0, found, rules)
        same = Calibration.from_json(learned.to_json(), coverage, model.answers, model.contingency)
        assert same is not None
        bars.append(same.bound(asked, 1.0))
    assert bars[0] == bars[1]


def test_parts_of_models_are_unions_of_those_of_their_triples_or_within_them() -> None:
    """A column that few parts and many were measured of, beside columns of many and of few values."""
    rng = np.random.default_rng(17)
    cells = rng.integers(1, 40, (60, 40, 2)).astype(float)
    few, many = np.repeat(np.arange(6), 10), np.repeat(np.arange(30), 2)
    tables = CleanTables(table_of(cells.shape, (True,) * 3), float(cells.sum()), NEWEST)
    for m in all_of(cells, 2, 5.0, rng):
        tables.absorb(m)
    for other, parts in (("b", few), ("c", many)):
        names = ("a", other, "x")  # of triples with other columns nothing else is asked here
        values = np.ones((int(parts.max()) + 1, 2, 2), dtype=np.int64)
        halves = [Axis((n,), np.arange(2), 2) for n in names[1:]]
        tables.absorb(Measurement("t", (Axis(("a",), parts, len(values)), *halves), values, 5.0))
    assert len(tables.triples) == 2
    for size in range(2, 61):
        level = tables.level("a", size)
        assert int(level.max()) < size
        for parts in (few, many):
            finer = all(len(set(parts[level == part])) == 1 for part in range(int(level.max()) + 1))
            coarser = all(len(set(level[parts == part])) == 1 for part in range(int(parts.max()) + 1))
            assert finer or coarser


def question(cells: np.ndarray, **ranges: tuple[int, int]) -> tuple[LinearQuery, float]:
    """Ranges of columns, and the rows in them."""
    weights = [np.ones(n, dtype=np.int64) for n in cells.shape]
    for name, (low, high) in ranges.items():
        here = weights[NAMES.index(name)]
        here[:low] = here[high + 1 :] = 0
    table = table_of(cells.shape, (True,) * cells.ndim)
    found = linear_query(table, [Factor((c,), w) for c, w in zip(NAMES, weights, strict=False) if c in ranges])
    assert found is not None
    inside = cells
    for w in reversed(weights):
        inside = inside @ w
    return found, float(inside)


def four_columns(rng: np.random.Generator) -> np.ndarray:
    """Each column is near the one before: pairs of 14 values, of which a model of four columns keeps fewer."""
    rows = 120_000
    found = [rng.integers(0, 14, rows)]
    for _ in range(3):
        found.append(np.clip(found[-1] + rng.integers(-2, 3, rows), 0, 13))
    out = np.zeros((14,) * 4)
    np.add.at(out, tuple(found), 1.0)
    return out


def test_models_of_four_columns_follow_the_finer_ones_of_three() -> None:
    rng = np.random.default_rng(7)
    cells = four_columns(rng)
    found = [*all_of(cells, 1, 2.0, rng), *all_of(cells, 2, 2.0, rng)]
    asked = []
    for low in range(0, 12, 2):
        ends = dict(zip("abcd", [(low, low + 1), (low, low + 2), (low, low + 2), (low, low + 2)], strict=True))
        asked.append(question(cells, **ends))
    now, before = (
        np.mean([abs(wide(cells, found, rules).answer(q) - rows) for q, rows in asked]) for rules in (NEWEST, BY_PAIRS)
    )
    assert now < 0.75 * before
    together = Crosstab.of([q for q, _ in asked]).choices
    model = wide(cells, found)
    assert model.answers(together) == pytest.approx([model.answer(q) for q, _ in asked], rel=1e-6)


def test_conditions_that_tie_four_columns_together_follow_them_too() -> None:
    rng = np.random.default_rng(8)
    cells = four_columns(rng)
    found = [*all_of(cells, 1, 2.0, rng), *all_of(cells, 2, 2.0, rng)]
    inside = [np.isin(np.arange(14), np.arange(low, low + 3)).astype(np.int64) for low in (3, 4, 4, 5)]
    none = np.ones((), dtype=np.int64)
    for w in inside:
        none = np.multiply.outer(none, 1 - w)
    asked = linear_query(table_of(cells.shape, (True,) * 4), [Factor(("a", "b", "c", "d"), 1 - none)])
    assert asked is not None
    truth = float((cells * (1 - none)).sum())
    now, before = (abs(wide(cells, found, rules).answer(asked) - truth) for rules in (NEWEST, BY_PAIRS))
    assert now < before


def test_triples_are_cleaned_once_and_used_on_their_parts() -> None:
    rng = np.random.default_rng(9)
    cells = circle(rng)
    parts = dict.fromkeys("abc", np.repeat(np.arange(6), 3))
    start = [*all_of(cells, 1, 2.0, rng), *all_of(cells, 2, 2.0, rng)]
    coarse = measured(cells, ("a", "b", "c"), 20.0, rng, parts)
    asked, rows = question(cells, a=(0, 2), b=(0, 2), c=(9, 14))
    with_it, without = wide(cells, [*start, coarse]), wide(cells, start)
    assert abs(with_it.answer(asked) - rows) < 0.2 * abs(without.answer(asked) - rows)
    older = wide(cells, [*start, coarse], MODEL_RULES[19])  # there it is a hard round's, followed sweep by sweep
    assert older.answer(asked) != with_it.answer(asked)


def test_a_bar_of_four_columns_grows_less_where_threes_are_followed() -> None:
    rng = np.random.default_rng(10)
    cells = four_columns(rng)
    found = [*all_of(cells, 1, 2.0, rng), *all_of(cells, 2, 2.0, rng)]
    low, rows = question(cells, a=(0, 6), b=(3, 8), c=(7, 13), d=(8, 13))  # far below its pairs
    table, rows_of_all = table_of(cells.shape, (True,) * 4), float(cells.sum())
    model = wide(cells, found)
    learned = learn_calibration(table, rows_of_all, found, partial(wide, cells), simulations=2, queries=40)
    bars = []
    for rules in (NEWEST, BY_PAIRS):
        coverage = Coverage(table, rows_of_all, found, rules)
        same = Calibration.from_json(learned.to_json(), coverage, model.answers, model.contingency)
        assert same is not None
        bars.append(same.bound(low, 1.0) or 0)
    assert abs(model.answer(low) - rows) <= bars[0] < 0.9 * bars[1]
    assert THREES_UPWARDS < UPWARDS


def test_older_rules_know_none_of_it() -> None:
    for number, rules in MODEL_RULES.items():
        assert rules.coarse_triples == rules.by_threes == (number >= 20)
