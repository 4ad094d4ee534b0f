"""What a warm start measures: ``python -m benchmarks.warm_start_study [--seeds 12] [--epsilon 1]``.

Simulated warm starts of narrow tables without the net: contingencies of cells or with differences, and shares for one,
two and three columns. Mean, 95th percentile and maximum error over a stream of questions, averaged over seeds.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from unittest.mock import patch

import click
import numpy as np

from benchmarks.report import show
from benchmarks.simulated_tables import ADULT6, CodedTable, adult, statements, warm_measurements, with_parity
from dpsql.accounting import calibrate
from dpsql.hypothesis import DenseHypothesis
from dpsql.planning.contingencies import THREE_ORDERS, TWO_ORDERS, warm_start
from dpsql.query import LinearQuery

DELTA = Fraction(1, 10**6)
TOTAL_SHARE = 0.05
STREAMS = 3
OF_CELLS = ((1, 0.2, 0.3), (2, 0.5, 0.2), (3, 0.3, -0.2)), ((1, 0.3, 0.3), (2, 0.7, 0.0))
CHOSEN = THREE_ORDERS, TWO_ORDERS
VARIANTS = (
    ("cells, shares .2/.5/.3", False, OF_CELLS),
    ("cells, shares as chosen", False, CHOSEN),
    ("differences, shares .2/.5/.3", True, OF_CELLS),
    ("differences, shares as chosen", True, CHOSEN),
)


@dataclass(frozen=True)
class Stream:
    """Distinct numbers with how often they are asked, and their true values."""

    queries: Sequence[LinearQuery]
    weights: np.ndarray
    truths: np.ndarray


def stream(table: CodedTable, queries: int, seed: int) -> Stream:
    asked = Counter[str]()
    distinct: dict[str, LinearQuery] = {}
    for q in (q for s in statements(table.domain, queries, seed) for q in s if q.scope):
        asked[q.digest] += 1
        distinct[q.digest] = q
    chosen = list(distinct.values())
    return Stream(chosen, np.array([asked[q.digest] for q in chosen]), np.array([table.truth(q) for q in chosen]))


def errors(table: CodedTable, precision: float, seed: int, asked: Stream, *, differences: bool) -> np.ndarray:
    """Absolute errors of one simulated warm start, the row count's noise included."""
    rng = np.random.default_rng(1000 + seed)
    left = precision * (1 - TOTAL_SHARE)
    planned = warm_start(table.domain, table.rows, left, differences=differences)
    model = DenseHypothesis(table.domain, table.rows + rng.normal(0.0, (precision * TOTAL_SHARE) ** -0.5))
    for m in warm_measurements(table, left, seed, planned):
        model.absorb(m)
    return np.abs([round(model.answer(q)) for q in asked.queries] - asked.truths)


@click.command()
@click.option("--seeds", default=12)
@click.option("--epsilon", "epsilons", multiple=True, default=("1", "0.1"))
@click.option("--queries", default=20_000)
def main(seeds: int, epsilons: Sequence[str], queries: int) -> None:
    rows, narrow = [], adult(ADULT6)
    tables = {
        "adult6": narrow,
        "adult6-parity": with_parity(narrow, ("age", "education", "marital_status")),
        "other columns": adult(("workclass", "occupation", "race", "sex", "native_country")),
    }
    for name, table in tables.items():
        streams = [stream(table, queries, seed) for seed in range(1, STREAMS + 1)]
        for epsilon in epsilons:
            plan = calibrate(Fraction(epsilon), DELTA, hard_rounds=6, release_share=0.96, releases=36)
            for variant, differences, (three, two) in VARIANTS:
                found = []
                with patch.multiple(warm_start.__module__, THREE_ORDERS=three, TWO_ORDERS=two):
                    for seed in range(seeds):
                        asked = streams[seed % STREAMS]
                        off = errors(table, float(plan.release_precision), seed, asked, differences=differences)
                        repeated = np.repeat(off, asked.weights)
                        found.append((repeated.mean(), np.quantile(repeated, 0.95), repeated.max()))
                mean, p95, largest = np.mean(found, axis=0)
                row: dict[str, object] = {"table": name, "epsilon": epsilon, "measured": variant}
                spread = float(np.std([f[0] for f in found]) / seeds**0.5)
                rows.append(
                    row | {"mean": round(float(mean), 2), "+-": spread, "p95": float(p95), "max": float(largest)}
                )
    show("Warm starts, simulated", rows, "warm_start_study", [f"{seeds} seeds, {queries:,} statements; counts"])


if __name__ == "__main__":
    main()
