"""What pairs of columns say of three and more together, where rows are of a few hidden kinds. Free, public.

Of a latent class model (Lazarsfeld 1950) each class of rows has its own shares of every column's values, independent of
each other. Its pairs are a matrix of low rank, as hidden kinds are, and tell the classes but for how these are turned
in their space (Kruskal 1977 needs three columns together); so several fits from different starts are all taken, each
for its part of the rows. What the classes say of three columns is where a local model begins, in place of
independence; its pairs are fitted as ever.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dpsql.hypothesis.local.hidden_kinds import HiddenKinds
from dpsql.hypothesis.local.pair_table import LEAST_SHARE
from dpsql.hypothesis.measurement import Labels
from dpsql.hypothesis.partition import merged, part_sums
from dpsql.query import Estimates

CLASSES = 8
"""Of each fit."""
FITS = 4
STEPS = 400
"""Of each fit."""
MOST_CELLS = 480
"""Of all columns together: a step looks at each two of them."""
MOSTLY = 0.7
"""Share of the pairs that say more than independence which hidden kinds explain: from then on three columns begin where
these put them."""
_LEAST = 1e-12
"""A share that was lost for good could not come back."""


@dataclass(frozen=True, eq=False)
class LatentClasses:
    """``weights``: the share of the rows in each class, shape (classes,); ``shares``: of each column the share of each
    of its cells in the class's rows, shape (classes, cells). Empty where there are none."""

    weights: Estimates
    shares: Mapping[str, Estimates]

    @classmethod
    def none(cls) -> "LatentClasses":
        """Nothing is known of three columns together."""
        return cls(np.zeros(0), {})

    @classmethod
    def of(cls, kinds: HiddenKinds, ones: Mapping[str, Estimates], ordered: Mapping[str, bool]) -> "LatentClasses":
        """The classes whose pairs are nearest to what the kinds make of each two columns."""
        if not kinds.labels:
            return cls.none()
        labels = _coarse(kinds.labels, ones, ordered)
        weights, found = fitted_classes(_pairs(kinds, labels), [int(a.max()) + 1 for a in labels.values()])
        shares, end = {}, 0
        for column, parts in labels.items():
            start, end = end, end + int(parts.max()) + 1
            one = ones[column]
            within = one / np.maximum(part_sums(parts, one), _LEAST)[parts]
            shares[column] = found[:, start:end][:, parts] * within
        return cls(weights, shares)

    def begins(self, columns: Sequence[str]) -> bool:
        """Whether it says more of these columns than that they are independent."""
        return len(columns) > 2 and sum(c in self.shares for c in columns) > 2

    def counts(self, columns: Sequence[str], weights: Sequence[Estimates], ones: Sequence[Estimates]) -> Estimates:
        """Rows over the product of some parts of columns. ``weights``: of each column what of each of its cells is in
        each part, shape (parts, cells); ``ones``: its counts by part."""
        total = float(ones[0].sum())
        sides = []
        for column, inside, one in zip(columns, weights, ones, strict=True):
            known = self.shares.get(column)
            sides.append(np.outer(np.ones(len(self.weights)), one / total) if known is None else known @ inside.T)
        half = len(sides) // 2
        left, right = (_product(part, len(self.weights)) for part in (sides[:half], sides[half:]))
        out = (left * (total * self.weights)[:, None]).T @ right
        return np.asarray(np.maximum(out, total * _LEAST).reshape([len(one) for one in ones]))


def _product(sides: Sequence[Estimates], classes: int) -> Estimates:
    """Of each class the shares of all combinations of parts, shape (classes, combinations)."""
    out = np.ones((classes, 1))
    for side in sides:
        out = (out[:, :, None] * side[:, None, :]).reshape(classes, -1)
    return out


def _coarse(
    labels: Mapping[str, Labels], ones: Mapping[str, Estimates], ordered: Mapping[str, bool]
) -> dict[str, Labels]:
    """The parts of each column, fewer where there are too many of all."""
    sizes = sorted(int(a.max()) + 1 for a in labels.values())
    most = max(sizes)
    while most > 2 and sum(min(size, most) for size in sizes) > MOST_CELLS:
        most -= 1
    return {c: merged(part_sums(a, ones[c]), most, ordered[c])[a] for c, a in labels.items()}


def _pairs(kinds: HiddenKinds, labels: Mapping[str, Labels]) -> Estimates:
    """What kinds make of each two columns, side by side over all parts; 0 for a column beside itself."""
    counts = np.maximum(kinds.expected + kinds.fitted, LEAST_SHARE * kinds.expected)
    sizes = [int(a.max()) + 1 for a in labels.values()]
    adding = np.zeros((sum(sizes), len(counts)))
    start = 0
    for (column, coarse), size in zip(labels.items(), sizes, strict=True):
        place, fine = kinds.places[column], kinds.labels[column]
        counts[place, place] = 0.0
        adding[start + coarse, place.start + fine] = 1.0
        start += size
    return np.asarray(adding @ counts @ adding.T)


def fitted_classes(pairs: Estimates, sizes: Sequence[int]) -> tuple[Estimates, Estimates]:
    """Weights and shares of the classes of all fits: those of each are those of a part of the rows.

    The composite likelihood of all pairs (Varin, Reid and Firth 2011) by expectation and maximisation (Dempster, Laird
    and Rubin 1977), which for a symmetric matrix are the multiplicative updates of Lee and Seung (2001) for the
    Kullback-Leibler divergence.
    """
    starts = np.cumsum([0, *sizes[:-1]])
    column = np.repeat(np.arange(len(sizes)), sizes)

    def shared(cells: Estimates) -> Estimates:
        return np.asarray(cells / np.add.reduceat(cells, starts, axis=1)[:, column])

    alone = shared(pairs.sum(axis=1)[None, :, None] + _LEAST)
    spread = [np.random.default_rng(fit).gamma(2.0, 0.5, (len(pairs), CLASSES)) for fit in range(FITS)]
    shares = shared(alone * np.stack(spread))
    weights = np.full((FITS, CLASSES), 1.0 / CLASSES)
    for _ in range(STEPS):
        both = (shares * weights[:, None]) @ shares.transpose(0, 2, 1)
        moved = shares * ((pairs / np.maximum(both, _LEAST)) @ shares)
        weights = weights * moved.sum(axis=1)
        weights /= weights.sum(axis=1, keepdims=True)
        shares = shared(moved + _LEAST)
    return (weights / FITS).reshape(-1), shares.transpose(0, 2, 1).reshape(FITS * CLASSES, -1)
