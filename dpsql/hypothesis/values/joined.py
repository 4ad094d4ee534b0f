"""Several counts of cells, each taken so many times, as two: what rows add to all of them, above 0 and below. Public.

What is wrong with the number of rows of a cell is wrong in all of them alike, and mostly cancels where they are taken
with opposite signs, as in a sum of squares that is less another.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from dpsql.domain import FIXED_POINT, TableDomain
from dpsql.query import Estimates, Factor, LinearQuery, linear_query

MOST_CELLS = 1 << 16
"""That are weighed together; more are not."""
Part = tuple[float, LinearQuery]


def joined(table: TableDomain, parts: Sequence[Part]) -> list[Part] | None:
    """Two parts at most; none where nothing is left. ``None`` for what is weighed by more than ``MOST_CELLS`` cells, by
    the values of rows, or by listed strings."""
    if not parts:
        return []
    if any(q.keyed is not None or q.is_by_value for _, q in parts):
        return None
    shared = set.intersection(*[{f.digest for f in q.factors} for _, q in parts])
    common = [f for f in parts[0][1].factors if f.digest in shared]
    own = [[f for f in q.factors if f.digest not in shared] for _, q in parts]
    names = {c for factors in own for f in factors for c in f.columns}
    columns = sorted(names, key=lambda c: table.order[c])
    shape = tuple([table.finite_domain(c).size for c in columns])
    if prod(shape) > MOST_CELLS:
        return None
    total: Estimates = np.zeros(shape)
    for (times, _), factors in zip(parts, own, strict=True):
        here = np.full((1,) * len(columns), times)
        for f in factors:
            along = tuple([n if c in f.columns else 1 for c, n in zip(columns, shape, strict=True)])
            here = here * (f.weights / f.unit).reshape(along)
        total += here
    unit, out = FIXED_POINT // prod(f.unit for f in common), []
    for sign in (1.0, -1.0):
        some = np.maximum(sign * total, 0.0)
        most = float(some.max(initial=0.0))
        if most > 0.0:
            weights = np.rint(some / most * unit).astype(np.int64)
            query = linear_query(table, [*common, Factor(tuple(columns), weights, unit)])
            if query is not None:
                out.append((sign * most, query))
    return out
