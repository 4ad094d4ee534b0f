"""Which parts of a scope are measured for a question, and which questions one measurement can answer. Public.

Chosen before any noise is drawn, from the questions and public numbers alone.
"""

from collections.abc import Sequence
from math import inf, prod

import numpy as np

from dpsql.confidence import error_bound
from dpsql.hypothesis import Axis, Measurement, split_identity
from dpsql.memo import Memo
from dpsql.query import Crosstab, Factor, LinearQuery

MOST_FINE_CELLS = 1 << 24
"""Of a scope that is measured cell by cell, however many rows the table has."""
MOST_PARTS = 1 << 20
"""Of one release, where a question's grid fits in no memory."""

KEPT_LABELS = 1 << 20
"""Of parts that were told apart before: the same conditions stand in many statements."""

_axes: Memo[Axis] = Memo(KEPT_LABELS)


def hard_round_axes(
    query: LinearQuery, siblings: Sequence[LinearQuery], row_count: float, sigma: float, bound: float
) -> tuple[Axis, ...]:
    """The parts that a hard round on ``query`` measures: public, chosen before any noise is drawn.

    Every cell of the scope while their noise stays below the table (cells * sigma <= row_count) and the paid answer's
    own error below what a passed test would have certified (``bound``); else the coarsest parts on which the query and
    its ``siblings`` (the same statement's queries on the same factor columns) are constant.
    """
    keyed, keys = query.keyed, len(query.keyed.strings) if query.keyed else 1
    axes: list[Axis] = []
    used = prod(int(np.count_nonzero(f.weights)) for f in query.factors)
    fine = query.cells * keys * sigma <= row_count and error_bound(sigma * used**0.5) <= bound
    fine = fine and query.cells <= MOST_FINE_CELLS
    if keyed is not None and keyed.columns:
        shape = keyed.weights.shape[1:]
        told = [weights for q in (query, *siblings) if q.keyed is not None for weights in q.keyed.weights]
        axes.append(Axis.cells(keyed.columns, shape) if fine else Axis.level_sets(keyed.columns, told))
    for i, factor in enumerate(query.factors):
        if fine:
            axes.append(Axis.cells(factor.columns, factor.weights.shape))
        else:
            axes.append(
                _level_sets([factor, *(s.factors[i] for s in siblings if s.factors[i].columns == factor.columns)])
            )
    return split_identity(axes) if keyed is None or not keyed.columns else tuple(axes)


def own_axes(queries: Sequence[LinearQuery]) -> tuple[Axis, ...]:
    """The coarsest parts on which queries of one outline are constant: what a release for them alone measures.

    Without text columns, which this plan does not know.
    """
    return split_identity(told_apart(queries))


def told_apart(queries: Sequence[LinearQuery]) -> list[Axis]:
    """The same, an axis for each factor."""
    return [_level_sets([q.factors[i] for q in queries]) for i in range(len(queries[0].factors))]


def own_sd(queries: Sequence[LinearQuery], sigma: float) -> float:
    """The largest of ``own_sds``."""
    return max(own_sds(queries, sigma))


def own_sds(queries: Sequence[LinearQuery], sigma: float) -> list[float]:
    """The sds (counts) of queries of one outline that one release with noise ``sigma`` answers."""
    axes = own_axes(queries)
    zeros = np.zeros([a.size for a in axes], dtype=np.int64)
    first = queries[0]
    silent = Measurement(first.table, axes, zeros, sigma, value=first.value, intervals=first.intervals)
    return [sd for sd in silent.answers(Crosstab.of(queries))[1].tolist() if sd < inf]


def counted_together(queries: Sequence[LinearQuery]) -> list[Sequence[LinearQuery]]:
    """Queries of one outline in groups that one release can answer: all, or each by itself.

    On a grid that fits in no memory several conditions may tell more parts apart than each of them alone.
    """
    if len(queries) > 1 and queries[0].cells > MOST_FINE_CELLS and _parts(queries) > MOST_PARTS:
        return [(q,) for q in queries]
    return [queries]


def _parts(queries: Sequence[LinearQuery]) -> int:
    return prod(a.size for a in own_axes(queries))


def _level_sets(factors: Sequence[Factor]) -> Axis:
    """The coarsest parts on which all are constant; the cells of a GROUP BY share most of their factors."""
    distinct = {f.digest: f.weights for f in factors}
    key = tuple(distinct)
    known = _axes.get(key)
    if known is None:
        made = Axis.level_sets(factors[0].columns, list(distinct.values()))
        made.labels.setflags(write=False)
        known = _axes.put(key, made, made.labels.size + len(key))
    return known
