"""Key selection: which strings of a column may be shown. Their counts are measured afterwards, with other noise.

It is the only release whose output is strings of private rows. What was compared was paid for with it, and is drawn
when it is wanted: of each string above or below the threshold, as the selection has found it, so not centred.
"""

from fractions import Fraction
from functools import partial

import numpy as np

from dpsql.errors import InternalError
from dpsql.mechanism.binomial import binomial, subset
from dpsql.mechanism.entropy import LARGEST_SIGMA, Entropy
from dpsql.mechanism.gaussian_tail import WIDEST, tail_bounds
from dpsql.mechanism.truncated_gaussian import gaussian_above
from dpsql.private import Private
from dpsql.query import Counts, KeyCounts

_CHUNK = 1 << 16
"""Keys whose noise is held at a time."""


def select_keys(found: Private[KeyCounts], sigma: Fraction, threshold: int, entropy: Entropy) -> tuple[str, ...]:
    """The keys whose count plus discrete Gaussian noise of scale ``sigma`` (counts) exceeds ``threshold``. Public.

    Korolova, Kenthapadi, Mishra, Ntoulas 2009, with Gaussian noise; charge it as a Gaussian release of the counts
    (``Plan.release_cost``) and take its delta from the plan's purse: ``accounting.selection_threshold`` gives the
    threshold. The noisy counts that were compared are not kept: ``compared_counts`` draws them.
    Keys that ``found`` only counts are drawn together: of k keys of n rows as many as a binomial draw of the chance
    that one of them is shown, and then that many of them, each set equally likely. The law is the same
    (docs/privacy.md). Sorted. ``InternalError`` when sigma is not in (0, 2^50], the threshold is below 1, or keys are
    counted that ``drawn_alone`` says to list.
    """
    if not 0 < sigma <= LARGEST_SIGMA:
        raise InternalError("a key selection needs sigma in (0, 2^50]", hint="take sigma from the plan")
    if threshold < 1:
        raise InternalError("a key selection needs a threshold", hint="take it from accounting.selection_threshold")
    private = found.reveal()
    if len(private.fewer) > drawn_alone(sigma, threshold):
        raise InternalError("a key selection needs its frequent keys by name", hint="list them from drawn_alone on")
    shown: list[str] = []
    for begin in range(0, len(private.keys), _CHUNK):
        counts = private.counts[begin : begin + _CHUNK]
        noise = np.array(entropy.discrete_gaussian(sigma, len(counts)), dtype=np.int64)
        shown += (private.keys[begin + i] for i in np.flatnonzero(counts + noise > threshold).tolist())
    return tuple(sorted((*shown, *_fewer(private, sigma, threshold, entropy))))


def compared_counts(
    counts: Private[Counts], sigma: Fraction, threshold: int, entropy: Entropy, *, shown: bool
) -> Counts:
    """What a selection compared of keys of these private ``counts`` (int64, one a key, in rows), all ``shown`` or all
    hidden: draws. Public once released, int64, same shape.

    Each is the count plus noise of scale ``sigma`` (counts), given that this exceeded ``threshold``, or did not: with
    what was shown it has the law of noise that was kept. It is paid with the selection: of one that was released, with
    its sigma and threshold, and once for each key (docs/privacy.md, step 6). ``InternalError`` for other than int64
    counts in one axis, and when sigma is not in (0, 2^50].
    """
    values = counts.reveal()
    if values.dtype != np.int64 or values.ndim != 1:
        raise InternalError("a selection compares int64 counts")
    if not 0 < sigma <= LARGEST_SIGMA:
        raise InternalError("a key selection needs sigma in (0, 2^50]", hint="take sigma from the plan")
    gaps = (threshold - values).tolist()  # noise above it is shown; from -gap on its mirror image is not
    if shown:
        return np.asarray(values + np.array(gaussian_above(sigma, gaps, entropy), dtype=np.int64))
    mirrored = gaussian_above(sigma, [-gap - 1 for gap in gaps], entropy)
    return np.asarray(values - np.array(mirrored, dtype=np.int64))


def drawn_alone(sigma: Fraction, threshold: int) -> int:
    """The least count, in rows, from which keys must be listed for a selection; those of fewer may be counted. Public.

    >>> drawn_alone(Fraction(10), 54), drawn_alone(Fraction(10**6), 5_000_000)
    (55, 1)
    """
    return threshold + 1 if sigma <= WIDEST else 1


def _fewer(found: KeyCounts, sigma: Fraction, threshold: int, entropy: Entropy) -> tuple[str, ...]:
    """The keys that are shown of those that ``found`` only counts."""
    chosen: dict[int, list[int]] = {}
    for n in np.flatnonzero(found.fewer).tolist():
        gap, keys = threshold - n, int(found.fewer[n])
        times = binomial(keys, partial(tail_bounds, sigma, gap), entropy)
        if times:
            chosen[n] = subset(keys, times, entropy)
    return found.named(chosen) if chosen else ()
