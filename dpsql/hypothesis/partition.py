"""Partitions of a column's cells into parts of similar weight: nested, deterministic, from released numbers. Public.

A pair of columns with hundreds of values cannot be measured cell by cell. How to cut a column is decided from released
counts, the same way in every session, since a replayed ledger must find the same parts.
"""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from math import inf, isqrt, prod

import numpy as np

from dpsql.hypothesis.measurement import Labels
from dpsql.query import Estimates

LEAST_CELL = 0.75
"""A pair of columns is measured on parts of which an average cell of their table holds this many noise sds."""
_GREEDY = 512
_TINY = 1e-9


def atoms(
    values_1way: Estimates,
    sigma_1way: float,
    pair_sd: float,
    total: float,
    *,
    ordered: bool = False,
    wholes: Labels | None = None,
) -> Labels:
    """The parts of one column on which its pairs are measured: a label 0 .. M-1 for each cell.

    ``values_1way``: released counts of the column's cells, with noise sd ``sigma_1way``; ``pair_sd``: noise sd of a
    pair's cells; ``total``: rows. M is at most sqrt(total / (.75 pair_sd)). ``ordered`` columns are cut into intervals,
    which end where ``wholes`` do (``within_wholes``).

    >>> atoms(np.array([900.0, 10.0, 60.0, 30.0]), 5.0, 100.0, 1000.0)
    array([0, 1, 2, 1])
    """
    most = max(2, isqrt(int(max(total, 1.0) / (LEAST_CELL * max(pair_sd, 1e-9)))))
    size = len(values_1way)
    if size <= most:
        return np.arange(size, dtype=np.int64)
    # a cell inside its noise weighs as little as the noise lets it be told from 0
    masses = np.maximum(values_1way, sigma_1way)
    return merged(masses, most, ordered) if wholes is None else within_wholes(masses, most, wholes)


def merged(masses: Estimates, size: int, ordered: bool) -> Labels:
    """At most ``size`` parts: the two lightest (neighbours, when ``ordered``) are joined until few enough are left.

    Parts are numbered by their first cell.
    """
    n = len(masses)
    if n <= size:
        return np.arange(n, dtype=np.int64)
    return _merged_intervals(masses, size) if ordered else _merged_sets(masses, size)


def within_wholes(masses: Estimates, size: int, wholes: Labels) -> Labels:
    """At most ``size`` intervals of cells in consecutive ``wholes``: the lightest neighbours inside of one whole are
    joined until few enough are left; where there are more wholes than that, unions of these.

    >>> within_wholes(np.array([5.0, 1.0, 1.0, 1.0, 4.0]), 3, np.array([0, 0, 1, 1, 1])).tolist()
    [0, 0, 1, 1, 2]
    """
    if size <= int(wholes.max()) + 1:
        return merged(part_sums(wholes, masses), size, ordered=True)[wholes]
    labels = np.arange(len(masses), dtype=np.int64)
    if len(masses) > _GREEDY:
        share = (np.cumsum(masses) - masses) * (max(_GREEDY, size) / max(float(masses.sum()), 1e-9))
        labels = np.concatenate([[0], np.cumsum((np.diff(np.floor(share)) != 0) | (np.diff(wholes) != 0))])
    weight = part_sums(labels, masses).tolist()
    first = np.flatnonzero(np.diff(labels, prepend=-1))
    starts = list(range(len(weight)))
    over = (np.diff(wholes[first]) != 0).tolist()  # no two of different wholes are joined
    joined = [inf if apart else a + b for apart, (a, b) in zip(over, pairwise(weight), strict=True)]
    while len(weight) > size:
        i = joined.index(min(joined))
        weight[i : i + 2] = [joined[i]]
        del starts[i + 1], joined[i], over[i]
        for j in range(max(i - 1, 0), min(i + 1, len(joined))):
            joined[j] = inf if over[j] else weight[j] + weight[j + 1]
    out: Labels = np.searchsorted(np.array(starts), labels, side="right") - 1
    return out


def _merged_sets(masses: Estimates, size: int) -> Labels:
    heap = [(float(m), i) for i, m in enumerate(masses)]
    heapify(heap)
    parent = list(range(len(masses)))
    for _ in range(len(masses) - size):
        (light, a), (heavy, b) = heappop(heap), heappop(heap)
        low, high = min(a, b), max(a, b)
        parent[high] = low
        heappush(heap, (light + heavy, low))
    for i, p in enumerate(parent):  # a parent comes before its children
        parent[i] = parent[p]
    return compact(np.array(parent, dtype=np.int64))


