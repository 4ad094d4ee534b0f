"""What all pairs of columns together say of each: a few hidden kinds of rows. Free, public.

Where rows are of a few kinds and columns lean on the kind alone, all interactions of two columns are made of a few
vectors over the values of all columns: side by side they are one symmetric matrix of low rank. Forty columns have 780
noisy pairs and a few thousand such numbers, so that these are known far better than any pair by itself. What is found
is where the cleaning of a pair begins; what the pair's own counts say beyond it comes on top.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import comb

import numpy as np
import numpy.typing as npt

from dpsql.hypothesis.components import pure
from dpsql.hypothesis.local.pair_table import LEAST_SHARE, PairCounts, PairTable
from dpsql.hypothesis.measurement import Labels, Measurement
from dpsql.hypothesis.partition import merged, part_sums
from dpsql.query import Estimates

FEWEST_COLUMNS = 17
"""Tables of fewer columns have too few pairs, each too well known, for this to tell more than they do alone."""
FEWEST_PAIRS = 8
"""Fewer pairs have no more to say together than each alone."""
MOST_KINDS = 8
"""Vectors at most: more of them follow single pairs, and their noise."""
MOST_PARTS = 24
"""Parts of a column at most."""
PASSES = 20
"""Of fitting, weighing and filling in."""
TRUSTED = 0.3
"""A pair begins there if what its counts say beyond it is at most this share of their noise."""
GAINED = 0.5
"""And at most this share of what they say beyond independence."""
_SPARE_VECTORS = 8
_TINY = 1e-9

Pairs = Mapping[tuple[str, str], PairCounts]


def pairs_among(measurements: Sequence[Measurement], order: Mapping[str, int]) -> dict[tuple[str, str], Measurement]:
    """The first measurement of each two columns and no others, in ``order``."""
    found: dict[tuple[str, str], Measurement] = {}
    for m in measurements:
        if _is_pair(m):
            left, right = sorted(m.scope, key=order.__getitem__)
            found.setdefault((left, right), m)
    return found


def _is_pair(m: Measurement) -> bool:
    return len(m.axes) == 2 and all(len(a.columns) == 1 and not a.difference for a in m.axes)


def together(measurements: Sequence[Measurement], columns: int) -> int:
    """How many of the measurements, which come one by one, are looked at together: those up to the 8th, 16th, 32nd, ..
    pair, and to the last one that a table of so many columns has. 0 before there are enough.
    """
    if columns < FEWEST_COLUMNS:
        return 0
    seen: set[frozenset[str]] = set()
    number, next_one = 0, FEWEST_PAIRS
    for place, m in enumerate(measurements):
        if _is_pair(m) and frozenset(m.scope) not in seen:
            seen.add(frozenset(m.scope))
            if len(seen) == next_one or len(seen) == comb(columns, 2):
                number, next_one = place + 1, max(next_one, 2 * len(seen))
    return number


@dataclass(frozen=True, eq=False)
class HiddenKinds:
    """``labels``: the parts of each column; ``expected``: counts of each two under independence, ``fitted``: what a few
    kinds of rows add to them, both over all columns' parts, of which each column has its ``places``."""

    labels: Mapping[str, Labels]
    places: Mapping[str, slice]
    expected: Estimates
    fitted: Estimates

    @classmethod
    def none(cls) -> "HiddenKinds":
        """Nothing is known together."""
        return cls({}, {}, np.zeros((0, 0)), np.zeros((0, 0)))

    @classmethod
    def of(cls, ones: Mapping[str, Estimates], ordered: Mapping[str, bool], pairs: Pairs) -> "HiddenKinds":
        """From clean counts of single columns and noisy counts of pairs of them; none where too few are there."""
        if len(pairs) < FEWEST_PAIRS:
            return cls.none()
        gaps = _Gaps.of(ones, ordered, pairs)
        return cls(gaps.labels, gaps.places, gaps.expected, _fitted(gaps))

    def start(self, left: str, right: str, counts: Sequence[PairCounts]) -> PairTable | None:
        """Where the cleaning of a pair begins; ``None`` for independence, where its counts say much beyond the fit."""
        if left not in self.labels or right not in self.labels or len(counts) != 1:
            return None
        a, b, here = self.labels[left], self.labels[right], (self.places[left], self.places[right])
        expected, fitted = self.expected[here], self.fitted[here]
        gap = _gap(counts[0], a, b, expected)
        if gap is None:
            return None
        values, variance = gap
        beyond, alone = float(((values - fitted) ** 2 - variance).mean()), float((values**2 - variance).mean())
        if beyond > TRUSTED * float(variance.mean()) or beyond > GAINED * max(0.0, alone):
            return None
        return PairTable(a, b, np.maximum(expected + fitted, LEAST_SHARE * expected))


