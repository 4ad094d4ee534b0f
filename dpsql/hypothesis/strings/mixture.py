"""Counts of strings by the values of one finite column, by how many cells are how far from what was expected. Public.

Some strings have rows of every value as the table has, some of a few values alone, and most tables have both kinds. So
a cell is near its string's rows times the column's share, or none, or some other part or multiple of that: normal
distributions about each, whose shares all measured cells decide together (empirical Bayes by a mixture; Stephens 2017).
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
ALIKE = (0.0, 0.1, 0.3, 0.8)
"""Sds about what was expected of a cell, in its own size."""
APART = (0.1, 0.3, 0.9, 2.7, 8.0, 24.0, 73.0, 220.0, 660.0, 2_000.0, 6_000.0, 18_000.0)
"""Or a cell is about so many times its size, whatever all others are, and at most the string's rows: no cell is below
0, and what is symmetric about 0 would take a little from each small one, of a list's hundreds most of the error."""
APART_BY = 0.6
"""Sds about each of these, in its own size, so that together they reach all counts."""
FITTED = 4_096
"""So many cells decide the shares: more say hardly more of a dozen numbers."""
GOLDEN = 0.6180339887498949
"""Steps between these, of all cells: even distances could be those of one value (Weyl 1916)."""
ROUNDS = 60
"""In which the shares are fitted (expectation and maximization)."""
SURELY = 2.0
"""Sds of a sum of squares of noise: what is below so many is taken for noise."""
MOST_MOVED = 3.0
"""A cell is moved by so many sds of its noise at most: limited translation (Efron and Morris 1972). Noise hardly ever
moves it further, and one cell unlike all others is not taken for noise."""
TWICE = 2
"""Rounds of both: the second ends what the first one's rows have moved."""
EACH_HAS = 0.3
"""Cells that each part of the mixture has beside those that are measured, so that none is impossible."""
_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class CellEstimates:
    """``counts`` and their ``variances``: float64 of shape (strings, values), in counts and their squares. Counts may
    be below 0: cut, sums over many would be too large."""

    counts: Floats
    variances: Floats


def mixed_cells(
    values: Floats, variances: Floats, rows: Floats, rows_variances: Floats, shares: Floats, *, by_chance: bool = True
) -> CellEstimates:
    """Posterior means of cells, moved to add up to what was measured of all strings, where noise does not explain the
    difference, and to each string's rows, as far as both are known. A mixture that all values share is wrong about each
    of them by a little: of one cell that is nothing, of a list's hundreds it is most of the error.

    ``values``: measured counts, shape (strings, values); ``variances`` of their noise, > 0, one a string; ``rows``: of
    the strings, with ``rows_variances``; ``shares`` of the column's values in the table, which sum to 1. ``by_chance``:
    whether cells that are as expected are so as rows drawn with these shares are.

    >>> one_kind, noise = np.array([[110.0, 5.0, -8.0, 2.0]]), np.array([100.0])
    >>> found = mixed_cells(one_kind, noise, np.array([105.0]), np.array([9.0]), np.full(4, 0.25))
    >>> round(float(found.counts.sum())), bool(abs(found.counts[0, 2]) < 4.0)
    (105, True)
    """
    whole = np.maximum(rows, 1.0)
    expected = np.multiply.outer(whole, _own_shares(values, variances, whole, shares))
    noise = np.broadcast_to(variances[:, None], values.shape)
    most = np.broadcast_to(whole[:, None], values.shape)
    some = np.arange(values.size)
    if values.size > FITTED:
        some = (np.arange(FITTED) * GOLDEN % 1.0 * values.size).astype(np.int64)
    chance = np.maximum(expected * (1.0 - expected / most), 0.0) if by_chance else np.zeros_like(expected)
    mixing = _mixing(*(np.take(a, some) for a in (values, noise, expected, most, chance)))
    found = _posterior(values.ravel(), noise.ravel(), expected.ravel(), most.ravel(), chance.ravel(), mixing)
    counts, left = (a.reshape(values.shape) for a in found)
    for _ in range(TWICE):
        apart = (values - counts).sum(axis=0)
        counts = counts + left * (_beyond_noise(apart, variances) * apart / (left.sum(axis=0) + _TINY))
        missing = rows - counts.sum(axis=1)
        counts = counts + left * (missing / (left.sum(axis=1) + rows_variances + _TINY))[:, None]
    return CellEstimates(counts, left)


