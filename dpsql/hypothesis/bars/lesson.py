"""What error bars are learned from: the fit of measurements that are simulated again. Public.

The released measurements are simulated from the public hypothesis (a parametric bootstrap), the model is fitted to each
simulation, and the error of random public queries is regressed on public features. Nothing private is read and no
budget is spent. The random numbers here simulate; they hide nothing: their seed is a digest of the measurements, so
that equal histories give equal error bars. Nothing in this file may ever touch a release.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from math import prod

import numpy as np

from dpsql.domain import TableDomain
from dpsql.hypothesis.bars.assumed.whole_table import scatter_of
from dpsql.hypothesis.bars.calibration import LEARNED_COLUMNS, LEAST_QUERIES, Calibration
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.bars.numbers import Contingency
from dpsql.hypothesis.bars.random_queries import queries_of_rows, random_queries
from dpsql.hypothesis.columns.contrasts import smoothed
from dpsql.hypothesis.columns.cycles import cycles_of, in_step
from dpsql.hypothesis.columns.possible_counts import peaks
from dpsql.hypothesis.measurement import Measurement, coarsen
from dpsql.hypothesis.protocol import Hypothesis
from dpsql.hypothesis.rules import NEWEST, ModelRules
from dpsql.query import Choices, Estimates, LinearQuery

SIMULATIONS = 8
QUERIES = 200
"""Random queries for each number of columns; of two and more half as many that rows of the model meet."""
_VERSION = 4  # of the lesson: a change of what is learned must change it
_MOST_CELLS = 1 << 20
_FOLLOWED = 0.1  # of its noise: so little is left of what is followed as it is

Fit = Callable[[Sequence[Measurement]], Hypothesis]
"""Measurements to the model of them."""


def learn_calibration(
    table: TableDomain,
    row_count: float,
    measurements: Sequence[Measurement],
    fit: Fit,
    *,
    simulations: int = SIMULATIONS,
    queries: int = QUERIES,
    rules: ModelRules = NEWEST,
    on_step: Callable[[int, int], None] = lambda done, of: None,
) -> Calibration:
    """Error bars of the model that ``fit`` makes of ``measurements`` (without text columns). Deterministic.

    ``rules``: the ledger's. ``on_step`` is told how many of the simulations are done, for it takes seconds.
    """
    rng = np.random.default_rng(_seed(measurements))
    coverage = Coverage(table, row_count, measurements, rules)
    model = fit(measurements)
    out = Calibration(coverage, partial(_one_by_one, table.name, model.answer), model.contingency)
    drawn = [_drawn(table, m, rng, rules) for m in measurements] if rules.smooth else measurements
    rough = model if all(a is b for a, b in zip(drawn, measurements, strict=True)) else fit(drawn)
    answer, contingency = rough.answer, rough.contingency
    whole = coverage.whole_table
    if whole is not None:
        out.scatter = scatter_of(whole, fit([m for m in measurements if m is not whole]).contingency(whole.scope))
    expected = [(m, _expected(m, contingency)) for m in measurements if prod(table.shape(m.scope)) <= _MOST_CELLS]
    asked = {r: random_queries(coverage, r, queries, rng, _scopes(rules, r)) for r in range(1, LEARNED_COLUMNS + 1)}
    asked = {r: qs for r, qs in asked.items() if len(qs) >= LEAST_QUERIES}
    met: dict[int, list[LinearQuery]] = {}
    for r, qs in asked.items() if rules.rows_met else ():
        if r == 1:  # no value is empty because of another column
            continue
        met[r] = queries_of_rows(coverage, list(dict.fromkeys(q.scope for q in qs)), queries // 2, rng, contingency)
        qs += met[r]
    truths = {r: np.array([answer(q) for q in qs]) for r, qs in asked.items()}
    errors: dict[int, list[Estimates]] = {r: [] for r in asked}
    for done in range(simulations):
        on_step(done, simulations)
        simulated = fit([_noisy(m, e, rng) for m, e in expected]).answer
        for r, qs in asked.items():
            errors[r].append(np.array([simulated(q) for q in qs]) - truths[r])
    for r, qs in asked.items():
        out.learn(r, qs, np.stack(errors[r]), len(met.get(r, ())))
    return out


def _scopes(rules: ModelRules, number: int) -> int:
    """Of four columns and more each model asks those of every three of them, too: half as many are enough work."""
    return rules.lesson_scopes // 2 if rules.by_threes and number > 3 else rules.lesson_scopes


def _one_by_one(table: str, answer: Callable[[LinearQuery], float], asked: Choices) -> Estimates:
    return np.array([answer(LinearQuery(table, asked.product(k))) for k in range(len(asked))])


def _drawn(table: TableDomain, m: Measurement, rng: np.random.Generator, rules: ModelRules) -> Measurement:
    """Of an ordered column that was measured cell by cell one draw of what it may be, nearly without noise: its model
    is smoother than any column is, and simulations of that would find too little. Others as they are."""
    if len(m.axes) != 1 or not m.axes[0].is_cells or len(m.columns) != 1 or m.text_columns:
        return m
    domain = table.finite_domain(m.axes[0].columns[0])
    values = m.values.astype(np.float64)
    if not domain.ordered:
        return m
    above = peaks(values, m.sigma, apart=domain.nullable) if rules.peaks else np.zeros(len(values))
    above = above + in_step(values - above, m.sigma, cycles_of(domain) if rules.cycles else (), apart=domain.nullable)
    found = smoothed(values, m.sigma, apart=domain.nullable, drawn=rng.standard_normal, above=above)
    return m if found is values else replace(m, values=np.rint(found).astype(np.int64), sigma=m.sigma * _FOLLOWED)


def _expected(m: Measurement, contingency: Contingency) -> Estimates:
    return np.asarray(coarsen(contingency(m.scope), m.axes), dtype=np.float64).reshape(m.values.shape)


def _noisy(m: Measurement, expected: Estimates, rng: np.random.Generator) -> Measurement:
    return replace(m, values=np.rint(expected + rng.normal(0.0, m.sigma, expected.shape)).astype(np.int64))


def lesson_name(measurements: Sequence[Measurement]) -> str:
    """A name for what is learned from these measurements: equal measurements, equal name."""
    return f"error bars {_VERSION} {_seed(measurements):016x}"


def _seed(measurements: Sequence[Measurement]) -> int:
    digest = sha256()
    for m in measurements:
        digest.update(repr((m.table, m.scope, m.values.shape, m.sigma)).encode() + m.values.tobytes())
    return int.from_bytes(digest.digest()[:8], "big")
