"""How well a synthetic table answers: its counts beside those that are public. Public; asks no private row.

Nobody can say how far a synthetic table is from the private rows without asking them, and that would be one more
release. What is free is to compare it with what was released already, and with how sure that is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod, sqrt

import numpy as np

from dpsql.confidence import error_bound
from dpsql.query import Estimates, LinearQuery
from dpsql.synthesis.coins import coins
from dpsql.synthesis.synthetic import Noisy, Synthetic

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
OWN_WORDS = (
    "no answer to the workload was released before this run: errors are distances from the noisy answers that the run "
    "itself paid for and fitted its rows to, which have errors of their own; of other queries nothing public is known"
)
NOTHING = (
    "nothing public to compare with: no answer to a query of the workload was released, by the session or by this run"
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
    """One entry for each part of a workload of which something public is known; ``compared``: with what, in words.

    Where the session knows nothing, one entry of the answers that the run itself released; else none.
    """

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


def report(synthetic: Synthetic, parts: Mapping[str, Sequence[LinearQuery]], reference: Reference) -> Quality:
    """``parts`` of a workload by their names, beside ``reference``; the run's own answers where it knows none."""
    found = [errors(name, synthetic, queries, reference) for name, queries in parts.items()]
    known = tuple(e for e in found if e is not None)
    if known:
        return Quality(known)
    own = own_answers(synthetic)
    measured = errors("measured", synthetic, [query for query, _ in own.values()], lambda q: own[q.digest][1])
    return Quality((), NOTHING) if measured is None else Quality((measured,), OWN_WORDS)


def own_answers(synthetic: Synthetic) -> dict[str, tuple[LinearQuery, tuple[float, float]]]:
    """What the run measured, by digest: the mean of a query's answers and its 95 % error."""
    by_query: dict[str, list[Noisy]] = {}
    for one in synthetic.answers:
        by_query.setdefault(one.query.digest, []).append(one)
    out = {}
    for digest, told in by_query.items():
        mean, sd = sum(one.answer for one in told) / len(told), sqrt(sum(one.sd**2 for one in told)) / len(told)
        query = told[0].query
        out[digest] = query, (mean, float(error_bound(sd, not query.is_indicator)))
    return out


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
