"""How to say most of a question in questions whose answers are known, so that little of it is left to measure. Public.

A question is a function f on cells (1 where a row counts); what is known are estimates of the counts of functions b_j,
each with a variance. Whatever the numbers a_j, f is sum a_j b_j plus a rest g, and the rest is a linear query whose
sensitivity is max |g|, often far below 1: of a conjunction over three columns with known pairs, 1/8. This is the
approximation of AND by low degrees in the largest deviation (Nisan and Szegedy 1994), with variances.
"""

import numpy as np

from dpsql.query import Estimates

ROUNDS = 25
"""Of reweighting; the best is kept."""
_TINY = 1e-12


def least_change(asked: Estimates, known: Estimates, variances: Estimates, variance: float) -> Estimates:
    """The a that make ``variance * max |asked - known @ a|^2 + sum a^2 variances`` small: float64, one per function.

    ``asked``: f over the cells, shape (cells,). ``known``: b_j as columns, shape (cells, functions). ``variances``:
    of the known counts; ``variance``: of noise at sensitivity 1; both in counts squared, > 0. Any a is right; a worse
    one costs noise.

    The largest of weighted squares is approached by reweighting (Lawson 1961): weights grow where the rest is large.

    >>> f = np.array([0.0, 1.0])  # one column, in or out, and the number of rows is known
    >>> least_change(f, np.ones((2, 1)), np.full(1, 1e-9), 1.0).round(3).tolist()
    [0.5]
    """
    if not known.shape[1]:
        return np.zeros(0)
    weights = np.full(len(asked), 1.0 / len(asked))
    best, least = np.zeros(known.shape[1]), variance * float(np.abs(asked).max()) ** 2
    for _ in range(ROUNDS):
        weighted = known * weights[:, None]
        normal = weighted.T @ known + np.diag(variances / variance)
        found = np.linalg.solve(normal + np.eye(len(best)) * _TINY, weighted.T @ asked)
        off = np.abs(asked - known @ found)
        cost = variance * float(off.max()) ** 2 + float(found**2 @ variances)
        if cost < least:
            best, least = found, cost
        weights = weights * (off + _TINY)
        weights /= weights.sum()
    return best
