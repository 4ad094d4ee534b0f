"""Residuals of questions about values: the question exactly, and no row changes more than is said; on rows, one by one.

The oracle counts Python values; the residual sees what the engine counts over parts.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import inf

import numpy as np
import pytest

from dpsql.domain import FIXED_POINT, CategoryDomain, NumberDomain, TableDomain
from dpsql.engine.memory import MemoryEngine
from dpsql.first import Bench
from dpsql.hypothesis import Measurement
from dpsql.ledger import MemoryLedger
from dpsql.planning import make_plan
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.private import Private
from dpsql.query import Counts, Factor, Interval, LinearQuery, linear_query
from dpsql.session.own.by_value.stretch import Stretch
from dpsql.session.own.cells import Known
from dpsql.session.own.residual import Residual, residual_of
from tests.support.entropy import SeededEntropy

NUMBER = NumberDomain("x", (0.0, 10.0, 25.0, 60.0))
OTHER = NumberDomain("y", (-4.0, 0.0, 4.0))
TABLE = TableDomain("t", (NUMBER, OTHER, CategoryDomain("g", ("a", "b", "c")), CategoryDomain("h", ("u", "v"))))
POLICY = Policy(Privacy(Fraction(1), Fraction(1, 10**6), "add-remove", 1000), (TABLE,), Mechanism("auto"))
SIGMA = 100.0
Row = tuple[float | None, float | None, str | None, str | None]
SHAPES = {c.name: c.size for c in TABLE.finite}


def drawn(number: int = 150) -> list[Row]:
    rng = np.random.default_rng(3)
    xs: list[float | None] = [None, 0.0, 10.0, 17.5, 20.0, 59.99, 60.0, 75.0]
    ys: list[float | None] = [None, -4.0, -0.5, 0.0, 3.0]
    return [
        (xs[rng.integers(8)], ys[rng.integers(5)], ("a", "b", "c", None)[rng.integers(4)], ("u", "v")[rng.integers(2)])
        for _ in range(number)
    ]


def bench(rows: Sequence[Row]) -> Bench:
    columns = {name: [row[i] for row in rows] for i, name in enumerate("xygh")}
    return Bench(make_plan(POLICY), MemoryEngine(POLICY, {"t": columns}), MemoryLedger({}), SeededEntropy(1))


def inside(name: str, *cells: int) -> Factor:
    return Factor((name,), np.isin(np.arange(SHAPES[name]), cells).astype(np.int64))


def query(*factors: Factor, value: str | None = None, intervals: Sequence[Interval] = ()) -> LinearQuery:
    found = linear_query(TABLE, factors)
    assert found is not None
    return replace(found, value=value, intervals=tuple(intervals))


X, Y = Interval("x", 17.0, 60.0), Interval("y", -0.5, 3.5)
TOUCHED, Y_TOUCHED = inside("x", 1, 2), inside("y", 0, 1)
G, H = inside("g", 0, 2), inside("h", 0)
ASKED: dict[str, list[LinearQuery]] = {
    "one interval": [query(TOUCHED, intervals=[X])],
    "beside a column": [query(TOUCHED, G, intervals=[X])],
    "beside two": [query(TOUCHED, G, H, intervals=[X])],
    "beside a disjunction": [
        query(TOUCHED, Factor(("g", "h"), np.array([[1, 1, 0], [1, 0, 0], [1, 0, 0], [0, 0, 0]])), intervals=[X])
    ],
    "no cells said": [query(G, intervals=[X])],
    "two intervals": [query(TOUCHED, Y_TOUCHED, H, intervals=[X, Y])],
    "groups": [query(TOUCHED, inside("g", i), intervals=[X]) for i in range(4)],
    "a sum": [query(value="x")],
    "a sum beside a column": [query(G, value="x")],
    "a sum of a bin": [query(TOUCHED, G, H, value="x")],
    "a sum in an interval": [query(TOUCHED, H, value="x", intervals=[X])],
    "a sum in another's interval": [query(TOUCHED, G, value="y", intervals=[X])],
    "sums by group": [query(H, inside("g", i), value="x") for i in range(4)],
}


def share(value: float | None, domain: NumberDomain) -> float:
    return 0.0 if value is None else domain.share(min(max(value, domain.edges[0]), domain.edges[-1])) / FIXED_POINT


def cell(row: Row, name: str) -> int:
    value = row["xygh".index(name)]
    domain = TABLE.finite_domain(name)
    if value is None:
        return domain.size - 1
    if isinstance(domain, NumberDomain) and isinstance(value, float):
        clipped = min(max(value, domain.edges[0]), domain.edges[-1])
        return min(int(np.searchsorted(domain.edges, clipped, side="right")) - 1, len(domain.edges) - 2)
    return domain.values.index(value)


def counted(rows: Sequence[Row], asked: LinearQuery) -> float:
    """Row by row: what it counts is whether it is in everything, times where its value stands."""
    total = 0.0
    for row in rows:
        own = float(all(f.weights[tuple(cell(row, c) for c in f.columns)] for f in asked.factors))
        for told in asked.intervals:
            value, domain = row["xygh".index(told.column)], TABLE.finite_domain(told.column)
            assert isinstance(domain, NumberDomain) and not isinstance(value, str)
            own *= value is not None and told.low <= min(max(value, domain.edges[0]), domain.edges[-1]) <= told.high
        if asked.value is not None:
            value, domain = row["xygh".index(asked.value)], TABLE.finite_domain(asked.value)
            assert isinstance(domain, NumberDomain) and not isinstance(value, str)
            own *= share(value, domain)
        total += own
    return total


def truth(rows: Sequence[Row], sd: float) -> Known:
    def known(products: Sequence[tuple[Factor, ...]], stretch: Stretch | None) -> list[tuple[float, float] | None]:
        asked = [LinearQuery("t", factors) for factors in products]
        return [(counted(rows, q if stretch is None else stretch.asked(q)), sd) for q in asked]

    return known


def of(rows: Sequence[Row], queries: Sequence[LinearQuery], sd: float) -> Residual:
    found = residual_of(queries, truth(rows, sd), SIGMA)
    assert found is not None
    return found


def released(residual: Residual, rows: Sequence[Row]) -> Counts:
    return np.asarray(residual.counted(bench(rows)).reveal())


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("sd", [0.0, 5.0, 70.0, 1e6])
def test_what_is_known_and_what_is_measured_are_the_question(asked: str, sd: float) -> None:
    rows, queries = drawn(), ASKED[asked]
    residual = of(rows, queries, sd)
    axes = residual.axes[: residual.leading]
    found = residual.found(Measurement("t", axes, released(residual, rows), 0.0))
    expected = [counted(rows, q) for q in queries]
    rounded = 0.0 if queries[0].value is None else 1.0 / residual.scale
    assert found.measured.tolist() == pytest.approx(expected, rel=1e-9, abs=rounded + 1e-9)


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("sd", [1.0, 70.0])
def test_no_row_changes_more_than_is_said(asked: str, sd: float) -> None:
    """Every kind of row added to a table that has others, which rounding could make more of."""
    rows = drawn(20)
    residual = of(rows, ASKED[asked], sd)
    before = released(residual, rows)
    kinds = product((None, 0.0, 12.0, 17.0, 20.25, 60.0, 99.0), (None, -4.0, 0.3), ("a", "b", None), ("u", "v", None))
    for row in kinds:
        change = (released(residual, [*rows, row]) - before).reshape(-1)
        assert np.count_nonzero(change) <= 1
        assert residual.low <= change.sum() <= residual.high


@pytest.mark.parametrize(
    ("asked", "least"), [("one interval", 1 / 2), ("beside a column", 1 / 4), ("beside two", 1 / 8)]
)
def test_a_stretch_is_one_more_condition(asked: str, least: float) -> None:
    """Noise is that of a half, a quarter and an eighth of a row, as conditions on cells have it."""
    residual = of(drawn(), ASKED[asked], 1e-4)
    assert max(residual.high, -residual.low) / residual.scale == pytest.approx(least, abs=0.01)


def test_sums_change_by_less_where_parts_of_them_are_known() -> None:
    alone, beside = of(drawn(), ASKED["a sum"], 1e-4), of(drawn(), ASKED["a sum beside a column"], 1e-4)
    assert max(alone.high, -alone.low) / alone.scale == pytest.approx(1 / 2, abs=0.02)
    assert max(beside.high, -beside.low) / beside.scale == pytest.approx(1 / 4, abs=0.02)


def test_what_ties_a_number_to_another_column_or_groups_by_its_bins_is_released_whole() -> None:
    known = truth(drawn(), 1.0)
    tied = Factor(("x", "g"), np.triu(np.ones((4, 4), dtype=np.int64)))
    assert residual_of([LinearQuery("t", (tied,), intervals=(X,))], known, SIGMA) is None
    by_bin = [query(inside("x", i), G, intervals=[X]) for i in (1, 2)]
    assert residual_of(by_bin, known, SIGMA) is None
    assert residual_of(ASKED["beside two"], known, SIGMA, by_value=False) is None  # rules of earlier ledgers


def test_where_nothing_is_known_of_a_stretch_the_rest_is_left() -> None:
    """As before the first look: counts over cells and rows are known, the interval is not."""
    rows = drawn()

    def known(products: Sequence[tuple[Factor, ...]], stretch: Stretch | None) -> list[tuple[float, float] | None]:
        return truth(rows, 1.0)(products, None) if stretch is None else [None] * len(products)

    residual = residual_of(ASKED["beside a column"], known, SIGMA)
    assert residual is not None and residual.modelled_sd.tolist() == [inf]
    found = residual.found(Measurement("t", (), released(residual, rows), 0.0))
    assert found.measured.tolist() == pytest.approx([counted(rows, ASKED["beside a column"][0])])
    assert max(residual.high, -residual.low) / residual.scale == pytest.approx(1 / 2, abs=0.01)


def test_a_row_that_is_outside_counts_as_one_there() -> None:
    """The guard: rows that were taken for nothing outside would make a half of them the whole question."""
    rows = drawn()
    stretch = Stretch.of(ASKED["beside a column"][0])
    assert stretch is not None
    both = np.asarray(stretch.counted((), bench(rows)).reveal())
    assert both.tolist() == [len(rows) - both[1], counted(rows, query(TOUCHED, intervals=[X]))]
    summed = Stretch.of(ASKED["a sum"][0])
    assert summed is not None
    assert int(np.asarray(summed.counted((), bench(rows)).reveal()).sum()) == len(rows) * FIXED_POINT


@pytest.mark.parametrize("rows", [2**20, 2**33, 2**34 + 1, 2**38])
def test_sums_over_many_rows_fit_and_one_row_more_changes_them_by_its_weights(rows: int) -> None:
    """Times the fixed point and the weights' scale at once, 63 bits end at 10^10 rows."""
    residual = of(drawn(), ASKED["a sum"], 1e6)
    share = 5 * FIXED_POINT // 8 + 3
    inside = rows * share

    def weighted(outside: int, inside: int) -> int:
        return int(np.asarray(residual.weighted(Private(np.array([outside, inside]))).reveal()))

    found = weighted(rows * FIXED_POINT - inside, inside)
    out, into = (int(w) for w in residual.weights.reshape(-1))
    assert found == ((rows * FIXED_POINT - inside) * out + inside * into) // FIXED_POINT  # whole numbers of any size
    for more in (0, 1, share, FIXED_POINT):
        change = weighted((rows + 1) * FIXED_POINT - inside - more, inside + more) - found
        assert residual.low <= change <= residual.high
