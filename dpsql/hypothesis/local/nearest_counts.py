"""The possible counts of two columns that are nearest to noisy ones. Public.

Shrunken counts follow what cells have in common; these follow the measurement alone. Their errors are of different
kinds: of a carrier and the one place that it flies to shrinkage takes what all empty cells together keep.
"""

import numpy as np

from dpsql.query import Estimates

ROUNDS = 60


def nearest_counts(values: Estimates, rows: Estimates, columns: Estimates, rounds: int = ROUNDS) -> Estimates:
    """Counts (rows, columns), at least 0, whose sums are ``rows`` and ``columns``, with the least squared distance to
    ``values``: projections in turn on both conditions (Dykstra's algorithm; Boyle and Dykstra 1986, theorem 2). After
    finitely many rounds none is below 0, and sums are nearly met. ``rows`` and ``columns`` have the same total.

    >>> nearest_counts(np.array([[5.0, 1.0], [-2.0, 4.0]]), np.array([6.0, 2.0]), np.array([3.0, 5.0])).round(3)
    array([[3., 3.],
           [0., 2.]])
    """
    height, width = values.shape
    found = values.astype(np.float64)
    taken = np.zeros_like(found)
    for _ in range(rounds):
        short, lacking = rows - found.sum(axis=1), columns - found.sum(axis=0)
        found = found + short[:, None] / width + lacking[None, :] / height - short.sum() / (height * width)
        free = found + taken
        found = np.maximum(free, 0.0)
        taken = free - found
    return found
