"""Cleaned 3-way tables over few parts: what three columns do that no pair of them tells. Public.

Of three columns over coarse parts the noise is small beside the rows, so that what pairs leave open of them is seen. It
is cleaned once, as pairs are: a model that followed the noisy counts in each of its sweeps would follow their noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpsql.hypothesis.components import pure, pure_sigma
from dpsql.hypothesis.local.maximum_entropy import Known, maximum_entropy, raked
from dpsql.hypothesis.measurement import Labels, Measurement
from dpsql.hypothesis.partition import overlap
from dpsql.hypothesis.rules import ModelRules
from dpsql.hypothesis.shrinkage import shrunken
from dpsql.query import Estimates

RAKES = 4
"""Times that a cleaned table is brought back to its pairs."""


@dataclass(frozen=True, eq=False)
class TripleCounts:
    """Noisy counts of three columns: labels of each one's cells, ``values`` (parts, parts, parts), noise ``sigma``."""

    labels: tuple[Labels, ...]
    values: Estimates
    sigma: float

    @classmethod
    def of(cls, m: Measurement, columns: Sequence[str]) -> "TripleCounts":
        """A measurement over three single columns, in this order."""
        order = [m.axis_of(c) for c in columns]
        values = m.values.transpose(order).astype(np.float64)
        return cls(tuple(m.axes[i].labels for i in order), values, m.sigma)


@dataclass(frozen=True, eq=False)
class TripleTable:
    """Clean counts over parts of three columns: ``counts`` (parts, parts, parts), float64, > 0."""

    labels: tuple[Labels, ...]
    counts: Estimates

    def on_parts(self, axes: tuple[int, int, int], labels: Sequence[Labels], ones: Sequence[Estimates]) -> Known:
        """What a model over parts ``labels`` of the columns, its ``axes``, knows by it: the counts over the table's own
        parts where the model's are finer, over the model's where they are not. ``ones``: clean counts of each column's
        cells, by which a part is split."""
        groups: list[Labels | None] = []
        counts = self.counts
        for axis, (own, parts, one) in enumerate(zip(self.labels, labels, ones, strict=True)):
            group = np.zeros(int(parts.max()) + 1, dtype=np.int64)
            group[parts] = own
            is_finer = np.array_equal(group[parts], own)
            groups.append(group if is_finer else None)
            if not is_finer:
                counts = np.moveaxis(np.tensordot(overlap(parts, own, one), counts, axes=([1], [axis])), 0, axis)
        return Known(axes, tuple(groups), counts)


def clean_triple(
    counts: TripleCounts,
    ones: Sequence[Estimates],
    pairs: dict[tuple[int, int], Estimates],
    rules: ModelRules,
    pair_sigma: float,
) -> TripleTable:
    """What clean ``pairs`` over its parts say of three columns (maximum entropy; ``ones``: each column alone), moved
    by what the measured interaction shows beyond noise (empirical Bayes, as ``shrunken`` has it) and brought back to
    the pairs. ``pair_sigma``: the noise of these, sd in counts."""
    model = maximum_entropy(ones, pairs, (), rules, pair_sigma)
    gap = pure(counts.values) - pure(model)
    table = shrunken(model, gap, pure_sigma(counts.sigma, model.shape), rules.floor)
    for _ in range(RAKES):
        table = raked(table, pairs)
    return TripleTable(counts.labels, table)
