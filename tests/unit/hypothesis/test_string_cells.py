"""Counts of strings by a column: all measurements weighed by their noise, beside the rules that older ledgers keep."""

from math import inf

import numpy as np
import pytest

from dpsql.hypothesis import (
    MODEL_RULES,
    NEWEST,
    Axis,
    DenseHypothesis,
    Measurement,
    ModelRules,
    TableModel,
    keyed_error,
)
from dpsql.hypothesis.strings.cells import MOST_MOVED, drawn_cells, strayed
from dpsql.hypothesis.strings.hidden_keys import hidden_key
from dpsql.query import Key
from tests.support.simulated import table_of
from tests.unit.hypothesis.test_keyed_error import counts, keys_of, listing

SIZE = 5
TABLE = table_of((SIZE,))
THIRD = MODEL_RULES[3]
ROWS, SHOWN = 100_000, 200
EACH = 40


def started(rules: ModelRules, noise: float = 0.0) -> TableModel:
    """200 strings were shown, with 40 rows each; 2,000 others share the rest: 46 each."""
    rng = np.random.default_rng(8)
    model = TableModel(TABLE, Measurement("t", (), np.array(ROWS), 0.0), 100.0, DenseHypothesis, rules=rules)
    model.know_distinct(Measurement("t", (), np.array(SHOWN + 2_000), 1.0, ("w",)), 700.0)
    shown = (EACH + rng.normal(0.0, noise, SHOWN).round()).astype(int).tolist()
    model.absorb(counts(keys_of(SHOWN), shown, max(noise, 1.0)), selected=True)
    return model


def by_column(keys: tuple[Key, ...], cells: np.ndarray, sigma: float) -> Measurement:
    return Measurement("t", (Axis.cells(("a",), (SIZE,)),), cells.round().astype(np.int64), sigma, ("w",), keys)


def uneven(number: int) -> np.ndarray:
    """Each string has all of its rows at one value."""
    cells = np.zeros((number, SIZE))
    cells[np.arange(number), np.arange(number) % SIZE] = EACH
    return cells


@pytest.mark.parametrize("noisy_last", [True, False])
def test_counts_with_much_noise_do_not_replace_better_ones(noisy_last: bool) -> None:
    keys, true = keys_of(100), uneven(100)
    rng = np.random.default_rng(3)
    found = [by_column(keys, true + rng.normal(0.0, sigma, true.shape), sigma) for sigma in (2.0, 150.0)]
    off = {}
    for rules in (THIRD, NEWEST):
        model = started(rules)
        for m in found if noisy_last else found[::-1]:
            model.absorb(m)
        off[rules] = np.abs(model.sparse(("w",)).keyed_contingency(keys, ("a",)) - true).mean()
    assert off[NEWEST] < 2.5
    assert off[THIRD] > 5 * off[NEWEST] or not noisy_last


def test_cells_are_the_posterior_mean_given_the_rows_of_each_string() -> None:
    rng = np.random.default_rng(4)
    rows, shares = np.array([900.0, 400.0, 2_500.0]), np.array([0.4, 0.3, 0.2, 0.1])
    true = rows[:, None] * rng.dirichlet(10 * shares, size=3)
    variances, rows_variances = np.array([9.0, 16.0, 4.0]), np.array([25.0, 1.0, 400.0])
    values = true + rng.normal(0.0, np.sqrt(variances)[:, None], true.shape)
    prior, spreads = np.outer(rows, shares), np.outer(rows**2, shares * (1 - shares))
    share = strayed(values, variances, prior, spreads)
    assert 0.0 < share < 0.5
    found = drawn_cells(values, variances, rows, rows_variances, shares)
    for i in range(3):  # Bayes' rule for normal laws, by information matrices
        information = np.diag(1 / (share * spreads[i]) + 1 / variances[i]) + np.ones((4, 4)) / rows_variances[i]
        evidence = prior[i] / (share * spreads[i]) + values[i] / variances[i] + rows[i] / rows_variances[i]
        assert found[i] == pytest.approx(np.linalg.solve(information, evidence), rel=1e-6)


def test_what_strings_strayed_is_found_again() -> None:
    rng = np.random.default_rng(5)
    rows, shares = rng.uniform(50, 5_000, 400), np.array([0.4, 0.3, 0.2, 0.1])
    prior, spreads = np.outer(rows, shares), np.outer(rows**2, shares * (1 - shares))
    for wanted in (0.02, 0.2):
        mixtures = rng.dirichlet((1 / wanted - 1) * shares, size=400)  # of variance wanted p (1 - p)
        values = rows[:, None] * mixtures + rng.normal(0.0, 10.0, prior.shape)
        assert strayed(values, np.full(400, 100.0), prior, spreads) == pytest.approx(wanted, rel=0.2)
    alike = prior + rng.normal(0.0, 10.0, prior.shape)
    assert strayed(alike, np.full(400, 100.0), prior, spreads) < 0.001


def test_a_string_unlike_all_others_is_not_taken_for_noise() -> None:
    rows, shares, sigma = np.full(300, 200.0), np.full(4, 0.25), 10.0
    values = np.outer(rows, shares)
    values[0] = [200.0, 0.0, 0.0, 0.0]
    found = drawn_cells(values, np.full(300, sigma**2), rows, np.full(300, 1e18), shares)
    assert np.abs(found[0] - values[0]).max() == pytest.approx(MOST_MOVED * sigma)


def test_sums_of_shown_strings_are_not_too_small() -> None:
    whole = {}
    for rules in (THIRD, NEWEST):
        sparse = started(rules, 10.0).sparse(("w",))
        whole[rules] = sum(sparse.rows(key) for key in keys_of(SHOWN))
    sd = 10.0 * SHOWN**0.5
    assert abs(whole[NEWEST] - SHOWN * EACH) < 3 * sd < SHOWN * EACH - whole[THIRD]


def test_bars_cover_lists_of_both_ways_where_lists_are_drawn_in_both() -> None:
    covered = {}
    for rules in (THIRD, NEWEST):
        model = started(rules)
        sparse = model.sparse(("w",))
        mean, most = (ROWS - SHOWN * EACH) / 2_000, 700.0
        even, row = (hidden_key(mean, most, share).estimate for share in (0.0, 1.0))
        rows = [round(row if i % 4 == 0 else even) for i in range(200)]
        model.absorb(counts(keys_of(200, "listed"), rows, 60.0))
        new = listing(keys_of(100, "new"))
        bar, said = keyed_error(model, new, inf), 100 * sparse.unassigned
        assert bar is not None
        covered[rules] = [abs(said - 100 * each) <= bar for each in (even, row)]
    assert covered[NEWEST] == [True, True]
    assert not all(covered[THIRD])


@pytest.mark.parametrize("rules", [THIRD, NEWEST])
def test_bars_of_listed_strings_know_what_was_measured_and_what_was_expected(rules: ModelRules) -> None:
    model, key = started(rules), ("listed0",)
    prior = model.sparse(("w",)).variance(key)
    model.absorb(counts((key,), [30], 60.0))
    found, alone = model.sparse(("w",)).variance(key), 60.0**2
    assert found == alone if rules is THIRD else found < min(alone, prior * 1.5)
