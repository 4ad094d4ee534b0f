"""Two columns of thousands of values: what is counted are the parts that a question tells apart, never their grid."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import NoReturn

import numpy as np
import pytest

from dpsql.domain import FIXED_POINT, IntegerDomain, NumberDomain, TableDomain
from dpsql.engine.memory import MemoryEngine
from dpsql.engine.partition import Partition
from dpsql.errors import InternalError
from dpsql.first import Bench, bench
from dpsql.first.payload import ANSWER
from dpsql.hypothesis import Measurement
from dpsql.ledger import MemoryLedger
from dpsql.planning import make_plan, plan_tables
from dpsql.planning.measured_axes import own_axes
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.private import Private
from dpsql.query import Counts, Factor, Interval, LinearQuery, linear_query
from dpsql.result import Answer
from dpsql.session.asker import Asker
from dpsql.session.explaining import explanation
from dpsql.session.hard_round import HardRound
from dpsql.session.table_state import TableState
from dpsql.sql.statement import Statement
from tests.support.asking import ask
from tests.support.entropy import SeededEntropy

VERTICES = 1100  # squared, a little more than GRID_CELLS
IDS = tuple(IntegerDomain(c, 0, VERTICES - 1, nullable=False) for c in ("src", "dst"))
EDGES = TableDomain("edges", IDS)
RNG = np.random.default_rng(2)
ROWS = {"src": RNG.integers(0, VERTICES // 2, 3000).tolist(), "dst": RNG.integers(300, VERTICES, 3000).tolist()}


class Counting(MemoryEngine):
    """Remembers the cells of what it is asked for."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy, {"edges": ROWS})
        self.cells: list[int] = []

    def contingency(self, table: str, columns: tuple[str, ...]) -> Private[Counts]:
        self.cells.append(int(np.prod(EDGES.shape(columns))))
        return super().contingency(table, columns)

    def part_counts(
        self, table: str, partitions: tuple[Partition, ...], intervals: tuple[Interval, ...] = ()
    ) -> Private[Counts]:
        self.cells.append(int(np.prod([p.size for p in partitions])))
        return super().part_counts(table, partitions, intervals)


def cuts(number: int) -> list[LinearQuery]:
    rng, out = np.random.default_rng(8), []
    for unit in [1, 1, 3] * number:
        chosen = [Factor((c,), rng.integers(0, u + 1, VERTICES), u) for c, u in (("src", unit), ("dst", 1))]
        found = linear_query(EDGES, chosen)
        assert found is not None
        out.append(found)
    return out[:number]


def answers(strategy: str, planned: int) -> tuple[list[Answer], Counting]:
    privacy = Privacy(Fraction(4), Fraction(1, 10**6), planned_queries=planned)
    policy = Policy(privacy, (EDGES,), Mechanism(strategy))
    engine = Counting(policy)
    asker = Asker(policy, make_plan(policy), engine, MemoryLedger({}), SeededEntropy(6))
    return [ask(asker, query) for query in cuts(5)], engine


@pytest.mark.parametrize(("strategy", "planned"), [("pmw", 1000), ("auto", 5)])
def test_answers_from_parts_are_those_from_the_grid(
    monkeypatch: pytest.MonkeyPatch, strategy: str, planned: int
) -> None:
    """The same noise: tests, hard rounds and releases see the same numbers, weighted queries included."""
    from_parts, engine = answers(strategy, planned)
    assert max(engine.cells) <= 64
    monkeypatch.setattr(bench, "GRID_CELLS", EDGES.cells)
    from_grid, counted = answers(strategy, planned)
    assert max(counted.cells) == EDGES.cells
    assert from_parts == from_grid
    assert any(a.charged for a in from_parts)


