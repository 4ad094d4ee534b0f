"""Best responses against every record of small tables; what no program can hold is refused; a limit, an interrupt."""

import signal
import sys
import threading
import time
from itertools import combinations, product

import numpy as np
import pytest

from dpsql.domain import CategoryDomain, TableDomain
from dpsql.errors import DataError, InterfaceError
from dpsql.query import Factor, LinearQuery
from dpsql.query.canonical import linear_query
from dpsql.synthesis.coins import coins
from dpsql.synthesis.dual_query.response import Responder, on_records
from dpsql.synthesis.synthetic import Synthetic
from tests.support.dual import NEEDS_SOLVER, booleans, cells

SIZES = {"a": 3, "b": 2, "c": 4, "d": 2}
TABLE = TableDomain("t", tuple(CategoryDomain(n, tuple(f"{n}{i}" for i in range(k - 1))) for n, k in SIZES.items()))
RECORDS = np.array(list(product(*(range(c.size) for c in TABLE.finite))))


def queries(rng: np.random.Generator, number: int, *, weighted: bool) -> tuple[LinearQuery, ...]:
    """Products of conditions on single columns and on pairs, some of them weighted."""
    out: list[LinearQuery] = []
    while len(out) < number:
        names = [n for n in SIZES if rng.random() < 0.6]
        factors = []
        while names:
            columns = tuple(names[: 1 + int(rng.random() < 0.3)])
            names = names[len(columns) :]
            unit = 4 if weighted and rng.random() < 0.5 else 1
            shape = tuple(SIZES[c] for c in columns)
            factors.append(Factor(columns, rng.integers(0, unit + 1, size=shape), unit))
        query = linear_query(TABLE, factors)
        if query is not None:
            out.append(query)
    return tuple(out)


def values(chosen: tuple[LinearQuery, ...], weights: dict[int, int]) -> np.ndarray:
    return np.asarray(sum(w * on_records(TABLE, chosen[i], RECORDS) for i, w in weights.items()), dtype=np.float64)


@NEEDS_SOLVER
@pytest.mark.parametrize("weighted", [False, True])
def test_no_record_is_better(weighted: bool) -> None:
    rng = np.random.default_rng(3)
    for trial in range(25):
        chosen = queries(rng, 12, weighted=weighted)
        weights = {i: int(w) for i, w in enumerate(rng.integers(-3, 4, size=12)) if w}
        best = values(chosen, weights)
        found = Responder(TABLE, chosen, 10.0).respond(weights, coins(trial))
        assert found.value == pytest.approx(best.max(), abs=1e-6)
        assert found.bound == pytest.approx(best.max(), abs=1e-5)
        position = RECORDS.tolist().index(list(found.codes))
        assert best[position] == pytest.approx(found.value)


@NEEDS_SOLVER
def test_equals_and_free_columns_are_drawn_by_coins() -> None:
    (query,) = [q for q in cells(TABLE, 1) if q.factors[0].columns == ("b",) and q.factors[0].weights[0] == 1]
    responder = Responder(TABLE, (query,), 10.0)
    found = [responder.respond({0: -1}, coins(seed)).codes for seed in range(60)]
    assert {codes[1] for codes in found} == {1}
    assert all({codes[i] for codes in found} == set(range(TABLE.finite[i].size)) for i in (0, 2, 3))
    assert responder.respond({0: 1}, coins(1)) == responder.respond({0: 1}, coins(1))
    with_ties = Responder(TABLE, cells(TABLE, 1)[:3], 10.0)
    assert {with_ties.respond({0: 1, 1: 1, 2: 1}, coins(seed)).codes[0] for seed in range(40)} == {0, 1, 2}


def test_nothing_drawn_needs_no_solver() -> None:
    everybody = linear_query(TABLE, [])
    assert everybody is not None
    found = Responder(TABLE, (everybody,), 10.0).respond({0: 5}, coins(1))
    assert (found.value, found.bound) == (5, 5)


def test_on_records_is_the_count_of_a_synthetic_table() -> None:
    for query in queries(np.random.default_rng(4), 20, weighted=True):
        assert on_records(TABLE, query, RECORDS).sum() == pytest.approx(Synthetic(TABLE, RECORDS).count(query))


def test_what_no_program_can_hold_is_refused() -> None:
    wide = TableDomain("t", tuple(CategoryDomain(n, tuple(str(i) for i in range(99))) for n in "ab"))
    tied = Factor(("a", "b"), np.eye(100, dtype=np.int64))
    with pytest.raises(DataError, match="10,000 cells"):
        Responder(wide, (LinearQuery("t", (tied,)),), 1.0)
    parts = tuple(Factor((n,), np.arange(100), 100) for n in "ab")
    with pytest.raises(DataError, match="parts of bins"):
        Responder(wide, (LinearQuery("t", parts),), 1.0)
    with pytest.raises(DataError, match="counts of finite columns"):
        Responder(wide, (LinearQuery("t", (), value="a"),), 1.0)


def test_without_the_solver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(InterfaceError) as caught:
        Responder(TABLE, cells(TABLE, 1), 1.0).respond({0: 1}, coins(1))
    assert "dpsql[synth]" in str(caught.value.hint)


def hard(seconds: float) -> tuple[Responder, dict[int, int]]:
    """Signs at random on all pairs of 40 columns: nothing that is proved in a second."""
    table = booleans(40)
    rng = np.random.default_rng(5)
    chosen, weights = [], {}
    for columns in list(combinations(table.finite, 2)):
        factors = [Factor((c.name,), np.array([0, 1])) for c in columns]
        query = linear_query(table, factors)
        assert query is not None
        weights[len(chosen)] = int(rng.choice([-1, 1]))
        chosen.append(query)
    return Responder(table, tuple(chosen), seconds), weights


@NEEDS_SOLVER
def test_a_time_limit_leaves_the_best_that_was_found_and_says_how_far_it_may_be() -> None:
    responder, weights = hard(0.3)
    begin = time.monotonic()
    found = responder.respond(weights, coins(1))
    assert time.monotonic() - begin < 25
    assert found.bound > found.value
    assert len(found.codes) == 40


def threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.daemon}


@NEEDS_SOLVER
def test_an_interrupt_stops_the_solver() -> None:
    responder, weights = hard(60.0)
    before = threads()
    timer = threading.Timer(0.5, signal.raise_signal, (signal.SIGINT,))
    begin = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        responder.respond(weights, coins(1))
    assert time.monotonic() - begin < 25
    assert threads() <= before  # one left behind aborts Python at its end
