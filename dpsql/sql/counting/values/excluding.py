"""What excludes the values at which an expression is infinite, or no number. Public."""

from collections.abc import Sequence
from math import floor, log10

import numpy as np
import numpy.typing as npt

from dpsql.dialect.quoting import written
from dpsql.domain import NumberDomain, TableDomain
from dpsql.sql.public_sql import GridColumn

_NEAR = 1e-6
"""How near to the end of the first bin values are that a bound excludes, in parts of the step that it is at."""
_MOST = 0.5
"""Of what other columns may hold beside such a value: else what is infinite there is no matter of this column alone."""


def excluding(table: TableDomain, columns: Sequence[GridColumn], finite: npt.NDArray[np.bool_]) -> str:
    """The hint, with a bound that is far enough from them: a number column's bin begins where it is open, too.

    ``finite``: where the expression is, over the combinations of the values of ``columns``.
    """
    clause = "in CASE WHEN, FILTER (WHERE ...) or WHERE"
    told = [[j for j, value in enumerate(c.values) if value is not None] for c in columns]  # NULL gives no number
    wrong = ~finite.reshape([len(c.values) for c in columns])[np.ix_(*told)]
    for i, column in enumerate(columns):
        domain = table.by_name[column.name.lower()]
        if not isinstance(domain, NumberDomain) or not domain.is_binned:
            continue
        where = np.flatnonzero(np.moveaxis(wrong, i, 0).reshape(len(told[i]), -1).any(axis=1))
        at = [float(column.values[told[i][j]]) for j in where]  # type: ignore[arg-type]
        least, step = domain.edges[0], 10.0 ** floor(log10(domain.edges[1] - domain.edges[0]))
        if at and max(at) <= least + step * _NEAR and wrong.take(where, axis=i).mean() > _MOST:
            name = written(column.name)
            bound = f"{name} >= {least + step:g}, say ({name} > {least:g} leaves those that are nearer)"
            return f"exclude values near {least:g} {clause}: {bound}"
    return f"exclude those values by a condition on these columns {clause}"
