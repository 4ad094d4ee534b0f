"""Lists of strings by how they are drawn, simulated with the same noise: ``python -m benchmarks.drawn_lists``.

Strings that a first touch of epsilon 1 and 3,000 statements does not show are counted when somebody lists them. Lists
of 1 to 200 strings, drawn evenly or by row, a twentieth of them absent: mean error in counts of what was measured, and
of what is likely of the list (``dpsql/hypothesis/strings/drawing.py``), by their lengths; the share that is covered.
``--moved``, ``--misfit``: other constants than its own.
"""

import tempfile
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import click
import numpy as np

from benchmarks.report import show
from benchmarks.tables import BenchmarkTable
from benchmarks.zipf import ABSENT, TABLES
from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis.strings import drawing as chosen
from dpsql.hypothesis.strings.key_list import likely_list
from dpsql.planning import Shares, make_plan
from dpsql.planning.strings import text_starts
from dpsql.query import Key

PLANNED = 3_000
LENGTHS = (1, 3, 10, 30, 100, 200)


def numbers(table: BenchmarkTable, lists: int, seed: int) -> dict[str, object]:
    """Mean errors and coverage, over lists of each length and way in turn."""
    assert table.text is not None
    policy = table.policy(Fraction(1), PLANNED, strategy="auto")
    start = text_starts(Shares(make_plan(policy), policy), policy.tables[0])[table.text.name]
    rows, rng = np.array([count for _, count in table.text.counts], dtype=np.float64), np.random.default_rng(seed)
    sigma = float(start.count_sigma)
    shown = rows + rng.normal(0.0, float(start.select_sigma), len(rows)) > start.threshold
    noisy, hidden = rows + rng.normal(0.0, sigma, len(rows)), rows[~shown]
    share_of_rows, share_of_strings = hidden.sum() / rows.sum(), len(hidden) / len(rows)
    by_row = share_of_rows / (share_of_rows + share_of_strings)
    law = chosen.drawing(float(hidden.mean()), start.most_hidden, float(by_row))
    off: dict[int, list[tuple[float, float]]] = {length: [] for length in LENGTHS}
    inside: list[bool] = []
    for _ in range(lists):
        for length in LENGTHS:
            for p in (None, rows / rows.sum()):
                absent = int(rng.binomial(length, ABSENT))
                listed = rng.choice(len(rows), size=min(length - absent, len(rows)), replace=False, p=p)
                there = listed[~shown[listed]]
                values = np.concatenate([noisy[there], rng.normal(0.0, sigma, absent)])
                keys: dict[Key, tuple[float, float]] = {
                    (str(i),): (float(value), sigma**2) for i, value in enumerate(values)
                }
                found = likely_list(keys, {}, law, dict.fromkeys(keys, 1.0))
                error = float(sum(found.rows.values()) - rows[there].sum())
                off[length].append((abs(float(values.sum() - rows[there].sum())), abs(error)))
                bar = np.hypot(DEVIATIONS * np.sqrt(sum(found.variances.values())), found.error)
                inside.append(not keys or abs(error) <= bar)
    means = {length: np.mean(pairs, axis=0) for length, pairs in off.items()}
    measured, likely = np.mean(list(means.values()), axis=0)
    out: dict[str, object] = {"measured": float(measured), "likely": float(likely)}
    out["covered"] = round(float(np.mean(inside)), 3)
    return out | {f"{length}": f"{a:.0f}, {b:.0f}" for length, (a, b) in means.items()}


@click.command()
@click.option("--table", "tables", type=click.Choice(list(TABLES)), multiple=True, default=tuple(TABLES))
@click.option("--lists", default=300)
@click.option("--seed", default=1)
@click.option("--moved", default=chosen.MOST_MOVED)
@click.option("--misfit", default=chosen.MISFIT)
def main(tables: Sequence[str], lists: int, seed: int, moved: float, misfit: float) -> None:
    chosen.MOST_MOVED, chosen.MISFIT = moved, misfit
    rows: list[dict[str, object]] = []
    for name in tables:
        with tempfile.TemporaryDirectory() as folder:
            rows.append({"table": name} | numbers(TABLES[name](Path(folder)), lists, seed))
    title = f"Strings that were counted when they were listed, moved by {moved:g} sds at most, misfit {misfit:g}"
    show(title, rows, "drawn_lists", ["mean errors in counts of these strings, as measured and as is likely"])


if __name__ == "__main__":
    main()
