"""What the cells of one GROUP BY have in common, where nothing but their release is known of them. Public numbers.

Most cells of a large table are small, many are empty: that shows in the released counts together, though not in each.
The cells' counts are taken as draws from one law of numbers not below 0, the law that makes the released counts most
likely (Robbins 1956; Kiefer and Wolfowitz 1956), and a cell is answered with what its own count says of it under that
law. Numbers not below 0 add up to too much where most cells are empty, so what is too much is taken off again, a little
of each: the answers add up to what the counts add up to, and sums over many groups are no worse than before.
"""

from collections.abc import Sequence

import numpy as np

from dpsql.query import Estimates, LinearQuery
from dpsql.result import Answer
from dpsql.session.answers import moved_to, rounded_together
from dpsql.session.own.weighing import TOGETHER

MOST_ALIKE = 2048
"""Cells of one release that are looked at together; of more each stands for itself."""
FARTHEST = 1.5
"""Sds of its noise that a count is moved by at most, but up to 0: a cell unlike all others is off by little more."""
GRAIN = 4.0
"""Steps per sd of the numbers that the law may give weight to."""
LAW_ROUNDS = 60
"""In which the law is fitted; more follow the noise."""
_TINY = 1e-300


def are_alike(queries: Sequence[LinearQuery]) -> bool:
    """Whether these queries of one outline count rows of finite cells, and are enough to tell what they share."""
    first = queries[0]
    known = first.keyed is not None or first.is_by_value
    return TOGETHER <= len(queries) <= MOST_ALIKE and not known and all(q.is_indicator for q in queries)


def moved_together(measured: Sequence[Answer], noise: Sequence[float]) -> list[Answer]:
    """The answers of one release, each moved to what the cells have in common; ``noise``: their sds (counts)."""
    values = rounded_together(in_common(np.array([a.value for a in measured], dtype=np.float64), np.array(noise)))
    return [moved_to(a, value, int(a.error or 0)) for a, value in zip(measured, values, strict=True)]


def in_common(measured: Estimates, noise: Estimates) -> Estimates:
    """``measured`` counts of cells, with noise of these sds (> 0), as what all of them together make of each; float64,
    shape (cells,), of the same sum. Some may be below 0.

    >>> found = in_common(np.array([4.0, -3.0, 1.0, -2.0, 500.0]), np.full(5, 3.0))
    >>> bool(abs(found[:4]).max() < 0.1), round(float(found.sum()), 6)
    (True, 500.0)
    """
    grain = float(np.median(noise)) / GRAIN
    atoms = np.unique(np.append(np.rint(np.maximum(measured, 0.0) / grain) * grain, 0.0))
    log = -0.5 * ((measured[:, None] - atoms) / noise[:, None]) ** 2
    likely = np.exp(log - log.max(axis=1, keepdims=True))
    law = np.full(len(atoms), 1.0 / len(atoms))
    for _ in range(LAW_ROUNDS):
        law *= (1.0 / np.maximum(likely @ law, _TINY)) @ likely / len(measured)
    found = (likely @ (law * atoms)) / np.maximum(likely @ law, _TINY)
    most = FARTHEST * noise
    found = np.clip(found, measured - most, np.maximum(measured + most, 0.0))
    return np.asarray(found + (measured.sum() - found.sum()) * noise**2 / (noise**2).sum())
