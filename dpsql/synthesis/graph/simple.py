"""From weights to a simple graph: each pair is an edge with its weight as probability, and their number is fixed.

Remark 6.3 of Gupta, Roth and Ullman 2011 rounds each pair alone. Systematic sampling over pairs in random order (Madow
1949) gives each the same probability, and its number of edges does not vary.
"""

import numpy as np
import numpy.typing as npt

from dpsql.synthesis.coins import Coins
from dpsql.synthesis.graph.pairs import Matrix


def simple_graph(weights: Matrix, edges: int, generator: Coins) -> npt.NDArray[np.int64]:
    """Positions of ``edges`` different pairs, ascending; pair i has a probability proportional to ``weights[i]``.

    ``weights``: in [0, 1], shape (pairs,), of sum ``edges`` or more.

    >>> from dpsql.synthesis.coins import coins
    >>> simple_graph(np.array([1.0, 0.0, 1.0]), 2, coins("example"))
    array([0, 2])
    """
    order = generator.permutation(weights.size)
    ends = np.cumsum(weights[order])
    ends *= edges / max(float(ends[-1]), 1e-300)
    ends[-1] = edges
    points = np.arange(edges) + generator.random()
    chosen = order[np.searchsorted(ends, points, side="right")]
    return np.unique(chosen)
