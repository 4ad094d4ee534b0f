"""A query's weights multiplied out: what its factors stand for, for oracles on small scopes."""

import numpy as np

from dpsql.query import LinearQuery, Weights


def weights_of(query: LinearQuery) -> Weights:
    """Integer weights over the whole scope, shape ``(keys,) + shape`` (``shape`` without a keyed factor)."""
    out: Weights = query.keyed.weights if query.keyed else np.ones((), dtype=np.int64)
    for factor in query.factors:
        out = np.multiply.outer(out, factor.weights)
    return out
