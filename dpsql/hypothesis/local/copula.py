"""Two ordered columns that rise or fall together: where the fit of such a pair begins. Free, public.

Where a pair has few rows, as at the far ends of both columns, what was measured is lost in noise, and a fit that begins
at independence leaves hardly any rows there. Columns that rise together in the middle, where it is seen, are taken to
do so at the ends: the fit begins at the normal copula with as much of it as was measured (Sklar 1959; scores of normal
ranks: van der Waerden 1952).
"""

from math import sqrt

import numpy as np

from dpsql.hypothesis.components import pure
from dpsql.hypothesis.normal import normal_cdf, normal_quantile
from dpsql.query import Estimates

CLEAR = 3.0
"""Sds of its noise that what two columns have in common must be."""
EXPLAINED = 0.5
"""Of what the counts say beyond independence the copula must leave less."""
STEEPEST = 0.98
"""Correlation at most."""
_NODES = 6  # places of equal mass inside each part of the left column
_STEPS = 4  # of false position: what is in common is nearly proportional to the correlation
_TINY = 1e-9


def copula_of(values: Estimates, sigma: float, rows: Estimates, columns: Estimates) -> float:
    """The correlation of the normal copula with as much in common as noisy counts of parts in order; public.

    From -STEEPEST to STEEPEST; 0 where it is not clear, or where the copula leaves most of what the counts say beyond
    independence. ``values``: float64 (parts, parts), in rows, each with noise of sd ``sigma``; ``rows``, ``columns``:
    clean counts of the parts of both, > 0.

    >>> diagonal = 1000.0 * np.eye(6) + 10.0
    >>> round(copula_of(diagonal, 5.0, diagonal.sum(axis=1), diagonal.sum(axis=0)), 2)
    0.97
    >>> copula_of(np.full((6, 6), 100.0), 5.0, np.full(6, 600.0), np.full(6, 600.0))
    0.0
    """
    total = max(float(rows.sum()), _TINY)
    s, t = _scores(rows), _scores(columns)
    gap = values - np.outer(rows, columns) / total
    in_common = float((s - s.mean()) @ gap @ (t - t.mean())) / total
    sd = sigma * float(np.linalg.norm(s - s.mean()) * np.linalg.norm(t - t.mean())) / total
    if abs(in_common) <= CLEAR * max(sd, _TINY):
        return 0.0
    in_common *= 1.0 - (sd / in_common) ** 2
    correlation = STEEPEST if in_common > 0.0 else -STEEPEST
    ends = [(0.0, 0.0), (correlation, _common(rows, columns, correlation))]
    for _ in range(_STEPS if abs(ends[1][1]) > abs(in_common) else 0):
        (low, below), (high, above) = ends
        correlation = low + (high - low) * (in_common - below) / (above - below)
        found = _common(rows, columns, correlation)
        ends[abs(found) > abs(in_common)] = correlation, found
    noise = sigma**2 * (len(rows) - 1) * (len(columns) - 1)
    alone = float((pure(gap) ** 2).sum()) - noise
    left = float((pure(values - copula_table(rows, columns, correlation)) ** 2).sum()) - noise
    return correlation if left < EXPLAINED * alone else 0.0


def copula_table(rows: Estimates, columns: Estimates, correlation: float) -> Estimates:
    """Counts of parts in order by a normal copula, float64 (rows, columns), >= 0, with the sums ``rows`` and about the
    sums ``columns``; public.

    >>> copula_table(np.array([50.0, 50.0]), np.array([50.0, 50.0]), 0.5).round()
    array([[33., 17.],
           [17., 33.]])
    """
    total = max(float(rows.sum()), _TINY)
    ends = np.concatenate([[0.0], np.cumsum(rows)]) / total
    inside = (np.arange(_NODES) + 0.5) / _NODES
    x = normal_quantile(ends[:-1, None] + np.diff(ends)[:, None] * inside)[..., None]
    edges = normal_quantile(np.cumsum(columns)[:-1] / max(float(columns.sum()), _TINY))
    below = normal_cdf((edges - correlation * x) / sqrt(1.0 - correlation**2))
    nothing = np.zeros_like(x)
    shares = np.diff(np.concatenate([nothing, below, nothing + 1.0], axis=-1), axis=-1).mean(axis=1)
    return np.asarray(np.maximum(shares, 0.0) * rows[:, None])


def _common(rows: Estimates, columns: Estimates, correlation: float) -> float:
    """What both columns of a copula have in common: the mean product of their scores."""
    table = copula_table(rows, columns, correlation)
    return float(_scores(rows) @ table @ _scores(columns)) / max(float(table.sum()), _TINY)


def _scores(masses: Estimates) -> Estimates:
    """The mean of a standard normal number in each of consecutive parts of these masses."""
    ends = np.concatenate([[0.0], np.cumsum(masses)]) / max(float(masses.sum()), _TINY)
    density = np.exp(-0.5 * normal_quantile(ends) ** 2) / sqrt(2.0 * np.pi)
    density[0] = density[-1] = 0.0
    return np.asarray(-np.diff(density) / np.maximum(np.diff(ends), _TINY))
