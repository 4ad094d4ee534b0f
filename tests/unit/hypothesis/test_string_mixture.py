"""Cells of strings by a mixture of scales: an oracle by quadrature, and tables that no single prior fits."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest

from dpsql.hypothesis import MODEL_RULES, NEWEST
from dpsql.hypothesis.strings.cells import drawn_cells
from dpsql.hypothesis.strings.mixture import (
    ALIKE,
    APART,
    APART_BY,
    EACH_HAS,
    FITTED,
    ROUNDS,
    CellEstimates,
    mixed_cells,
)
from dpsql.hypothesis.strings.rest import rest_beside
from tests.unit.hypothesis.test_keyed_error import keys_of
from tests.unit.hypothesis.test_string_cells import by_column, started

Floats = npt.NDArray[np.float64]
UNKNOWN = 1e18  # a variance that leaves rows open


def one_kind(rows: Floats, values: int) -> Floats:
    """Each string has all rows at one value."""
    cells = np.zeros((len(rows), values))
    cells[np.arange(len(rows)), np.arange(len(rows)) % values] = rows
    return cells


def alike(rows: Floats, values: int) -> Floats:
    return np.outer(rows, np.full(values, 1.0 / values))


def noisy(true: Floats, sigma: float, seed: int = 1) -> Floats:
    return true + np.random.default_rng(seed).normal(0.0, sigma, true.shape)


def off(found: Floats, true: Floats) -> float:
    return float(np.sqrt(np.square(found - true).mean()))


def test_cells_are_the_posterior_means_of_the_mixture() -> None:
    """Likelihoods and moments by quadrature over each part of the prior, where the code has closed forms."""
    sigma, rows = 10.0, np.array([300.0, 500.0, 400.0])
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    true = np.array([[120.0, 90.0, 60.0, 30.0], [210.0, 140.0, 100.0, 50.0], [160.0, 120.0, 80.0, 40.0]])
    values = np.round(noisy(true, sigma))
    found = mixed_cells(values, np.full(3, sigma**2), rows, np.full(3, UNKNOWN), shares)
    own = rows.sum() * shares  # the strings' own shares differ by what noise does not explain
    apart = values.sum(axis=0) - own
    noise = 3 * sigma**2 * (4 + 2 * np.sqrt(8))
    own = np.maximum(own + max(0.0, 1 - noise / (apart**2).sum()) * apart, 0.0)
    expected = np.outer(rows, own / own.sum()).ravel()
    most = np.repeat(rows, 4)
    chance = expected * (most - expected) / most  # binomial
    likely, means, squares = [], [], []
    of_rows = [(1.0, s) for s in ALIKE] + [(0.0, 0.0)] + [(u, APART_BY * u) for u in APART]
    for place, scale in of_rows:
        center = np.minimum(place * expected, most) if place != 1.0 else expected
        spread = scale * expected if place in (0.0, 1.0) else APART_BY * center
        spread = np.hypot(spread, np.sqrt(chance)) if place == 1.0 and len(likely) < len(ALIKE) else spread
        fine = np.linspace(-8, 8, 16_001) if spread.any() else np.zeros(1)
        density = np.exp(-(fine**2) / 2) / np.exp(-(fine**2) / 2).sum()
        theta = center[:, None] + spread[:, None] * fine
        log = -0.5 * ((values.ravel()[:, None] - theta) / sigma) ** 2 + np.log(density)
        of, largest = np.exp(log - log.max(axis=1, keepdims=True)), np.exp(log.max(axis=1))
        likely.append(of.sum(axis=1) * largest)
        means.append((of * theta).sum(axis=1) / of.sum(axis=1))
        squares.append((of * theta**2).sum(axis=1) / of.sum(axis=1))
    likelihood, mean, square = (np.stack(a, axis=1) for a in (likely, means, squares))
    parts = likelihood.shape[1]
    mixing = np.full(parts, 1 / parts)
    for _ in range(ROUNDS):
        each = likelihood * mixing / (likelihood @ mixing)[:, None]
        mixing = (each.sum(axis=0) + EACH_HAS) / (12 + EACH_HAS * parts)
    each = likelihood * mixing / (likelihood @ mixing)[:, None]
    wanted = (each * mean).sum(axis=1)
    assert found.counts.ravel() == pytest.approx(wanted, rel=1e-6, abs=1e-6)
    assert found.variances.ravel() == pytest.approx((each * square).sum(axis=1) - wanted**2, rel=1e-5, abs=1e-4)


def test_each_kind_of_string_is_nearer_than_by_one_prior_for_all() -> None:
    """Half of the strings have rows of every value, half of one: one prior for both keeps noise or takes rows."""
    sigma, rows = 10.0, np.full(400, 300.0)
    drawn = np.random.default_rng(5).multinomial(300, np.full(10, 0.1), 400).astype(np.float64)
    true = np.where(np.arange(400)[:, None] < 200, drawn, one_kind(rows, 10))
    values, noise, known = noisy(true, sigma), np.full(400, sigma**2), np.full(400, 25.0)
    shares = np.full(10, 0.1)
    found = mixed_cells(values, noise, rows, known, shares).counts
    before = drawn_cells(values, noise, rows, known, shares)
    assert off(found[:200], true[:200]) < 0.75 * off(before[:200], true[:200])
    assert off(found[200:], true[200:]) < 0.7 * off(before[200:], true[200:])


@pytest.mark.parametrize(("by_chance", "honest"), [(True, True), (False, False)])
def test_heavy_strings_that_are_alike_differ_by_chance(by_chance: bool, honest: bool) -> None:
    """Of 60,000 rows a quarter are 15,000 by 106: what is expected of a cell says less than a count by 20."""
    rows, shares, sigma = np.array([60, 40, 30, 20, 20, 10, 10, 10]) * 1_000, np.array([0.5, 0.25, 0.15, 0.1]), 20.0
    gaps, inside = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        true = np.stack([rng.multinomial(n, shares) for n in rows]).astype(np.float64)
        values, noise = noisy(true, sigma, seed + 100), np.full(8, sigma**2)
        found = mixed_cells(values, noise, rows.astype(np.float64), np.full(8, 100.0), shares, by_chance=by_chance)
        gaps.append(off(found.counts, true))
        inside.append(np.abs(found.counts - true) <= 1.96 * np.sqrt(found.variances))
    assert bool(np.mean(gaps) < sigma) is honest
    assert bool(np.mean(inside) >= 0.95) is honest
    assert honest or np.mean(inside) < 0.8


@pytest.mark.parametrize("kind", [alike, one_kind])
def test_where_strings_are_of_one_kind_hardly_any_noise_is_left(kind: object) -> None:
    rows = np.random.default_rng(2).uniform(100.0, 3_000.0, 300)
    true = kind(rows, 12)  # type: ignore[operator]
    found = mixed_cells(noisy(true, 20.0), np.full(300, 400.0), rows, np.full(300, 25.0), np.full(12, 1 / 12))
    assert off(found.counts, true) < 7.0


def test_all_values_decide_the_mixture_where_there_are_ten_times_as_many_cells_as_do() -> None:
    """Of ten values every tenth cell is of the same one: its strings are alike in it, and in no other."""
    rows, sigma = np.full(FITTED, 300.0), 10.0
    true = np.hstack([np.full((FITTED, 1), 30.0), one_kind(np.full(FITTED, 270.0), 9)])
    found = mixed_cells(
        noisy(true, sigma), np.full(FITTED, sigma**2), rows, np.full(FITTED, 25.0), true.sum(axis=0) / true.sum()
    )
    assert off(found.counts, true) < 0.6 * sigma


def test_a_string_unlike_all_others_is_believed() -> None:
    rows, sigma = np.full(300, 200.0), 10.0
    true = alike(rows, 4)
    true[7] = [200.0, 0.0, 0.0, 0.0]
    found = mixed_cells(noisy(true, sigma), np.full(300, sigma**2), rows, np.full(300, UNKNOWN), np.full(4, 0.25))
    values = noisy(true, sigma)
    assert np.abs(found.counts[7] - values[7]).max() <= 3.0 * sigma
    assert off(np.delete(found.counts, 7, axis=0), np.delete(true, 7, axis=0)) < 0.3 * sigma


@pytest.mark.parametrize("concentration", [0.1, 0.3, 2.0])
def test_sums_over_many_strings_are_hardly_further_off_than_their_noise(concentration: float) -> None:
    """Values of most rows and of few, so that one mixture for all is wrong about each; and no cell is cut at 0."""
    rng = np.random.default_rng(3)
    rows, sigma = rng.uniform(60.0, 600.0, 1_000), 20.0
    parts = 8 * concentration * np.array([0.4, 0.25, 0.15, 0.1, 0.05, 0.03, 0.01, 0.01])
    true = rows[:, None] * rng.dirichlet(parts, size=1_000)
    values, shares = noisy(true, sigma), true.sum(axis=0) / true.sum()
    found = mixed_cells(values, np.full(1_000, sigma**2), rows, np.full(1_000, 25.0), shares)
    apart = np.abs(found.counts.sum(axis=0) - true.sum(axis=0))
    assert apart.mean() < 1.2 * sigma * 1_000**0.5
    assert off(found.counts, true) < 0.7 * sigma
    cut = np.maximum(values, 0.0).sum(axis=0) - true.sum(axis=0)
    assert np.abs(cut).mean() > 5.0 * apart.mean()


@pytest.mark.parametrize("concentration", [0.1, 0.5, 5.0])
def test_variances_hold_what_they_say(concentration: float) -> None:
    rng = np.random.default_rng(4)
    rows, sigma = rng.uniform(60.0, 2_000.0, 500), 15.0
    true = rows[:, None] * rng.dirichlet(np.full(10, concentration), size=500)
    found = mixed_cells(
        noisy(true, sigma), np.full(500, sigma**2), rows, np.full(500, 36.0), true.sum(axis=0) / true.sum()
    )
    inside = np.abs(found.counts - true) <= 1.96 * np.sqrt(found.variances) + 0.5
    assert 0.93 < inside.mean() < 0.995
    assert np.sqrt(found.variances.mean()) < sigma


def test_counts_add_up_to_the_rows_of_their_string_as_far_as_these_are_known() -> None:
    true = one_kind(np.full(50, 100.0), 5)
    values, noise, shares = noisy(true, 10.0), np.full(50, 100.0), np.full(5, 0.2)
    apart = [
        np.abs(
            mixed_cells(values, noise, np.full(50, 100.0), np.full(50, known), shares).counts.sum(axis=1) - 100.0
        ).max()
        for known in (1e-9, 100.0, UNKNOWN)
    ]
    assert apart[0] < 1e-3
    assert all(a < b for a, b in pairwise(apart))


def test_a_few_strings_or_none_with_rows_are_no_error() -> None:
    for rows in (np.array([0.0]), np.array([-5.0, 1e6])):
        values = np.outer(np.maximum(rows, 0.0), np.array([1.0, 0.0]))
        found = mixed_cells(values, np.full(len(rows), 4.0), rows, np.full(len(rows), 9.0), np.array([1.0, 0.0]))
        assert np.isfinite(found.counts).all()
        assert (found.variances >= 0.0).all()


def test_what_is_left_follows_strings_only_where_they_differ() -> None:
    whole = np.array([1_000.0, 1_000.0])
    heavy = CellEstimates(np.array([[900.0, 100.0]]), np.full((1, 2), 25.0))
    assert rest_beside(whole, heavy, 0.0).shares.tolist() == [0.5, 0.5]
    followed = rest_beside(whole, heavy, 0.9)
    assert followed.shares == pytest.approx([0.1, 0.9], abs=0.01)
    unsure = rest_beside(whole, CellEstimates(heavy.counts, np.full((1, 2), 1e8)), 0.9)
    assert unsure.shares == pytest.approx([0.5, 0.5], abs=0.01)
    assert (unsure.variances > followed.variances).all()


def test_what_is_kept_is_forgotten_when_a_string_is_measured_again() -> None:
    keys, true = keys_of(60), one_kind(np.full(60, 40.0), 5)
    first, second = (by_column(keys, noisy(true, sigma, seed), sigma) for seed, sigma in ((1, 20.0), (2, 2.0)))
    asked = started(NEWEST)
    asked.absorb(first)
    before = asked.sparse(("w",)).keyed_contingency(keys, ("a",))
    asked.absorb(second)
    unasked = started(NEWEST)
    unasked.absorb(first)
    unasked.absorb(second)
    after = asked.sparse(("w",)).keyed_contingency(keys, ("a",))
    assert after.tolist() == unasked.sparse(("w",)).keyed_contingency(keys, ("a",)).tolist()
    assert off(after, true) < off(before, true)


def test_older_ledgers_weigh_cells_as_they_did() -> None:
    keys, true = keys_of(60), one_kind(np.full(60, 40.0), 5)
    found = {}
    for rules in (MODEL_RULES[10], NEWEST):
        model = started(rules)
        model.absorb(by_column(keys, noisy(true, 6.0), 6.0))
        found[rules] = model.sparse(("w",)).keyed_contingency(keys, ("a",))
    assert off(found[NEWEST], true) < 0.7 * off(found[MODEL_RULES[10]], true)
