"""Partitions of a column: sizes, nesting, intervals."""

from itertools import pairwise

import numpy as np
import pytest

from dpsql.hypothesis.local.one_way import PartCounts, clean_one_way
from dpsql.hypothesis.partition import atoms, compact, indicator, merged, nested, part_sums, refinement, within_wholes


def test_atoms_leave_an_average_cell_above_its_noise() -> None:
    values = np.random.default_rng(1).integers(1, 1000, 60).astype(float)
    labels = atoms(values, 5.0, 50.0, 30_000.0)
    parts = int(labels.max()) + 1
    assert parts == 28  # sqrt(30000 / (.75 * 50))
    assert atoms(values, 5.0, 1.0, 30_000.0).tolist() == list(range(60))
    assert int(atoms(values, 5.0, 1e9, 30_000.0).max()) + 1 == 2


def test_ordered_columns_are_cut_into_intervals() -> None:
    rng = np.random.default_rng(2)
    for size in (40, 2000):
        labels = merged(rng.uniform(0.0, 10.0, size), 9, ordered=True)
        assert int(labels.max()) + 1 == 9
        assert (np.diff(labels) >= 0).all()


def test_heavy_cells_stay_alone_and_light_ones_share() -> None:
    labels = merged(np.array([500.0, 1.0, 2.0, 400.0, 3.0, 300.0]), 4, ordered=False)
    assert labels.tolist() == [0, 1, 1, 2, 1, 3]


def test_levels_are_nested() -> None:
    masses = np.random.default_rng(3).exponential(100.0, 30)
    for ordered in (False, True):
        levels = nested(masses, (4, 8, 12), ordered)
        for coarse, fine in ((4, 8), (8, 12)):
            assert int(levels[coarse].max()) + 1 == coarse
            for part in range(fine):
                assert len(set(levels[coarse][levels[fine] == part].tolist())) == 1


def test_a_refinement_tells_apart_what_any_partition_does() -> None:
    both = refinement([np.array([0, 0, 1, 1, 1]), np.array([1, 0, 0, 0, 2])])
    assert both.tolist() == [0, 1, 2, 2, 3]
    assert indicator(both) @ np.arange(5.0) == pytest.approx(part_sums(both, np.arange(5.0)))


def test_clean_one_ways_are_generalised_least_squares() -> None:
    rng = np.random.default_rng(4)
    truth = rng.integers(200, 900, 7).astype(float)
    total = float(truth.sum())
    coarse = [np.array([0, 0, 1, 1, 2, 2, 2]), np.array([0, 1, 1, 1, 1, 0, 0])]
    counts = [PartCounts(np.arange(7), truth + rng.normal(0, 30, 7), 30.0)]
    counts += [PartCounts(c, part_sums(c, truth) + rng.normal(0, 10, int(c.max()) + 1), 10.0) for c in coarse]
    rows = np.concatenate([indicator(c.labels) / c.sigma for c in counts] + [np.full((1, 7), 1e4)])
    values = np.concatenate([c.values / c.sigma for c in counts] + [np.array([1e4 * total])])
    oracle = np.linalg.lstsq(rows, values, rcond=None)[0]
    assert clean_one_way(7, counts, total) == pytest.approx(oracle, abs=0.05)


def test_clean_one_ways_are_tables() -> None:
    noisy = PartCounts(np.arange(20), np.random.default_rng(5).normal(0.0, 50.0, 20), 50.0)
    cleaned = clean_one_way(20, [noisy], 100.0)
    assert (cleaned > 0).all()
    assert cleaned.sum() == pytest.approx(100.0)
    assert clean_one_way(4, [], 8.0) == pytest.approx(np.full(4, 2.0))


def test_noise_in_empty_cells_does_not_eat_the_full_ones() -> None:
    truth = np.array([5000.0, 4000.0, *([0.0] * 40)])
    noisy = PartCounts(np.arange(42), truth + np.random.default_rng(6).normal(0.0, 50.0, 42), 50.0)
    cleaned = clean_one_way(42, [noisy], 9000.0)
    assert cleaned[:2] == pytest.approx(truth[:2], abs=150.0)  # scaling the positive cells down takes over 400 off


