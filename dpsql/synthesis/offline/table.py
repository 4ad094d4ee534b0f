"""From the distributions of a run to its synthetic table. Public, and the same for the same recorded steps."""

from collections.abc import Sequence

import numpy as np

from dpsql.ledger.event import Payload
from dpsql.query import Estimates
from dpsql.synthesis.coins import coins
from dpsql.synthesis.offline.parts import Part
from dpsql.synthesis.offline.rounding import systematic_rows
from dpsql.synthesis.synthetic import Synthetic
from dpsql.synthesis.task import Task


def rows_from(task: Task, parts: Sequence[Part], tensors: Sequence[Estimates], steps: list[Payload]) -> Synthetic:
    """Rows of the product of ``tensors`` (each of sum 1); columns of no part as the session knows them, independent."""
    known = task.model.row_count
    count = max(1, round(known)) if task.rows is None else task.rows
    place = {column.name: i for i, column in enumerate(task.table.finite)}
    codes = np.zeros((count, len(place)), dtype=np.int64)
    touched, drawn = {c for part in parts for c in part.columns}, [dict(s) for s in steps]
    for part, tensor in zip(parts, tensors, strict=True):
        codes[:, [place[c] for c in part.columns]] = systematic_rows(tensor, count, coins(part.columns, drawn))
    for column in place:
        if column not in touched:
            counts = task.model.hypothesis.contingency((column,))
            codes[:, place[column]] = systematic_rows(counts, count, coins(column, drawn))[:, 0]
    return Synthetic(task.table, codes, scale=known / max(count, 1))
