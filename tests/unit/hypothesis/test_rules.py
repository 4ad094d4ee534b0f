"""What the newest rules of models mend, shown beside the first ones, which older ledgers keep."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from dpsql.accounting.plan import NEWEST_MODELS
from dpsql.hypothesis import MODEL_RULES, NEWEST, DenseHypothesis, Measurement, ModelRules, WideHypothesis
from dpsql.hypothesis.local.maximum_entropy import maximum_entropy
from tests.support.simulated import marginal, measured, table_of

SIZES = (6, 12, 8, 4, 3)
NAMES = "abcde"
ROWS = 300_000
SIGMA = 12.0
FIRST = MODEL_RULES[1]


def dependent() -> np.ndarray:
    """Counts of 300,000 rows in which columns all but follow from each other: most cells are structural zeros."""
    rng = np.random.default_rng(4)
    a = rng.choice(6, size=ROWS, p=np.array([0.6, 0.25, 0.1, 0.03, 0.015, 0.005]))
    b = np.where(rng.random(ROWS) < 0.02, rng.integers(0, 12, ROWS), 2 * a + (rng.random(ROWS) < 0.3))
    c = np.where(a < 3, b % 4, 4 + b % 4)
    d = np.where(rng.random(ROWS) < 0.001, rng.integers(0, 4, ROWS), c // 2)
    e = (a + d + (rng.random(ROWS) < 0.05)) % 3
    return np.histogramdd(np.stack([a, b, c, d, e], axis=1), bins=[np.arange(n + 1) - 0.5 for n in SIZES])[0]


def measurements(cells: np.ndarray, sigma: float, seed: int) -> list[Measurement]:
    rng = np.random.default_rng(seed)
    scopes = [c for number in (1, 2, 3) for c in combinations(NAMES[: cells.ndim], number)]
    return [measured(cells, scope, sigma, rng) for scope in scopes]


def off(cells: np.ndarray, rules: ModelRules, columns: int, sigma: float = SIGMA) -> float:
    """The largest error of a count over so many columns, the mean of three fits."""
    found = []
    for seed in range(3):
        model = DenseHypothesis(table_of(SIZES), ROWS, rules)
        for m in measurements(cells, sigma, seed):
            model.absorb(m)
        scopes = combinations(NAMES, columns)
        found.append(max(np.abs(model.contingency(s) - marginal(cells, NAMES, s)).max() for s in scopes))
    return float(np.mean(found))


def test_plans_name_the_newest_rules_and_all_are_known() -> None:
    assert list(MODEL_RULES) == list(range(1, NEWEST_MODELS + 1))
    assert NEWEST is MODEL_RULES[NEWEST_MODELS]


@pytest.mark.parametrize("columns", [1, 2])
def test_structural_zeros_do_not_spoil_what_is_known_best(columns: int) -> None:
    cells = dependent()
    then, now = off(cells, FIRST, columns), off(cells, NEWEST, columns)
    assert now < 6 * SIGMA < then
    assert now < then / 2


def follows(rules: ModelRules, seed: int) -> float:
    """The mean error of sums of cells of two columns beside a third that is 1 where conditions on both are met."""
    a, c = np.divmod(np.arange(108), 9)
    cells = np.zeros((12, 9, 2))
    cells[a, c, ((a % 2 == 1) & (c > 4)).astype(int)] = ROWS / 108
    model = DenseHypothesis(table_of(cells.shape), ROWS, rules)
    for m in measurements(cells, 30.0, seed):
        model.absorb(m)
    summed = model.contingency(("a", "b"))[1::2, 5:].sum()
    return abs(float(summed - cells[1::2, 5:].sum()))


def test_a_column_that_follows_from_two_others_leaves_no_drift_in_their_sums() -> None:
    """Each of 24 cells is off by less than its noise, all in one direction, where rounds end too soon."""
    then, now = (np.mean([follows(rules, seed) for seed in range(4)]) for rules in (MODEL_RULES[16], NEWEST))
    assert now < 30.0 * np.sqrt(24) < then / 2


def test_accelerated_rounds_go_where_many_plain_ones_go() -> None:
    """And no further: the same measurements, in thousands of short rounds."""
    plain = replace(NEWEST, accelerated=False, rounds=3_000, moved=0.001)
    there, many = (np.mean([follows(rules, seed) for seed in range(4)]) for rules in (NEWEST, plain))
    assert there == pytest.approx(many, abs=60.0)


def test_a_cell_that_all_but_vanished_comes_back() -> None:
    counts = np.array([[1000.0, 0.0], [0.0, 1000.0]])
    wrong, right = np.array([[0.0, 1000.0], [1000.0, 0.0]]), counts
    models = {rules: DenseHypothesis(table_of((2, 2)), 2000, rules) for rules in (FIRST, NEWEST)}
    for model in models.values():
        for cells, sigma in ((wrong, 3.0), (right, 0.01)):
            model.absorb(measured(cells, "ab", sigma, None))
        assert model.contingency(("a", "b")) == pytest.approx(counts, abs=5)


@pytest.mark.parametrize("rules", MODEL_RULES.values())
def test_a_model_keeps_the_number_of_rows(rules: ModelRules) -> None:
    model = DenseHypothesis(table_of((3, 4, 2)), 7, rules)
    for m in measurements(np.zeros((3, 4, 2)), 5.0, 1):
        model.absorb(m)
    assert model.contingency(()) == pytest.approx(7.0, rel=1e-9)


def chain() -> tuple[list[np.ndarray], dict[tuple[int, int], np.ndarray]]:
    """The margins of three columns that fitting pair by pair reaches slowly."""
    rng = np.random.default_rng(1)
    cells = rng.gamma(0.05, size=(6, 6, 6)) * 1e4
    ones = [cells.sum(axis=tuple(i for i in range(3) if i != k)) for k in range(3)]
    return ones, {(i, j): cells.sum(axis=3 - i - j) for i, j in combinations(range(3), 2)}


def test_local_models_are_fitted_until_they_agree_with_their_pairs() -> None:
    ones, pairs = chain()

    def largest(model: np.ndarray) -> float:
        return max(float(np.abs(model.sum(axis=3 - i - j) - wanted).max()) for (i, j), wanted in pairs.items())

    then, now = (largest(maximum_entropy(ones, pairs, (), rules, 0.0)) for rules in (FIRST, NEWEST))
    assert now < then / 3
    early = maximum_entropy(ones, pairs, (), NEWEST, 1e9)
    assert largest(early) > largest(maximum_entropy(ones, pairs, (), NEWEST, 1.0))  # it ends when it is near enough


def test_equal_histories_give_equal_models_by_equal_rules_only() -> None:
    cells, table = dependent()[:, :, 0, 0, 0], table_of((6, 12))
    rng = np.random.default_rng(2)
    found = [measured(cells, scope, 60.0, rng) for scope in ("a", "b", "ab")]

    def model(rules: ModelRules) -> np.ndarray:
        wide = WideHypothesis(table, float(cells.sum()), rules)
        for m in found:
            wide.absorb(m)
        return wide.contingency(("a", "b"))

    assert (model(FIRST) == model(FIRST)).all() and (model(NEWEST) == model(NEWEST)).all()
    assert (model(FIRST) != model(NEWEST)).any()
