"""A choice: which of several private scores is largest, told with pure differential privacy.

The exponential mechanism of McSherry and Talwar 2007 in the form of report noisy max with exponential noise, which
makes the better choice at the same epsilon (McKenna and Sheldon 2020, permute-and-flip).
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
    found = scores.reveal()
    if found.dtype != np.int64 or found.ndim != 1 or found.size == 0:
        raise InternalError("a choice needs a vector of int64 scores")
    scores_kept = np.clip(found, 1 - _LIMIT, _LIMIT - 1)  # moves no two scores apart; a refusal would tell of them
    return entropy.noisy_max(scores_kept.tolist(), 2 * sensitivity / epsilon)
