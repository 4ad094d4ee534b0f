"""Rows that noise may hide at 0 and at the ends of a number's range. Public.

Amounts are clipped to their ends, and of many things a tenth of the rows have none. Cells beside such a one are mostly
light, and a model that spreads rows from long ranges down gives it what it gives these: next to nothing of what was
counted. What the column's own measurement of that cell allows for may be there.
"""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from dpsql.confidence import OUTSIDE
from dpsql.domain import FiniteDomain, IntegerDomain, NumberDomain
from dpsql.hypothesis.measurement import Measurement
from dpsql.hypothesis.normal import normal_quantile
from dpsql.query import Estimates

UPPER = float(normal_quantile(np.array([1.0 - OUTSIDE]))[0])
"""Sds that a count is above its measurement in one case of twenty."""
LIGHT = 3.0
"""Sds of its noise below which a cell's rows may be what its neighbours have; heavier ones are as they were counted."""
_KEPT = 256


def hidden_rows(domain: FiniteDomain, rows: Estimates, measurements: Iterable[Measurement]) -> Estimates:
    """Of each cell of a column, float64: how many rows beyond the model's ``rows`` may be there where rows crowd, by
    the one of the ``measurements`` of this column alone and of its cells that has the least noise; 0 where none is.

    >>> from dpsql.hypothesis.measurement import Axis
    >>> cells = Axis.cells(("n",), (3,))
    >>> measured = Measurement("m", (cells,), np.array([30, 5, 500]), 10.0)
    >>> hidden_rows(IntegerDomain("n", 0, 2, nullable=False), np.array([20.0, 10.0, 500.0]), [measured]).round()
    array([26.,  0.,  0.])
    """
    out = np.zeros(len(rows))
    places = list(crowded_cells(domain))
    alone = [m for m in measurements if m.query is None and len(m.axes) == 1 and m.axes[0].columns == (domain.name,)]
    cells = [m for m in alone if m.axes[0].is_cells]
    if places and cells:
        best = min(cells, key=lambda m: m.sigma)
        counts = best.values.reshape(-1)[places].astype(np.float64)
        most = np.maximum(counts, 0.0) + UPPER * best.sigma
        out[places] = np.where(rows[places] < LIGHT * best.sigma, np.maximum(most - rows[places], 0.0), 0.0)
    return out


@lru_cache(_KEPT)
def crowded_cells(domain: FiniteDomain) -> dict[int, float]:
    """The cells of 0 and, of a number that is clipped, of the ends of its range, and the place of each.

    >>> crowded_cells(NumberDomain("amount", (-10.0, 0.0, 5.0, 100.0))), crowded_cells(IntegerDomain("n", -1, 3))
    ({0: -10.0, 2: 100.0, 1: 0.0}, {1: 0.0})
    """
    if isinstance(domain, IntegerDomain):
        return {-domain.low: 0.0} if domain.low <= 0 <= domain.high else {}
    if not isinstance(domain, NumberDomain):
        return {}
    edges, last = domain.edges, len(domain.edges) - 2
    out = {0: edges[0], last: edges[-1]} if domain.outside == "clip" else {}
    if edges[0] <= 0.0 <= edges[-1]:
        out[min(int(np.searchsorted(edges, 0.0, side="right")) - 1, last)] = 0.0
    return out