def test_noise_of_empty_cells_stays_in_their_part() -> None:
    """A long tail of empty cells: made possible counts all at once, their noise reads as thousands of rows far out."""
    rng = np.random.default_rng(5)
    truth = np.zeros(1000)
    truth[:20] = 5000.0
    labels = np.minimum(np.arange(1000) // 20, 1 + np.arange(1000) // 200)
    fine = PartCounts(np.arange(1000), truth + rng.normal(0, 40, 1000), 40.0)
    parts = PartCounts(labels, np.bincount(labels, weights=truth) + rng.normal(0, 40, labels.max() + 1), 40.0)
    far = np.arange(1000) >= 200
    new = clean_one_way(1000, [fine, parts], truth.sum())[far].sum()
    old = clean_one_way(1000, [fine, parts], truth.sum(), parts_first=False)[far].sum()
    assert new < 300 < old


@pytest.mark.parametrize("size", [1, 2, 5, 11])
def test_neighbours_are_joined_lightest_first_and_of_equal_ones_the_first(size: int) -> None:
    rng = np.random.default_rng(size)
    for masses in (rng.exponential(5.0, 40), rng.integers(0, 3, 40).astype(np.float64), np.zeros(12)):
        parts = [[i] for i in range(len(masses))]
        sums = masses.tolist()
        while len(parts) > size:
            pairs = [sums[i] + sums[i + 1] for i in range(len(sums) - 1)]
            i = pairs.index(min(pairs))
            parts[i : i + 2], sums[i : i + 2] = [parts[i] + parts[i + 1]], [pairs[i]]
        told = [n for n, part in enumerate(parts) for _ in part]
        assert merged(masses, size, ordered=True).tolist() == told


@pytest.mark.parametrize("size", [2, 5, 12, 13, 20, 60, 364])
def test_intervals_within_wholes_end_where_these_do(size: int) -> None:
    rng = np.random.default_rng(size)
    masses, wholes = rng.exponential(30.0, 365), np.sort(rng.integers(0, 12, 365))
    wholes = np.unique(wholes, return_inverse=True)[1].reshape(-1)
    labels = within_wholes(masses, size, wholes)
    assert labels.max() + 1 == size and (np.diff(labels) >= 0).all() and set(labels) == set(range(size))
    finer, coarser = (labels, wholes) if size > 12 else (wholes, labels)
    assert all(len(set(coarser[finer == part])) == 1 for part in set(finer))


def test_the_lightest_neighbours_of_a_whole_are_joined() -> None:
    """Against all ways: by steps of the lightest pair, looked for anew each time."""
    rng = np.random.default_rng(2)
    masses, wholes = rng.exponential(10.0, 40), np.repeat([0, 1, 2, 3], 10)
    for size in range(5, 40):
        parts = [[i] for i in range(40)]
        while len(parts) > size:
            weights = [
                (sum(masses[a]) + sum(masses[b]), i)
                for i, (a, b) in enumerate(pairwise(parts))
                if wholes[a[0]] == wholes[b[0]]
            ]
            _, i = min(weights)
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
        expected = np.concatenate([[n] * len(part) for n, part in enumerate(parts)])
        assert within_wholes(masses, size, wholes).tolist() == expected.tolist()


@pytest.mark.parametrize("size", [40, 200, 700])
def test_intervals_of_long_ranges_are_as_even_and_end_where_wholes_do(size: int) -> None:
    """More than 512 cells are joined evenly first, as those of other columns are."""
    rng = np.random.default_rng(7)
    masses, wholes = rng.exponential(30.0, 5_000), np.repeat(np.arange(100), 50)
    labels = within_wholes(masses, size, wholes)
    assert labels.max() + 1 == size and (np.diff(labels) >= 0).all() and (np.diff(labels) <= 1).all()
    finer, coarser = (labels, wholes) if size > 100 else (wholes, labels)
    assert all(len(set(coarser[finer == part])) == 1 for part in set(finer.tolist()))
    assert part_sums(labels, masses).max() < 6 * masses.sum() / size


@pytest.mark.parametrize("labels", [[], [4], [2, 2, 5, 9, 9], [0, 1, 2], [3, 1, 3, 0, 1], [-2, -2, 0], [5, 5, 5]])
def test_parts_are_numbered_by_first_cell(labels: list[int]) -> None:
    """Ranges in order are not sorted for it, others are."""
    numbers: dict[int, int] = {}
    expected = [numbers.setdefault(label, len(numbers)) for label in labels]
    found = compact(np.array(labels, dtype=np.int64))
    assert found.dtype == np.int64 and found.tolist() == expected
