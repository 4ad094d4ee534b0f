"""Graphs to try methods on, and what their worst cuts are: by search, or all of them."""

import numpy as np
import numpy.typing as npt

from dpsql.synthesis.coins import Coins
from dpsql.synthesis.graph.cut_norm import heavy_cuts
from dpsql.synthesis.graph.pairs import Matrix, Vertices


def random_graph(vertices: Vertices, generator: Coins, base: float = 0.1, cuts: int = 4) -> npt.NDArray[np.bool_]:
    """Edges with probability ``base``, and .2 more for each of some random cuts that separates a pair so."""
    chances = np.full((vertices.number, vertices.number), base)
    for _ in range(cuts):
        chances += 0.4 * np.outer(generator.random(vertices.number) < 0.5, generator.random(vertices.number) < 0.5)
    wanted = np.clip((chances + chances.T) / 2, 0, 1)
    return np.asarray(generator.random(vertices.pairs) < vertices.of_pairs(wanted), dtype=np.bool_)


def worst_cut(vertices: Vertices, difference: Matrix, seed: int = 1) -> float:
    """The heaviest cut that is found of weights of pairs, each pair counted from its smaller vertex."""
    matrix = np.triu(vertices.matrix(difference))
    return abs(heavy_cuts(matrix, np.random.default_rng(seed))[0].value)


def cut_norm(matrix: Matrix) -> float:
    """The largest |A(S, T)| exactly: of every S the best T takes all columns of one sign."""
    size = len(matrix)
    rows = (np.arange(1 << size)[:, None] >> np.arange(size)) & 1
    sums = rows @ matrix
    return float(max(np.maximum(sums, 0).sum(axis=1).max(), np.maximum(-sums, 0).sum(axis=1).max()))
