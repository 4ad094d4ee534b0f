"""Heavy cuts of a matrix: sets S of rows and T of columns with a large |A(S, T)|, the sum of the entries in S x T.

The largest is the cut norm, which nobody can compute for large matrices. Alon and Naor 2006: it is a quarter of the
largest x'Ay over signs x and y, once a row and a column make all sums zero; the signs are relaxed to unit vectors, and
rounded by a random hyperplane, which keeps 4/pi - 1 = .27 of the optimum (Rietz; their section 4.2). The relaxation is
solved here by alternating over vectors of few dimensions, without a certificate that its optimum was reached, and
each rounded cut, and random ones, are then improved by local search. So it is a heuristic with a good start: what it
finds is a cut, a lower bound on the norm.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpsql.synthesis.coins import Coins
from dpsql.synthesis.graph.pairs import Matrix

ROUNDINGS = 16
_RANDOM = 16
_SWEEPS = 60
_SEARCHES = 60

Members = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Cut:
    """``rows`` S and ``columns`` T, and A(S, T)."""

    rows: Members
    columns: Members
    value: float


def heavy_cuts(matrix: Matrix, generator: Coins) -> list[Cut]:
    """Different cuts of ``matrix`` (any square matrix), heaviest first by size."""
    relaxed = _rounded(matrix, generator)
    random = generator.random((len(matrix), _RANDOM)) < 0.5
    starts = np.concatenate([relaxed, random], axis=1).astype(np.float64)
    found: dict[bytes, Cut] = {}
    for sign in (1.0, -1.0):
        rows, columns = _local_search(sign * matrix, starts)
        values = np.einsum("ik,ik->k", rows, matrix @ columns)
        for k, value in enumerate(values.tolist()):
            cut = Cut(rows[:, k] > 0, columns[:, k] > 0, value)
            found.setdefault(cut.rows.tobytes() + cut.columns.tobytes(), cut)
    return sorted(found.values(), key=lambda cut: -abs(cut.value))


def _local_search(matrix: Matrix, columns: Matrix) -> tuple[Matrix, Matrix]:
    """From sets of columns, by turns the best rows for them and the best columns for those, until nothing changes."""
    rows = columns
    for _ in range(_SEARCHES):
        rows = (matrix @ columns > 0).astype(np.float64)
        better = (matrix.T @ rows > 0).astype(np.float64)
        if np.array_equal(better, columns):
            break
        columns = better
    return rows, columns


def _rounded(matrix: Matrix, generator: Coins) -> npt.NDArray[np.bool_]:
    """Sets of columns, shape (size, ROUNDINGS), by Alon and Naor's relaxation in a low dimension (Burer, Monteiro)."""
    size = len(matrix)
    closed = np.zeros((size + 1, size + 1))
    closed[:size, :size] = matrix
    closed[size, :size] = -matrix.sum(axis=0)
    closed[:, size] = -closed.sum(axis=1)
    dimensions = math.ceil(math.sqrt(2 * (2 * size + 2)))
    right = _unit(generator.standard_normal((size + 1, dimensions)))
    for _ in range(_SWEEPS):
        left = _unit(closed @ right)
        right = _unit(closed.T @ left)
    signs = right @ generator.standard_normal((dimensions, ROUNDINGS)) > 0
    return np.asarray(signs[:size] ^ signs[size], dtype=np.bool_)  # the set without the added column: sums are zero


def _unit(vectors: Matrix) -> Matrix:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    out: Matrix = vectors / np.maximum(lengths, 1e-300)
    return out
