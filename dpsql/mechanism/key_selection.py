"""Key selection: which strings of a column may be shown. Their counts are measured afterwards, with other noise.

It is the only release whose output is strings of private rows. What was compared is dropped at once: given that a key
was shown, that noise is not centred.
"""

from fractions import Fraction

import numpy as np

from dpsql.errors import InternalError
from dpsql.mechanism.entropy import LARGEST_SIGMA, Entropy
from dpsql.private import Private
from dpsql.query import KeyCounts

_CHUNK = 1 << 16
"""Keys whose noise is held at a time."""


def select_keys(found: Private[KeyCounts], sigma: Fraction, threshold: int, entropy: Entropy) -> tuple[str, ...]:
    """The keys whose count plus discrete Gaussian noise of scale ``sigma`` (counts) exceeds ``threshold``. Public.

    Korolova, Kenthapadi, Mishra, Ntoulas 2009, with Gaussian noise; charge it as a Gaussian release of the counts
    (``Plan.release_cost``) and take its delta from the plan's purse: ``accounting.selection_threshold`` gives the
    threshold. The noisy counts that were compared are dropped: given that a key was shown they are not centred.
    In the order of ``found``, which must not depend on how rows are stored. ``InternalError`` when sigma is not in
    (0, 2^50] or the threshold is below 1.
    """
    if not 0 < sigma <= LARGEST_SIGMA:
        raise InternalError("a key selection needs sigma in (0, 2^50]", hint="take sigma from the plan")
    if threshold < 1:
        raise InternalError("a key selection needs a threshold", hint="take it from accounting.selection_threshold")
    private = found.reveal()
    shown: list[str] = []
    for begin in range(0, len(private.keys), _CHUNK):
        counts = private.counts[begin : begin + _CHUNK]
        noise = np.array(entropy.discrete_gaussian(sigma, len(counts)), dtype=np.int64)
        shown += (private.keys[begin + i] for i in np.flatnonzero(counts + noise > threshold).tolist())
    return tuple(shown)