def _merged_intervals(masses: Estimates, size: int) -> Labels:
    n = len(masses)
    labels = np.arange(n, dtype=np.int64)
    if n > _GREEDY:
        share = np.cumsum(masses) - masses
        labels = compact(np.floor(share * (_GREEDY / max(float(masses.sum()), 1e-9))).astype(np.int64))
    weight = part_sums(labels, masses).tolist()
    starts = list(range(len(weight)))
    joined = [a + b for a, b in pairwise(weight)]
    while len(weight) > size:
        i = joined.index(min(joined))  # the first of the lightest
        weight[i : i + 2] = [joined[i]]
        del starts[i + 1], joined[i]
        for j in range(max(i - 1, 0), min(i + 1, len(joined))):
            joined[j] = weight[j] + weight[j + 1]
    out: Labels = np.searchsorted(np.array(starts), labels, side="right") - 1
    return out.astype(np.int64)


def nested(masses: Estimates, sizes: Sequence[int], ordered: bool) -> dict[int, Labels]:
    """Labels for each of ``sizes``; every coarser partition is a union of parts of the finer ones."""
    out: dict[int, Labels] = {}
    labels = np.arange(len(masses), dtype=np.int64)
    for size in sorted(set(sizes), reverse=True):
        parts = part_sums(labels, masses)
        labels = merged(parts, size, ordered)[labels]
        out[size] = labels
    return out


def refinement(partitions: Sequence[Labels]) -> Labels:
    """The coarsest partition that is finer than all of ``partitions`` of the same cells.

    >>> refinement([np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])])
    array([0, 1, 2, 2])
    """
    out = compact(partitions[0])
    for labels in partitions[1:]:
        out = compact(out * (int(labels.max()) + 1) + labels)
    return out


def compact(labels: Labels) -> Labels:
    """The same partition, numbered 0, 1, .. by first cell."""
    steps = np.diff(labels.reshape(-1))
    if not (steps < 0).any():  # of ranges in order, without sorting
        return np.concatenate([[0], np.cumsum(steps > 0)]).astype(np.int64) if labels.size else labels.astype(np.int64)
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    out: Labels = rank[inverse.reshape(-1)].astype(np.int64)
    return out


def indicator(labels: Labels) -> Estimates:
    """Matrix (parts, cells): 1.0 where a cell belongs to a part."""
    out = np.zeros((int(labels.max()) + 1, len(labels)))
    out[labels, np.arange(len(labels))] = 1.0
    return out


def part_sums(labels: Labels, cells: Estimates) -> Estimates:
    """Sums of ``cells`` over the parts.

    >>> part_sums(np.array([0, 1, 1]), np.array([1.0, 2.0, 3.0]))
    array([1., 5.])
    """
    return np.bincount(labels, weights=cells).astype(np.float64)


def overlap(parts: Labels, base: Labels, cells: Estimates) -> Estimates:
    """Matrix (parts, base parts): the share of a base part's rows that lies in a part, rows as in ``cells``.

    >>> overlap(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([5.0, 1.0, 3.0]))
    array([[1.  , 0.25],
           [0.  , 0.75]])
    """
    out = np.zeros((int(parts.max()) + 1, int(base.max()) + 1))
    np.add.at(out, (parts, base), cells)
    return np.asarray(out / np.maximum(part_sums(base, cells), _TINY))


def triple_parts(sizes: Sequence[int], cells: float) -> int:
    """Into how many parts each of three columns with so many parts is cut at most for ``cells`` in all, at least 2.

    >>> triple_parts((40, 40, 40), 300.0), triple_parts((40, 40, 2), 300.0), triple_parts((3, 3, 2), 300.0)
    (6, 12, 3)
    """
    most = 2
    while most < max(sizes) and prod(min(size, most + 1) for size in sizes) <= cells:
        most += 1
    return most


def summed_parts(table: Estimates, labels: Labels, axis: int) -> Estimates:
    """``table`` with the cells of one axis summed over its parts, in the order of the cells.

    >>> summed_parts(np.array([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]]), np.array([0, 1, 0]), 1).tolist()
    [[5.0, 2.0], [40.0, 16.0]]
    """
    moved = np.moveaxis(table, axis, 0)
    out = np.zeros((int(labels.max()) + 1, *moved.shape[1:]))
    np.add.at(out, labels, moved)
    return np.moveaxis(out, 0, axis)
