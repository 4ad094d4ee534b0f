"""From the distributions of a run to its synthetic table. Public, and the same for the same recorded steps."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpsql.ledger.event import Payload
from dpsql.query import Estimates
from dpsql.synthesis.coins import coins
from dpsql.synthesis.offline.rounding import systematic_rows
from dpsql.synthesis.offline.weights import Weights
from dpsql.synthesis.synthetic import Noisy, Synthetic
from dpsql.synthesis.task import Task


def rows_from(task: Task, weights: Weights, tensors: Sequence[Estimates], steps: list[Payload]) -> Synthetic:
    """Rows of the product of ``tensors`` (each of sum 1), one for each part of ``weights``.

    Columns of no part are as the session knows them, independent.
    """
    known = task.model.row_count
    count = max(1, round(known)) if task.rows is None else task.rows
    place = {column.name: i for i, column in enumerate(task.table.finite)}
    codes = np.zeros((count, len(place)), dtype=np.int64)
    touched, drawn = {c for part in weights.parts for c in part.columns}, [dict(s) for s in steps]
    for part, tensor in zip(weights.parts, tensors, strict=True):
        codes[:, [place[c] for c in part.columns]] = systematic_rows(tensor, count, coins(part.columns, drawn))
    for column in place:
        if column not in touched:
            counts = task.model.hypothesis.contingency((column,))
            codes[:, place[column]] = systematic_rows(counts, count, coins(column, drawn))[:, 0]
    return Synthetic(task.table, codes, scale=known / max(count, 1))


def with_answers(rows: Synthetic, weights: Weights, steps: list[Payload], sigma: float) -> Synthetic:
    """``rows`` and the noisy answers of ``steps``, each with noise of ``sigma``."""
    return replace(rows, answers=tuple(Noisy(weights.queries[s["query"]], float(s["answer"]), sigma) for s in steps))