def test_the_groups_of_a_large_grid_are_counted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One look at the rows, whose numbers are those of each query by itself."""
    policy = Policy(Privacy(Fraction(4), Fraction(1, 10**6)), (EDGES,))
    engine = Counting(policy)
    made = Bench(make_plan(policy), engine, MemoryLedger({}), SeededEntropy(1))
    rng = np.random.default_rng(9)
    labels, half = rng.integers(0, 40, VERTICES), Factor(("dst",), rng.integers(0, 4, VERTICES), 3)
    groups = [linear_query(EDGES, [Factor(("src",), (labels == i).astype(np.int64)), half]) for i in range(40)]
    queries = [q for q in groups if q is not None]
    weights, sources, targets = half.weights, labels[ROWS["src"]], np.array(ROWS["dst"])
    expected = [int(weights[targets[sources == i]].sum()) // 3 for i in range(40)]
    assert made.counts_at_once(queries)
    assert made.floors(queries).reveal().tolist() == expected
    assert len(engine.cells) == 1
    monkeypatch.setattr(bench, "MOST_PARTS", 100)
    assert not made.counts_at_once(queries)
    assert made.floors(queries).reveal().tolist() == expected
    assert len(engine.cells) == 1 + 40


def test_queries_of_several_outlines_are_counted_one_by_one() -> None:
    policy = Policy(Privacy(Fraction(4), Fraction(1, 10**6)), (EDGES,))
    engine = Counting(policy)
    made = Bench(make_plan(policy), engine, MemoryLedger({}), SeededEntropy(1))
    far = np.abs(np.subtract.outer(np.arange(VERTICES), np.arange(VERTICES)))
    both = linear_query(EDGES, [Factor(("src", "dst"), (far < 90).astype(np.int64))])
    assert both is not None
    asked = [cuts(1)[0], both]
    assert len({q.outline for q in asked}) > 1
    assert not made.counts_at_once(asked)
    each = [int(made.floors([q]).reveal()[0]) for q in asked]
    assert made.floors(asked).reveal().tolist() == each


WIDE = TableDomain("wide", tuple(IntegerDomain(f"c{i}", 0, 2, nullable=False) for i in range(22)))


class Parts(MemoryEngine):
    """Remembers the parts of what it is asked for."""

    def __init__(self, policy: Policy, rows: Mapping[str, Mapping[str, list[int]]]) -> None:
        super().__init__(policy, rows)
        self.parts: list[int] = []

    def part_counts(
        self, table: str, partitions: tuple[Partition, ...], intervals: tuple[Interval, ...] = ()
    ) -> Private[Counts]:
        self.parts.append(int(np.prod([p.size for p in partitions])))
        return super().part_counts(table, partitions, intervals)


def test_a_hard_round_over_very_many_columns_measures_its_question_alone() -> None:
    """Two parts of each of 22 columns would be four million numbers."""
    policy = Policy(Privacy(Fraction(4), Fraction(1, 10**6)), (WIDE,), Mechanism(hard_rounds=2))
    plan, engine = make_plan(policy), Parts(policy, {"wide": {c.name: [0, 1, 2] for c in WIDE.finite}})
    state = TableState(plan_tables(plan, policy)["wide"])
    model = state.know_row_count(Measurement("wide", (), np.array(3), 0.0))
    either = 1 - np.outer([0, 1, 1], [0, 1, 1])
    names = [c.name for c in WIDE.finite]
    query = linear_query(WIDE, [Factor(tuple(names[i : i + 2]), either) for i in range(0, 22, 2)])
    assert query is not None
    made = Bench(plan, engine, MemoryLedger({}), SeededEntropy(1))
    payload, find = HardRound(made).measure(state, model, query, [query])
    assert engine.parts == [1 << 11]
    assert payload["kind"] == ANSWER
    (found,) = find([query])
    assert found is not None
    assert found[1] == pytest.approx(float(state.plan.net.sigma))


class _Chances:
    """No noise, and chances that are all as small or as large as can be."""

    def __init__(self, *, up: bool) -> None:
        self.up = up

    def bits(self, n: int) -> int:
        return (1 << n) - 1 if self.up else 0

    def discrete_gaussian(self, sigma: Fraction, size: int) -> list[int]:
        return [0] * size


def test_a_hard_round_rounds_sums_by_chance() -> None:
    """To the nearest, the sums of many small groups would all go the same way."""
    table = TableDomain("t", (IntegerDomain("g", 0, 2, nullable=False), NumberDomain("price", (0.0, 40.0, 100.0))))
    policy = Policy(Privacy(Fraction(4), Fraction(1, 10**6)), (table,), Mechanism(hard_rounds=2))
    plan = make_plan(policy)
    engine = MemoryEngine(policy, {"t": {"g": [0, 0, 1, 2], "price": [10.0, 20.0, 100.0, 0.0]}})
    state = TableState(plan_tables(plan, policy)["t"])
    model = state.know_row_count(Measurement("t", (), np.array(4), 0.0))
    groups = [LinearQuery("t", (Factor(("g",), row),), None, "price") for row in np.eye(3, dtype=np.int64)]
    found = []
    for up in (False, True):
        made = Bench(plan, engine, MemoryLedger({}), _Chances(up=up))  # type: ignore[arg-type]
        _, find = HardRound(made).measure(state, model, groups[0], groups)
        found.append([value for value, _ in (one or (None, None) for one in find(groups))])
    assert found == [[0, 1, 0], [1, 1, 0]]


def test_conditions_that_tell_too_much_apart_together_are_paid_one_by_one() -> None:
    """Twelve conditions on six columns: 13^6 parts together, 2^6 each."""
    table = TableDomain("wide", tuple(IntegerDomain(c, 0, 31, nullable=False) for c in "abcdef"))
    policy = Policy(Privacy(Fraction(4), Fraction(1, 10**6), planned_queries=20), (table,))
    engine = Parts(policy, {"wide": {c: [0, 5, 9] for c in "abcdef"}})
    asker = Asker(policy, make_plan(policy), engine, MemoryLedger({}), SeededEntropy(6))
    queries = []
    for end in range(1, 25, 2):
        made = linear_query(table, [Factor((c,), (np.arange(32) < end).astype(np.int64)) for c in "abcdef"])
        assert made is not None
        queries.append(made)
    explained = explanation(Statement("", (), None, None), queries, asker)
    answers = asker.ask(queries)
    charged = [answers[q.digest].charged for q in queries]
    assert min(charged) > 0
    assert explained.worst_charge == pytest.approx(sum(charged))
    assert explained.plans[0].worst_charge == pytest.approx(12 * asker.payment_epsilon())
    assert set(engine.parts) == {1 << 6}


PRICE = NumberDomain("price", (0.0, 40.0, 100.0))
PRICED = TableDomain("priced", (*WIDE.finite, PRICE))


def test_sums_of_values_over_a_large_grid_are_those_from_the_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weighted rows, stretches and NULL included: what a test sees, and what a release counts, to the last bit."""
    rng = np.random.default_rng(3)
    names = [c.name for c in WIDE.finite]
    price = [None if i % 7 == 0 else float(p) for i, p in enumerate(rng.uniform(-5.0, 110.0, 400).round(2))]
    rows = {c: rng.integers(0, 3, 400).tolist() for c in names} | {"price": price}
    policy = Policy(Privacy(Fraction(4), Fraction(1, 10**6)), (PRICED,))
    made = Bench(make_plan(policy), MemoryEngine(policy, {"priced": rows}), MemoryLedger({}), SeededEntropy(1))
    third = Factor(("c0",), np.array([3, 1, 0]), 3)
    asked = [third, *(Factor((c,), np.array([1, 1, 0])) for c in ("c1", "c2", "c3"))]
    for intervals in ((), (Interval("price", 12.25, 77.5),)):
        query = replace(linear_query(PRICED, asked) or never(), value="price", intervals=intervals)
        exact = Fraction(0)
        for i, p in enumerate(price):
            if p is not None and all(rows[c][i] < 2 for c in ("c1", "c2", "c3")) and all(t.holds(p) for t in intervals):
                exact += Fraction(PRICE.share(PRICE.clipped(p)) * (3, 1, 0)[rows["c0"][i]], 3)
        from_grid = made.floor_of_sum(query).reveal(), made.shares("priced", own_axes([query]), "price", intervals)
        monkeypatch.setattr(bench, "MOST_FINE_CELLS", 1)
        monkeypatch.setattr(bench, "GRID_CELLS", 1)
        monkeypatch.setattr(bench, "PART_CELLS", 1)
        from_parts = made.floor_of_sum(query).reveal(), made.shares("priced", own_axes([query]), "price", intervals)
        monkeypatch.undo()
        assert from_parts[0] == from_grid[0] == exact // FIXED_POINT > 5
        assert from_parts[1].reveal().tolist() == from_grid[1].reveal().tolist()
    with pytest.raises(InternalError):
        made.floor_of_sum(linear_query(PRICED, asked) or never())


def test_sums_of_values_over_very_many_columns_need_no_grid() -> None:
    """3^22 cells fit in no memory."""
    rng = np.random.default_rng(4)
    names = [c.name for c in WIDE.finite]
    rows = {c: rng.integers(0, 2, 60).tolist() for c in names} | {"price": rng.uniform(0.0, 100.0, 60).tolist()}
    policy = Policy(Privacy(Fraction(4), Fraction(1, 10**6)), (PRICED,))
    made = Bench(make_plan(policy), MemoryEngine(policy, {"priced": rows}), MemoryLedger({}), SeededEntropy(1))
    some = linear_query(PRICED, [Factor((c,), np.array([1, 1, 0])) for c in names[:19]]) or never()
    query = replace(some, value="price")
    assert made.floor_of_sum(query).reveal() == int(sum(rows["price"]) / 100.0)


def never() -> NoReturn:
    raise AssertionError
