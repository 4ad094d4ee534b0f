"""Sums of values that count rows by more than in or out: each is one number, with the noise of a count."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpsql.domain import FIXED_POINT, IntegerDomain, NumberDomain, TableDomain
from dpsql.engine import MemoryEngine
from dpsql.first.payload import CONTINGENCY, ONE_COUNT, RESIDUAL, SEVERAL, decode_release
from dpsql.ledger import MemoryLedger
from dpsql.planning import make_plan
from dpsql.policy import Policy, Privacy
from dpsql.query import Factor, LinearQuery
from dpsql.session.asker import Asker
from dpsql.session.own.own_noise import MOST_ALONE
from tests.support.entropy import SeededEntropy

X, K = NumberDomain("x", (-10.0, 0.0, 2.5, 30.0)), IntegerDomain("k", 0, 40, nullable=False)
G = IntegerDomain("g", 0, 79, nullable=False)
TABLE = TableDomain("t", (K, G, X))
RNG = np.random.default_rng(11)
NUMBER, QUESTIONS = 2_000, 30
ROWS: dict[str, list[Any]] = {
    "k": RNG.integers(0, 41, NUMBER).tolist(),
    "g": (np.arange(NUMBER) % 80).tolist(),
    "x": [None if i % 9 == 0 else float(v) for i, v in enumerate(RNG.normal(8.0, 14.0, NUMBER).round(2))],
}
BY_K = LinearQuery("t", (Factor(("k",), np.arange(41), 40),), None, "x")
BY_SQUARE = LinearQuery("t", (Factor(("k",), np.arange(41) ** 2, 1600),), None, "x")
GROUPS = [LinearQuery("t", (Factor(("k",), (np.arange(41) == k).astype(np.int64)),), None, "x") for k in (3, 4, 5)]


def opened(seed: int = 1, models: int | None = None, neighbors: Any = "add-remove") -> tuple[Asker, MemoryLedger]:
    policy = Policy(Privacy(Fraction(1), Fraction(1, 10**6), neighbors, planned_queries=QUESTIONS), (TABLE,))
    plan, ledger = make_plan(policy), MemoryLedger({})
    plan = plan if models is None else replace(plan, models=models)
    assert plan.questions > 0
    return Asker(policy, plan, MemoryEngine(policy, {"t": ROWS}), ledger, SeededEntropy(seed)), ledger


def truth(query: LinearQuery) -> float:
    out = np.array([0 if x is None else X.share(x) for x in ROWS["x"]]) / FIXED_POINT
    for f in query.factors:
        out = out * np.asarray(f.weights)[ROWS[f.columns[0]]] / f.unit
    return float(out.sum())


def kinds(ledger: MemoryLedger) -> list[str]:
    return [kind for kind, _ in decode_release([e for e in ledger.events() if e.kind == "release"][-1].payload)]


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_a_weighted_sum_is_one_number_with_the_noise_of_a_count(neighbors: Any) -> None:
    asker, ledger = opened(neighbors=neighbors)
    before = ledger.totals().spent
    (answer,) = asker.ask([BY_K]).values()
    state = asker.states["t"]
    (part,) = state.own.parts([BY_K], spare=False)
    assert part.alone and part.sds == (float(state.plan.question.sigma),)
    assert kinds(ledger) == [ONE_COUNT]
    assert ledger.totals().spent - before <= state.plan.question.units + state.plan.row_count.units
    assert answer.error == pytest.approx(1.96 * float(state.plan.question.sigma), abs=2.5)
    assert asker.ask([BY_K]) == {BY_K.digest: replace(answer, charged=0.0)}


def test_several_share_a_question_and_groups_stay_together() -> None:
    asker, ledger = opened()
    asker.ask([BY_K, BY_SQUARE])
    assert [e.payload["kind"] for e in ledger.events() if e.kind == "release"][-1] == SEVERAL
    assert kinds(ledger) == [ONE_COUNT, ONE_COUNT]
    parts = asker.states["t"].own.parts([BY_K, BY_SQUARE], spare=False)
    assert sum(p.units for p in parts) <= asker.states["t"].plan.question.units
    asker.ask(GROUPS)
    assert kinds(ledger) == [CONTINGENCY]


def by_group(number: int) -> list[LinearQuery]:
    """BY_K of the rows of each of some groups of g."""
    ones = [Factor(("g",), (np.arange(80) == g).astype(np.int64)) for g in range(number)]
    return [LinearQuery("t", (*BY_K.factors, one), None, "x") for one in ones]


def test_weighted_sums_of_groups_have_all_of_a_question_each() -> None:
    """A row is in one of them at most."""
    asker, ledger = opened()
    asked = by_group(5)
    before = ledger.totals().spent
    answers = asker.ask(asked)
    state = asker.states["t"]
    (part,) = state.own.parts(asked, spare=False)
    assert part.alone and part.units == state.plan.question.units
    assert part.sds == (float(state.plan.question.sigma),) * 5
    assert ledger.totals().spent - before <= state.plan.question.units + state.plan.row_count.units
    assert kinds(ledger) == [ONE_COUNT] * 5
    assert all(abs((answers[q.digest].value or 0) - truth(q)) < 5 * part.sds[0] for q in asked)
    (many,) = state.own.parts(by_group(MOST_ALONE + 1), spare=False)
    assert not many.alone


def test_older_rules_measure_what_tells_the_weights_apart() -> None:
    asker, ledger = opened(models=27)
    asker.ask([BY_K])
    assert kinds(ledger)[-1] in (CONTINGENCY, RESIDUAL)
    newer, _ = opened()
    newer.ask([BY_K])
    (old,), (new,) = (a.states["t"].own.own_sds([BY_K]) for a in (asker, newer))
    assert old > 3 * new


@pytest.mark.parametrize(("told", "seen"), [(1.0, False), (0.5, True), (2.0, True)])
def test_sums_err_as_much_as_is_said_and_another_sd_would_be_seen(told: float, seen: bool) -> None:
    off = []
    for seed in range(60):
        asker, _ = opened(seed)
        answers = asker.ask([BY_K, BY_SQUARE])
        sds = asker.states["t"].own.own_sds([BY_K, BY_SQUARE])
        asked = zip([BY_K, BY_SQUARE], sds, strict=True)
        off += [((answers[q.digest].value or 0) - truth(q)) / sd for q, sd in asked]
    squares = float(np.square(off).mean()) / told**2
    assert (not 0.65 < squares < 1.4) == seen
    assert abs(float(np.mean(off))) < 0.35