@dataclass(frozen=True, eq=False)
class _Gaps:
    """All pairs' interactions beyond independence as one symmetric matrix over the parts of all columns, in counts.

    ``expected``: under independence; ``variance``: of noise, and of rows that are drawn by chance; ``seen``: where a
    pair was measured, as 0 or 1; ``column``: parts to columns, as 0 or 1.
    """

    labels: Mapping[str, Labels]
    places: Mapping[str, slice]
    column: Estimates
    values: Estimates
    expected: Estimates
    variance: Estimates
    seen: Estimates

    @classmethod
    def of(cls, ones: Mapping[str, Estimates], ordered: Mapping[str, bool], pairs: Pairs) -> "_Gaps":
        names = tuple(c for c in ones if any(c in pair for pair in pairs))
        labels = {c: _common_parts(c, ones[c], ordered[c], pairs) for c in names}
        sums = [part_sums(labels[c], ones[c]) for c in names]
        ends = np.cumsum([0, *(len(s) for s in sums)])
        places = {c: slice(a, b) for c, (a, b) in zip(names, pairwise(ends.tolist()), strict=True)}
        flat = np.concatenate(sums)
        expected = np.outer(flat, flat) / max(float(sums[0].sum()), _TINY)
        values, variance, seen = np.zeros_like(expected), expected.copy(), np.zeros_like(expected)
        column = np.repeat(np.eye(len(names)), [len(s) for s in sums], axis=0)
        for (left, right), counts in pairs.items():
            here, there = (places[left], places[right]), (places[right], places[left])
            gap = _gap(counts, labels[left], labels[right], expected[here])
            if gap is not None:
                values[here], variance[here], seen[here] = *gap, 1.0
                values[there], variance[there], seen[there] = values[here].T, variance[here].T, 1.0
        return cls(labels, places, column, values, expected, variance, seen)

    def by_pair(self, cells: Estimates) -> Estimates:
        """Means over the measured cells of each two columns."""
        number = self.column.T @ self.seen @ self.column
        return np.asarray(self.column.T @ (self.seen * cells) @ self.column / np.maximum(number, 1.0))


def _common_parts(column: str, one: Estimates, ordered: bool, pairs: Pairs) -> Labels:
    """The coarsest parts on which the column's pairs were measured, MOST_PARTS of them at most."""
    of_pairs = [c.left if pair[0] == column else c.right for pair, c in pairs.items() if column in pair]
    coarsest = min(of_pairs, key=lambda labels: int(labels.max()))
    joined: Labels = merged(part_sums(coarsest, one), MOST_PARTS, ordered)[coarsest]
    return joined


def _gap(counts: PairCounts, left: Labels, right: Labels, expected: Estimates) -> tuple[Estimates, Estimates] | None:
    """A pair's interaction beyond independence over parts of its columns, and the variance of its cells; ``None`` where
    it was measured on others."""
    a, b = _within(counts.left, left), _within(counts.right, right)
    if a is None or b is None:
        return None
    variance = expected + counts.sigma**2 * np.outer(a.sum(axis=1), b.sum(axis=1))
    return pure(a @ counts.values @ b.T) - pure(expected), variance


def _within(measured: Labels, parts: Labels) -> Estimates | None:
    """The matrix that adds measured parts up to ``parts``; ``None`` where one of them is in several."""
    of_measured = np.zeros(int(measured.max()) + 1, dtype=np.int64)
    of_measured[measured] = parts
    if (of_measured[measured] != parts).any():
        return None
    out = np.zeros((int(parts.max()) + 1, len(of_measured)))
    out[of_measured, np.arange(len(of_measured))] = 1.0
    return out


def _fitted(gaps: _Gaps) -> Estimates:
    """The matrix of low rank.

    A weighted fit by filling in (Srebro and Jaakkola 2003): each pass replaces a cell by a mean of what was measured
    and what was fitted, by their precision. Pairs that do not fit weigh less in the next pass, so that two columns that
    follow from each other bend nothing else. Eigenvalues are shrunken as is best under noise of one variance (Gavish
    and Donoho 2017, for the Frobenius norm).
    """
    fitted = np.zeros_like(gaps.values)
    beyond = np.zeros((len(gaps.labels), len(gaps.labels)))
    vectors: Estimates | None = None
    for _ in range(PASSES):
        variance = gaps.variance + gaps.column @ np.maximum(beyond, 0.0) @ gaps.column.T
        measured = gaps.seen > 0.0
        weight = np.where(measured, float(variance[measured].min()) / variance, 0.0)
        values, vectors = _largest(fitted + weight * (gaps.values - fitted), vectors)
        noise = float((weight[measured] ** 2 * variance[measured]).mean())
        kept = np.sign(values) * np.sqrt(np.maximum(values**2 - 4.0 * len(fitted) * noise, 0.0))
        kept[MOST_KINDS:] = 0.0
        fitted = np.asarray((vectors * kept) @ vectors.T)
        beyond = gaps.by_pair((gaps.values - fitted) ** 2 - gaps.variance)
    return fitted


def _largest(matrix: Estimates, before: Estimates | None) -> tuple[Estimates, npt.NDArray[np.float64]]:
    """The largest eigenvalues of a symmetric matrix, by size, and their vectors as columns.

    ``before``: vectors of a matrix much like it, from which one step of orthogonal iteration gets as far as is needed.
    """
    if before is None:
        values, vectors = np.linalg.eigh(matrix)
    else:
        basis, _ = np.linalg.qr(matrix @ (matrix @ before))
        values, inside = np.linalg.eigh(basis.T @ matrix @ basis)
        vectors = basis @ inside
    order = np.argsort(-np.abs(values), kind="stable")[: MOST_KINDS + _SPARE_VECTORS]
    return values[order], vectors[:, order]
