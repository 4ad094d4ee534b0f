"""Combining overlapping contingencies, against least squares with an explicit design."""

from itertools import combinations

import numpy as np
import pytest

from dpsql.hypothesis.components import components, pure, pure_sigma, separable
from dpsql.hypothesis.shrinkage import interaction_target, shrunken
from dpsql.hypothesis.tensor.fit import fit_tensor, summed_out
from tests.support.simulated import all_of, marginal, measured, pairwise_table

NAMES = ("a", "b", "c")
ORDER = {"a": 0, "b": 1, "c": 2}
SHAPE = (3, 4, 2)


def test_the_components_of_a_table_are_its_least_squares_fit() -> None:
    rng = np.random.default_rng(2)
    cells = rng.poisson(40.0, SHAPE).astype(float)
    found = [measured(cells, c, s, rng) for c, s in ((("a", "b"), 3.0), (("c", "a"), 7.0), (("a", "b", "c"), 5.0))]
    design, values = [], []
    for m in found:
        for index in np.ndindex(*m.values.shape):
            row = np.zeros(SHAPE)
            at = dict(zip(m.scope, index, strict=True))
            row[tuple(at.get(n, slice(None)) for n in NAMES)] = 1.0
            design.append(row.reshape(-1) / m.sigma)
            values.append(m.values[index] / m.sigma)
    solved = np.linalg.lstsq(np.array(design), np.array(values), rcond=None)[0].reshape(SHAPE)
    parts = components(found, ORDER)
    assert [p.columns for p in parts] == [c for r in (1, 2, 3) for c in combinations(NAMES, r)]
    for p in parts:
        assert p.values == pytest.approx(pure(marginal(solved, NAMES, p.columns)), abs=1e-6)


def test_overlapping_tables_add_their_precisions() -> None:
    cells = np.ones(SHAPE)
    found = [measured(cells, ("a", "b"), 3.0, None), measured(cells, ("a", "c"), 7.0, None)]
    sigma = {p.columns: p.sigma for p in components(found, ORDER)}
    assert sigma[("a",)] == pytest.approx((1 / (9.0 * 4) + 1 / (49.0 * 2)) ** -0.5)
    assert sigma[("a", "b")] == pytest.approx(3.0)


def test_the_noise_of_an_interaction_is_predicted() -> None:
    rng = np.random.default_rng(3)
    drawn = np.array([pure(rng.normal(0.0, 2.0, (3, 5))) for _ in range(4000)])
    assert drawn.std() == pytest.approx(pure_sigma(2.0, (3, 5)), rel=0.02)
    assert pure(np.ones((3, 2))).tolist() == np.zeros((3, 2)).tolist()


def test_a_step_keeps_the_marginals() -> None:
    rng = np.random.default_rng(4)
    model = rng.uniform(20.0, 200.0, (4, 3))
    (part,) = [p for p in components([measured(model * 1.7, ("a", "b"), 5.0, rng)], ORDER) if len(p.columns) == 2]
    moved = interaction_target(model, part)
    assert np.abs(moved - model).max() > 1.0
    assert moved.sum(axis=0) == pytest.approx(model.sum(axis=0), rel=1e-3)
    assert moved.sum(axis=1) == pytest.approx(model.sum(axis=1), rel=1e-3)


def test_the_weight_of_the_data_is_the_posterior_s() -> None:
    model, gap, sigma = np.array([100.0, 400.0, 25.0]), np.array([40.0, -90.0, 3.0]), 10.0
    # E gap^2 = sigma^2 + m + c m^1.7, summed over the cells and solved for c
    c = (40.0**2 + 90.0**2 + 3.0**2 - 3 * 100.0 - 525.0) / (100.0**1.7 + 400.0**1.7 + 25.0**1.7)
    expected = []
    for m, g in zip(model, gap, strict=True):
        scatter = m + c * m**1.7
        # two normal observations of one number, 0 with variance scatter and g with variance sigma^2
        mean = (g / sigma**2) / (1 / scatter + 1 / sigma**2)
        expected.append(m + max(mean / g, 1 - 25 * sigma**2 / g**2) * g)
    assert shrunken(model, gap, sigma) == pytest.approx(expected)


def test_noise_of_three_way_tables_is_not_taken_for_structure() -> None:
    errors = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        shape = (8, 6, 5, 2)
        cells = pairwise_table(shape, 40_000, rng)
        found = [*all_of(cells, 2, 20.0, rng), *all_of(cells, 3, 40.0, rng)]
        fitted = fit_tensor(np.full(shape, cells.mean()), ("a", "b", "c", "d"), found, 4)
        errors.append(np.abs(fitted.sum(axis=3) - cells.sum(axis=3)).mean())
    assert float(np.mean(errors)) < 14.0  # the tables' own noise leaves about 32


def test_exact_contingencies_are_reproduced() -> None:
    cells = np.random.default_rng(5).integers(20, 400, SHAPE).astype(float)
    fitted = fit_tensor(np.full(SHAPE, cells.mean()), NAMES, all_of(cells, 3, 1e-3), 12)
    assert fitted == pytest.approx(cells, rel=1e-2)


def test_noisy_three_way_tables_do_not_blur_the_one_way_ones() -> None:
    errors = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        shape = (8, 6, 5, 2)
        cells = pairwise_table(shape, 40_000, rng)
        found = [*all_of(cells, 2, 20.0, rng), *all_of(cells, 3, 40.0, rng)]
        fitted = fit_tensor(np.full(shape, cells.mean()), ("a", "b", "c", "d"), found, 4)
        for axis in range(4):
            others = tuple(i for i in range(4) if i != axis)
            errors.append(np.abs(fitted.sum(axis=others) - cells.sum(axis=others)).mean())
    assert float(np.mean(errors)) < 30.0  # fitting the tables one by one leaves about 50


def test_axes_are_summed_out_as_by_numpy() -> None:
    cells = np.random.default_rng(7).uniform(0.0, 9.0, (3, 1, 4, 2))
    for number in range(5):
        for axes in combinations(range(4), number):
            assert summed_out(cells, axes) == pytest.approx(cells.sum(axis=axes))


def test_what_can_be_split() -> None:
    cells = np.ones((2, 2, 2))
    assert separable(measured(cells, ("a", "b"), 1.0, None))
    assert not separable(measured(cells, ("a", "b"), 1.0, None, {"a": np.array([0, 0])}))
    assert not separable(measured(np.ones((2,) * 6), "abcdef", 1.0, None))
