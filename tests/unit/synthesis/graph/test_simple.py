"""Simple graphs: as many edges as wanted, each pair as often as its weight says."""

import numpy as np
import pytest

from dpsql.synthesis.graph.simple import simple_graph


def test_each_pair_has_its_weight_as_probability() -> None:
    generator = np.random.default_rng(1)
    weights = np.array([0.0, 1.0, 0.5, 0.2, 0.3, 0.9, 0.1])
    draws = [simple_graph(weights, 3, generator) for _ in range(4000)]
    assert all(len(set(drawn.tolist())) == 3 for drawn in draws)
    often = np.bincount(np.concatenate(draws), minlength=7) / 4000
    assert often == pytest.approx(weights, abs=0.04)


def test_more_weight_than_edges_is_thinned_evenly() -> None:
    generator = np.random.default_rng(1)
    often = np.bincount(np.concatenate([simple_graph(np.full(8, 0.5), 2, generator) for _ in range(2000)]), minlength=8)
    assert often / 2000 == pytest.approx(np.full(8, 0.25), abs=0.05)


@pytest.mark.parametrize("edges", [0, 5000])
def test_none_and_all(edges: int) -> None:
    assert len(simple_graph(np.full(5000, edges / 5000), edges, np.random.default_rng(1))) == edges
