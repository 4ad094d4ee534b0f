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
