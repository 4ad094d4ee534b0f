"""The fit on simulated measurements: ``python -m benchmarks.fit_study [--queries 10000] [--seeds 2] [--bars]``.

Warm start with 96 % of the squared precision, the test as the net with 4 % (T = 6), on Adult's 6 and 14 columns, and
with a planted 3-way parity. ``--bars``: coverage and width of the calibrated error bars.
"""

import time
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import click
import numpy as np

from benchmarks.report import show, summary
from benchmarks.simulated_tables import (
    ADULT6,
    CodedTable,
    adult,
    measurement,
    statements,
    warm_measurements,
    warm_plan,
    with_parity,
)
from benchmarks.tables import ADULT14
from dpsql.accounting import Plan
from dpsql.hypothesis import DenseHypothesis, Measurement, split_identity
from dpsql.hypothesis.bars.lesson import learn_calibration
from dpsql.hypothesis.local.wide import WideHypothesis
from dpsql.hypothesis.measurement import Axis
from dpsql.planning.contingencies import NARROW_CELLS
from dpsql.policy import Mechanism
from dpsql.query import LinearQuery

HARD_ROUNDS = 6
RELEASE_SHARE = 0.96
Row = dict[str, object]
Hypothesis = DenseHypothesis | WideHypothesis


def hypothesis(table: CodedTable, measurements: Sequence[Measurement]) -> Hypothesis:
    narrow = table.domain.cells <= NARROW_CELLS
    out: Hypothesis = DenseHypothesis(table.domain, table.rows) if narrow else WideHypothesis(table.domain, table.rows)
    for m in measurements:
        out.absorb(m)
    return out


class Stream:
    """One simulated session: answers from the hypothesis, the test, hard rounds."""

    def __init__(self, table: CodedTable, plan: Plan, model: Hypothesis, planned: int, seed: int) -> None:
        self.table, self.plan, self.model = table, plan, model
        self.rng = np.random.default_rng(seed)
        self.theta = plan.threshold(planned)
        self.hard = 0
        self.given: dict[str, float] = {}

    def ask(self, query: LinearQuery) -> float:
        """The answer's error, in counts; equal questions get the equal answer."""
        if query.digest not in self.given:
            self.given[query.digest] = self._answer(query) - self.table.truth(query)
        return self.given[query.digest]

    def _answer(self, query: LinearQuery) -> float:
        estimate = round(self.model.answer(query))
        wide = isinstance(self.model, WideHypothesis)
        if self.hard >= self.plan.hard_rounds or (wide and len(query.scope) < 3):
            return estimate
        gap = abs(self.table.truth(query) - estimate) - self.theta
        if self.rng.random() < np.exp(-np.exp(min(60.0, float(self.plan.slope) * gap))):
            return estimate
        self.hard += 1
        sigma = float(self.plan.sigma) * (2**0.5 if wide else 1.0)
        self.model.absorb(measurement(self.table, self._axes(query, sigma), sigma, self.rng))
        return self.table.truth(query) + self.rng.normal(0.0, sigma)

    def _axes(self, query: LinearQuery, sigma: float) -> tuple[Axis, ...]:
        if isinstance(self.model, WideHypothesis):
            return self.model.coarse_axes(query.scope, sigma)
        if query.cells * sigma <= self.table.rows:
            return split_identity([Axis.cells(f.columns, f.weights.shape) for f in query.factors])
        return tuple(Axis.level_sets(f.columns, [f.weights]) for f in query.factors)


def accuracy(
    name: str,
    table: CodedTable,
    queries: int,
    epsilon: str,
    seed: int,
    popularity: np.ndarray | None,
    planted: Sequence[str] = (),
) -> Row:
    """Errors of one stream, and of its statements that touch all ``planted`` columns."""
    plan = warm_plan(Fraction(epsilon), HARD_ROUNDS, RELEASE_SHARE)
    asked = statements(table.domain, queries, seed, popularity)
    model = hypothesis(table, warm_measurements(table, float(plan.release_precision), seed))
    stream = Stream(table, plan, model, queries, seed)
    begin = time.perf_counter()
    errors = [[stream.ask(q) for q in s] for s in asked]
    seconds = time.perf_counter() - begin
    by_statement = summary([float(np.mean(np.abs(e))) for e in errors if e])
    numbers = summary([x for e in errors for x in e])
    row: Row = {"table": name, "epsilon": epsilon, "seed": seed, **numbers}
    row |= {"statement mean": by_statement["mean"], "hard": stream.hard, "ms": 1e3 * seconds / numbers["numbers"]}
    on_it = [x for s, e in zip(asked, errors, strict=True) if s and set(planted) <= set(s[0].scope) for x in e]
    if planted and on_it:
        row["on the parity"] = "/".join(f"{summary(on_it)[k]:.0f}" for k in ("mean", "p95", "max"))
    return row


