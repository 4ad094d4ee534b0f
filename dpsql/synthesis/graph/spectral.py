"""The weighted graph that is released, in spectral form (Gupta, Roth, Ullman 2011, section 6.2).

The source asks for weights in [0, 1] whose distance from the noisy matrix, over sqrt(|S||T|), is least over all cuts
(S, T), and bounds that distance by the spectral norm. The private graph itself is as far from the noisy matrix as the
noise is large, so nothing nearer needs to be found: of the weights within the noise's own norm those are taken that
explain it with the fewest directions, and each pair then hears what was told of it alone. Distances add up: every cut
of these weights is within (norm of the noise + this distance) sqrt(|S||T|) of the private graph's.
"""

import math
from collections.abc import Callable

import numpy as np

from dpsql.synthesis.coins import Coins
from dpsql.synthesis.graph.noise import Noisy
from dpsql.synthesis.graph.pairs import Matrix, Vertices

NORM_MARGIN = 1.05
"""The spectral norm of noise is at most 2 sd sqrt(vertices) times a little more, with high probability."""
MOST_ROUNDS = 10
_WHOLE_MATRIX = 400
_BLOCK = 24
_BLOCKS = 12
_HALVINGS = 60
_FARTHEST = 60.0  # of logits: weights of 1e-26


def noise_norm(sd: float, vertices: int) -> float:
    """What the spectral norm of independent noise hardly exceeds: 2 sd sqrt(n) (Wigner 1958), and a margin."""
    return NORM_MARGIN * 2 * sd * math.sqrt(vertices)


def spectral_weights(
    vertices: Vertices,
    noisy: Noisy,
    edges: float,
    generator: Coins,
    on_round: Callable[[int, int], None] = lambda done, of: None,
) -> Matrix:
    """Weights in [0, 1] of each pair, of sum ``edges`` (0 to all), within the noise's norm of the noisy graph.

    Shape (pairs,). ``generator`` only starts the search for eigenvectors.
    """
    limit = noise_norm(noisy.sd, vertices.number)
    even = np.full(vertices.pairs, edges / vertices.pairs)
    found, directions = eigenpairs_beyond(vertices.matrix(noisy.values - even), limit, generator)
    # the best size of a direction that noise of norm 2 sd sqrt(n) has made longer (Gavish and Donoho 2017)
    shrunk = np.sign(found) * np.sqrt(np.maximum(found**2 - (limit / NORM_MARGIN) ** 2, 0.0))
    prior = even + vertices.of_pairs((directions * shrunk) @ directions.T)
    weights = with_total(logits(prior) + noisy.evidence, edges)
    for done in range(MOST_ROUNDS):
        on_round(done, MOST_ROUNDS)
        found, directions = eigenpairs_beyond(vertices.matrix(weights - noisy.values), limit, generator, all_of=False)
        if found.size == 0:
            break
        excess = found - np.sign(found) * limit / NORM_MARGIN
        nearer = weights - vertices.of_pairs((directions * excess) @ directions.T)
        weights = with_total(logits(nearer), edges)
    return weights


def with_total(logits: Matrix, total: float) -> Matrix:
    """Weights 1 / (1 + exp(-(logit + shift))) whose sum is ``total``: all logits move by the same shift.

    >>> with_total(np.array([0.0, 0.0, 0.0, 0.0]), 1.0)
    array([0.25, 0.25, 0.25, 0.25])
    """
    if total <= 0 or total >= logits.size:
        return np.full(logits.size, 0.0 if total <= 0 else 1.0)
    low, high = -_FARTHEST - float(logits.max()), _FARTHEST - float(logits.min())
    for _ in range(_HALVINGS):
        shift = (low + high) / 2
        low, high = (shift, high) if float(_sigmoid(logits + shift).sum()) < total else (low, shift)
    return _sigmoid(logits + high)


def _sigmoid(logits: Matrix) -> Matrix:
    out: Matrix = 1 / (1 + np.exp(-np.clip(logits, -_FARTHEST, _FARTHEST)))
    return out


def logits(weights: Matrix) -> Matrix:
    """ln(w / (1 - w)); no weight counts as nearer to 0 or 1 than half a pair among all."""
    inside = np.clip(weights, 0.5 / weights.size, 1 - 0.5 / weights.size)
    out: Matrix = np.log(inside / (1 - inside))
    return out


def eigenpairs_beyond(matrix: Matrix, limit: float, generator: Coins, all_of: bool = True) -> tuple[Matrix, Matrix]:
    """Eigenvalues of a symmetric matrix that are beyond ``limit`` in size, and their vectors as columns.

    Of large matrices from a block Krylov space (Musco and Musco 2015), while it shows but few of them. Without
    ``all_of`` those that it shows are enough.
    """
    size = len(matrix)
    if size > _WHOLE_MATRIX:
        basis = _krylov(matrix, generator)
        values, inner = np.linalg.eigh(basis.T @ (matrix @ basis))
        beyond = np.abs(values) > limit
        if not all_of or beyond.sum() <= basis.shape[1] // 4:
            return values[beyond], basis @ inner[:, beyond]
    values, vectors = np.linalg.eigh(matrix)
    beyond = np.abs(values) > limit
    return values[beyond], vectors[:, beyond]


def _krylov(matrix: Matrix, generator: Coins) -> Matrix:
    """An orthonormal basis of the span of B, MB, M^2 B, ... for a random block B, shape (size, directions)."""
    basis, _ = np.linalg.qr(generator.standard_normal((len(matrix), _BLOCK)))
    last = basis
    for _ in range(_BLOCKS - 1):
        last = matrix @ last
        for _twice in range(2):  # once is not enough for orthogonality
            last = last - basis @ (basis.T @ last)
        last, _ = np.linalg.qr(last)
        basis = np.hstack([basis, last])
    return basis