def mixed_counts(values: Floats, variances: Floats, expected: Floats, most: Floats) -> CellEstimates:
    """Posterior means of counts that have nothing in common but how many of them are how far from what was expected.

    All of shape (counts,); ``variances`` of the noise in ``values``, > 0; ``most`` that each can be.

    >>> found = mixed_counts(np.array([90.0, 4.0]), np.full(2, 100.0), np.array([80.0, 1.0]), np.full(2, 500.0))
    >>> bool(80.0 < found.counts[0] < 90.0 and found.counts[1] < 4.0)
    True
    """
    expected = np.minimum(expected, most)
    chance = np.maximum(expected * (1.0 - expected / np.maximum(most, 1.0)), 0.0)
    some = np.arange(len(values))
    if len(values) > FITTED:
        some = (np.arange(FITTED) * GOLDEN % 1.0 * len(values)).astype(np.int64)
    mixing = _mixing(*(np.take(a, some) for a in (values, variances, expected, most, chance)))
    return CellEstimates(*_posterior(values, variances, expected, most, chance, mixing))


def _beyond_noise(apart: Floats, variances: Floats) -> float:
    """What of these distances, each a sum over all strings, noise does not explain (James and Stein 1961)."""
    noise = float(variances.sum()) * (len(apart) + SURELY * sqrt(2.0 * len(apart)))
    return max(0.0, 1.0 - noise / max(float((apart**2).sum()), _TINY))


def _own_shares(values: Floats, variances: Floats, rows: Floats, shares: Floats) -> Floats:
    """What measured strings have of each value together: the table's shares, and theirs as far as noise lets them be
    told apart."""
    expected = rows.sum() * shares
    apart = values.sum(axis=0) - expected
    found = np.maximum(expected + _beyond_noise(apart, variances) * apart, 0.0)
    return np.asarray(found / max(float(found.sum()), _TINY))


def _components(expected: Floats, rows: Floats, chance: Floats) -> tuple[Floats, Floats]:
    """Means and variances of the mixture's parts, shape (cells, parts). ``chance``: variance of a cell that has its
    expected share of the string's rows, as each row's value is drawn (binomial)."""
    alike, apart = np.multiply.outer(expected, ALIKE), np.minimum(np.multiply.outer(expected, APART), rows[:, None])
    none = np.zeros((len(expected), 1))
    means = np.concatenate([np.repeat(expected[:, None], len(ALIKE), axis=1), none, apart], axis=1)
    spreads = np.concatenate([alike, none, APART_BY * apart], axis=1) ** 2
    spreads[:, : len(ALIKE)] += chance[:, None]
    return means, spreads


def _likely(values: Floats, noise: Floats, means: Floats, spreads: Floats) -> Floats:
    total = spreads + noise[:, None]
    log = -0.5 * ((values[:, None] - means) ** 2 / total + np.log(total))
    return np.asarray(np.exp(log - log.max(axis=1, keepdims=True)))


def _mixing(values: Floats, noise: Floats, expected: Floats, rows: Floats, chance: Floats) -> Floats:
    """The shares of the parts, which the cells make most likely."""
    likely = _likely(values, noise, *_components(expected, rows, chance))
    parts = likely.shape[1]
    shares = np.full(parts, 1.0 / parts)
    for _ in range(ROUNDS):
        each = likely * shares
        fitted = (each / each.sum(axis=1, keepdims=True)).sum(axis=0)
        shares = (fitted + EACH_HAS) / (len(values) + EACH_HAS * parts)
    return shares


def _posterior(
    values: Floats, noise: Floats, expected: Floats, rows: Floats, chance: Floats, mixing: Floats
) -> tuple[Floats, Floats]:
    """Means and variances of the cells: within the parts and between them, for normal parts (Gelman et al. 2013)."""
    means, spreads = _components(expected, rows, chance)
    each = _likely(values, noise, means, spreads) * mixing
    each /= each.sum(axis=1, keepdims=True)
    kept = spreads / (spreads + noise[:, None])
    found = means + kept * (values[:, None] - means)
    counts = (each * found).sum(axis=1)
    left = (each * (kept * noise[:, None] + (found - counts[:, None]) ** 2)).sum(axis=1)
    moved, most = counts - values, MOST_MOVED * np.sqrt(noise)
    far = np.abs(moved) > most
    return values + np.clip(moved, -most, most), np.where(far, noise, left)
