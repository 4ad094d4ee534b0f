"""A synthetic table from what the session knows already: its hypothesis, as rows. Free, as all of it was released."""

import numpy as np

from dpsql.errors import NotSupportedError
from dpsql.first import Bench
from dpsql.hypothesis.registry import TENSOR_CELLS
from dpsql.query import Estimates
from dpsql.synthesis.coins import Coins, coins
from dpsql.synthesis.steps import Steps
from dpsql.synthesis.synthetic import Codes, Synthetic
from dpsql.synthesis.task import Task


def from_session(task: Task, bench: Bench, steps: Steps) -> Synthetic:
    """Rows of the table's hypothesis; asks nothing of the private rows and pays nothing. Public.

    NotSupportedError for a table whose cells do not fit in memory.
    """
    table, hypothesis = task.table, task.model.hypothesis
    if table.cells > TENSOR_CELLS:
        raise NotSupportedError(
            f"the cells of {table.name} do not fit in memory", hint="declare fewer columns, or coarser bins"
        )
    rows = max(1, round(task.model.row_count)) if task.rows is None else task.rows
    counts = np.asarray(hypothesis.contingency(tuple(c.name for c in table.finite)), dtype=np.float64)
    rng = coins("from_session", table.name, rows, [m.values.tolist() for m in hypothesis.measurements])
    codes = rows_of(counts, rows, rng)
    return Synthetic(table, codes, scale=task.model.row_count / rows)


def rows_of(counts: Estimates, rows: int, rng: Coins) -> Codes:
    """``rows`` cells drawn systematically: each cell's number differs by less than 1 from its share of ``counts``.

    int64 of shape (rows, axes of ``counts``), in random order.

    >>> rows_of(np.array([[3.0, 1.0]]), 4, coins("an example"))[:, 1].sum()
    np.int64(1)
    """
    sums = np.cumsum(counts.reshape(-1))
    points = (np.arange(rows) + rng.random()) * (sums[-1] / rows)
    cells = np.minimum(np.searchsorted(sums, points, side="right"), sums.size - 1)
    codes = np.stack(np.unravel_index(rng.permutation(cells), counts.shape), axis=1)
    return np.ascontiguousarray(codes, dtype=np.int64)
