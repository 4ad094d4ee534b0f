"""How far the cuts of a noisy graph can be off: the source's bounds for Laplace noise, and those of the noise used.

A query sums ``terms`` pairs with weights in [0, 1]; a cut of n vertices has at most n (n - 1) / 2, and there are 4^n of
them: ``math.log(4) * n`` is the logarithm of their number. Gupta, Roth, Ullman 2011, section 6. Public.
"""

import math

from dpsql.synthesis.graph.noise import Noise


def laplace_tail(alpha: float, terms: int, scale: float) -> float:
    """P[sum of q_i Y_i >= alpha] at most, for ``terms`` Laplace variables of ``scale`` and q_i in [0, 1] (Thm 6.5).

    >>> round(laplace_tail(60.0, 100, 1.0), 6), laplace_tail(120.0, 100, 1.0) == math.exp(-20)
    (0.002479, True)
    """
    if alpha <= terms * scale:
        return math.exp(-(alpha**2) / (6 * terms * scale**2))
    return math.exp(-alpha / (6 * scale))


def laplace_bound(epsilon: float, terms: int, log_queries: float, beta: float) -> float:
    """What, with probability 1 - ``beta``, no query exceeds under noise Lap(1 / epsilon) on each pair (Lemma 6.1).

    By the tail above for both signs and every query: 2 k exp(..) = beta. (The lemma as printed has no 2 in its
    logarithm, and its proof 12 instead of 6; this is what Thm 6.5 gives.)
    """
    needed = math.log(2 / beta) + log_queries
    if 6 * needed <= terms:
        return math.sqrt(6 * terms * needed) / epsilon
    return 6 * needed / epsilon


def noise_bound(noise: Noise, terms: int, log_queries: float, beta: float) -> float:
    """The same for the noise that is used: O(sqrt(terms * log_queries) / epsilon), so O(n^1.5 / epsilon) for all cuts.

    An estimated pair from randomised response lies in an interval of length 1 / (1 - 2 f) (Hoeffding 1963); a discrete
    Gaussian is sub-Gaussian with its own sigma (Canonne, Kamath, Steinke 2020).
    """
    needed = math.log(2 / beta) + log_queries
    return noise.proxy * math.sqrt(2 * terms * needed)
