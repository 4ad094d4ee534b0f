"""Error bars of answers about strings: what is known of each listed key, and Frechet's bounds for its cells. Public.

Strings have no simulation: most of them were never seen. What bounds their error are inequalities, kept apart from what
is learned.
"""

from collections.abc import Mapping, Sequence
from math import ceil, hypot, inf, isfinite, sqrt

import numpy as np

from dpsql.confidence import DEVIATIONS, OUTSIDE
from dpsql.hypothesis.model import TableModel
from dpsql.hypothesis.strings.cells import CountedKey
from dpsql.hypothesis.strings.leaning import IN_COMMON
from dpsql.hypothesis.strings.sparse import NOTHING, SparseHypothesis
from dpsql.query import Estimates, Key, LinearQuery

CONTRADICTED = 2.0
"""Sds of its noise by which a measurement is further from an estimate than the estimate is believed."""


def keyed_error(
    model: TableModel,
    query: LinearQuery,
    finite_limit: float,
    foreseen: Mapping[Key, float] = NOTHING,
    inside: Estimates | None = None,
) -> int | None:
    """About 95 %, in counts, for the model's answer to a query that lists keys; ``None`` before their selection.

    The listed keys together have W rows, up to noise and to what is not known of keys that were not shown, each for
    itself and all together. Of each
    key's rows the finite columns select a share in [0, 1], the model's p on average: its variance is at most p (1 - p)
    (Bhatia, Davis 2000), and shares of different keys are taken as independent. Never wider than what holds for any
    shares: none or all of W, at most ``finite_limit`` rows of the table (Frechet), and not more than 20 times the rows
    that are expected (Markov). What is not known of the share of strings that no column has counted they have together.
    Where what was measured of these rows contradicts their estimate, it is as wide as the measurement leaves open.

    ``foreseen``: listed keys that are counted before they are answered, and the variances of that noise. ``inside``:
    the variance of what the rows of each cell of the only column count, where it is known by value.
    """
    keyed = query.keyed
    if keyed is None:
        return None
    sparse = model.sparse(keyed.text_columns)
    cells = keyed.weights.reshape(len(keyed.strings), -1).astype(np.float64) / keyed.unit
    most = dict(zip(keyed.strings, cells.max(axis=1).tolist(), strict=True))
    rounding = not query.is_indicator
    variances = {k: w * w * sparse.variance(k) for k, w in most.items() if w > 0}
    if not isfinite(sum(variances.values())):
        if not sparse.several.is_known:
            return None
        return _of_singles(model, query, sparse.singles, most, finite_limit)
    together = sparse.of_list({k: most[k] for k in variances}, foreseen)
    variances |= together.variances
    bias = hypot(together.error, sum(most[k] * sparse.bias(k) for k in variances if k not in together.rows))
    spread = hypot(DEVIATIONS * sqrt(sum(variances.values())), bias)
    if not query.scope:
        return max(1, ceil(spread)) + rounding
    known = together.rows if model.rules.drawn_lists else {}
    rows = {k: most[k] * (known[k] if k in known else sparse.rows(k)) for k in variances}
    estimate = model.estimate(query)
    share = _share_of(estimate, sum(rows.values()))
    counted = sparse.counted(variances, query.factors[0], inside) if len(query.scope) == 1 and query.factors else {}
    mixed = 0.0
    for key, variance in variances.items():
        mixed += min(
            variance + rows[key] ** 2 * share * (1.0 - share), counted[key].variance if key in counted else inf
        )
    # expected with every doubt in favour of more rows: those of each key, and the share that the finite columns have
    upper = sum(
        rows[k] + most[k] * (sparse.bias(k) or sqrt(sparse.variance(k))) for k in rows if k not in together.rows
    )
    upper += max(0.0, sum(rows[k] for k in together.rows))  # noise may have taken them below
    upper += hypot(DEVIATIONS * sqrt(sum(together.variances.values())), together.error)
    expected = upper * min(1.0, finite_limit / model.row_count)
    widest: float = max(estimate, min(sum(rows.values()) + spread, finite_limit, expected / OUTSIDE) - estimate)
    apart = sum(rows[k] for k in rows if not sparse.has_cells(k, query.scope))
    unsure = DEVIATIONS * sparse.rest_sd(query.factors) * abs(apart)
    common = sqrt(IN_COMMON) * sum(most[k] * sqrt(found.inside) for k, found in counted.items())
    error = hypot(DEVIATIONS * sqrt(mixed), DEVIATIONS * common, share * bias, unsure)
    if model.rules.contradicted:
        error = max(error, _contradicted(counted, most))
    return max(1, ceil(min(error, widest))) + rounding


def _of_singles(
    model: TableModel,
    query: LinearQuery,
    singles: Sequence[SparseHypothesis],
    weights: Mapping[Key, float],
    finite_limit: float,
) -> int:
    """Of keys of several text columns, of which only each column's strings are known: no rows, or all those of the
    column whose strings have fewest (Frechet). That they are independent is a guess, and no bar rests on it.
    """
    most = [finite_limit]
    for place, one in enumerate(singles):
        largest: dict[Key, float] = {}
        for key, weight in weights.items():
            largest[(key[place],)] = max(weight, largest.get((key[place],), 0.0))
        rows = sum(weight * max(0.0, one.rows(key)) for key, weight in largest.items())
        sd = sqrt(sum(weight**2 * one.variance(key) for key, weight in largest.items()))
        most.append(rows + DEVIATIONS * sd + sum(weight * one.bias(key) for key, weight in largest.items()))
    estimate = model.estimate(query)
    return max(1, ceil(max(estimate, min(most) - estimate))) + (not query.is_indicator)


def _contradicted(counted: Mapping[Key, CountedKey], weights: Mapping[Key, float]) -> float:
    """How far from its estimate a number of rows may be, in counts, by what was measured of it alone, where noise does
    not explain the difference; else 0. What all strings say of their cells is wrong about those unlike all others, and
    a condition may take many cells of which none stands out of its noise alone."""
    apart = abs(sum(weights[k] * found.apart for k, found in counted.items()))
    sd = sqrt(sum(weights[k] ** 2 * found.noise for k, found in counted.items()))
    return apart + DEVIATIONS * sd if apart > CONTRADICTED * sd else 0.0


def _share_of(estimate: float, rows: float) -> float:
    """The share, in [0, 1], that makes ``estimate`` of the rows; 1 where noise has taken these below what says one."""
    return min(1.0, estimate / rows) if abs(rows) >= 1.0 and estimate / rows >= 0.0 else 1.0
