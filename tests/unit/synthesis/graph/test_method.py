"""The method in a session: one step, paid once; the same rows from the same record; refused before anything is paid."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpsql.domain import IntegerDomain, TableDomain
from dpsql.errors import DataError, Error, NotSupportedError
from dpsql.hypothesis import Measurement, TableModel
from dpsql.hypothesis.tensor.dense import DenseHypothesis
from dpsql.mechanism.randomized_response import response_epsilon
from dpsql.planning import make_plan
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.session.asker import Asker
from dpsql.session.synthesizing import Synthesizing
from dpsql.sql.statement import Statement
from dpsql.synthesis.graph.method import number_of_edges
from dpsql.synthesis.graph.noise import Noisy
from dpsql.synthesis.graph.pairs import Vertices
from dpsql.synthesis.released import SyntheticTable
from dpsql.synthesis.runs import DRAWN
from dpsql.synthesis.wanted import Wanted
from tests.support.counted import Counted
from tests.support.entropy import SeededEntropy
from tests.support.graphs import random_graph, worst_cut
from tests.support.warm import Recorder

SIZE = 24
VERTICES = Vertices("src", "dst", SIZE)
BITS = random_graph(VERTICES, np.random.default_rng(3))
ENDS = VERTICES.ends(np.flatnonzero(BITS))


def table(nullable: bool = False, unit: str | None = None, rows: int = 1, more: tuple[Any, ...] = ()) -> TableDomain:
    columns = [IntegerDomain(name, 0, SIZE - 1, nullable=nullable) for name in ("src", "dst")]
    return TableDomain("edges", (*columns, *more), unit, rows)


def rules(domain: TableDomain, neighbors: Any = "add-remove") -> Policy:
    privacy = Privacy(Fraction(4), Fraction(1, 10**6), neighbors, planned_queries=100)
    return Policy(privacy, (domain,), Mechanism("pmw", hard_rounds=2))


def session(domain: TableDomain, ledger: Recorder | None = None, neighbors: Any = "add-remove", seed: int = 1) -> Asker:
    policy = rules(domain, neighbors)
    plan = make_plan(policy)
    held = Recorder({"plan": plan.to_json()}, []) if ledger is None else ledger
    rows = {"src": ENDS[:, 0].tolist(), "dst": ENDS[:, 1].tolist(), "who": list(range(len(ENDS)))}
    return Asker(policy, plan, Counted(policy, {"edges": rows}), held, SeededEntropy(seed))


def refusing(text: str) -> Statement:
    raise AssertionError("no statement was asked")


def made(asker: Asker, **options: Any) -> SyntheticTable:
    rows = options.pop("rows", None)
    share = options.pop("epsilon", Fraction(1))
    asker.catch_up()
    return Synthesizing(asker, refusing, Wanted("edges", "graph", epsilon=share, rows=rows, options=options)).make()


def recorded(asker: Asker) -> list[Any]:
    events = asker.bench.ledger.events()
    return [e.payload[DRAWN] for e in events if e.kind == "release" and DRAWN in e.payload]


def test_a_simple_graph_in_the_order_of_its_vertices() -> None:
    asker = session(table())
    found = made(asker)
    ends = np.array([found.to_arrow()["src"].to_pylist(), found.to_arrow()["dst"].to_pylist()])
    assert (ends[0] < ends[1]).all() and ends.min() >= 0 and ends.max() < SIZE
    assert len(set(zip(*ends.tolist(), strict=True))) == found.rows
    assert abs(found.rows - len(ENDS)) < 60
    assert found.charged > 0
    assert "random cut is off by about" in " ".join(found.notes)


def test_one_step_is_paid_once_and_the_record_makes_the_rows() -> None:
    asker = session(table())
    first = made(asker)
    assert len(recorded(asker)) == 1
    again = made(session(table(), asker.bench.ledger, seed=9))  # type: ignore[arg-type]
    assert again.charged == 0 and again.to_arrow().equals(first.to_arrow())
    assert not made(session(table(), seed=9)).to_arrow().equals(first.to_arrow())


def test_with_little_noise_its_cuts_are_the_private_graphs() -> None:
    policy = Policy(Privacy(Fraction(400), Fraction(1, 10**6), planned_queries=1), (table(),), Mechanism("pmw"))
    plan = make_plan(policy)
    rows = {"src": ENDS[:, 1].tolist(), "dst": ENDS[:, 0].tolist()}  # stored backwards: the same graph
    engine, ledger = Counted(policy, {"edges": rows}), Recorder({"plan": plan.to_json()}, [])
    found = made(Asker(policy, plan, engine, ledger, SeededEntropy(1)), epsilon=Fraction(100))
    told = np.zeros((SIZE, SIZE))
    told[found.to_arrow()["src"].to_numpy(), found.to_arrow()["dst"].to_numpy()] = 1
    assert worst_cut(VERTICES, VERTICES.of_pairs(told) - BITS) <= 3


@pytest.mark.parametrize(
    ("domain", "neighbors", "changed"),
    [
        (table(), "add-remove", 1),
        (table(), "replace-one", 2),
        (table(unit="who", rows=3), "add-remove", 3),
        (table(unit="who", rows=3), "replace-one", 6),
    ],
)
def test_the_charge_is_for_every_pair_that_a_unit_can_change(domain: TableDomain, neighbors: str, changed: int) -> None:
    asker = session(domain, neighbors=neighbors)
    found = made(asker, noise="randomised-response")
    (payload,) = recorded(asker)
    cost = changed * asker.plan.pure_cost(response_epsilon(payload["flips"]))
    assert sum(e.cost for e in asker.bench.ledger.events() if e.kind == "reserve" and e.payload.get("run")) == cost
    assert found.charged >= asker.plan.as_epsilon(cost)


def test_fewer_rows_stand_for_more_edges() -> None:
    asker = session(table())
    few = made(asker, rows=20)
    assert few.rows == 20
    many = made(asker, rows=VERTICES.pairs - 3, epsilon=Fraction(1, 4))
    assert many.rows == VERTICES.pairs - 3


@pytest.mark.parametrize(
    ("domain", "options", "said"),
    [
        (table(nullable=True), {}, "NULL"),
        (table(more=(IntegerDomain("who", 0, 9),)), {}, "two columns"),
        (table(), {"form": "round"}, "no form 'round'"),
        (table(), {"noise": "loud"}, "no noise 'loud'"),
        (table(), {"colour": "red"}, "graph has no option colour"),
        (table(), {"rows": VERTICES.pairs + 1}, "277 edges between 24 vertices"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_charged(domain: TableDomain, options: Any, said: str) -> None:
    asker = session(domain)
    with pytest.raises((NotSupportedError, DataError), match=said) as refused:
        made(asker, **options)
    assert isinstance(refused.value, Error) and refused.value.hint
    assert asker.bench.ledger.totals().spent == 0
    assert list(asker.bench.ledger.events()) == []


def model(rows: float, sd: float) -> TableModel:
    def hypothesis(domain: TableDomain, total: float) -> DenseHypothesis:
        return DenseHypothesis(domain, total)

    return TableModel(table(), Measurement("edges", (), np.array(rows), sd), 1.0, hypothesis)


def test_the_number_of_edges_takes_both_counts_by_their_precision() -> None:
    noisy = Noisy(np.full(100, 0.3), np.zeros(100), 2.0)  # 30 edges, sd 20
    assert number_of_edges(model(40, 1e-6), noisy)[0] == pytest.approx(40)
    assert number_of_edges(model(40, 20.0), noisy)[0] == pytest.approx(35)
    assert number_of_edges(model(40, 1e6), noisy) == (pytest.approx(30), ())


def test_rows_that_are_not_edges_do_not_count() -> None:
    noisy = Noisy(np.full(100, 0.3), np.zeros(100), 2.0)
    assert number_of_edges(model(109, 1e-6), noisy)[0] == pytest.approx(100)  # within 4 sd, no more than all pairs
    edges, (note,) = number_of_edges(model(111, 1e-6), noisy)
    assert edges == pytest.approx(30)
    assert "111 rows are about 30 edges" in note
