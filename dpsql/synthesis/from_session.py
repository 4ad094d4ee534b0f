"""A synthetic table from what the session knows already: its hypothesis, as rows. Free, as all of it was released."""

from collections.abc import Mapping

import numpy as np

from dpsql.first import Bench
from dpsql.synthesis.coins import Coins, coins
from dpsql.synthesis.rows.drawing import branch, cells_of, grow, tree
from dpsql.synthesis.rows.fitting import fit_rows
from dpsql.synthesis.rows.known import KnownTable
from dpsql.synthesis.rows.target import Codes
from dpsql.synthesis.steps import Steps
from dpsql.synthesis.synthetic import Synthetic
from dpsql.synthesis.task import Task


def from_session(task: Task, bench: Bench, steps: Steps) -> Synthetic:
    """Rows that answer as the session does; asks nothing of the private rows and pays nothing. Public.

    First rows are drawn from the hypothesis, then moved towards its tables of one, two and three columns. Same
    measurements, same rows.
    """
    model = task.model
    count = max(1, round(model.row_count)) if task.rows is None else task.rows
    rng = coins("from_session", task.table.name, count, [m.values.tolist() for m in model.contingencies])
    known = KnownTable(model, count)
    rows = first_rows(known, rng)
    targets = [t if known.is_fine(t) else t.whole(rng) for t in known.targets()]
    fit_rows(rows, known.sizes, targets, rng, lambda done, of: task.on_progress("rounds of fitting", done, of))
    mixed = rng.permutation(count)
    codes = (
        np.stack([r[mixed] for r in rows[: known.finite]], axis=1) if known.finite else np.zeros((count, 0), np.int64)
    )
    return Synthetic(task.table, codes, _strings(known, rows, mixed), scale=model.row_count / count)


def first_rows(known: KnownTable, rng: Coins) -> list[Codes]:
    """One array of cells for each column of ``known``: from its tensor, else along a tree of pairs."""
    finite, bonds = list(range(known.finite)), known.dependences
    rows: list[Codes] = [np.zeros(known.rows, dtype=np.int64) for _ in known.sizes]
    if known.is_tensor and finite:
        rows[: known.finite] = cells_of(known.tensor, known.rows, rng)
    else:
        grow(rows, tree(bonds[: known.finite, : known.finite]), known.rows, known.counts, rng)
    text = [branch(bonds, c, finite) for c in range(known.finite, len(known.sizes))]
    grow(rows, text, known.rows, known.counts, rng)
    return rows


def _strings(known: KnownTable, rows: list[Codes], mixed: Codes) -> Mapping[str, tuple[str | None, ...]]:
    out = {}
    for i, (name, keys) in enumerate(known.keys.items()):
        values = [*(key[0] for key in keys), None]
        out[name] = tuple(values[cell] for cell in rows[known.finite + i][mixed].tolist())
    return out
