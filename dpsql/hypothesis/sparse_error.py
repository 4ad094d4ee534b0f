"""Error bars of answers about strings: what is known of each listed key, and Frechet's bounds for its cells. Public."""

from math import ceil, isfinite, sqrt

import numpy as np

from dpsql.hypothesis.model import TableModel
from dpsql.query import LinearQuery

_NORMAL = 1.96


def keyed_error(model: TableModel, query: LinearQuery, finite_limit: float) -> int | None:
    """About 95 %, in counts, for the model's answer to a query that lists keys; ``None`` before their selection.

    The listed keys together have W rows, up to noise and to what is not known of keys that were not shown. Of these
    rows the finite columns select between none and all, and at most ``finite_limit`` rows of the table (Frechet).
    """
    keyed = query.keyed
    if keyed is None:
        return None
    sparse = model.sparse(keyed.text_columns)
    most = keyed.weights.reshape(len(keyed.keys), -1).max(axis=1).astype(np.float64) / keyed.unit
    variance = sum(float(w) ** 2 * sparse.variance(k) for w, k in zip(most, keyed.keys, strict=True) if w > 0)
    if not isfinite(variance):
        return None
    spread = _NORMAL * sqrt(variance)
    if not query.scope:
        return max(1, ceil(spread)) + (not query.is_indicator)
    rows = sum(float(w) * sparse.weight(k) for w, k in zip(most, keyed.keys, strict=True))
    estimate = model.estimate(query)
    return max(1, ceil(max(estimate, min(rows + spread, finite_limit) - estimate))) + (not query.is_indicator)
