"""Strings beside stretches of values: what a hard round measures of one statement's numbers, and for how much noise."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import sqrt

import numpy as np
import pytest

from dpsql.domain import CategoryDomain, NumberDomain, TableDomain, TextDomain
from dpsql.engine.memory import MemoryEngine
from dpsql.first import Bench
from dpsql.ledger import MemoryLedger
from dpsql.planning import make_plan
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.query import Factor, Interval, KeyedFactor, LinearQuery, linear_query, most_counted
from dpsql.session.asker import Asker
from tests.support.asking import ask_all
from tests.support.entropy import SeededEntropy

TABLE = TableDomain(
    "t",
    (CategoryDomain("a", ("x", "y"), nullable=False), NumberDomain("n", (0.0, 10.0, 100.0)), TextDomain("w")),
)
NUMBER = 20_000
ROWS = {
    "a": ["xy"[i % 2] for i in range(NUMBER)],
    "n": [1.0 if i % 4 < 2 else 8.0 for i in range(NUMBER)],
    "w": ["low" if i % 4 < 2 else "high" for i in range(NUMBER)],
}
"""Half of the first bin's rows are below 3: all of one string's, and none of the other's."""
EMPTY = MemoryLedger({})
IN_FIRST_BIN = Factor(("n",), np.array([1, 0, 0]))
X, Y = (Factor(("a",), np.array(w)) for w in ([1, 0], [0, 1]))


def listing(*strings: str, beside: Factor | None = None) -> LinearQuery:
    keyed = KeyedFactor(("w",), tuple((s,) for s in sorted(strings)), (), np.ones(len(strings), dtype=np.int64))
    factors = [IN_FIRST_BIN] if beside is None else [beside, IN_FIRST_BIN]
    query = linear_query(TABLE, factors, keyed)
    assert query is not None
    return replace(query, intervals=(Interval("n", 0.0, 3.0),))


def truth(query: LinearQuery) -> int:
    assert query.keyed is not None
    words = {key[0] for key in query.keyed.strings}
    kinds = [f.weights for f in query.factors if f.columns == ("a",)]
    rows = zip(ROWS["a"], ROWS["n"], ROWS["w"], strict=True)
    return sum(w in words and n <= 3.0 and all(k["xy".index(str(a))] for k in kinds) for a, n, w in rows)


def measured(queries: Sequence[LinearQuery], neighbors: str = "add-remove") -> tuple[Asker, list[float]]:
    """A session that was asked all of them at once, and the noise of each number that its hard round released, in that
    of a whole round: half of the precision measures cells that nothing has measured before."""
    rules = Policy(Privacy(Fraction(1), Fraction(1, 10**6), neighbors), (TABLE,), Mechanism(strategy="pmw"))
    plan = make_plan(rules)
    ledger = MemoryLedger({"plan": plan.to_json()})
    session = Asker(rules, plan, MemoryEngine(rules, {"t": ROWS}), ledger, SeededEntropy(5))
    answers = ask_all(session, queries)
    for query, answer in zip(queries, answers, strict=True):
        assert answer.source == "measurement" and answer.certified
        assert abs(float(answer.value or 0) - truth(query)) <= 2.5 * float(answer.error or 0)
    payload = next(e.payload for e in reversed(ledger.events()) if "measurements" in e.payload or "sigma" in e.payload)
    hard = payload.get("measurements", [payload])
    kinds, noise = [m["kind"] for m in hard], [float.fromhex(m["sigma"]) for m in hard]
    assert kinds == ["one count"] * len(queries) + ["contingency"]
    assert noise[-1] == pytest.approx(sqrt(2.0) * float(session.states["t"].plan.net.sigma), rel=1e-3)
    return session, [sigma / float(session.states["t"].plan.net.sigma) for sigma in noise[:-1]]


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_groups_cost_what_one_of_them_does(neighbors: str) -> None:
    session, noise = measured([listing("low"), listing("high")], neighbors)
    assert noise == pytest.approx([sqrt(2.0)] * 2, rel=1e-3)
    assert sum(e.kind == "hard" for e in session.bench.ledger.events()) == 1


def test_groups_of_a_finite_column_do_too_and_cells_stay_in_the_model() -> None:
    session, noise = measured([listing("low", beside=X), listing("low", beside=Y)])
    assert noise == pytest.approx([sqrt(2.0)] * 2, rel=1e-3)
    model, cells = session.states["t"].model, replace(listing("low", beside=X), intervals=())
    assert model is not None
    known = model.measured(cells)
    assert known is not None and abs(known[0] - NUMBER / 4) < 6 * known[1]


def test_lists_that_share_a_string_have_the_noise_of_both() -> None:
    _, noise = measured([listing("low", "high"), listing("low", "other")])
    assert noise == pytest.approx([2.0] * 2, rel=1e-3)


def test_cells_that_are_known_are_not_measured_again() -> None:
    session, _ = measured([listing("low"), listing("high")])
    other = replace(listing("low"), intervals=(Interval("n", 7.5, 9.0),))
    (answer,) = ask_all(session, [other])
    last = session.bench.ledger.events()[-1].payload
    assert answer.source == "measurement" and last["kind"] == "one count"
    assert float.fromhex(last["sigma"]) == float(session.states["t"].plan.net.sigma)


def test_another_session_says_the_same() -> None:
    queries = [listing("low"), listing("high")]
    session, _ = measured(queries)
    said = ask_all(session, queries)
    again = Asker(session.policy, session.plan, session.bench.engine, session.bench.ledger, SeededEntropy(6))
    assert [(a.value, a.error) for a in ask_all(again, queries)] == [(a.value, a.error) for a in said]


def test_a_row_changes_no_more_numbers_than_the_noise_is_made_for() -> None:
    """Every row that may come beside ten others, and statements of up to four random queries, weighted ones too."""
    rng = np.random.default_rng(7)
    every = list(product("xy", (1.0, 8.0, 50.0, None), ("low", "high", None)))
    rules = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (TABLE,))

    def values(rows: Sequence[tuple[str, float | None, str | None]], queries: Sequence[LinearQuery]) -> list[int]:
        a, n, w = zip(*rows, strict=True)
        bench = Bench(make_plan(rules), MemoryEngine(rules, {"t": {"a": a, "n": n, "w": w}}), EMPTY, SeededEntropy(1))
        return [bench.floor_of_listed(q).reveal() for q in queries]

    for _ in range(40):
        queries = []
        for _ in range(int(rng.integers(1, 5))):
            words = sorted(rng.choice(["low", "high", "other"], size=int(rng.integers(1, 3)), replace=False).tolist())
            keyed = KeyedFactor(("w",), tuple((s,) for s in words), (), np.ones(len(words), dtype=np.int64))
            beside = Factor(("a",), rng.integers(0, 3, 2), 2)
            queries.append(LinearQuery("t", (beside, IN_FIRST_BIN), keyed, None, (Interval("n", 0.0, 3.0),)))
        rows = [every[i] for i in rng.integers(len(every), size=10)]
        before = values(rows, queries)
        for row in every:
            off = np.array(values([*rows, row], queries)) - before
            assert float(off @ off) <= most_counted(queries)