def bars(name: str, table: CodedTable, epsilon: str, seed: int) -> Row:
    """Held-out coverage of the error bars on distinct queries."""
    plan = warm_plan(Fraction(epsilon), HARD_ROUNDS, RELEASE_SHARE)
    found = warm_measurements(table, float(plan.release_precision), seed)
    model = hypothesis(table, found)

    def fit(measurements: Sequence[Measurement]) -> Hypothesis:
        return hypothesis(table, measurements)

    begin = time.perf_counter()
    made = learn_calibration(table.domain, table.rows, found, fit)
    seconds = time.perf_counter() - begin
    distinct = {q.digest: q for s in statements(table.domain, 4000, seed + 50) for q in s if q.scope}
    rows, factor = [], float(Mechanism().error_factor)
    for q in distinct.values():
        estimate, bound = model.answer(q), made.bound(q, factor)
        assert bound is not None
        rows.append((len(q.scope), estimate, abs(round(estimate) - table.truth(q)), bound))
    columns, size, error, width = np.array(rows).T
    inside = error <= width
    classes = [inside[columns == k].mean() for k in (1, 2, 3, 4)]
    edges = (-1.0, 50.0, 500.0, 5000.0, np.inf)
    classes += [inside[(size > a) & (size <= b)].mean() for a, b in pairwise(edges)]
    ratio = float(np.median(width) / max(float(np.median(error)), 0.5))
    row: Row = {"table": name, "epsilon": epsilon, "seed": seed, "coverage": float(inside.mean())}
    return row | {"worst class": float(min(classes)), "median width / error": ratio, "seconds": seconds}


@click.command()
@click.option("--queries", default=10_000)
@click.option("--seeds", default=2)
@click.option("--bars", "with_bars", is_flag=True)
def main(queries: int, seeds: int, with_bars: bool) -> None:
    narrow, wide = adult(ADULT6), adult(ADULT14)
    zipf = np.random.default_rng(5).permutation(1.0 / np.arange(1, 15))
    three, three_of_14 = ("age", "education", "marital_status"), ("occupation", "education", "marital_status")
    popular = np.array([4.0 if c in three_of_14 else 1.0 for c in ADULT14])
    small = ("education", "marital_status", "race", "sex", "income")
    cases: list[tuple[str, CodedTable, np.ndarray | None, Sequence[str]]] = [
        ("Adult 6", narrow, None, ()),
        ("Adult 6 + parity", with_parity(narrow, three), None, three),
        ("Adult 14", wide, None, ()),
        ("Adult 14 zipf", wide, zipf, ()),
        ("Adult 14 + parity", with_parity(wide, three_of_14), popular, three_of_14),
        ("Adult 2,240 cells", adult(small), None, ()),
    ]
    rows = [
        accuracy(name, table, queries, epsilon, seed, popularity, planted)
        for name, table, popularity, planted in cases
        for epsilon in ("1", "0.1")
        for seed in range(1, seeds + 1)
    ]
    note = "absolute errors in counts of 48,842 rows; simulated noise, delta 1e-6, T = 6"
    show(f"Warm start, {queries:,} statements", rows, "fit_study", [note])
    if with_bars:
        found = [
            bars(name, table, epsilon, seed)
            for name, table in (("Adult 6", narrow), ("Adult 14", wide))
            for epsilon in ("1", "0.1")
            for seed in range(1, seeds + 1)
        ]
        show("Calibrated error bars, 95 %", found, "fit_study_bars", ["worst class: by columns and by size of answer"])


if __name__ == "__main__":
    main()
