"""Rows that crowd at 0 and at the ends of a number's range: against noise that was drawn, by cells and by values."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpsql.confidence import DEVIATIONS
from dpsql.domain import CategoryDomain, FiniteDomain, IntegerDomain, NumberDomain, TableDomain
from dpsql.hypothesis.bars.assumed.crowded_ends import CrowdedEnds
from dpsql.hypothesis.bars.assumed.single_columns import SingleColumns
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.bars.lesson import learn_calibration
from dpsql.hypothesis.local.wide import WideHypothesis
from dpsql.hypothesis.measurement import Axis, Measurement
from dpsql.hypothesis.model import TableModel
from dpsql.hypothesis.rules import NEWEST, ModelRules
from dpsql.hypothesis.values.hidden_rows import hidden_rows
from dpsql.hypothesis.values.marked_cells import MarkedCells
from dpsql.query import Crosstab, Estimates, Factor, Interval, LinearQuery

EDGES = tuple(np.concatenate([[0.0], np.geomspace(0.01, 50.0, 40)]).tolist())
X = NumberDomain("x", EDGES, nullable=False)
GROUPS = CategoryDomain("g", tuple("abcd"), nullable=False)
TABLE = TableDomain("t", (X, GROUPS))
SIGMA = 100.0
ROWS = 6_000


def counted(columns: tuple[str, ...], counts: Estimates, sigma: float, rng: np.random.Generator | None) -> Measurement:
    noise = 0.0 if rng is None else rng.normal(0.0, sigma, counts.shape)
    axes = tuple(Axis.cells((c,), (size,)) for c, size in zip(columns, counts.shape, strict=True))
    return Measurement("t", axes, np.rint(counts + noise).astype(np.int64), sigma)


@pytest.mark.parametrize("crowd", [0.0, 80.0, 150.0, 300.0])
def test_what_may_hide_has_what_was_counted_in_nineteen_cases_of_twenty(crowd: float) -> None:
    domain, rng, inside, most = IntegerDomain("n", 0, 3, nullable=False), np.random.default_rng(int(crowd)), [], []
    for _ in range(8_000):
        measured = counted(("n",), np.array([crowd, 0.0, 0.0, 900.0]), SIGMA, rng)
        rows = np.array([rng.uniform(0.0, crowd), 0.0, 0.0, 900.0])
        hidden = hidden_rows(domain, rows, [measured])
        assert not hidden[1:].any()
        most.append(rows[0] + hidden[0])
        inside.append(most[-1] >= crowd)
    assert np.mean(inside) >= 0.945  # narrower by a fifth of an sd is .93
    assert np.mean(most) < crowd + 1.645 * SIGMA + SIGMA / 2  # wider by no more than what counts below 0 add


@pytest.mark.parametrize(
    "domain, crowded",
    [
        (X, [0, 39]),
        (replace(X, outside="null"), [0]),
        (NumberDomain("x", (-4.0, -1.0, 2.0, 8.0), nullable=True), [0, 1, 2]),
        (IntegerDomain("x", 17, 90), []),
    ],
)
def test_cells_of_0_and_of_clipped_ends_may_be_crowded(domain: FiniteDomain, crowded: list[int]) -> None:
    measured = counted(("x",), np.full(domain.size, 10.0), SIGMA, None)
    assert np.flatnonzero(hidden_rows(domain, np.zeros(domain.size), [measured])).tolist() == crowded


def test_cells_that_were_not_measured_alone_hide_nothing_that_is_known() -> None:
    pair = counted(("x", "g"), np.zeros((X.size, 4)), 5.0, None)
    parts = Measurement("t", (Axis(("x",), np.arange(X.size) // 20, 2),), np.array([0, 0]), 5.0)
    assert not hidden_rows(X, np.zeros(X.size), [pair, parts]).any()


def test_what_hides_is_missing_from_all_others() -> None:
    """A question is off by what hides of it, less its share of what is missing from all rows."""
    counts = np.array([0.0, 600.0, 300.0, 100.0])
    table = TableDomain("t", (IntegerDomain("n", 0, 3, nullable=False), GROUPS))
    ones = {"n": counts, "g": np.array([100.0, 200.0, 300.0, 400.0])}
    coverage = Coverage(table, 1_000.0, [counted((c,), ones[c], SIGMA, None) for c in ones])
    single = SingleColumns(coverage, lambda columns: ones[columns[0]])
    hidden = 1.645 * SIGMA

    def off(*factors: Factor, used: bool = True) -> float:
        asked = Crosstab.of([LinearQuery("t", factors)])
        return float(CrowdedEnds(single, used=used).off(asked.choices))

    zero, few, most = (Factor(("n",), np.array(w)) for w in ([1, 0, 0, 0], [1, 0, 0, 1], [0, 1, 1, 1]))
    group = Factor(("g",), np.array([0, 0, 1, 0]))
    assert off(zero) == pytest.approx(hidden, rel=1e-3)
    assert off(few) == pytest.approx(0.9 * hidden, rel=1e-3)
    assert off(most) == pytest.approx(hidden, rel=1e-3)
    assert off(zero, group) == pytest.approx(0.3 * hidden, rel=1e-3)
    assert off(group) == 0.0 and off(zero, used=False) == 0.0


def shown(crowd: int, seed: int, rules: ModelRules) -> list[tuple[float, float]]:
    """Errors and bars of ``x = 0``, ``x > 0`` and ``x = 0`` in a group."""
    rng = np.random.default_rng([38, crowd, seed])
    x = np.clip(rng.lognormal(1.5, 0.8, ROWS), 0.011, 50.0)
    x[:crowd] = 0.0
    g = rng.integers(0, 4, ROWS)
    cell = np.minimum(np.searchsorted(EDGES, x, side="right") - 1, X.size - 1)
    both = np.zeros((X.size, 4))
    np.add.at(both, (cell, g), 1.0)
    found = [counted(("x",), both.sum(axis=1), SIGMA, rng), counted(("g",), both.sum(axis=0), SIGMA, rng)]
    found.append(counted(("x", "g"), both, 2.0 * SIGMA, rng))

    def fit(measurements: Sequence[Measurement]) -> WideHypothesis:
        made = WideHypothesis(TABLE, float(ROWS), rules)
        for m in measurements:
            made.absorb(m)
        return made

    total = Measurement("t", (), np.array(ROWS), 0.0)
    model = TableModel(TABLE, total, 100.0, lambda table, n: WideHypothesis(table, n, rules), rules=rules)
    for m in found:
        model.absorb(m)
    marks = np.array(X.marks)
    at = np.searchsorted(marks, x, side="right") - 1
    places = np.bincount(2 * at + (marks[at] != x), minlength=2 * len(marks)).astype(np.float64)
    model.know_values("x", counted(("x",), places, SIGMA, rng))
    known = learn_calibration(TABLE, float(ROWS), found, fit, rules=rules)
    first, every = np.zeros(X.size, dtype=np.int64), np.ones(X.size, dtype=np.int64)
    first[0] = 1
    zero, above, group = Interval("x", 0.0, 0.0), Interval("x", np.nextafter(0.0, 1.0), 50.0), np.array([0, 1, 0, 0])
    questions = [
        (LinearQuery("t", (Factor(("x",), first),), intervals=(zero,)), crowd),
        (LinearQuery("t", (Factor(("x",), every),), intervals=(above,)), ROWS - crowd),
        (LinearQuery("t", (Factor(("x",), first), Factor(("g",), group)), intervals=(zero,)), (g[:crowd] == 1).sum()),
    ]
    out = []
    for asked, truth in questions:
        bar, (sd, added) = known.bound(model.by_cells(asked), 1.0) or 0, model.unknown_inside(asked)  # 0: of all rows
        out.append((abs(model.estimate(asked) - float(truth)), float(np.hypot(bar, DEVIATIONS * sd)) + added))
    return out


@pytest.mark.parametrize("crowd", [100, 200])
def test_crowds_of_one_and_two_sds_of_noise_are_inside(crowd: int) -> None:
    found = {u: [shown(crowd, s, replace(NEWEST, crowded_ends=u)) for s in range(16)] for u in (True, False)}
    inside = {used: np.mean([[off <= bar for off, bar in s] for s in found[used]], axis=0) for used in found}
    assert (inside[True] >= 0.9).all()
    assert inside[False][0] < 0.75


def test_where_nothing_crowds_bars_know_that_noise_could_hide_it() -> None:
    bars = [[bar for _, bar in shown(0, seed, NEWEST)] for seed in range(8)]
    assert np.mean(bars, axis=0)[0] < 3.0 * SIGMA


def test_a_value_alone_may_have_what_its_own_count_allows_for() -> None:
    """500 rows at one price of thousands, with noise of 200: told from no other price, and asked for by its name."""
    domain, rng, sigma = NumberDomain("x", (0.0, 50.0, 100.0), step=Fraction(1, 2)), np.random.default_rng(4), 200.0
    marks, inside = np.array(domain.marks), []
    places = np.zeros(2 * len(marks))
    places[:-1:2] = 5.0
    at = 2 * int(np.searchsorted(marks, 12.5))
    places[at] = 500.0
    rows = np.array([places[: 2 * 100].sum(), places[2 * 100 :].sum()])
    for _ in range(300):
        cells = MarkedCells.of(domain, rows, counted(("x",), places, sigma, rng))
        taken = cells.inside(Interval("x", 12.5, 12.5))
        inside.append(taken.share[0] * rows[0] + taken.beyond >= 500.0)
        assert cells.inside(Interval("x", 12.0, 12.5)).beyond == cells.inside(Interval("x", 12.3, 12.3)).beyond == 0.0
    assert 0.92 <= np.mean(inside) <= 0.98
