"""How well a synthetic table answers: its counts beside those that are public. Public; asks no private row.

Nobody can say how far a synthetic table is from the private rows without asking them, and that would be one more
release. What is free is to compare it with what was released already, and with how sure that is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from dpsql.query import Estimates, LinearQuery
from dpsql.synthesis.coins import coins
from dpsql.synthesis.synthetic import Synthetic

COMPARED = 1000
"""Queries of each part that are compared; of more so many are drawn."""
DECILES = 10
TABLE_CELLS = 1 << 20
"""Scopes up to this size are counted once for all their queries."""

Reference = Callable[[LinearQuery], tuple[float, float] | None]
"""The public answer to a query and its 95 % error, in counts; ``None`` where nothing is known of it."""
WORDS = (
    "errors are distances from answers that were released before, which have errors of their own; "
    "no private row was asked"
)


@dataclass(frozen=True)
class Errors:
    """Of one set of ``queries``, in counts of the private table.

    ``deciles``: the error that so many tenths of them do not exceed, the last one the largest. ``mean``: of all.
    ``bar``: the mean 95 % error of the public answers. ``within``: the share of errors that their bar covers.
    ``unknown``: queries that nothing public is known of, left out.
    """

    name: str
    queries: int
    mean: float
    deciles: tuple[float, ...]
    bar: float
    within: float
    unknown: int = 0

    @property
    def median(self) -> float:
        return self.deciles[DECILES // 2 - 1]


@dataclass(frozen=True)
class Quality:
    """One entry for each part of a workload of which something public is known; ``compared``: with what, in words."""

    parts: tuple[Errors, ...]
    compared: str = WORDS


def errors(name: str, synthetic: Synthetic, queries: Sequence[LinearQuery], reference: Reference) -> Errors | None:
    """The errors of ``synthetic`` on ``queries``; ``None`` where the reference knows none of them."""
    if len(queries) > COMPARED:
        chosen = coins("compared", [q.digest for q in queries]).choice(len(queries), COMPARED, replace=False)
        queries = [queries[i] for i in sorted(chosen.tolist())]
    known = [(q, found) for q in queries if (found := reference(q)) is not None]
    if not known:
        return None
    counts = answers(synthetic, [q for q, _ in known])
    off = np.abs(counts - np.array([value for _, (value, _) in known]))
    bars = np.array([bar for _, (_, bar) in known])
    deciles = np.quantile(off, np.arange(1, DECILES + 1) / DECILES)
    within = float(np.mean(off <= bars))
    return Errors(
        name,
        len(known),
        float(off.mean()),
        tuple(deciles.tolist()),
        float(bars.mean()),
        within,
        len(queries) - len(known),
    )


def answers(synthetic: Synthetic, queries: Sequence[LinearQuery]) -> Estimates:
    """``Synthetic.count`` of many queries, float64: those of one scope from one table of counts."""
    known: dict[tuple[str, ...], Estimates] = {}
    out = np.zeros(len(queries))
    for i, query in enumerate(queries):
        if prod(query.shape) > TABLE_CELLS:
            out[i] = synthetic.count(query)
            continue
        if query.scope not in known:
            known[query.scope] = contingency(synthetic, query.scope)
        out[i] = query.estimate(known[query.scope])
    return out


def contingency(synthetic: Synthetic, columns: tuple[str, ...]) -> Estimates:
    """Counts over the cells of ``columns``, float64, in counts of the private table."""
    position = {column.name: i for i, column in enumerate(synthetic.table.finite)}
    shape = synthetic.table.shape(columns)
    if not columns:
        return np.array(len(synthetic.codes) * synthetic.scale)
    cells = np.ravel_multi_index(tuple(synthetic.codes[:, position[c]] for c in columns), shape)
    return np.asarray(np.bincount(cells, minlength=prod(shape)).reshape(shape) * synthetic.scale, dtype=np.float64)
