"""Targets: counted another way, and dependence by its definition."""

import numpy as np
import pytest

from dpsql.synthesis.coins import coins
from dpsql.synthesis.rows.target import Target, dependence


def test_rows_are_counted_by_parts() -> None:
    rng = coins("targets")
    rows = [rng.integers(n, size=200) for n in (3, 5, 4)]
    labels = (np.array([0, 1, 0, 1]), np.array([0, 0, 1]))
    target = Target((2, 0), labels, np.zeros((2, 2)))
    expected = np.zeros((2, 2))
    for a, b in zip(rows[2].tolist(), rows[0].tolist(), strict=True):
        expected[labels[0][a], labels[1][b]] += 1
    assert target.found(rows).tolist() == expected.tolist()


def test_dependence_is_entropy_that_one_column_takes_from_the_other() -> None:
    counts = coins("dependence").random((4, 6)) * 100
    p = counts / counts.sum()

    def entropy(q: np.ndarray) -> float:
        return float(-(q * np.log(q)).sum())

    expected = entropy(p.sum(axis=0)) + entropy(p.sum(axis=1)) - entropy(p)
    assert dependence(counts) == pytest.approx(expected)
    assert dependence(np.outer([1.0, 2.0], [3.0, 1.0])) == pytest.approx(0.0, abs=1e-12)


def test_whole_targets_keep_sums_where_nearest_numbers_would_not() -> None:
    target = Target.cells((0, 1), coins("sparse").random((40, 50)) * 0.4)
    whole = [target.whole(coins("whole", n)).counts for n in range(200)]
    for counts in whole:
        assert (np.abs(counts - target.counts) < 1.0).all() and (counts == np.rint(counts)).all()
        assert abs(float(counts.sum() - target.counts.sum())) < 1.0
        assert float(np.abs(counts.sum(axis=1) - target.counts.sum(axis=1)).max()) < 1.0
    assert float(np.abs(np.mean(whole, axis=0) - target.counts).max()) < 0.2  # none is rounded one way more often
    assert float(np.rint(target.counts).sum()) == 0.0
