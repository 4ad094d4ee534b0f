"""A choice: which of several private scores is largest, told with pure differential privacy.

The exponential mechanism of McSherry and Talwar 2007: ``draw_weighted`` has its very law; ``choose`` is report noisy
max with exponential noise, which makes the better choice at the same epsilon (McKenna and Sheldon 2020,
permute-and-flip), but is charged by its epsilon alone.
"""

from fractions import Fraction

import numpy as np

from dpsql.errors import InternalError
from dpsql.mechanism.entropy import Entropy
from dpsql.private import Private
from dpsql.query import Counts

_LIMIT = 1 << 61


def choose(scores: Private[Counts], epsilon: Fraction, sensitivity: int, entropy: Entropy) -> int:
    """The position of a largest of ``scores`` (int64, shape (candidates,), any public scale) after noise. Public.

    ``epsilon``-DP where one unit changes each score by at most ``sensitivity``: the noise has scale 2 sensitivity /
    epsilon, as the scores need not be monotone. Charge ``Plan.pure_cost(epsilon)`` before. InternalError for no
    scores, other types, or a sensitivity or epsilon out of range.
    """
    if epsilon <= 0 or sensitivity < 1:
        raise InternalError("a choice needs epsilon > 0 and a sensitivity of at least 1")
    return entropy.noisy_max(_vector(scores), 2 * sensitivity / epsilon)


def draw_weighted(scores: Private[Counts], scale: Fraction, size: int, entropy: Entropy) -> list[int]:
    """``size`` independent positions, each i with probability proportional to exp(scores[i] / scale). Public.

    ``scores``: int64, shape (candidates,), in the unit of ``scale``. Where the changes that one unit makes to the
    scores all lie in an interval of width w around 0, each draw has bounded range w / scale: charge
    ``Plan.range_cost(w / scale)`` for each before. InternalError for no scores, other types, or numbers out of range.
    """
    if scale <= 0 or size < 1:
        raise InternalError("a weighted draw needs a scale above 0 and at least one draw")
    return entropy.gumbel_max(_vector(scores), scale, size)


def _vector(scores: Private[Counts]) -> list[int]:
    found = scores.reveal()
    if found.dtype != np.int64 or found.ndim != 1 or found.size == 0:
        raise InternalError("a choice needs a vector of int64 scores")
    kept = np.clip(found, 1 - _LIMIT, _LIMIT - 1)  # moves no two scores apart; a refusal would tell of them
    return [int(score) for score in kept]
