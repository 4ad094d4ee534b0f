"""Columns of two values, measured as differences: what a unit can change, and what every reader makes of them."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest

from dpsql.accounting import Plan
from dpsql.domain import BooleanDomain, TableDomain
from dpsql.first.payload import CONTINGENCY, decode_release, encode_measurement
from dpsql.first.warm_start import WarmStart
from dpsql.hypothesis import Axis, DenseHypothesis, Measurement, TableModel, coarsen
from dpsql.hypothesis.bars.coverage import Coverage, places_of_pairs
from dpsql.hypothesis.components import PURE_CELLS, components, precisions, pure, pure_sigma
from dpsql.hypothesis.projection import projected
from dpsql.planning import make_plan, plan_tables
from dpsql.planning.contingencies import NARROW_CELLS, planned_contingencies
from dpsql.planning.sensitivity import contingency_l2_squared
from dpsql.policy import Policy
from dpsql.query import Crosstab
from dpsql.session.asker import Asker
from tests.support.asking import ask
from tests.support.counted import Counted
from tests.support.simulated import marginal, table_of
from tests.support.warm import Coins, columns_of, ledger_of, policy, query, unit

NAMES = ("a", "b", "c")
SHAPE = (2, 3, 2)
TABLE = table_of(SHAPE)


def axes_of(columns: str, differences: str, shape: tuple[int, ...] = SHAPE) -> tuple[Axis, ...]:
    sizes = dict(zip(NAMES, shape, strict=False))
    return tuple(Axis.difference_of(c) if c in differences else Axis.cells((c,), (sizes[c],)) for c in columns)


def released(columns: str, differences: str, sigma: float, rng: np.random.Generator) -> Measurement:
    axes = axes_of(columns, differences)
    return Measurement("t", axes, rng.integers(-500, 500, [a.size for a in axes]), sigma)


def design(measurements: list[Measurement]) -> tuple[np.ndarray, np.ndarray]:
    """Rows, over all cells, of every measured number, and its value, both in sds of its noise."""
    rows, values = [], []
    for m in measurements:
        for index, value in np.ndenumerate(m.values):
            row = np.ones(SHAPE)
            for axis, i in zip(m.axes, index, strict=True):
                weights = np.array([1.0, -1.0]) if axis.difference else np.arange(axis.size) == i
                row = row * weights.reshape([-1 if n == axis.columns[0] else 1 for n in NAMES])
            rows.append(row.reshape(-1) / m.sigma)
            values.append(value / m.sigma)
    return np.array(rows), np.array(values)


def random_measurements(rng: np.random.Generator) -> list[Measurement]:
    """Two to five contingencies, some of their columns of two values as differences."""
    scopes = [c for n in (1, 2, 3) for c in combinations(NAMES, n)]
    chosen = [scopes[i] for i in rng.choice(len(scopes), int(rng.integers(2, 6)), replace=False)]
    differences = [[c for c in s if c != "b" and rng.random() < 0.6] for s in chosen]
    orders = ["".join(rng.permutation(list(s))) for s in chosen]
    return [released(o, "".join(d), float(rng.uniform(2, 9)), rng) for o, d in zip(orders, differences, strict=True)]


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (2, 2, 2)])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_unit_changes_a_difference_by_no_more_than_is_charged(shape: tuple[int, ...], rows: int) -> None:
    table = replace(table_of(shape), unit="u", max_rows_per_unit=rows)
    charged = contingency_l2_squared(policy(table), table)
    names, cells = NAMES[: len(shape)], list(np.ndindex(*shape))
    base = np.random.default_rng(1).integers(0, 5, shape)
    for columns in (c for n in range(1, len(shape) + 1) for c in combinations(names, n)):
        two = [c for c in columns if shape[names.index(c)] == 2]
        axes = axes_of("".join(columns), "".join(two), shape)
        worst = 0
        for chosen in (u for n in range(1, rows + 1) for u in combinations_with_replacement(cells, n)):
            more = base.copy()
            np.add.at(more, tuple(zip(*chosen, strict=True)), 1)
            before, after = (coarsen(np.ascontiguousarray(marginal(t, names, columns)), axes) for t in (base, more))
            worst = max(worst, int(((after - before) ** 2).sum()))
        assert worst == charged == rows**2


def test_a_replaced_row_would_change_a_difference_by_more_than_is_charged() -> None:
    one, other = (coarsen(np.array(t), axes_of("a", "a")) for t in ([5, 3], [4, 4]))
    assert int(((one - other) ** 2).sum()) > contingency_l2_squared(policy(TABLE, neighbors="replace-one"), TABLE)


def planned_differences(rules: Policy) -> set[str]:
    plan = plan_tables(make_plan(rules), rules)[rules.tables[0].name]
    planned = planned_contingencies(plan.table, 4000.0, plan.precision, differences=plan.differences)
    return {c for p in planned for c in p.differences}


def test_differences_are_planned_in_narrow_tables_whose_rows_come_or_go_alone() -> None:
    narrow, wide = table_of((2, 9, 12, 2)), table_of((2, 40, 40, 40, 9))
    assert planned_differences(policy(narrow)) == {"a", "d"}
    assert planned_differences(policy(narrow, neighbors="replace-one")) == set()
    assert planned_differences(policy(wide)) == set()
    flags = (BooleanDomain("a"), BooleanDomain("b", nullable=False))  # NULL is a third value
    assert planned_differences(policy(TableDomain("t", (*flags, *table_of((9, 9, 9)).columns[2:])))) == {"b"}
    assert NARROW_CELLS // 2 <= PURE_CELLS  # else the fit would take differences for counts


def test_it_is_read_back_from_the_ledger_exactly() -> None:
    written = released("cba", "ac", 2.5, np.random.default_rng(2))
    ((_, read),) = decode_release(json.loads(json.dumps(encode_measurement(CONTINGENCY, written))))
    assert (read.scope, read.sigma) == (written.scope, written.sigma)
    assert (read.values == written.values).all()
    for x, y in zip(read.axes, written.axes, strict=True):
        assert (x.columns, x.size, x.difference) == (y.columns, y.size, y.difference)
        assert (x.labels == y.labels).all()


def test_no_number_of_rows_is_read_off_it() -> None:
    rng = np.random.default_rng(3)
    model = TableModel(TABLE, Measurement("t", (), np.array(900), 1.0), 1.0, DenseHypothesis)
    found = [released("a", "a", 1.0, rng), released("ab", "a", 1.0, rng), released("abc", "ac", 1.0, rng)]
    asked = [query(TABLE, a=[1, 0]), query(TABLE, b=[1, 0, 0]), query(TABLE, a=[0, 1], b=[1, 1, 0])]
    for m in found:
        model.absorb(m)
        assert [m.weights_of(q) for q in asked] == [m.answer(q) for q in asked] == [None] * 3
        assert [model.measured(q) for q in asked] == [None] * 3
    assert Axis.difference_of("a").coarse_weights(np.array([1, 0])) is None


def test_a_projection_keeps_every_difference_or_nothing() -> None:
    m = released("abc", "a", 3.0, np.random.default_rng(4))
    assert projected(m, {"b", "c"}) is None
    assert (kept := projected(m, {"a", "c"})) is not None
    assert [a.difference for a in kept.axes] == [True, False]
    assert (kept.values == m.values.sum(axis=1)).all()
    assert kept.sigma == pytest.approx(3.0 * 3**0.5)


@pytest.mark.parametrize("seed", range(25))
def test_components_are_the_least_squares_fit(seed: int) -> None:
    found = random_measurements(np.random.default_rng(seed))
    rows, values = design(found)
    solved = np.linalg.lstsq(rows, values, rcond=None)[0].reshape(SHAPE)
    covariance = np.linalg.pinv(rows.T @ rows)
    for p in components(found, {"a": 0, "b": 1, "c": 2}):
        assert p.values == pytest.approx(pure(marginal(solved, NAMES, p.columns)), abs=1e-6)
        first = np.zeros([n for n, c in zip(SHAPE, NAMES, strict=True) if c in p.columns])
        first.reshape(-1)[0] = 1.0  # the weights of the interaction's first cell, spread over all cells
        spread = pure(first).reshape([n if c in p.columns else 1 for n, c in zip(SHAPE, NAMES, strict=True)])
        weights = np.broadcast_to(spread, SHAPE).reshape(-1)
        assert pure_sigma(p.sigma, first.shape) ** 2 == pytest.approx(weights @ covariance @ weights)
        assert precisions(found)[frozenset(p.columns)] == pytest.approx(p.sigma**-2)


@pytest.mark.parametrize("columns", ["a", "c", "ac", "ab", "abc"])
def test_the_noise_of_an_answer_is_that_of_the_least_squares_fit(columns: str) -> None:
    rng = np.random.default_rng(6)
    plan = [("a", "a", 5.0), ("c", "c", 6.0), ("b", "", 4.0), ("ac", "ac", 3.0), ("ab", "a", 4.0), ("bc", "c", 7.0)]
    found = [released(*p, rng) for p in [*plan, ("abc", "ac", 5.0)]]
    asked = query(TABLE, **{c: [1, 1, 0] if c == "b" else [0, 1] for c in columns})
    weights = np.ones(SHAPE)
    for f in asked.factors:
        weights = weights * f.weights.reshape([-1 if n in f.columns else 1 for n in NAMES])
    known = np.ones((1, 12)) * 1e4  # the row count
    rows = np.concatenate([design(found)[0], known])
    variance = weights.reshape(-1) @ np.linalg.pinv(rows.T @ rows, rcond=1e-14) @ weights.reshape(-1)
    product = Crosstab.of([asked, asked]).choices
    rows = np.full(2, 300.0)  # of the product and of each pair: a share of one
    pairs = [rows for _ in places_of_pairs(product)]
    sd = Coverage(TABLE, 900.0, found).noise(product, rows, pairs)
    assert sd == pytest.approx(variance**0.5, rel=1e-4)
    if columns == "ac":  # without the column alone, nothing is known of its values
        lost = Coverage(TABLE, 900.0, found[1:4]).noise(product, rows, pairs)
        assert lost.tolist() == [900.0, 900.0]


def test_a_session_releases_them_with_the_noise_of_a_unit_and_replays_them() -> None:
    table = replace(table_of((2, 9, 12, 2)), unit="u", max_rows_per_unit=3)
    rules = policy(table)
    ledger, data = ledger_of(rules), columns_of(table)
    plan = Plan.from_json(ledger.header["plan"])
    engine = Counted(rules, {"t": data | {"u": [i // 2 for i in range(len(data["a"]))]}})
    coins = Coins(1, ledger.log)
    asker = Asker(rules, plan, engine, ledger, coins)
    asked = [query(table, a=unit(2, 0)), query(table, a=unit(2, 1), d=unit(2, 0)), query(table, b=unit(9, 0), d=[1, 0])]
    ask(asker, asked[0])
    costs = {e.sequence: e.cost for e in ledger.events() if e.payload.get("purpose") == WarmStart.purpose}
    made = [e for e in ledger.events() if e.kind == "release" and e.reservation in costs]
    for event in made:
        found = [m for _, m in decode_release(event.payload)]
        assert all(a.difference == (a.columns[0] in "ad") for m in found for a in m.axes)
        assert sum(plan.release_cost(Fraction(m.sigma), 9) for m in found) <= costs[event.reservation]
    assert made
    coins.hard = True
    ask(asker, query(table, a=unit(2, 0), b=unit(9, 3), d=unit(2, 1)))
    hard = decode_release(ledger.events()[-1].payload)
    assert [a.difference for _, m in hard for a in m.axes] == [False] * 3
    second = Asker(rules, plan, engine, ledger, Coins(9, ledger.log))
    ours, theirs = asker.states["t"], second.states["t"]
    assert ours.model is not None
    assert theirs.model is not None
    for q in asked:
        assert ours.model.estimate(q).hex() == theirs.model.estimate(q).hex()
        assert ours.error_bar(q) == theirs.error_bar(q) is not None
